"""The problem that every optimiser solves, its solution, and the checks before and after.

Moses's optimiser returns all-zero weights if BLEU is 0 everywhere, and one weight of 1 with all
others near 1e-38 if a feature is constant. Neither can happen here: the weights of constant
features are not tuned, and degenerate weights are rejected.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import NBestError, SettingsError
from tuning.metrics.metric_scores import objective_score
from tuning.metrics.metric_settings import Objective
from tuning.optimizers.candidate_pool import PoolArrays, point_at

_DIGITS = 9
Weights = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """An optimisation problem: find weights whose best candidates score as high as possible.

    Args:
        pool: The candidates of S sentences, at least one, with F features.
        objective: The score to maximise.
        start: (F,) the start weights.
        free: (F,) whether each weight may change.
        names: A name for every weight, for messages.
    """

    pool: PoolArrays
    objective: Objective
    start: Weights
    free: NDArray[np.bool_]
    names: tuple[str, ...]

    @property
    def is_scalable(self) -> bool:
        """Whether multiplying all weights by a positive factor changes no choice."""
        return not self.start[~self.free].any()

    def statistics_of(self, weights: Weights) -> NDArray[np.int64]:
        """Return (K,) statistics summed over each sentence's best candidate (the first of equals).

        Sentences without candidates add nothing.
        """
        winners = point_at(self.pool, np.asarray(weights, np.float64)).winners
        return self.pool.statistics[winners[winners >= 0]].sum(0, dtype=np.int64)

    def score(self, weights: Weights) -> float:
        """Return the objective of the best candidates."""
        return objective_score(self.objective, self.statistics_of(weights))


@dataclass(frozen=True)
class Solution:
    """The result of an optimiser.

    Args:
        weights: (F,) the weights as files will have them, with nine significant digits.
        score: The objective of the best candidates under exactly these weights.
        start_score: The objective of the best candidates under the start weights.
        notes: Warnings for the user.
    """

    weights: Weights
    score: float
    start_score: float
    notes: tuple[str, ...] = ()


# a function that returns the best weights found; equal generator states give equal weights, and a
# problem that `prepare` refuses is an error
Optimizer: TypeAlias = Callable[[Problem, np.random.Generator], Solution]


def rounded(weights: Weights, *, scalable: bool) -> Weights:
    """Return weights as files have them: nine significant digits, more than float32 has.

    Args:
        weights: (F,) the weights to round.
        scalable: Whether to scale them first, so that their absolute values add up to 1.
    """
    total = np.abs(weights).sum()
    if scalable and total > 0:
        weights = weights / total
    return np.array([float(f"{weight:.{_DIGITS}g}") for weight in weights])


# above this ratio of the largest to the median influence, one feature decides everything
_LARGEST_RATIO = 1e6


class Region(NamedTuple):
    """The region of weight space to search.

    Attributes:
        free: The indices of the weights that may change.
        spread: (F,) the natural unit of each weight: one over the standard deviation of its feature
            among the candidates of a sentence.
        scalable: Whether a common factor on all weights changes nothing; if so, the resulting
            weights are scaled until their absolute values add up to 1.
    """

    free: NDArray[np.int64]
    spread: NDArray[np.float64]
    scalable: bool

    def defect_of(self, weights: Weights) -> str | None:
        """Return the defect of degenerate weights, as text for a note; ``None`` for usable ones."""
        if not np.isfinite(weights).all():
            return "a weight is not finite"
        influence = np.abs(weights[self.free] / self.spread[self.free])
        if not influence.any():
            return "all weights are 0"
        if influence.max() > _LARGEST_RATIO * np.median(influence):
            return "one weight outweighs all others"
        return None


def spreads(pool: PoolArrays) -> NDArray[np.float64]:
    """Return (F,) the standard deviation of each feature among candidates of one sentence."""
    lengths = np.diff(pool.starts)
    sentences = np.repeat(np.arange(len(lengths)), lengths)
    counts = np.maximum(lengths, 1)
    result = np.zeros(len(pool.features))
    for number, feature in enumerate(pool.features):
        values = feature.astype(np.float64)
        means = np.bincount(sentences, values, len(lengths)) / counts
        result[number] = np.sqrt(((values - means[sentences]) ** 2).mean()) if len(values) else 0
    return result


def prepare(problem: Problem) -> tuple[Problem, Region, list[str]]:
    """Check a problem, fix the weights of constant features, and find the region to search.

    ``scalable`` is decided before constant features are fixed, so their weights are still scaled
    together with the free weights.

    Returns:
        The problem with fewer free weights, the region to search, and notes for the user.

    Raises:
        NBestError: All candidates of each sentence are equal.
        SettingsError: A start weight is not finite, or all weights are fixed.
    """
    for name, weight in zip(problem.names, problem.start, strict=True):
        if not np.isfinite(weight):
            raise SettingsError(f"the start weight of {name} is {weight}, expected a number")
    if not problem.free.any():
        raise SettingsError(
            "every weight is fixed, so there is nothing to tune",
            remedy="let at least one feature be tuneable",
        )
    deviation = spreads(problem.pool)
    size = np.abs(problem.pool.features).max(1).astype(np.float64)
    constant = deviation <= 1e-7 * size
    notes = [
        f"{problem.names[number]} is the same for all candidates of every sentence: "
        "its weight is not tuned"
        for number in np.flatnonzero(constant & problem.free)
    ]
    free = problem.free & ~constant
    if not free.any():
        raise NBestError(
            "no two candidates of a sentence differ in any feature that may be tuned",
            remedy="decode with a longer n-best list, or let more weights be tuned",
        )
    if problem.objective.metrics == ("bleu",) and not (problem.pool.statistics[:, 6] > 0).any():
        notes.append(
            "no candidate shares four words in a row with its reference, so BLEU is 0 with all "
            "weights: the start weights are kept (are these the references of this text?)"
        )
    spread = 1.0 / np.where(free, deviation, 1.0)
    region = Region(np.flatnonzero(free), spread, problem.is_scalable)
    start = problem.start
    if not (start[free] / spread[free]).any():
        start = np.where(free, spread, start)
        notes.append("all start weights are 0: starting with equal influence of every feature")
    return dataclasses.replace(problem, free=free, start=start), region, notes


def usable_weights(
    found: Weights, problem: Problem, region: Region, what: str, notes: list[str]
) -> Weights:
    """Return (F,) rounded weights, or the start weights, with a note, if these have a defect.

    Args:
        found: (F,) the weights that an optimiser found.
        problem: The problem, as `prepare` returned it.
        region: The region that was searched.
        what: The name of the search, for the note.
        notes: Receives the note.
    """
    weights = rounded(found, scalable=region.scalable)
    if defect := region.defect_of(weights):
        notes.append(f"{what} ended where {defect}: the start weights are kept")
        return problem.start
    return weights
