"""N-best lists on disk become a pool of candidates; one optimisation over such lists."""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moses_integration.bleu.statistics import COLUMNS, bleu_of_sums
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.nbest.arrays import Candidates, NBestReader
from phrasescore.errors import IniError, NBestError
from phrasescore.runs.identity import provenance
from tuning.loop.weights import WeightPlan, read_weights_file
from tuning.metrics.metric_scores import CandidateStatistics
from tuning.optimizers.candidate_pool import CandidatePool, PoolArrays
from tuning.optimizers.optimizer import Weights
from tuning.optimizers.optimizer_settings import OptimizationSettings

# references one line off must reach BLEU of more than _FACTOR times what they reach as given, plus
# _MARGIN, to be reported as out of step
_FACTOR, _MARGIN = 2.0, 0.05


@dataclass(frozen=True)
class ScoredList:
    """One n-best list with statistics.

    Args:
        candidates: Its candidates.
        statistics: (N, K) their statistics against the references.
        decoded: (K,) the sum of the statistics of the decoder's choices; a sentence without any
            candidate counts as empty.
        notes: Warnings for the user.
    """

    candidates: Candidates
    statistics: NDArray[np.int32]
    decoded: NDArray[np.int64]
    notes: tuple[str, ...]

    @property
    def decoder_bleu(self) -> float:
        """The BLEU of the decoder's choices."""
        return float(bleu_of_sums(self.decoded[:COLUMNS]))

    @property
    def length_ratio(self) -> float:
        """The words of the decoder's choices per reference word."""
        return float(self.decoded[1] / max(self.decoded[COLUMNS - 1], 1))

    def fixed_part(self, weights: Weights) -> NDArray[np.float64]:
        """Return (N,) the part of model scores that the list does not show.

        Args:
            weights: (F,) the weights of the dense features with which it was decoded.
        """
        return self.candidates.totals - self.candidates.features.astype(np.float64) @ weights

    def add_to(self, pool: CandidatePool, fixed: NDArray[np.float64] | None) -> int:
        """Add the candidates, with ``fixed`` (N,) as one more feature; return how many were new."""
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
        path: Plain or gzip.
        statistics: The references and the objective.
        expected: The features it must have, in order, and the number of values of each.
        sparse_weights: Weights of single sparse features.

    Raises:
        NBestError: The list is damaged, has other features, or is out of step with the references.
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
    _check_step(found, chosen, _corpus_bleu(rows[chosen]), statistics, path)
    missing = np.setdiff1d(np.arange(len(statistics), dtype=np.int32), found.sentences)
    nothing = statistics.score_lines(missing, [b""] * len(missing))
    decoded = rows[chosen].sum(0, dtype=np.int64) + nothing.sum(0, dtype=np.int64)
    return ScoredList(found, rows, decoded, tuple(_notes(found, chosen, len(missing), path)))


def check_features(found: Mapping[str, int], expected: Mapping[str, int], path: str | Path) -> None:
    """Compare the features of a list, and how many values each has, with those to be tuned.

    Raises:
        NBestError: They differ, or come in another order.
    """
    if list(found.items()) != list(expected.items()):
        here, wanted = (
            " ".join(f"{name}({size})" for name, size in sizes.items())
            for sizes in (found, expected)
        )
        raise NBestError(
            f"the list has the features {here} (number of values); expected {wanted}",
            path=path,
            line=1,
            remedy="decode with this moses.ini; lists omit what tuneable=false and "
            "tuneable-components exclude",
        )


def _check_step(
    found: Candidates,
    chosen: NDArray[np.int64],
    here: float,
    statistics: CandidateStatistics,
    path: str | Path,
) -> None:
    """Raise if the decoder's choices fit the references much better one line off."""
    lengths = np.diff(found.offsets)[chosen]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    places = np.arange(offsets[-1]) + np.repeat(found.offsets[chosen] - offsets[:-1], lengths)
    for shift in (-1, 1):
        sentences = np.clip(found.sentences[chosen] + shift, 0, len(statistics) - 1)
        there = _corpus_bleu(
            statistics.references.score_tokens(sentences, found.tokens[places], offsets)
        )
        if there > _FACTOR * here + _MARGIN:
            raise NBestError(
                f"translations and references are out of step: BLEU is {here:.3f}, but "
                f"{there:.3f} with references one line {'later' if shift > 0 else 'before'}",
                path=path,
                remedy="look for a line that is missing or too many in one of the two",
            )


def _corpus_bleu(rows: NDArray[np.int32]) -> float:
    return float(bleu_of_sums(rows[:, :COLUMNS].sum(0, dtype=np.int64)))


