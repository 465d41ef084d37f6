"""The outer loop of tuning: decode, merge, optimise, repeat; keep the weights that decode best.

Each round decodes the dev set with the current weights, adds the candidates to the pool of all
earlier rounds, and optimises the weights over the whole pool. A run ends after ``rounds``
optimisations, when a round finds no new candidate, when no weight changes, or after ``patience``
rounds without a better score. The dev set is also decoded with the last optimised weights. The
result is the weights of the round whose decoded translations score best; a score over the pool
would be too optimistic. ``tune`` runs this loop once, or once for each seed.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from moses_integration.decoder.settings import SearchSettings
from moses_integration.ini.edits import with_sections
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.tables.filtering import INI_NAME
from phrasescore.errors import CorpusError, InputError, counted
from phrasescore.runs.file_kinds import read_regular
from phrasescore.runs.final_names import own_folder, write_atomically
from phrasescore.runs.json_files import write_json
from phrasescore.runs.results import RESULT, Optimized, TunedRound, TuningRecord
from tuning.loop.decoding import NBestDecoder, Say, check_dev_set, prepare, read_source
from tuning.loop.lists import ScoredList, read_scored, with_empty_translations
from tuning.loop.score_benefit import estimate_benefits
from tuning.loop.tuning_settings import TuningSettings
from tuning.loop.weights import WeightPlan, read_weights_file
from tuning.loop.work_folder import WEIGHTS, RoundFolder, WorkFolder, read_json
from tuning.metrics.metric_scores import CandidateStatistics, objective_score
from tuning.metrics.score_tables import benefit_in_words, points
from tuning.metrics.significance import mean_and_deviation
from tuning.optimizers.candidate_pool import CandidatePool
from tuning.optimizers.optimizer import Weights, rounded

# as in Moses: if every weight changes by less than this, the weights have converged
_SAME_WEIGHT = 1e-5
_FIGURES = ("score", "start_score", "seconds")  # the numbers in an optimized.json


@dataclass(frozen=True)
class TuningTask:
    """The parts that the runs of all seeds share.

    Args:
        settings: The settings of tuning.
        ini: The system to tune.
        plan: The weights to tune.
        statistics: The references and the objective.
        decoder: The decoder that writes n-best lists.
        provenance: The inputs and settings behind the result.
        say: Prints a line for the user.
    """

    settings: TuningSettings
    ini: MosesIni
    plan: WeightPlan
    statistics: CandidateStatistics
    decoder: NBestDecoder
    provenance: Mapping[str, Any]
    say: Say

    def record(self, weights: Mapping[str, tuple[float, ...]], **more: Any) -> TuningRecord:
        """Return a tuning record with these weights and the fields in ``more``."""
        return TuningRecord(
            objective=str(self.settings.objective),
            weights=dict(weights),
            provenance=dict(self.provenance),
            **more,
        )


@dataclass(frozen=True)
class TuningResult:
    """The result of one run.

    Attributes:
        seed: The seed of the run.
        folder: The work folder of the run.
        best: The round whose decoding scored best on the dev set.
        rounds: All rounds.
        why: The reason why the run ended.
        weights: The weights of the best round, by feature.
    """

    seed: int
    folder: Path
    best: TunedRound
    rounds: tuple[TunedRound, ...]
    why: str
    weights: Mapping[str, tuple[float, ...]]


class Tuning:
    """Runs the loop in a work folder, and continues where an earlier process stopped."""

    def __init__(self, task: TuningTask, seed: int, work: WorkFolder) -> None:
        self._task, self._seed, self._work = task, seed, work
        self._plan, self._objective = task.plan, task.settings.objective
        self._rounds: list[TunedRound] = []
        self._fixed = bool(task.plan.hidden or task.plan.sparse_weights)
        features = task.plan.layout.nbest.size + self._fixed
        self._pool = CandidatePool(len(task.statistics), features, task.statistics.columns)

    def run(self) -> TuningResult:
        """Run rounds until a stop rule applies, and write the result.

        Raises:
            PhrasescoreError: The decoder failed, or a list is damaged; the files of finished steps
                stay, and the same call continues after them.
        """
        plan = self._plan
        problem = plan.problem(self._pool.arrays, self._objective)
        weights = rounded(problem.start[: len(plan.names)], scalable=problem.is_scalable)
        self._write_progress(weights)
        while True:
            folder = self._work.round(len(self._rounds) + 1)
            weights = self._decode(folder, weights)
            self._rounds.append(self._score(folder, weights))
            why = self._reason_after_decoding()
            if why is None:
                following = self._optimize(folder, weights)
                if np.abs(following - weights).max() < _SAME_WEIGHT:
                    why = "the weights no longer change"
                weights = following
            if why is not None:
                return self._finished(why)
            self._write_progress(weights)

    def _write_progress(self, weights: Weights) -> None:
        complete = self._plan.complete(weights)
        self._task.record(complete, curve=tuple(self._rounds)).write(self._work.path / RESULT)

    def _decode(self, folder: RoundFolder, weights: Weights) -> Weights:
        """Decode the round unless its list exists; return the weights of this decoding."""
        if folder.weights.exists():
            weights = self._plan.tuned({**self._plan.start, **read_weights_file(folder.weights)})
        complete = self._plan.complete(weights)
        if not folder.nbest.exists():
            write_atomically(folder.ini, self._task.ini.with_weights(complete).to_bytes())
            write_json(folder.weights, {"weights": complete})
            sentences = len(self._task.statistics)
            self._task.say(f"round {folder.number}: decoding {sentences:,} sentences")
            size = self._task.settings.nbest_size
            self._task.decoder.write_nbest(complete, size, folder.nbest, folder.log)
        return weights

    def _score(self, folder: RoundFolder, weights: Weights) -> TunedRound:
        """Add the candidates of a round to the pool, and score the decoder's first choices."""
        scored = self._read(folder)
        for note in scored.notes:
            self._task.say(f"note: {note}")
        fixed = scored.fixed_part(weights) if self._fixed else None
        new = scored.add_to(self._pool, fixed)
        decoded = TunedRound(
            number=folder.number,
            weights=dict(zip(self._plan.names, weights.tolist(), strict=True)),
            score=objective_score(self._objective, scored.decoded),
            bleu=scored.decoder_bleu,
            length_ratio=scored.length_ratio,
            new=new,
            candidates=len(self._pool),
        )
        self._task.say(
            f"round {folder.number}: {self._objective} {points(decoded.score)}, "
            f"length ratio {decoded.length_ratio:.3f}, "
            f"{new:,} new of {decoded.candidates:,} candidates"
        )
        return decoded

    def _read(self, folder: RoundFolder) -> ScoredList:
        try:
            return read_scored(
                folder.nbest,
                self._task.statistics,
                expected=self._plan.expected,
                sparse_weights=self._plan.sparse_weights,
            )
        except InputError as error:
            error.remedy = (
                f"{error.remedy or 'look at the list'}; to decode this round again, delete "
                f"{folder.nbest} and run the same command"
            )
            raise

    def _optimize(self, folder: RoundFolder, weights: Weights) -> Weights:
        """Return weights optimised over the pool, or the weights that an earlier process found."""
        if folder.optimized.exists():
            content = read_json(folder.optimized, numbers=_FIGURES)
        else:
            pool = with_empty_translations(self._pool, self._task.statistics)
            problem = self._plan.problem(pool, self._objective, weights)
            begin = time.perf_counter()
            rng = np.random.default_rng([self._seed, folder.number])
            solution = self._task.settings.choose_optimizer()(problem, rng)
            content = {
                "weights": self._plan.complete(solution.weights[: len(weights)]),
                "score": solution.score,
                "start_score": solution.start_score,
                "seconds": round(time.perf_counter() - begin, 3),
                "notes": list(solution.notes),
            }
            write_json(folder.optimized, content)
            for note in solution.notes:
                self._task.say(f"note: {note}")
        optimized = Optimized(**{key: content[key] for key in _FIGURES})
        self._rounds[-1] = dataclasses.replace(self._rounds[-1], optimized=optimized)
        self._task.say(
            f"round {folder.number}: over all candidates {points(content['start_score'])} -> "
            f"{points(content['score'])} ({content['seconds']:.1f} s)"
        )
        return self._plan.tuned({**self._plan.start, **read_weights_file(folder.optimized)})

    def _reason_after_decoding(self) -> str | None:
        settings, rounds = self._task.settings, self._rounds
        if rounds[-1].new == 0:
            return "no new candidates"
        if len(rounds) > settings.rounds:
            return f"{counted(settings.rounds, 'round')} of optimisation"
        if settings.patience and len(rounds) - _best(rounds).number >= settings.patience:
            return f"no better score in {counted(settings.patience, 'round')}"
        return None

    def _finished(self, why: str) -> TuningResult:
        path, rounds, task = self._work.path, tuple(self._rounds), self._task
        best = _best(rounds)
        weights = np.array([*best.weights.values()])
        complete = self._plan.complete(weights)
        pool = with_empty_translations(self._pool, task.statistics)
        benefits = estimate_benefits(self._plan, pool, weights, task.settings)
        for benefit in benefits:
            task.say(f"note: {benefit_in_words(benefit, str(self._objective))}")
        write_atomically(path / "moses.ini", task.ini.with_weights(complete).to_bytes())
        record = task.record(
            complete,
            curve=rounds,
            bleu=best.bleu,
            score=best.score,
            round=best.number,
            rounds=len(rounds),
            why=why,
            benefits=benefits,
        )
        record.write(path / RESULT)
        # leave the rounds out: their times differ, but equal runs should write equal files
        dataclasses.replace(record, curve=()).write(path / WEIGHTS)
        return TuningResult(self._seed, path, best, rounds, why, complete)


