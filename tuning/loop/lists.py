"""Reads n-best lists into a pool of scored candidates, and optimises weights over them.

After an optimisation, the gain is estimated that a system owes to each score that is ln p of a
model. The estimate is twofold: weights are optimised on the even sentences and choose the
candidates of the odd ones, and the other way round, once with the score and once with its weight
fixed at 0. The gain is the difference in the objective of all sentences together. It is an estimate
over lists: the decoder found all candidates with one system, so without the score it might have
found others.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moses_integration.bleu import COLUMNS, bleu_of_sums, reference_mismatch
from moses_integration.ini.feature_kinds import FEATURE_KINDS, OWN_KINDS, PHRASE_TABLE_KINDS
from moses_integration.ini.feature_weights import Feature, listed_sizes
from moses_integration.nbest.arrays import Candidates, NBestReader
from moses_integration.nbest.format import other_text
from phrasescore.errors import IniError, NBestError, SettingsError, counted
from phrasescore.model.kinds import KINDS
from phrasescore.runs.identity import provenance
from phrasescore.runs.progress import Progress
from tuning.loop.tuning_settings import AND, OptimizationSettings, ScoreBenefit
from tuning.loop.weight_files import read_plan
from tuning.loop.weights import WeightPlan
from tuning.metrics.metric_scores import CandidateStatistics, objective_score
from tuning.metrics.metric_settings import TEST_SEED, TRIALS, points
from tuning.metrics.significance import bootstrap, pooled_difference
from tuning.optimizers.candidate_pool import CandidatePool, PoolArrays, point_at
from tuning.optimizers.optimizer import Problem, Weights

_MIN_SENTENCES = 20  # with fewer, weights of half the sentences say nothing about the other half
_RESTARTS = 3  # an estimate needs fewer restarts of MERT than the weights themselves
TOGETHER = "rescoring"  # the name of all scores that choose among candidates
_TRAINED = 4  # the scores of a phrase table by Moses's training; models append further scores
# the usual names in lists, which do not show the classes of features
_MODELS = frozenset(kind.feature for kind in KINDS)
_TABLES = PHRASE_TABLE_KINDS | {"TranslationModel"}
_NO_MODELS = FEATURE_KINDS.keys() | {"LM", "TranslationModel"}


@dataclass(frozen=True)
class ScoredList:
    """One n-best list with the statistics of its candidates.

    Args:
        candidates: The N candidates of the list.
        statistics: (N, K) the candidates' statistics against the references.
        decoded: (K,) the summed statistics of the decoder's first choices; a sentence without a
            candidate counts as an empty translation.
        notes: Warnings for the user.
    """

    candidates: Candidates
    statistics: NDArray[np.int32]
    decoded: NDArray[np.int64]
    notes: tuple[str, ...]

    @property
    def decoder_bleu(self) -> float:
        """The BLEU of the decoder's first choices."""
        return float(bleu_of_sums(self.decoded[:COLUMNS]))

    @property
    def length_ratio(self) -> float:
        """The words of the decoder's first choices per reference word."""
        return float(self.decoded[1] / max(self.decoded[COLUMNS - 1], 1))

    def fixed_part(self, weights: Weights) -> NDArray[np.float64]:
        """Return (N,) model scores minus the weighted sum of the features shown in the list.

        Args:
            weights: (F,) the weights of the dense features that the list was decoded with.
        """
        return self.candidates.totals - self.candidates.features.astype(np.float64) @ weights

    def add_to(self, pool: CandidatePool, fixed: NDArray[np.float64] | None) -> int:
        """Add the candidates to the pool, and return the number of new candidates.

        Args:
            pool: The pool.
            fixed: (N,) the values of an extra feature; ``None`` if there is none.
        """
        features = self.candidates.features.astype(np.float32, copy=False)
        if fixed is not None:
            features = np.column_stack([features, fixed.astype(np.float32)])
        return pool.add(self.candidates.sentences, features, self.statistics)


