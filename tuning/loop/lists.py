"""Reads n-best lists into a pool of scored candidates, and runs one optimisation over lists."""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moses_integration.bleu import COLUMNS, bleu_of_sums
from moses_integration.ini.feature_weights import listed_sizes
from moses_integration.nbest.arrays import Candidates, NBestReader
from phrasescore.errors import IniError, NBestError
from phrasescore.runs.identity import provenance
from tuning.loop.score_benefit import benefit_in_words, estimate_benefits
from tuning.loop.tuning_settings import OptimizationSettings, ScoreBenefit
from tuning.loop.weights import WeightPlan, read_plan
from tuning.metrics.text_scores import CandidateStatistics
from tuning.optimizers.candidate_pool import CandidatePool, PoolArrays
from tuning.optimizers.optimizer import Weights


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
    reader = NBestReader(
        path,
        statistics.references.vocabulary,
        sparse_weights=sparse_weights,
        with_words=statistics.needs_words,
    )
    found = reader.read()
    if expected is not None:
        check_features(found.sizes, expected, path)
    last = int(found.sentences[-1])
    if last >= len(statistics):
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


def check_features(found: Mapping[str, int], expected: Mapping[str, int], path: str | Path) -> None:
    """Compare the features of a list, and their numbers of values, with the features to be tuned.

    Raises:
        NBestError: The features differ or have another order.
    """
    if list(found.items()) != list(expected.items()):
        raise NBestError(
            f"the list has the features {listed_sizes(found)} (number of values); expected "
            f"{listed_sizes(expected)}",
            path=path,
            line=1,
            remedy="decode with this moses.ini; lists omit what tuneable=false and "
            "tuneable-components exclude",
        )


def _notes(
    found: Candidates, chosen: NDArray[np.int64], missing: int, path: str | Path
) -> Iterator[str]:
    if missing:
        yield f"{path}: {missing} of {missing + len(chosen)} sentences have no candidate at all"
    empty = int((np.diff(found.offsets)[chosen] == 0).sum())
    if empty:
        yield f"{path}: the decoder's choice for {empty} sentences is empty"


def with_empty_translations(pool: CandidatePool, statistics: CandidateStatistics) -> PoolArrays:
    """Return the pool's arrays, with an empty translation for sentences without candidates.

    A decoder prints an empty line for a sentence it cannot translate, and the corpus score counts
    that line.
    """
    sentences = pool.empty_sentences.astype(np.int32)
    if not len(sentences):
        return pool.arrays
    count = len(pool.arrays.features)
    filled = copy.copy(pool)
    rows = statistics.score_lines(sentences, [b""] * len(sentences))
    filled.add(sentences, np.zeros((len(sentences), count), np.float32), rows)
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
        settings = dataclasses.asdict(self)
        for path in ("lists", "references", "start"):
            del settings[path]
        return provenance(inputs=inputs, settings={**settings, "objective": str(self.objective)})


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
    features = plan.layout.nbest.size + sparse
    pool = CandidatePool(len(statistics), features, statistics.columns)
    for scored in lists:
        scored.add_to(pool, scored.candidates.sparse if sparse else None)
    problem = plan.problem(with_empty_translations(pool, statistics), task.objective)
    begin = time.perf_counter()
    solution = task.choose_optimizer()(problem, np.random.default_rng(task.seed))
    seconds = time.perf_counter() - begin
    benefits = estimate_benefits(plan, problem.pool, solution.weights, task, tuple(second))
    for benefit in benefits:
        notes.append(benefit_in_words(benefit, str(task.objective)))
    return OptimizationReport(
        weights=plan.complete(solution.weights[: plan.layout.nbest.size]),
        score=solution.score,
        start_score=solution.start_score,
        bleu=float(bleu_of_sums(problem.statistics_of(solution.weights)[:COLUMNS])),
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
        expected = plan.expected if lists else None
        scored = read_scored(
            path, statistics, expected=expected, sparse_weights=plan.sparse_weights
        )
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
    notes += plan.notes
    return plan.with_frozen(task.freeze), lists, notes