def _best(rounds: Sequence[TunedRound]) -> TunedRound:
    """Return the round with the best score (the first, if several are equal)."""
    return max(rounds, key=lambda decoded: decoded.score)


@dataclass(frozen=True)
class TuningReport:
    """The results of all runs.

    Attributes:
        runs: The results of the runs, in the order of their seeds.
        ini: The tuned system, with the weights of the best run.
    """

    runs: tuple[TuningResult, ...]
    ini: Path

    @property
    def best_run(self) -> TuningResult:
        """The run with the best score on the dev set (the first, if several are equal)."""
        return max(self.runs, key=lambda run: run.best.score)

    def mean_and_deviation(self) -> tuple[float, float | None]:
        """Return the mean and the deviation of the runs' scores on the dev set."""
        return mean_and_deviation([run.best.score for run in self.runs])


def tune(settings: TuningSettings, output: str | Path, say: Say) -> TuningReport:
    """Tune a system; the same call continues a run that was stopped.

    Args:
        settings: The settings of tuning.
        output: The work folder.
        say: Prints a line for the user.

    Raises:
        PhrasescoreError: The input cannot be used, the decoder failed, or the folder belongs to
            another run; finished steps stay.
    """
    ini = MosesIni.read(settings.ini)
    if ini.values("alternate-weight-setting"):
        raise ini.error(
            "the section [alternate-weight-setting] would override the tuned weights",
            remedy="move its content to [feature] and [weight]",
        )
    searched = with_sections(ini, settings.sections.items())
    if settings.decoder == "embedded":
        SearchSettings.from_ini(searched)  # find a wrong value before the folder is made
    plan = WeightPlan.from_ini(ini).with_frozen(settings.freeze)
    texts = CandidateStatistics.read(
        settings.references, settings.objective, settings.reference_length
    )
    _check_lines(settings, len(texts), say)
    several = settings.runs > 1
    identity = {**settings.identity(ini), "several seeds": several}
    with WorkFolder(Path(output)).opened(identity) as work:
        decoder, tables = prepare(settings, searched, work.path)
        for table in tables:
            say(f"{table.name}: {table.kept:,} of {table.lines:,} lines match this text")
        filtered = MosesIni.read(work.path / "filtered" / INI_NAME)
        check_dev_set(ini, filtered, settings.source, settings.references, say)
        task = TuningTask(settings, ini, plan, texts, decoder, settings.provenance(), say)
        if several:
            return _run_seeds(task, work)
        result = Tuning(task, settings.seed, work).run()
        return TuningReport((result,), work.path / "moses.ini")