def read_scored(
    path: str | Path,
    statistics: CandidateStatistics,
    *,
    expected: Mapping[str, int] | None = None,
    sparse_weights: Mapping[str, float] | None = None,
) -> ScoredList:
    """Read a list, check it against the references, and compute its statistics.

    Args:
        path: The list, plain or gzipped.
        statistics: The references and the objective.
        expected: The features that the list must have, in order, and how many values each has.
        sparse_weights: Weights of single sparse features.

    Raises:
        NBestError: The list is damaged, has other features, or has more sentences than the
            references.
    """
    known, words = statistics.references.vocabulary, statistics.needs_words
    found = NBestReader(path, known, sparse_weights=sparse_weights, with_words=words).read()
    if expected is not None and list(found.sizes.items()) != list(expected.items()):
        raise NBestError(
            f"the list has the features {listed_sizes(found.sizes)} (number of values); expected "
            f"{listed_sizes(expected)}",
            path=path,
            line=1,
            remedy="decode with this moses.ini; lists omit what tuneable=false and "
            "tuneable-components exclude",
        )
    if (last := int(found.sentences[-1])) >= len(statistics):
        raise NBestError(
            f"candidates of sentence {last} (counted from 0), but there are only "
            f"{len(statistics)} references",
            path=path,
            remedy="give the references of the same text, line by line",
        )
    rows = statistics.score(found.sentences, found.tokens, found.offsets, found.words)
    chosen = np.unique(found.sentences, return_index=True)[1]
    missing = np.setdiff1d(np.arange(len(statistics), dtype=np.int32), found.sentences)
    nothing = statistics.score_lines(missing, [b""] * len(missing))
    decoded = rows[chosen].sum(0, dtype=np.int64) + nothing.sum(0, dtype=np.int64)
    return ScoredList(found, rows, decoded, tuple(_notes(found, chosen, len(missing), path)))


def _notes(
    found: Candidates, chosen: NDArray[np.int64], missing: int, path: str | Path
) -> Iterator[str]:
    if missing:
        yield f"{path}: {missing} of {missing + len(chosen)} sentences have no candidate at all"
    # the only candidate of a sentence, such as that of an empty source, is not chosen
    is_choice = np.diff(chosen, append=len(found.sentences)) > 1
    if empty := int((is_choice & (np.diff(found.offsets)[chosen] == 0)).sum()):
        yield f"{path}: the decoder's choice for {counted(empty, 'sentence')} is empty"


def with_empty_translations(pool: CandidatePool, statistics: CandidateStatistics) -> PoolArrays:
    """Return the pool's arrays, with an empty translation for sentences without candidates.

    A decoder prints an empty line for a sentence it cannot translate, and the corpus score counts
    that line.
    """
    sentences = pool.empty_sentences.astype(np.int32)
    if not len(sentences):
        return pool.arrays
    filled = copy.copy(pool)
    rows = statistics.score_lines(sentences, [b""] * len(sentences))
    filled.add(sentences, np.zeros((len(sentences), len(pool.arrays.features)), np.float32), rows)
    return filled.arrays


@dataclass(frozen=True, kw_only=True)
class ListOptimization(OptimizationSettings):
    """Settings of one optimisation over existing n-best lists.

    Args:
        lists: N-best files, in the order of their rounds.
        start: A moses.ini or weights file with the start weights; ``None`` to give each feature
            equal influence. A feature missing from the file starts at 0.
    """

    lists: tuple[str, ...]
    start: str | None = None

    def provenance(self) -> dict[str, object]:
        """Return the digests of the inputs, the settings and the program version."""
        inputs = [*self.lists, *self.references, *([self.start] if self.start else [])]
        settings = self.without("lists", "references", "start")
        return provenance(inputs=inputs, settings=settings)


