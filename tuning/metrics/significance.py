"""Tests whether systems differ, using several tuning runs of each system (Clark et al. 2011).

Tuning is random: two tuning runs of one system score differently. So every system has several
translations of the test set, one for each tuning run. The tests report the mean and the deviation
over runs, and whether the difference from the first system could be due to chance.

*Approximate randomisation* (Noreen 1989; Riezler and Maxwell 2005): if the systems do not differ,
each of the two translations of a sentence could have come from either system. So a trial swaps the
two translations of each sentence with probability 1/2, and p is the share of trials whose
difference is at least the observed one. The runs of a system are swapped together, because they are
translations by the same system.

*The two-level bootstrap* generalises to other sentences and other runs. Sentences are drawn with
replacement (Koehn 2004), the same sentences for all runs of both systems. Three or five runs are
too few to draw from: draws from R runs would have only (R - 1) / R of the variance, and few
distinct values. So runs are not drawn. Instead each system adds (V - E) / R to the variance: V is
the variance of its scores over R runs (divisor R - 1), and E the part of V that differences in
single sentences explain. The two systems together add at least 0. The draws of sentences contain E
already. (Drawing both sentences and runs would count E three times; Owen 2007.) Interval and p come
from Student's t with the degrees of freedom of Welch (1947) and Satterthwaite (1946).

The p-value of the randomisation holds for the given runs only, and so does the result of the
bootstrap if a system has one run.

Shapes: S sentences, A and B runs of the systems, K statistics, T trials. Everywhere ``first`` is
(A, S, K), ``second`` (B, S, K), and ``score`` turns (..., K) sums into (...,) scores.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from phrasescore.runs.results import Number, Probability
from tuning.metrics.metric_scores import columns_of, metric_scores
from tuning.metrics.metric_settings import TEST_SEED, TRIALS, MetricName

Floats = NDArray[np.float64]
Statistics = NDArray[np.int64] | Floats  # counts of a metric, or scores of segments
Score = Callable[[Floats], Floats]

# the maximum number of elements of a matrix of random draws
_MAX_ELEMENTS = 1 << 22
# differences up to this size may come from rounding
_ROUNDING = 1e-12


@dataclass(frozen=True)
class SystemDifference:
    """The difference between a system and the first system in one metric, as fractions.

    Attributes:
        gain: The mean over runs minus the mean of the first system.
        low: The lower end of the gain's 95 % interval, which accounts for the choice of sentences
            and of runs.
        high: The upper end of the interval.
        p_randomization: The p-value of approximate randomisation of sentences, for these runs only.
        p_bootstrap: The p-value of the two-level bootstrap, which also determines the interval.
    """

    gain: float
    low: float
    high: float
    p_randomization: float
    p_bootstrap: float


@dataclass(frozen=True)
class ComparedSystem:
    """The scores of one system in one metric, as fractions; the first system has no gain.

    Attributes:
        system: The name of the system.
        runs: The score of each run.
        mean: The mean over runs.
        deviation: The standard deviation over runs (n - 1); ``None`` for a single run.
        gain: The mean minus the mean of the first system.
        low: As in `SystemDifference`.
        high: As in `SystemDifference`.
        p_randomization: As in `SystemDifference`.
        p_bootstrap: As in `SystemDifference`.
    """

    system: str
    runs: tuple[Number, ...]
    mean: Number
    deviation: Number | None
    gain: Number | None = None
    low: Number | None = None
    high: Number | None = None
    p_randomization: Probability | None = None
    p_bootstrap: Probability | None = None

    @property
    def difference(self) -> SystemDifference | None:
        """The difference from the first system; ``None`` for the first system itself."""
        if self.gain is None:
            return None
        # a record from elsewhere may lack p-values; a p-value of 1 shows no difference
        p_values = (self.p_randomization, self.p_bootstrap)
        chances = (1.0 if p_value is None else p_value for p_value in p_values)
        return SystemDifference(self.gain, self.low or 0.0, self.high or 0.0, *chances)


@dataclass(frozen=True)
class Bootstrap:
    """The result of the two-level bootstrap of a difference.

    Args:
        gain: The difference.
        error: Its standard error.
        degrees: The degrees of freedom of Student's t.
    """

    gain: float
    error: float
    degrees: float

    @property
    def p_value(self) -> float:
        """The two-sided p-value."""
        if self.error < _ROUNDING:
            return float(abs(self.gain) < _ROUNDING)
        return self._tail.probability(abs(self.gain) / self.error)

    @property
    def low(self) -> float:
        """The lower end of the 95 % interval."""
        return self.gain - self.error * self._tail.beyond(0.05)

    @property
    def high(self) -> float:
        """The upper end of the 95 % interval."""
        return self.gain + self.error * self._tail.beyond(0.05)

    @cached_property
    def _tail(self) -> StudentTail:
        return StudentTail(self.degrees)


def _pieces(trials: int, columns: int) -> Iterator[int]:
    """Divide trials into pieces, so that a matrix of shape (piece, columns) has a bounded size."""
    max_piece = max(1, _MAX_ELEMENTS // max(columns, 1))
    for begin in range(0, trials, max_piece):
        yield min(max_piece, trials - begin)


def swapped_differences(
    first: Statistics, second: Statistics, swapped: NDArray[np.bool_], score: Score
) -> Floats:
    """Return (T,) the absolute difference of two systems after swapping some sentences.

    ``swapped`` (T, S) is true for the sentences that each trial swaps.
    """
    left, right = first.mean(0), second.mean(0)
    moved = swapped.astype(np.float64) @ (right - left)
    return np.abs(score(left.sum(0) + moved) - score(right.sum(0) - moved))


def randomization_p_value(
    first: Statistics, second: Statistics, score: Score, trials: int, seed: int
) -> float:
    """Return the p-value of approximate randomisation; equal systems give 1.

    The observed difference counts as one more trial, so p is never 0.
    """
    rng, sentences = np.random.default_rng(seed), first.shape[1]
    found = [
        swapped_differences(first, second, rng.integers(2, size=(piece, sentences)) > 0, score)
        for piece in _pieces(trials, sentences)
    ]
    observed = abs(pooled_difference(first, second, score))
    return float((np.concatenate(found) >= observed - _ROUNDING).sum() + 1) / (trials + 1)


def pooled_difference(first: Statistics, second: Statistics, score: Score) -> float:
    """Return the score of the second system's pooled runs minus the score of the first's."""
    sums = [runs.mean(0).sum(0)[None] for runs in (first, second)]
    return float(score(sums[1])[0] - score(sums[0])[0])


def resampled_scores(runs: Statistics, draws: NDArray[np.int64], score: Score) -> Floats:
    """Return (T, R) the score of each run over drawn sentences.

    ``runs`` is (R, S, K); ``draws`` is (T, S), the indices of the drawn sentences.
    """
    trials, sentences = len(draws), runs.shape[1]
    flat = draws + sentences * np.arange(trials)[:, None]
    counts = np.bincount(flat.ravel(), minlength=trials * sentences).reshape(trials, sentences)
    rows = runs.transpose(1, 0, 2).reshape(sentences, -1).astype(np.float64)
    return score((counts.astype(np.float64) @ rows).reshape(trials, len(runs), -1))


def bootstrap(
    first: Statistics, second: Statistics, score: Score, trials: int, seed: int
) -> Bootstrap:
    """Estimate the uncertainty of the difference of means over runs, second minus first.

    To the variance of the drawn differences, each system adds (V - E) / R; both together add at
    least 0. V is the variance of the system's scores over R runs, and E is the part of V that the
    drawn sentences explain.
    """
    rng, sentences = np.random.default_rng(seed), first.shape[1]
    pieces = []
    for piece in _pieces(trials, sentences):
        draws = rng.integers(sentences, size=(piece, sentences))
        pieces.append([resampled_scores(runs, draws, score) for runs in (first, second)])
    drawn = [np.concatenate(system) for system in zip(*pieces, strict=True)]  # (T, A), (T, B)
    scores = [score(runs.sum(1).astype(np.float64)) for runs in (first, second)]
    gain = float(scores[1].mean() - scores[0].mean())
    variance = float((drawn[1].mean(1) - drawn[0].mean(1)).var())
    square_errors = variance**2 / max(sentences - 1, 1)
    of_runs = errors_of_runs = 0.0
    for runs, again in zip(scores, drawn, strict=True):
        if (degrees := len(runs) - 1) > 0:
            over_runs = float(runs.var(ddof=1))
            explained = float((again - again.mean(1, keepdims=True)).var(0).sum()) / degrees
            of_runs += (over_runs - explained) / len(runs)
            errors_of_runs += (over_runs / len(runs)) ** 2 / degrees
    if of_runs > 0:
        variance += of_runs
        square_errors += errors_of_runs
    # if nothing varies, any degrees will do
    of_difference = max(1.0, variance**2 / square_errors) if square_errors else 1.0
    return Bootstrap(gain, math.sqrt(variance), of_difference)


class StudentTail:
    """The two-sided tail of Student's t distribution, integrated by the trapezoidal rule.

    Args:
        degrees: The degrees of freedom.

    >>> tail = StudentTail(4)
    >>> round(tail.beyond(0.05), 3), round(tail.probability(2.776), 3)
    (2.776, 0.05)
    """

    def __init__(self, degrees: float) -> None:
        # t = tan(angle) sqrt(degrees) turns the density into cos(angle) ** (degrees - 1)
        degrees = min(degrees, 1e5)  # beyond this, t is practically normal
        self._angles = np.linspace(0, np.pi / 2, 50_001)
        density = np.cos(self._angles) ** (degrees - 1)
        steps = (density[1:] + density[:-1])[::-1].cumsum()[::-1]
        self._beyond = np.append(steps, 0.0) / steps[0]
        self._scale = math.sqrt(degrees)

    def probability(self, t: float) -> float:
        """Return the probability of an absolute value above ``t``."""
        return float(np.interp(math.atan(t / self._scale), self._angles, self._beyond))

    def beyond(self, probability: float) -> float:
        """Return the absolute value that is exceeded with this probability."""
        angle = np.interp(probability, self._beyond[::-1], self._angles[::-1])
        return self._scale * math.tan(float(angle))


def mean_and_deviation(scores: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean over runs, and the standard deviation (n - 1); ``None`` for a single run."""
    return statistics.fmean(scores), statistics.stdev(scores) if len(scores) > 1 else None


