"""Whether systems differ, by several tuning runs each (Clark et al. 2011).

Tuning is random: a system tuned twice scores differently. So every system has several translations
of the test set, one for each tuning run; what counts is the mean, the deviation over runs, and
whether the difference to the first system could be chance (``tuning.metrics.resampling``).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tuning.metrics.metric_scores import columns_of, metric_scores
from tuning.metrics.metric_settings import TEST_SEED, TRIALS, MetricName
from tuning.metrics.resampling import bootstrap, randomization_p_value, replica_p_value


@dataclass(frozen=True)
class SystemDifference:
    """How a system differs from the first one in one metric; fractions.

    Args:
        gain: The mean over runs minus that of the first system.
        low: Of the 95 % interval of the gain, for other sentences and other runs.
        high: The same.
        p_randomization: Of approximate randomisation of sentences, two-sided; the runs are given.
        p_replicas: Of randomisation of replicas (Clark et al. 2011), often too small.
        p_bootstrap: Of the two-level bootstrap that the interval comes from, two-sided.
    """

    gain: float
    low: float
    high: float
    p_randomization: float
    p_replicas: float
    p_bootstrap: float


@dataclass(frozen=True)
class SystemScores:
    """One system in one metric; fractions.

    Args:
        name: Of the system.
        runs: The score of each tuning run.
        difference: To the first system; none for the first itself.
    """

    name: str
    runs: tuple[float, ...]
    difference: SystemDifference | None = None

    @property
    def mean(self) -> float:
        """Over runs."""
        return mean_and_deviation(self.runs)[0]

    @property
    def deviation(self) -> float | None:
        """The standard deviation over runs (n - 1); none of a single one."""
        return mean_and_deviation(self.runs)[1]


def mean_and_deviation(scores: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean over runs, and the standard deviation (n - 1); none of a single one."""
    return statistics.fmean(scores), statistics.stdev(scores) if len(scores) > 1 else None


def compare_statistics(
    metric: MetricName,
    systems: Mapping[str, NDArray[np.int64]],
    *,
    trials: int = TRIALS,
    seed: int = TEST_SEED,
) -> tuple[SystemScores, ...]:
    """Compare systems with the first of them in one metric.

    Args:
        metric: ``bleu``, ``chrf`` or ``ter``.
        systems: By name, (R, S, K) statistics of R runs over the same S sentences.
        trials: Of each test.
        seed: Of each test.
    """
    score = partial(metric_scores, metric)
    parts = {name: runs[:, :, columns_of(metric)] for name, runs in systems.items()}
    first = next(iter(parts.values()))
    rows: list[SystemScores] = []
    for name, runs in parts.items():
        scores = tuple(score(runs.sum(1)).tolist())
        if not rows:
            rows.append(SystemScores(name, scores))
            continue
        drawn = bootstrap(first, runs, score, trials, seed)
        difference = SystemDifference(
            gain=statistics.fmean(scores) - rows[0].mean,
            low=drawn.low,
            high=drawn.high,
            p_randomization=randomization_p_value(first, runs, score, trials, seed),
            p_bootstrap=drawn.p_value,
            p_replicas=replica_p_value(first, runs, score, trials, seed),
        )
        rows.append(SystemScores(name, scores, difference))
    return tuple(rows)
