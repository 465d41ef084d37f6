"""The outer loop of tuning: decode, merge, optimise, repeat; keep the weights that decode best.

Each round decodes the dev set with the current weights, adds the candidates to the pool of all
earlier rounds, and optimises the weights over the whole pool. The decoded dev set is the judge: the
result is the weights of the round whose decoded translations score best.

Weights found over a pool are only a proposal. If the pool has no good translations of the right
length, the weights that choose best in it lie far outside of what it supports, and decoding with
them gives translations several times too long. So every optimisation starts from the weights that
decoded best so far, and the next round decodes with weights within a trust region around them. The
region shrinks with every round that decodes worse, and grows again with every better one. As long
as no round beats the start weights, every third step ignores the region.

A run ends after ``rounds`` optimisations, when a round finds no new candidate, or when no weight
changes. The dev set is also decoded with the last optimised weights. ``tune`` runs this loop once,
or once for each seed; then it also decodes with the average of the runs' weights. All seeds share
the decoding of the first round.

Each decoding and each optimisation is a step of the ledger in ``steps/``, so a stopped run
continues after the last finished step. A round's folder has its system and its n-best list.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from moses_integration.decoder.settings import SearchSettings
from moses_integration.ini.edits import with_sections
from moses_integration.ini.model_files import absolute_if_possible, with_absolute_paths
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.ini.rescoring_file import RESCORING
from moses_integration.real_moses import DecoderError
from moses_integration.tables.copying import INI_NAME
from moses_integration.text.preparation import carry_settings
from phrasescore.closed_settings import from_mapping
from phrasescore.errors import InputError, counted
from phrasescore.runs.final_names import own_folder, remove, write_atomically
from phrasescore.runs.ledger import Ledger, Step, begin, entry_of
from phrasescore.runs.lock import held
from phrasescore.runs.progress import Say
from phrasescore.runs.results import RESULT
from tuning.loop.decoding import FILTERED, SOURCE, NBestDecoder, check_dev_set, prepare, read_source
from tuning.loop.lists import estimate_benefits, read_scored, with_empty_translations
from tuning.loop.second_step import Scores, SecondStep
from tuning.loop.trust_region import radius_after, within_trust
from tuning.loop.tuning_settings import (
    LIMITS,
    Optimized,
    ScoreBenefit,
    TunedRound,
    TuningRecord,
    TuningSettings,
    warnings_about,
)
from tuning.loop.weights import WEIGHTS, WeightPlan
from tuning.metrics.metric_scores import CandidateStatistics, objective_score
from tuning.metrics.metric_settings import points
from tuning.metrics.significance import mean_and_deviation
from tuning.optimizers.candidate_pool import CandidatePool
from tuning.optimizers.optimizer import Weights, rounded

_STEPS = "steps"
# as in Moses: if every weight changes by less than this, the weights have converged
_SAME_WEIGHT = 1e-5
# the fields of a run's record that the record of several runs repeats
_OF_A_RUN = "bleu", "score", "round", "rounds", "why"


@dataclass(frozen=True)
class TuningTask:
    """The parts that the runs of all seeds share.

    Args:
        settings: The settings of tuning.
        ini: The system to tune, with the settings of the search.
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
    provenance: Mapping[str, object]
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
        seed: The seed of the run; ``None`` for the average of several runs.
        folder: The work folder of the run.
        best: The round whose decoding scored best on the dev set.
        rounds: All rounds.
        why: The reason why the run ended.
        weights: The weights of the best round, by feature.
        benefits: The estimated benefit of each score that is ln p of a model.
        record: The content of the run's ``weights.json``.
        nbest: The n-best list of the best round.
    """

    seed: int | None
    folder: Path
    best: TunedRound
    rounds: tuple[TunedRound, ...]
    why: str
    weights: Mapping[str, tuple[float, ...]]
    benefits: tuple[ScoreBenefit, ...] = ()
    record: TuningRecord | None = None
    nbest: Path = Path()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about a run that brought nothing, still rose, or ran away."""
        return tuple(warnings_about(self.rounds, self.best)) if self.seed is not None else ()


@dataclass(frozen=True, kw_only=True)
class _Proposal(Optimized):
    """The result of an optimisation, and the weights to decode with next, by feature."""

    weights: dict[str, tuple[float, ...]]