def _notes(
    found: Candidates, chosen: NDArray[np.int64], missing: int, path: str | Path
) -> Iterator[str]:
    if missing:
        yield f"{path}: {missing} of {missing + len(chosen)} sentences have no candidate at all"
    empty = int((np.diff(found.offsets)[chosen] == 0).sum())
    if empty:
        yield f"{path}: the decoder's choice for {empty} sentences is empty"


def with_empty_translations(pool: CandidatePool, statistics: CandidateStatistics) -> PoolArrays:
    """Return the pool's arrays, with an empty translation for sentences without any candidate.

    A decoder that finds nothing prints an empty line, and the score of the text counts it.
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
    """Settings of one optimisation over given lists.

    Args:
        lists: N-best files, in the order of their rounds.
        start: A moses.ini or weights file to begin with; ``None`` for equal influence. Features of
            the lists that a weights file does not name begin with 0.
    """

    lists: tuple[str, ...]
    start: str | None = None

    def provenance(self) -> dict[str, Any]:
        """Return where the result comes from."""
        inputs = [*self.lists, *self.references, *([self.start] if self.start else [])]
        settings = dataclasses.asdict(self)
        for path in ("lists", "references", "start"):
            del settings[path]
        return provenance(inputs=inputs, settings={**settings, "objective": str(self.objective)})


@dataclass(frozen=True)
class OptimizationReport:
    """The result of an optimisation over given lists.

    Args:
        weights: The weights by feature.
        score: The objective that they reach on the lists.
        start_score: The objective of the start weights.
        bleu: Corpus BLEU of the candidates that the weights choose.
        sentences: The number of sentences.
        candidates: The number of different candidates.
        seconds: The time of the optimiser itself.
        notes: Warnings for the user.
        provenance: Where the result comes from.
    """

    weights: dict[str, tuple[float, ...]]
    score: float
    start_score: float
    bleu: float
    sentences: int
    candidates: int
    seconds: float
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the content of a weights file."""
        return {**vars(self), "seconds": round(self.seconds, 3)}


def optimize_lists(task: ListOptimization) -> OptimizationReport:
    """Optimise over lists.

    Raises:
        NBestError: A list is damaged, or out of step with the references or the start.
        SettingsError: The settings make no sense together.
    """
    statistics = CandidateStatistics(task.references, task.objective, task.reference_length)
    plan, lists, notes = _read(task, statistics)
    sparse = bool(plan.sparse_weights)
    features = plan.layout.nbest.size + sparse
    pool = CandidatePool(len(statistics), features, statistics.columns)
    for scored in lists:
        scored.add_to(pool, scored.candidates.sparse if sparse else None)
    problem = plan.problem(with_empty_translations(pool, statistics), task.objective)
    begin = time.perf_counter()
    solution = task.build_optimizer().optimize(problem, np.random.default_rng(task.seed))
    return OptimizationReport(
        weights=plan.complete(solution.weights[: plan.layout.nbest.size]),
        score=solution.score,
        start_score=solution.start_score,
        bleu=float(bleu_of_sums(problem.statistics_of(solution.weights)[:COLUMNS])),
        sentences=len(statistics),
        candidates=len(pool),
        seconds=time.perf_counter() - begin,
        notes=(*notes, *solution.notes),
        provenance=task.provenance(),
    )


def _read(
    task: ListOptimization, statistics: CandidateStatistics
) -> tuple[WeightPlan, list[ScoredList], list[str]]:
    """Read the start and the lists, which must agree; return notes, too."""
    plan: WeightPlan | None = None
    given: dict[str, tuple[float, ...]] = {}
    if task.start is not None and task.start.endswith(".json"):
        given = read_weights_file(task.start)
    elif task.start is not None:
        plan = WeightPlan.from_ini(MosesIni.read(task.start))
    lists, notes = [], []
    for path in task.lists:
        scored = read_scored(
            path,
            statistics,
            expected=plan.expected if plan else None,
            sparse_weights=plan.sparse_weights if plan else None,
        )
        if plan is None:
            layout = FeatureLayout.from_sizes(scored.candidates.sizes)
            zeros = {name: (0.0,) * size for name, size in scored.candidates.sizes.items()}
            if given and (new := [name for name in zeros if name not in given]):
                notes.append(f"{task.start} has no weight for {', '.join(new)}: the start is 0")
            try:
                layout.flatten({**zeros, **given})
            except IniError as error:
                raise error.at(task.start or path) from None
            plan = WeightPlan.from_weights(layout, {**zeros, **given})
        lists.append(scored)
    assert plan is not None, "there is at least one list"
    notes += [note for scored in lists for note in scored.notes]
    notes += plan.notes
    return plan.restricted(task.freeze, task.bounds), lists, notes