@dataclass(frozen=True)
class OptimizationReport:
    """The result of an optimisation over existing n-best lists.

    Args:
        weights: The weights by feature.
        score: The objective that the weights reach on the lists.
        start_score: The objective of the start weights.
        bleu: Corpus BLEU of the candidates that the weights choose.
        sentences: The number of sentences.
        candidates: The number of distinct candidates.
        seconds: The running time of the optimiser alone.
        notes: Warnings for the user, and the estimated benefit of each score that is ln p of a
            model.
        provenance: The inputs and settings behind the result.
        benefits: These benefits as numbers.
    """

    weights: dict[str, tuple[float, ...]]
    score: float
    start_score: float
    bleu: float
    sentences: int
    candidates: int
    seconds: float
    notes: tuple[str, ...]
    provenance: Mapping[str, object]
    benefits: tuple[ScoreBenefit, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the content of a weights file."""
        benefits = [dataclasses.asdict(benefit) for benefit in self.benefits]
        return {**vars(self), "seconds": round(self.seconds, 3), "benefits": benefits}


def optimize_lists(
    task: ListOptimization, second: Mapping[str, float] | None = None
) -> OptimizationReport:
    """Find the best weights for existing n-best lists.

    Args:
        task: The lists and the settings.
        second: The start weights of features that ``task.start`` lacks; only their benefits are
            estimated, alone and together with others.

    Raises:
        NBestError: A list is damaged or does not match the references or the start weights.
        SettingsError: The settings contradict each other.
    """
    statistics = CandidateStatistics.read(task.references, task.objective)
    second = second or {}
    plan, lists, notes = _read(task, statistics, second)
    sparse = bool(plan.sparse_weights)
    pool = CandidatePool(len(statistics), plan.layout.nbest.size + sparse, statistics.columns)
    for scored in lists:
        scored.add_to(pool, scored.candidates.sparse if sparse else None)
    problem = plan.problem(with_empty_translations(pool, statistics), task.objective)
    begin = time.perf_counter()
    solution = task.choose_optimizer()(problem, np.random.default_rng(task.seed))
    seconds = time.perf_counter() - begin
    first = max(objective_score(task.objective, scored.decoded) for scored in lists)
    if task.start is None and solution.score < first:
        notes.append(
            f"the first candidates of a list have {points(first)} {task.objective}, more than the "
            "result: with --start, begin with the weights of the system that made the list"
        )
    chosen = problem.statistics_of(solution.weights)
    notes += reference_mismatch(chosen, "the chosen translation")
    benefits = estimate_benefits(plan, problem.pool, solution.weights, task, tuple(second))
    notes += [benefit.in_words(str(task.objective)) for benefit in benefits]
    return OptimizationReport(
        weights=plan.complete(solution.weights[: plan.layout.nbest.size]),
        score=solution.score,
        start_score=solution.start_score,
        bleu=float(bleu_of_sums(chosen[:COLUMNS])),
        sentences=len(statistics),
        candidates=len(pool),
        seconds=seconds,
        notes=(*notes, *solution.notes),
        provenance=task.provenance(),
        benefits=benefits,
    )


def _read(
    task: ListOptimization, statistics: CandidateStatistics, second: Mapping[str, float]
) -> tuple[WeightPlan, list[ScoredList], list[str]]:
    """Read the start weights and the lists, which must agree; return them with notes."""
    plan = WeightPlan.from_weights({}) if task.start is None else read_plan(task.start)
    lists: list[ScoredList] = []
    notes = list(statistics.notes)
    for path in task.lists:
        expected, sparse = plan.expected if lists else None, plan.sparse_weights
        scored = read_scored(path, statistics, expected=expected, sparse_weights=sparse)
        if not lists:
            sizes = scored.candidates.sizes
            known = {*plan.expected, *second}
            if task.start and (new := [name for name in sizes if name not in known]):
                notes.append(f"{task.start} has no weight for {', '.join(new)}: the start is 0")
            try:
                plan = plan.for_lists(sizes)
                given = {name: (weight,) for name, weight in second.items()}
                plan = dataclasses.replace(plan, start={**plan.start, **given})
            except IniError as error:
                error.remedy = f"start with weights of a system that writes lists such as {path}"
                raise error.at(task.start or path) from None
        lists.append(scored)
    notes += [note for scored in lists for note in scored.notes]
    if not second:  # tune has compared its texts itself
        notes += filter(None, (other_text(task.lists[0], each) for each in task.references))
    notes += plan.notes
    return plan.with_frozen(task.freeze), lists, notes


def model_columns(plan: WeightPlan, pool: PoolArrays) -> list[int]:
    """Return the indices, among the components in n-best lists, of scores that are ln p of a model.

    These are the features of `OWN_KINDS`, the features with the names that ``nbest`` gives by
    default, the scores of a phrase table after the fourth, and single scores in lists that have
    neither a line in the ini nor a usual name of Moses. The last two count only if their values are
    logarithms of probabilities: an indicator or a count is no ln p.
    """
    features = plan.layout.features
    places = [(feature, at) for feature in features for at in range(feature.components)]
    return [
        column
        for column, place in enumerate(compress(places, plan.layout.tuneable))
        if _is_of_model(*place, pool.features[column])
    ]


def _is_of_model(feature: Feature, at: int, values: NDArray[np.float32]) -> bool:
    name = feature.name.rstrip("0123456789")
    if feature.kind in OWN_KINDS or name in _MODELS:
        return True
    appended = (feature.kind or name) in _TABLES and at >= _TRAINED
    unknown = not feature.kind and name not in _NO_MODELS and feature.components == 1
    return (appended or unknown) and bool(values.max(initial=0) <= 0 and (values % 1).any())


def estimate_benefits(
    plan: WeightPlan,
    pool: PoolArrays,
    weights: Weights,
    settings: OptimizationSettings,
    second: Sequence[str] = (),
) -> tuple[ScoreBenefit, ...]:
    """Estimate the benefit of each score that is ln p of a model, and then of all together.

    There is no estimate for very few sentences.

    Args:
        plan: The weights of the system; every optimisation begins with its start weights.
        pool: The candidates of S sentences, at least one of each.
        weights: (F,) the tuned weights.
        settings: The optimiser and the objective.
        second: The components to judge instead, each alone, then together (`TOGETHER`), and then
            with all other scores of models.
    """
    models = model_columns(plan, pool)
    judged = [plan.names.index(name) for name in second] or models
    groups = [(plan.names[place], [place]) for place in judged]
    if second:
        groups.append((TOGETHER, judged))
    every = sorted({*models, *judged})
    if every != sorted(judged) or (not second and len(every) > 1):
        groups.append((AND.join(plan.names[place] for place in every), every))
    if not judged or len(pool.starts) <= _MIN_SENTENCES:
        return ()
    settings = dataclasses.replace(settings, restarts=min(settings.restarts, _RESTARTS))
    problem = plan.problem(pool, settings.objective)
    score = partial(np.apply_along_axis, partial(objective_score, settings.objective), -1)
    found = []
    what, total = "estimating what each model's score brings", 1 + len(groups)
    # half of the lists may leave no choice
    with contextlib.suppress(NBestError, SettingsError), Progress(what, total, "steps") as progress:
        complete = _of_unseen(problem, settings)
        progress.advance(1)
        for number, (name, places) in enumerate(groups):
            off = np.isin(np.arange(len(problem.start)), places)
            start, free = np.where(off, 0, problem.start), problem.free & ~off
            without = _of_unseen(dataclasses.replace(problem, start=start, free=free), settings)
            progress.advance(1)
            drawn = bootstrap(without, complete, score, TRIALS, TEST_SEED)
            gain = pooled_difference(without, complete, score)
            weight = float(weights[places[0]]) if number < len(judged) else None
            found.append(ScoreBenefit(name, weight, gain, drawn.low, drawn.high))
    return tuple(found)


def _of_unseen(problem: Problem, settings: OptimizationSettings) -> NDArray[np.float64]:
    """Return (1, S, K) the statistics that weights of the other half choose in each sentence."""
    pool, counts = problem.pool, np.diff(problem.pool.starts)
    chosen = np.empty((1, len(counts), pool.statistics.shape[1]))
    for parity in (0, 1):
        seen = np.repeat(np.arange(len(counts)) % 2 == parity, counts)
        starts = np.concatenate([[0], counts[parity::2].cumsum()])
        half = PoolArrays(pool.features[:, seen], pool.statistics[seen], starts)
        rng = np.random.default_rng(settings.seed)
        solution = settings.choose_optimizer()(dataclasses.replace(problem, pool=half), rng)
        winners = point_at(pool, solution.weights).winners[1 - parity :: 2]
        chosen[0, 1 - parity :: 2] = pool.statistics[winners]
    return chosen