class Tuning:
    """Runs the loop, and continues where an earlier process stopped.

    Args:
        task: The parts that all runs share.
        seed: The seed of the run; ``None`` for the average of several runs.
        ledger: The ledger in the work folder.
        name: The folder of this run in the work folder, if there are several runs.
    """

    def __init__(self, task: TuningTask, seed: int | None, ledger: Ledger, name: str = "") -> None:
        self._task, self._seed, self._ledger = task, seed, ledger
        folder = ledger.folder.parent
        self._folder = own_folder(folder / name) if name else folder
        self._begin = f"{name}." if name else ""  # of the names of steps
        self._lists: list[Path] = []
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
        while True:
            progress = self._task.record(plan.complete(weights), curve=tuple(self._rounds))
            progress.write(self._folder / RESULT)
            self._rounds.append(self._decode(weights))
            rounds, limit, why = self._rounds, self._task.settings.rounds, ""
            if rounds[-1].new == 0 and rounds[-2].optimized.share == 1:
                why = "no new candidates"
            elif len(rounds) > limit:
                why = f"{counted(limit, 'round')} of optimisation"
            else:
                following = self._optimize()
                decoded = np.array([[*each.weights.values()] for each in rounds])
                if np.abs(decoded - following).max(1).min() < _SAME_WEIGHT:
                    why = "the weights no longer change"
                weights = following
            if why:
                return self._finished(why)

    def decode_once(self, weights: Weights, why: str) -> TuningResult:
        """Decode with (T,) given weights, without optimisation, and write the system."""
        scalable = self._plan.problem(self._pool.arrays, self._objective).is_scalable
        weights = rounded(weights, scalable=scalable)
        complete = self._plan.complete(weights)
        decoded = self._decode(weights)
        self._write_ini(complete)
        rounds, nbest = (decoded,), self._lists[0]
        return TuningResult(self._seed, self._folder, decoded, rounds, why, complete, nbest=nbest)

    def _write_ini(self, complete: Mapping[str, Sequence[float]]) -> None:
        write_atomically(self._folder / INI_NAME, self._task.ini.with_weights(complete).to_bytes())

    def _decode(self, weights: Weights) -> TunedRound:
        """Decode the next round unless that is done, and score it."""
        number, complete = len(self._rounds) + 1, self._plan.complete(weights)
        folder, begin = self._folder, self._begin
        if number == 1 and self._seed is not None:  # all seeds begin with the same weights
            folder, begin = self._ledger.folder.parent, ""
        folder = folder / f"round{number:02d}"
        nbest = folder / "nbest.gz"

        def decode() -> None:
            task = self._task
            write_atomically(folder / INI_NAME, task.ini.with_weights(complete).to_bytes())
            task.say(f"round {number}: decoding {len(task.statistics):,} sentences")
            size, log = task.settings.nbest_size, folder / "decoder.log"
            task.decoder.write_nbest(complete, size, nbest, log)

        step = Step(f"{begin}decode.{number}", decode, {"weights": complete}, (), (nbest,))
        self._ledger.do(step, self._task.say, outputs_are_whole=True)
        self._lists.append(nbest)
        return self._score(number, weights)

    def _score(self, number: int, weights: Weights) -> TunedRound:
        """Add the candidates of a round to the pool, and score the decoder's first choices."""
        nbest, plan, statistics = self._lists[-1], self._plan, self._task.statistics
        expected, sparse = plan.expected, plan.sparse_weights
        try:
            scored = read_scored(nbest, statistics, expected=expected, sparse_weights=sparse)
        except InputError as error:
            error.remedy = (
                f"{error.remedy or 'look at the list'}; to decode this round again, delete "
                f"{nbest} and run the same command"
            )
            raise
        for note in scored.notes:
            self._task.say(f"note: {note}")
        new = scored.add_to(self._pool, scored.fixed_part(weights) if self._fixed else None)
        decoded = TunedRound(
            number=number,
            weights=dict(zip(plan.names, weights.tolist(), strict=True)),
            score=objective_score(self._objective, scored.decoded),
            bleu=scored.decoder_bleu,
            length_ratio=scored.length_ratio,
            new=new,
            candidates=len(self._pool),
        )
        self._task.say(
            f"round {number}: {self._objective} {points(decoded.score)}, "
            f"length ratio {decoded.length_ratio:.3f}, "
            f"{new:,} new of {decoded.candidates:,} candidates"
        )
        return decoded

    def _optimize(self) -> Weights:
        """Return the weights of the next round, optimised within the trust region."""
        best, plan, task, number = _best(self._rounds), self._plan, self._task, len(self._rounds)

        def optimize() -> dict[str, Any]:
            task.say(f"round {number}: optimising over {len(self._pool):,} candidates")
            start = np.array([*best.weights.values()])
            pool = with_empty_translations(self._pool, task.statistics)
            problem = plan.problem(pool, self._objective, start)
            rng = np.random.default_rng([self._seed or 0, number])
            solution = task.settings.choose_optimizer(near=True)(problem, rng)
            for note in solution.notes:
                task.say(f"note: {note}")
            found = solution.weights[: len(start)]
            following, share = within_trust(problem, found, radius_after(self._rounds))
            scores = {"score": solution.score, "start_score": solution.start_score}
            weights = {name: list(values) for name, values in plan.complete(following).items()}
            return {**scores, "share": share, "weights": weights}

        name = f"{self._begin}optimize.{number}"
        step = Step(name, optimize, {"seed": self._seed}, tuple(self._lists), ())
        outcome = self._ledger.do(step, task.say)
        proposal = from_mapping(_Proposal, outcome.counts, where=str(self._ledger.path(name)))
        score, start_score, share = proposal.score, proposal.start_score, proposal.share
        optimized = Optimized(score, start_score, outcome.seconds, share)
        self._rounds[-1] = dataclasses.replace(self._rounds[-1], optimized=optimized)
        way = "" if share == 1 else f"; going {share:.0%} of the way from round {best.number}"
        task.say(
            f"round {number}: over all candidates {points(start_score)} -> {points(score)} "
            f"({outcome.seconds:.1f} s){way}"
        )
        return plan.tuned({**plan.start, **proposal.weights})

    def _finished(self, why: str) -> TuningResult:
        path, rounds, task = self._folder, tuple(self._rounds), self._task
        best = _best(rounds)
        weights = np.array([*best.weights.values()])
        complete = self._plan.complete(weights)
        pool = with_empty_translations(self._pool, task.statistics)
        benefits = estimate_benefits(self._plan, pool, weights, task.settings)
        for benefit in benefits:
            said = benefit.in_words(str(self._objective))
            task.say(f"note: {said}{benefit.unused_by('the search')}")
        if self._ledger.path(f"{self._begin}decode.{len(rounds) + 1}").exists():
            task.say("note: an earlier call made more rounds here; with more --rounds, they count")
        self._write_ini(complete)
        record = task.record(
            complete,
            curve=rounds,
            bleu=best.bleu,
            score=best.score,
            round=best.number,
            rounds=len(rounds),
            why=why,
            warnings=tuple(warnings_about(rounds, best)),
            benefits=benefits,
        )
        record.write(path / RESULT)
        # leave the rounds out: their times differ, but equal runs should write equal files
        brief = dataclasses.replace(record, curve=())
        brief.write(path / WEIGHTS)
        nbest = self._lists[best.number - 1]
        return TuningResult(self._seed, path, best, rounds, why, complete, benefits, brief, nbest)