def _run_seeds(task: TuningTask, work: WorkFolder) -> TuningReport:
    """Run once for each seed; decode the first round, which all seeds share, only once."""
    runs: list[TuningResult] = []
    begun = TuningRecord(objective=str(task.settings.objective), weights={}, seeds=[])
    begun.write(work.path / RESULT)
    for seed in range(task.settings.seed, task.settings.seed + task.settings.runs):
        own = {**task.settings.identity(task.ini), "seed": seed}
        with WorkFolder(own_folder(work.path / f"seed{seed}")).opened(own) as folder:
            if runs:
                folder.round(1).adopt(WorkFolder(runs[0].folder).round(1))
            task.say(f"seed {seed}: {folder.path}")
            runs.append(Tuning(task, seed, folder).run())
    report = TuningReport(tuple(runs), work.path / "moses.ini")
    best = report.best_run
    mean, deviation = report.mean_and_deviation()
    record = task.record(
        best.weights,
        bleu=best.best.bleu,
        score=best.best.score,
        seed=best.seed,
        mean=mean,
        deviation=deviation,
        seeds=[
            {
                "seed": run.seed,
                "folder": run.folder.name,
                "bleu": run.best.bleu,
                "score": run.best.score,
                "round": run.best.number,
                "rounds": len(run.rounds),
                "why": run.why,
            }
            for run in runs
        ],
    )
    write_atomically(report.ini, read_regular(best.folder / "moses.ini"))
    record.write(work.path / RESULT)
    record.write(work.path / WEIGHTS)
    return report


def _check_lines(settings: TuningSettings, references: int, say: Say) -> None:
    """Raise if source and references differ in length; tell the user about empty lines."""
    lines = read_source(settings.source)
    if len(lines) != references:
        raise CorpusError(
            f"{len(lines):,} lines, but {references:,} in {settings.references[0]}",
            path=settings.source,
            remedy="each line of the source must be translated by the same line of the references",
        )
    if empty := sum(not line for line in lines):
        say(
            f"note: {empty} of {len(lines):,} lines of {settings.source} are empty; their "
            "translations are empty, too"
        )
