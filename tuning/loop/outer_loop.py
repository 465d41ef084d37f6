"""The outer loop of tuning: decode, merge, optimise, repeat; the weights that decode best win.

Each round decodes the dev set with the weights in force, adds the candidates to those of all
rounds before, and finds weights for all of them together. It ends when a rule of ``StopRules``
says so; the weights of the last optimisation are decoded too, and of all decoded weights those
with the best score on the dev set are the result.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from moses_integration.ini.moses_ini import MosesIni
from phrasescore.errors import InputError
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.json_files import write_json
from tuning.loop.curve import curve_picture
from tuning.loop.lists import ScoredList, read_scored, with_empty_translations
from tuning.loop.tuning_settings import StopRules
from tuning.loop.weight_plan import WeightPlan
from tuning.loop.weights_file import read_weights_file
from tuning.loop.work_folder import RoundFolder, WorkFolder, read_json
from tuning.metrics.candidate_statistics import CandidateStatistics
from tuning.metrics.metric_scores import objective_score
from tuning.metrics.score_tables import points
from tuning.optimizers.candidate_pool import CandidatePool
from tuning.optimizers.optimizer import Optimizer, Weights, written

# Moses's: no weight moved by this much
_SAME_WEIGHT = 1e-5
_FIGURES = ("score", "start_score", "seconds")  # of an optimisation
Say = Callable[[str], None]


class NBestDecoder(Protocol):
    """Translates the dev set with given weights."""

    def write_nbest(
        self, weights: Mapping[str, Sequence[float]], size: int, output: Path, log: Path
    ) -> int:
        """Write the n-best list, whole or not at all, and what there is to say; return lines."""
        ...


@dataclass(frozen=True)
class TuningTask:
    """One tuning run.

    Args:
        ini: The system.
        plan: Which weights are tuned.
        statistics: References and objective.
        optimizer: Finds weights for a pool.
        nbest_size: How many candidates of each sentence a round asks for.
        seed: Of all that is random.
        stop: When to end.
        provenance: Where all that comes from, for the result.
    """

    ini: MosesIni
    plan: WeightPlan
    statistics: CandidateStatistics
    optimizer: Optimizer
    nbest_size: int
    seed: int
    stop: StopRules
    provenance: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DecodedRound:
    """What one round's decoding gave.

    Args:
        number: From 1.
        weights: (T,) it was decoded with.
        score: The objective of the decoder's choices.
        bleu: Their BLEU.
        length_ratio: Their words per reference word.
        new: How many candidates no round before had.
        candidates: How many there are now.
    """

    number: int
    weights: Weights
    score: float
    bleu: float
    length_ratio: float
    new: int
    candidates: int


@dataclass(frozen=True)
class TuningResult:
    """What one run gave.

    Args:
        seed: Its seed.
        folder: Where it worked.
        best: The round that decoded best.
        rounds: All of them.
        why: Why it ended.
        weights: Of the best round, by feature.
    """

    seed: int
    folder: Path
    best: DecodedRound
    rounds: tuple[DecodedRound, ...]
    why: str
    weights: Mapping[str, tuple[float, ...]]


class Tuning:
    """Runs the loop in a work folder, going on where an earlier process stopped."""

    def __init__(self, task: TuningTask, decoder: NBestDecoder, work: WorkFolder, say: Say) -> None:
        self._task, self._decoder, self._work, self._say = task, decoder, work, say
        self._curve: list[dict[str, Any]] = []
        self._fixed = bool(task.plan.hidden or task.plan.sparse_weights)
        features = task.plan.layout.nbest.size + self._fixed
        self._pool = CandidatePool(len(task.statistics), features, task.statistics.columns)

    def run(self) -> TuningResult:
        """Tune.

        Raises:
            PhrasescoreError: The decoder failed, or a list is damaged; what is done stays, and
                the same call continues from there.
        """
        weights = self._start()
        rounds: list[DecodedRound] = []
        while True:
            folder = self._work.round(len(rounds) + 1)
            weights = self._decode(folder, weights)
            rounds.append(self._score(folder, weights))
            why = self._reason_after_decoding(rounds)
            if why is None:
                following = self._optimize(folder, weights)
                if self._task.stop.weights and np.abs(following - weights).max() < _SAME_WEIGHT:
                    why = "the weights no longer change"
                weights = following
            self._work.write_curve(self._curve, curve_picture(self._curve))
            if why is not None:
                return self._finished(rounds, why)

    def _start(self) -> Weights:
        plan = self._task.plan
        problem = plan.problem(self._pool.arrays, self._task.statistics.objective)
        return written(plan.tuned(plan.start), scalable=problem.is_scalable)

    def _decode(self, folder: RoundFolder, weights: Weights) -> Weights:
        """Decode, unless that is done already; return the weights that were used."""
        plan = self._task.plan
        if folder.weights.exists():
            weights = plan.tuned({**plan.start, **read_weights_file(folder.weights)})
        complete = plan.complete(weights)
        if not (folder.nbest.exists() and folder.log.exists()):
            write_atomically(folder.ini, self._task.ini.with_weights(complete).to_bytes())
            write_json(folder.weights, {"weights": complete})
            self._say(f"round {folder.number}: decoding {len(self._task.statistics):,} sentences")
            self._decoder.write_nbest(complete, self._task.nbest_size, folder.nbest, folder.log)
        return weights

    def _score(self, folder: RoundFolder, weights: Weights) -> DecodedRound:
        scored = self._read(folder)
        for note in scored.notes:
            self._say(f"note: {note}")
        fixed = scored.fixed_part(weights) if self._fixed else None
        new = scored.add_to(self._pool, fixed)
        decoded = DecodedRound(
            number=folder.number,
            weights=weights,
            score=objective_score(self._task.statistics.objective, scored.decoded),
            bleu=scored.decoder_bleu,
            length_ratio=scored.length_ratio,
            new=new,
            candidates=len(self._pool),
        )
        line = dataclasses.asdict(decoded)
        line["weights"] = dict(zip(self._task.plan.names, weights.tolist(), strict=True))
        write_json(folder.scores, line)
        self._curve.append(line)
        self._say(
            f"round {folder.number}: {self._task.statistics.objective} {points(decoded.score)}, "
            f"length ratio {decoded.length_ratio:.3f}, "
            f"{new:,} new of {decoded.candidates:,} candidates"
        )
        return decoded

    def _read(self, folder: RoundFolder) -> ScoredList:
        plan = self._task.plan
        try:
            return read_scored(
                folder.nbest,
                self._task.statistics,
                expected=plan.expected,
                sparse_weights=plan.sparse_weights,
            )
        except InputError as error:
            error.remedy = (
                f"{error.remedy or 'look at the list'}; to decode this round again, delete "
                f"{folder.nbest} and run the same command"
            )
            raise

    def _optimize(self, folder: RoundFolder, weights: Weights) -> Weights:
        """Find weights for all candidates so far, unless that is done already."""
        plan, objective = self._task.plan, self._task.statistics.objective
        if folder.optimized.exists():
            content = read_json(folder.optimized, numbers=_FIGURES)
        else:
            pool = with_empty_translations(self._pool, self._task.statistics)
            problem = plan.problem(pool, objective, weights)
            begin = time.perf_counter()
            rng = np.random.default_rng([self._task.seed, folder.number])
            solution = self._task.optimizer.optimize(problem, rng)
            complete = plan.complete(solution.weights[: len(weights)])
            content = {
                "weights": complete,
                "score": solution.score,
                "start_score": solution.start_score,
                "seconds": round(time.perf_counter() - begin, 3),
                "notes": list(solution.notes),
                "effort": dict(solution.effort),
            }
            write_json(folder.optimized, content)
            for note in solution.notes:
                self._say(f"note: {note}")
        self._curve[-1]["optimized"] = {key: content[key] for key in _FIGURES}
        self._say(
            f"round {folder.number}: over all candidates {points(content['start_score'])} -> "
            f"{points(content['score'])} ({content['seconds']:.1f} s)"
        )
        return plan.tuned({**plan.start, **read_weights_file(folder.optimized)})

    def _reason_after_decoding(self, rounds: list[DecodedRound]) -> str | None:
        stop = self._task.stop
        if rounds[-1].new == 0:
            return "no new candidates"
        if len(rounds) > stop.rounds:
            return f"{_rounds(stop.rounds)} of optimisation"
        best = _best(rounds)
        if stop.patience and len(rounds) - best.number >= stop.patience:
            return f"no better score in {_rounds(stop.patience)}"
        return None

    def _finished(self, rounds: list[DecodedRound], why: str) -> TuningResult:
        best = _best(rounds)
        complete = self._task.plan.complete(best.weights)
        write_atomically(
            self._work.path / "moses.ini", self._task.ini.with_weights(complete).to_bytes()
        )
        content = {
            "weights": complete,
            "bleu": best.bleu,
            "score": best.score,
            "round": best.number,
            "rounds": len(rounds),
            "why": why,
            "provenance": dict(self._task.provenance),
        }
        write_json(self._work.path / "weights.json", content)
        return TuningResult(self._task.seed, self._work.path, best, tuple(rounds), why, complete)


def _best(rounds: Sequence[DecodedRound]) -> DecodedRound:
    """The round with the best score, the first of equals."""
    return max(rounds, key=lambda decoded: (decoded.score, -decoded.number))


def _rounds(count: int) -> str:
    return "1 round" if count == 1 else f"{count} rounds"