def _best(rounds: Sequence[TunedRound]) -> TunedRound:
    """Return the round with the best score (the first, if several are equal)."""
    return max(rounds, key=lambda decoded: decoded.score)


@dataclass(frozen=True)
class TuningReport:
    """The results of all runs.

    Attributes:
        runs: The results of the runs, in the order of their seeds.
        ini: The tuned system, with the weights of the best run.
        average: The decoding with the average of the runs' weights, if there are several runs.
        record: The content of ``weights.json``.
    """

    runs: tuple[TuningResult, ...]
    ini: Path
    average: TuningResult | None = None
    record: TuningRecord | None = None

    @property
    def best_run(self) -> TuningResult:
        """The run with the best score on the dev set (the first, if several are equal).

        This is ``average`` if the average of the runs' weights decodes better than each of them.
        """
        everything = (*self.runs, self.average) if self.average else self.runs
        return max(everything, key=lambda run: run.best.score)

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
    second = Scores.of(settings, ini)
    frozen = [name for name in settings.freeze if second is None or name not in second.start]
    plan = WeightPlan.from_ini(ini).with_frozen(frozen)
    texts = CandidateStatistics.read(settings.references, settings.objective)
    for note in texts.notes:
        say(f"note: {note}")
    lines = read_source(settings, len(texts), say)
    folder, remedy = Path(output), "name a new folder, or use the settings and inputs of its run"
    with held(folder, inside=True):
        work = entry_of(settings.recorded(ini), settings.files)
        begin(folder, work, settings.files, remedy, LIMITS)
        (folder / RESCORING).unlink(missing_ok=True)  # it comes last, and only if models rescore
        try:
            decoder, tables = prepare(settings, searched, lines, folder)
            for table in tables:
                say(f"{table.name}: {table.kept:,} of {table.lines:,} lines match this text")
            check_dev_set(ini, MosesIni.read(folder / FILTERED / INI_NAME), lines, settings, say)
        except (InputError, DecoderError):
            if not (folder / _STEPS).exists():  # with only the record, a corrected run may begin
                for name in (FILTERED, SOURCE):
                    remove(folder / name)
            raise
        carry_settings(settings.ini, folder)
        placed = with_absolute_paths(searched, absolute_if_possible)
        task = TuningTask(settings, placed, plan, texts, decoder, settings.provenance(), say)
        ledger = Ledger(folder / _STEPS)
        if settings.runs > 1:
            report = _run_seeds(task, ledger, folder)
        else:
            result = Tuning(task, settings.seed, ledger).run()
            report = TuningReport((result,), folder / INI_NAME, record=result.record)
        return report if second is None else _with_second_step(task, report, ledger, second)


