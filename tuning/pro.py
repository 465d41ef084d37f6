"""Pairwise ranking optimisation (Hopkins and May 2011) with a logistic regression of its own.

From every sentence pairs of candidates are drawn; those that differ enough in sentence BLEU say
which of two feature vectors is better, and a logistic regression without bias finds weights that
agree. The constants are those of Moses's ``pro``; MegaM, which it calls, also puts a Gaussian of
precision 1 on the weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuning.guards import defect_of, prepare
from tuning.optimizer import Problem, Solution, Weights, written
from tuning.sentence_scores import sentence_scores

_ITERATIONS = 50
_CONVERGED = 1e-10


@dataclass(frozen=True)
class Pro:
    """Settings of pairwise ranking.

    Args:
        samples: Pairs drawn for each sentence, with replacement.
        kept: Of those that differ enough, how many of the most different are learnt from.
        least_difference: The least difference in sentence score.
        precision: Of the Gaussian on weights, each measured by the spread of its feature.
    """

    samples: int = 5000
    kept: int = 50
    least_difference: float = 0.05
    precision: float = 1.0

    def optimize(self, problem: Problem, rng: np.random.Generator) -> Solution:
        """Return the weights that rank the pairs best; the start weights if those score higher.

        Raises:
            NBestError: There is nothing to choose from.
            SettingsError: The start weights or bounds make no sense.
        """
        start_score = problem.score(problem.start)
        problem, region, notes = prepare(problem)
        differences = self._pairs(problem, rng)
        effort = {"pairs": float(len(differences))}
        if not len(differences):
            notes.append("no two candidates differ enough to learn from: the start weights stay")
            return Solution(problem.start, start_score, start_score, tuple(notes), effort)
        free = problem.free
        given = differences[:, ~free] @ problem.start[~free]
        learnt = logistic_regression(
            differences[:, free] * region.spread[free], given, self.precision
        )
        weights = problem.start.copy()
        weights[free] = learnt * region.spread[free]
        inside = np.clip(weights, problem.lower, problem.upper)
        if (inside != weights).any():
            notes.append("weights beyond their bounds were moved to them")
        weights = written(inside, scalable=problem.is_scalable)
        if defect := defect_of(weights, region):
            notes.append(f"ranking ended where {defect}: the start weights stay")
            weights = problem.start
        return Solution(weights, problem.score(weights), start_score, tuple(notes), effort)

    def _pairs(self, problem: Problem, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return (P, F) features of the better candidate minus those of the worse."""
        pool = problem.pool
        scores = sentence_scores(pool.statistics, problem.objective)
        pieces = []
        for begin, end in zip(pool.starts[:-1], pool.starts[1:], strict=True):
            if end - begin < 2:
                continue
            left, right = rng.integers(begin, end, (2, self.samples))
            gaps = scores[left] - scores[right]
            different = np.flatnonzero(np.abs(gaps) >= self.least_difference)
            chosen = different[np.argsort(-np.abs(gaps[different]), kind="stable")[: self.kept]]
            better = np.where(gaps[chosen] > 0, left[chosen], right[chosen])
            worse = np.where(gaps[chosen] > 0, right[chosen], left[chosen])
            pieces.append(pool.features[:, better].astype(np.float64).T - pool.features[:, worse].T)
        count = len(pool.features)
        return np.concatenate(pieces) if pieces else np.zeros((0, count))


def logistic_regression(
    differences: NDArray[np.float64], given: NDArray[np.float64], precision: float
) -> Weights:
    """Return weights w that minimise the sum of ln(1 + exp(-(given + x w))) + precision |w|²/2.

    Every pair counts twice, as it does where its mirror image is listed too. The function is
    convex; Newton's steps are halved while they do not lower it.

    Args:
        differences: (P, D) rows x.
        given: (P,) what fixed weights contribute.
        precision: Above 0.
    """
    weights = np.zeros(differences.shape[1])

    def loss(at: Weights) -> float:
        margins = given + differences @ at
        return float(2 * np.logaddexp(0, -margins).sum() + precision / 2 * at @ at)

    value = loss(weights)
    for _ in range(_ITERATIONS):
        wrong = 1 / (1 + np.exp(np.clip(given + differences @ weights, -500, 500)))
        gradient = -2 * differences.T @ wrong + precision * weights
        curvature = 2 * (differences.T * (wrong * (1 - wrong))) @ differences
        step = np.linalg.solve(curvature + precision * np.eye(len(weights)), gradient)
        factor = 1.0
        while (moved := loss(weights - factor * step)) > value and factor > _CONVERGED:
            factor /= 2
        if value - moved <= _CONVERGED * abs(value):
            break
        weights, value = weights - factor * step, moved
    return weights
