"""The problem that every optimiser takes, its solution, and the checks before and after.

Moses's optimiser returns all-zero weights where BLEU is 0 everywhere, and one weight of 1 with all
others near 1e-38 where a feature is constant. Here neither can happen: constant features are left
alone, and weights that make no sense are refused.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple, Protocol

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
    """The task of finding weights under which the best candidates of a pool score high.

    Args:
        pool: The candidates of S sentences, with F features.
        objective: The score that is maximised.
        start: (F,) the weights to begin with.
        free: (F,) bool, whether each of them may change.
        lower: (F,) the minimum of each; minus infinity where there is no bound.
        upper: (F,) the maximum of each.
        names: A name for every weight, for messages.
    """

    pool: PoolArrays
    objective: Objective
    start: Weights
    free: NDArray[np.bool_]
    lower: Weights
    upper: Weights
    names: tuple[str, ...]

    @property
    def is_scalable(self) -> bool:
        """Whether a common factor on all weights changes nothing."""
        unbounded = np.isinf(self.lower[self.free]).all() and np.isinf(self.upper[self.free]).all()
        return bool(unbounded and not self.start[~self.free].any())

    def statistics_of(self, weights: Weights) -> NDArray[np.int64]:
        """Return (K,) the summed statistics of the best candidates, the first of equals."""
        winners = point_at(self.pool, np.asarray(weights, np.float64)).winners
        return self.pool.statistics[winners[winners >= 0]].sum(0, dtype=np.int64)

    def score(self, weights: Weights) -> float:
        """Return the objective of the best candidates."""
        return objective_score(self.objective, self.statistics_of(weights))


@dataclass(frozen=True)
class Solution:
    """The result of an optimiser.

    Args:
        weights: (F,) as they will be written, with nine significant digits.
        score: The objective of the best candidates under exactly these weights.
        start_score: The same under the weights it began with.
        notes: Warnings for the user.
    """

    weights: Weights
    score: float
    start_score: float
    notes: tuple[str, ...] = ()


class Optimizer(Protocol):
    """An optimiser; its settings are its own."""

    def optimize(self, problem: Problem, rng: np.random.Generator) -> Solution:
        """Return the best weights found; the same generator state gives the same ones.

        Raises:
            NBestError: There is nothing to choose from.
            SettingsError: The start weights or bounds make no sense.
        """
        ...


def rounded(weights: Weights, *, scalable: bool) -> Weights:
    """Return weights as files have them: nine significant digits, more than float32 has.

    Args:
        weights: (F,).
        scalable: Whether to bring the sum of their absolute values to 1.
    """
    total = np.abs(weights).sum()
    if scalable and total > 0:
        weights = weights / total
    return np.array([float(f"{weight:.{_DIGITS}g}") for weight in weights])


# a weight whose influence is this many times the median leaves the others without any
_LARGEST_RATIO = 1e6


class Region(NamedTuple):
    """The region that weights may be in.

    Attributes:
        free: The numbers of the weights that may change.
        lower: (F,) the minimum of each weight.
        upper: (F,) the maximum of each weight.
        spread: (F,) a typical size of each weight: one over the deviation of its feature among
            the candidates of a sentence.
        scalable: Whether all weights may be multiplied by the same factor, so that they are kept
            at a sum of absolute values of 1.
    """

    free: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    spread: NDArray[np.float64]
    scalable: bool


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
    """Check a problem, fix features that cannot be tuned, and say where weights may be.

    Where a common factor changes nothing it still may: a feature that cannot be tuned is scaled
    with the others then.

    Returns:
        The problem with fewer free weights, the region to search, and notes for the user.

    Raises:
        NBestError: There are no candidates, or no two of one sentence differ.
        SettingsError: A start weight is not finite or out of bounds, or all weights are fixed.
    """
    _check_start(problem)
    if not len(problem.pool.statistics):
        raise NBestError(
            "there is not one candidate translation", remedy="look at what the decoder said"
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
    if problem.objective.is_bleu and not (problem.pool.statistics[:, 6] > 0).any():
        notes.append(
            "no candidate shares four words in a row with its reference, so BLEU is 0 whatever "
            "the weights: they stay as they are (are these the references of this text?)"
        )
    scalable = problem.is_scalable
    spread = np.where(free, 1.0 / np.where(free, deviation, 1.0), 1.0)
    region = Region(np.flatnonzero(free), problem.lower, problem.upper, spread, scalable)
    start = problem.start
    if not (start[free] / spread[free]).any():
        start = np.where(free, np.clip(spread, problem.lower, problem.upper), start)
        notes.append("all start weights are 0: starting with equal influence of every feature")
    return dataclasses.replace(problem, free=free, start=start), region, notes


def _check_start(problem: Problem) -> None:
    for number, weight in enumerate(problem.start):
        name = problem.names[number]
        if not np.isfinite(weight):
            raise SettingsError(f"the start weight of {name} is {weight}, expected a number")
        low, high = problem.lower[number], problem.upper[number]
        if problem.free[number] and not low <= weight <= high:
            raise SettingsError(
                f"the start weight of {name} is {weight:g}, outside its bounds {low:g} to {high:g}",
                remedy="change the weight or the bounds",
            )
    if not problem.free.any():
        raise SettingsError(
            "every weight is fixed, so there is nothing to tune",
            remedy="let at least one feature be tuneable",
        )


def defect_of(weights: Weights, region: Region) -> str | None:
    """Return what is wrong with weights that no decoder should use; ``None`` if they are sane."""
    if not np.isfinite(weights).all():
        return "a weight is not finite"
    influence = np.abs(weights[region.free] / region.spread[region.free])
    if not influence.any():
        return "all weights are 0"
    if influence.max() > _LARGEST_RATIO * np.median(influence):
        return "one weight drowns all others"
    return None
