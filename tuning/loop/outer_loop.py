"""The outer loop of tuning: decode, merge, optimise, repeat; the weights that decode best win.

Each round decodes the dev set with the weights in force, adds the candidates to those of all
rounds before, and finds weights for all of them together. It ends when a rule of ``StopRules``
says so; the weights of the last optimisation are decoded too, and of all decoded weights those
with the best score on the dev set are the result. ``tune`` does this once, or once for each seed.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from moses_integration.ini.feature_kinds import TEXT_TABLE_KINDS
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.tables.filtering import INI_NAME
from phrasescore.errors import CorpusError, IniError, InputError
from phrasescore.runs.file_kinds import read_regular
from phrasescore.runs.final_names import own_folder, write_atomically
from phrasescore.runs.json_files import write_json
from phrasescore.runs.results import RESULT, Optimized, TunedRound, TuningRecord
from tuning.loop.decoding import NBestDecoder, Say, check_dev_set, prepare, read_source
from tuning.loop.lists import ScoredList, read_scored, with_empty_translations
from tuning.loop.tuning_settings import StopRules, TuningSettings
from tuning.loop.weights import WeightPlan, read_weights_file
from tuning.loop.work_folder import WEIGHTS, RoundFolder, WorkFolder, curve_line, read_json
from tuning.metrics.metric_scores import CandidateStatistics, objective_score
from tuning.metrics.score_tables import points
from tuning.metrics.significance import mean_and_deviation
from tuning.optimizers.candidate_pool import CandidatePool
from tuning.optimizers.optimizer import Optimizer, Weights, written

# Moses's: no weight moved by this much
_SAME_WEIGHT = 1e-5
_FIGURES = ("score", "start_score", "seconds")  # of an optimisation


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
    best: TunedRound
    rounds: tuple[TunedRound, ...]
    why: str
    weights: Mapping[str, tuple[float, ...]]


class Tuning:
    """Runs the loop in a work folder, going on where an earlier process stopped."""

    def __init__(self, task: TuningTask, decoder: NBestDecoder, work: WorkFolder, say: Say) -> None:
        self._task, self._decoder, self._work, self._say = task, decoder, work, say
        self._rounds: list[TunedRound] = []
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
        self._record(self._task.plan.complete(weights)).write(self._work.path / RESULT)
        while True:
            folder = self._work.round(len(self._rounds) + 1)
            weights = self._decode(folder, weights)
            self._rounds.append(self._score(folder, weights))
            why = self._reason_after_decoding()
            if why is None:
                following = self._optimize(folder, weights)
                if self._task.stop.weights and np.abs(following - weights).max() < _SAME_WEIGHT:
                    why = "the weights no longer change"
                weights = following
            self._work.write_curve(self._rounds)
            if why is not None:
                return self._finished(why)
            self._record(self._task.plan.complete(weights)).write(self._work.path / RESULT)

    def _record(self, weights: Mapping[str, tuple[float, ...]], **more: Any) -> TuningRecord:
        """Return the record of the rounds so far."""
        return TuningRecord(
            objective=str(self._task.statistics.objective),
            curve=tuple(self._rounds),
            weights=dict(weights),
            tables=phrase_tables(self._task.ini),
            provenance=dict(self._task.provenance),
            **more,
        )

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

    def _score(self, folder: RoundFolder, weights: Weights) -> TunedRound:
        scored = self._read(folder)
        for note in scored.notes:
            self._say(f"note: {note}")
        fixed = scored.fixed_part(weights) if self._fixed else None
        new = scored.add_to(self._pool, fixed)
        decoded = TunedRound(
            number=folder.number,
            weights=dict(zip(self._task.plan.names, weights.tolist(), strict=True)),
            score=objective_score(self._task.statistics.objective, scored.decoded),
            bleu=scored.decoder_bleu,
            length_ratio=scored.length_ratio,
            new=new,
            candidates=len(self._pool),
        )
        write_json(folder.scores, curve_line(decoded))
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
        optimized = Optimized(**{key: content[key] for key in _FIGURES})
        self._rounds[-1] = dataclasses.replace(self._rounds[-1], optimized=optimized)
        self._say(
            f"round {folder.number}: over all candidates {points(content['start_score'])} -> "
            f"{points(content['score'])} ({content['seconds']:.1f} s)"
        )
        return plan.tuned({**plan.start, **read_weights_file(folder.optimized)})

    def _reason_after_decoding(self) -> str | None:
        stop, rounds = self._task.stop, self._rounds
        if rounds[-1].new == 0:
            return "no new candidates"
        if len(rounds) > stop.rounds:
            return f"{_rounds(stop.rounds)} of optimisation"
        best = _best(rounds)
        if stop.patience and len(rounds) - best.number >= stop.patience:
            return f"no better score in {_rounds(stop.patience)}"
        return None

    def _finished(self, why: str) -> TuningResult:
        rounds = self._rounds
        best = _best(rounds)
        complete = self._task.plan.complete(np.array([*best.weights.values()]))
        write_atomically(
            self._work.path / "moses.ini", self._task.ini.with_weights(complete).to_bytes()
        )
        record = self._record(
            complete,
            bleu=best.bleu,
            score=best.score,
            round=best.number,
            rounds=len(rounds),
            why=why,
        )
        record.write(self._work.path / RESULT)
        # without the rounds, whose seconds differ from run to run
        dataclasses.replace(record, curve=()).write(self._work.path / WEIGHTS)
        return TuningResult(self._task.seed, self._work.path, best, tuple(rounds), why, complete)


def _best(rounds: Sequence[TunedRound]) -> TunedRound:
    """The round with the best score, the first of equals."""
    return max(rounds, key=lambda decoded: (decoded.score, -decoded.number))


def phrase_tables(ini: MosesIni) -> dict[str, str]:
    """Return the phrase tables in text form that an ini names, by feature."""
    return {
        line.name: line.options["path"]
        for line in ini.features
        if line.kind in TEXT_TABLE_KINDS and "path" in line.options
    }


def _rounds(count: int) -> str:
    return "1 round" if count == 1 else f"{count} rounds"


# they would overrule the weights of every round
_OTHER_WEIGHTS = ("weight-overwrite", "feature-overwrite", "alternate-weight-setting")


@dataclass(frozen=True)
class TuningReport:
    """The results of all runs.

    Args:
        runs: In the order of their seeds.
        ini: The tuned system, with the weights of the best run.
    """

    runs: tuple[TuningResult, ...]
    ini: Path

    @property
    def best_run(self) -> TuningResult:
        """The run that decoded the dev set best, the first of equals."""
        return max(self.runs, key=lambda run: run.best.score)

    def mean_and_deviation(self) -> tuple[float, float | None]:
        """Of the objective that the runs reach on the dev set."""
        return mean_and_deviation([run.best.score for run in self.runs])


def tune(settings: TuningSettings, output: str | Path, say: Say) -> TuningReport:
    """Tune a system; the same call continues a run that was stopped.

    Args:
        settings: What and how.
        output: The work folder.
        say: Takes lines for the user.

    Raises:
        PhrasescoreError: The input cannot be used, the decoder failed, or the folder belongs to
            another run; what is done stays.
    """
    ini = _read_ini(settings.ini)
    plan = WeightPlan.from_ini(ini).restricted(settings.freeze, settings.bounds)
    texts = CandidateStatistics(settings.references, settings.objective, settings.reference_length)
    _check_lines(settings, len(texts), say)
    task = TuningTask(
        ini=ini,
        plan=plan,
        statistics=texts,
        optimizer=settings.optimizer.build(),
        nbest_size=settings.nbest_size,
        seed=settings.seed,
        stop=settings.stop,
        provenance=settings.provenance(),
    )
    several = settings.runs > 1
    identity = {**settings.identity(ini), "several seeds": several}
    with WorkFolder(Path(output)).opened(identity) as work:
        decoder, tables = prepare(settings.decoder, ini, settings.source, work.path)
        for table in tables:
            say(f"{table.name}: {table.kept:,} of {table.lines:,} lines are for this text")
        filtered = MosesIni.read(work.path / "filtered" / INI_NAME)
        check_dev_set(ini, filtered, settings.source, settings.references, say)
        if several:
            return _several(settings, task, decoder, work, say)
        result = Tuning(task, decoder, work, say).run()
        return TuningReport((result,), work.path / "moses.ini")


def _several(
    settings: TuningSettings, task: TuningTask, decoder: NBestDecoder, work: WorkFolder, say: Say
) -> TuningReport:
    """Run once for each seed; the first round, which is the same for all, is decoded once."""
    runs: list[TuningResult] = []
    begun = TuningRecord(objective=str(task.statistics.objective), weights={}, seeds=[])
    begun.write(work.path / RESULT)
    for seed in settings.seeds:
        own = {**settings.identity(task.ini), "seed": seed}
        with WorkFolder(own_folder(work.path / f"seed{seed}")).opened(own) as folder:
            if runs:
                folder.round(1).adopt(WorkFolder(runs[0].folder).round(1))
            say(f"seed {seed}: {folder.path}")
            own_task = dataclasses.replace(task, seed=seed)
            runs.append(Tuning(own_task, decoder, folder, say).run())
    report = TuningReport(tuple(runs), work.path / "moses.ini")
    _write_summary(report, work, task)
    return report


def _write_summary(report: TuningReport, work: WorkFolder, task: TuningTask) -> None:
    best = report.best_run
    mean, deviation = report.mean_and_deviation()
    record = TuningRecord(
        objective=str(task.statistics.objective),
        weights=dict(best.weights),
        tables=phrase_tables(task.ini),
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
            for run in report.runs
        ],
        provenance=dict(task.provenance),
    )
    write_atomically(report.ini, read_regular(best.folder / "moses.ini"))
    record.write(work.path / RESULT)
    record.write(work.path / WEIGHTS)


def _read_ini(path: str) -> MosesIni:
    ini = MosesIni.read(path)
    ini.refuse_old_style()
    for section in _OTHER_WEIGHTS:
        if ini.values(section):
            raise IniError(
                f"a [{section}] section, which would overrule the tuned weights",
                path=path,
                remedy="write what it says into [feature] and [weight]",
            )
    return ini


def _check_lines(settings: TuningSettings, references: int, say: Say) -> None:
    """Refuse texts of different lengths, and tell of lines that nothing can be learned from."""
    lines = read_source(settings.source)
    if len(lines) != references:
        raise CorpusError(
            f"{len(lines):,} lines, but {references:,} in {settings.references[0]}",
            path=settings.source,
            remedy="line i of the one must be the translation of line i of the other",
        )
    if empty := sum(not line for line in lines):
        say(
            f"note: {empty} of {len(lines):,} lines of {settings.source} are empty: they stay, "
            "and their translations are empty"
        )