def _with_second_step(
    task: TuningTask, report: TuningReport, ledger: Ledger, second: Scores
) -> TuningReport:
    """Tune the choice among the candidates of the best run, and add it to the records."""
    best, settings = report.best_run, task.settings
    step = SecondStep(second, settings, task.decoder, best.weights, best.nbest, ledger, task.say)
    (found, rescoring), folder = step.run(), ledger.folder.parent
    assert report.record is not None
    record = dataclasses.replace(
        report.record,
        benefits=(*report.record.benefits, *found.benefits),
        rescoring=dataclasses.replace(found, benefits=()),
    )
    curve = best.rounds if len(report.runs) == 1 else ()
    dataclasses.replace(record, curve=curve).write(folder / RESULT)
    record.write(folder / WEIGHTS)
    rescoring.write(folder)  # last, because a folder that has it is finished
    return dataclasses.replace(report, record=record)


def _run_seeds(task: TuningTask, ledger: Ledger, folder: Path) -> TuningReport:
    """Run once for each seed, and decode with the average of the weights."""
    runs: list[TuningResult] = []
    begun = TuningRecord(objective=str(task.settings.objective), weights={}, seeds=[])
    begun.write(folder / RESULT)
    for seed in range(task.settings.seed, task.settings.seed + task.settings.runs):
        tuning = Tuning(task, seed, ledger, f"seed{seed}")
        carry_settings(folder, folder / f"seed{seed}")
        task.say(f"seed {seed}: {folder / f'seed{seed}'}")
        runs.append(tuning.run())
    # Cettolo et al. (2011); without frozen weights, absolute values of weights already add up to 1
    task.say(f"average of {counted(len(runs), 'run')}: {folder / 'average'}")
    mean_weights = np.mean([[*run.best.weights.values()] for run in runs], axis=0)
    why = f"the average of {len(runs)} runs"
    average = Tuning(task, None, ledger, "average").decode_once(mean_weights, why)
    report = TuningReport(tuple(runs), folder / INI_NAME, average)
    best = report.best_run
    mean, deviation = report.mean_and_deviation()
    record = task.record(
        best.weights,
        bleu=best.best.bleu,
        score=best.best.score,
        seed=best.seed,
        mean=mean,
        deviation=deviation,
        average=average.best.score,
        warnings=best.warnings,
        benefits=max(runs, key=lambda run: run.best.score).benefits,
        seeds=[
            {"seed": run.seed, "folder": run.folder.name}
            | {name: getattr(run.record, name) for name in _OF_A_RUN}
            for run in runs
        ],
    )
    write_atomically(report.ini, task.ini.with_weights(best.weights).to_bytes())
    record.write(folder / RESULT)
    record.write(folder / WEIGHTS)
    return dataclasses.replace(report, record=record)