def compare_statistics(
    metric: MetricName,
    systems: Mapping[str, NDArray[np.int64]],
    *,
    trials: int = TRIALS,
    seed: int = TEST_SEED,
) -> tuple[ComparedSystem, ...]:
    """Compare systems with the first of them in one metric.

    Args:
        metric: One of ``METRICS``.
        systems: Each system's name, mapped to (R, S, K) statistics of R runs over the same S
            sentences.
        trials: The number of trials of each test.
        seed: The seed of each test.
    """
    parts = {name: runs[:, :, columns_of(metric)] for name, runs in systems.items()}
    return _compare(partial(metric_scores, metric), parts, trials, seed)


def compare_segments(
    systems: Mapping[str, Floats], *, trials: int = TRIALS, seed: int = TEST_SEED
) -> tuple[ComparedSystem, ...]:
    """Compare each system with the first by the mean of given segment scores.

    Args:
        systems: Each system's name, mapped to (R, S) scores of R runs over the same S segments,
            in any unit.
        trials: The number of trials of each test.
        seed: The seed of each test.
    """
    # The tests treat differences up to _ROUNDING as noise, which suits scores near 1. Dividing by a
    # power of two brings the largest score near 1 without rounding.
    largest = max(float(np.abs(runs).max()) for runs in systems.values())
    scale = 2.0 ** math.frexp(largest)[1]
    parts = {name: runs[:, :, None] / scale for name, runs in systems.items()}
    segments = next(iter(parts.values())).shape[1]
    return _compare(lambda sums: sums[..., 0] / segments, parts, trials, seed, scale)


def _compare(
    score: Score, parts: Mapping[str, Statistics], trials: int, seed: int, unit: float = 1.0
) -> tuple[ComparedSystem, ...]:
    """Compare systems with the first of them.

    Args:
        score: The function from summed statistics to scores.
        parts: Each system's name, mapped to (R, S, K) statistics.
        trials: The number of trials of each test.
        seed: The seed of each test.
        unit: The factor that brings scores and intervals to the unit of the result.
    """
    first = next(iter(parts.values()))
    rows: list[ComparedSystem] = []
    for name, runs in parts.items():
        scores = tuple((unit * score(runs.sum(1))).tolist())
        system = ComparedSystem(name, scores, *mean_and_deviation(scores))
        if rows:
            drawn = bootstrap(first, runs, score, trials, seed)
            system = dataclasses.replace(
                system,
                gain=system.mean - rows[0].mean,
                low=unit * drawn.low,
                high=unit * drawn.high,
                p_randomization=randomization_p_value(first, runs, score, trials, seed),
                p_bootstrap=drawn.p_value,
            )
        rows.append(system)
    return tuple(rows)
