"""Pairwise ranking optimisation (Hopkins and May 2011) with a built-in logistic regression.

Pairs of candidates are drawn from every sentence. Each pair that differs enough in sentence BLEU is
an example of a better and a worse feature vector, and a logistic regression without bias finds
weights that rank the pairs. The constants are as in Moses's ``pro``. As in MegaM, which Moses calls
for the regression, the weights have a Gaussian prior of precision 1.

Sentence BLEU is not corpus BLEU: the pairs that differ most teach translations that are too short
(Nakov et al. 2012), and the learnt weights may score below the old ones, in Moses and here. Hopkins
and May therefore go only part of the way from the old weights to the learnt ones. Here an exact
line search finds the best point on this way.
"""

from __future__ import annotations

import numpy as np

from tuning.metrics.metric_scores import sentence_scores
from tuning.optimizers.candidate_pool import Floats, point_at
from tuning.optimizers.line_search import LineSearch
from tuning.optimizers.optimizer import Problem, Region, Solution, Weights, prepare, usable_weights

_SAMPLES = 5000  # pairs drawn for each sentence, with replacement
_KEPT = 50  # pairs of each sentence to learn from: those that differ most
_MIN_DIFFERENCE = 0.05  # the minimum difference in sentence score of a pair
_PRECISION = 1.0  # of the Gaussian prior on weights in units of ``Region.spread``
_ITERATIONS = 50
_CONVERGED = 1e-10


def run_pro(problem: Problem, rng: np.random.Generator) -> Solution:
    """Return the best weights on the way from the start to the weights that rank pairs best."""
    problem, region, notes = prepare(problem)
    start_score = problem.score(problem.start)
    differences = draw_pairs(problem, rng)
    if not len(differences):
        notes.append("no two candidates differ enough to learn from: start weights are kept")
        return Solution(problem.start, start_score, start_score, tuple(notes))
    free, learnt, spread = problem.free, problem.start.copy(), region.spread[problem.free]
    given = differences[:, ~free] @ problem.start[~free]
    learnt[free] = spread * logistic_regression(differences[:, free] * spread, given, _PRECISION)
    found = _best_between(problem, region, learnt)
    weights = usable_weights(found, problem, region, "ranking", notes)
    return Solution(weights, problem.score(weights), start_score, tuple(notes))


def draw_pairs(problem: Problem, rng: np.random.Generator) -> Floats:
    """Draw P pairs; return (P, F) the better candidates' features minus the worse ones'."""
    pool = problem.pool
    scores = sentence_scores(pool.statistics, problem.objective)
    pieces = []
    for begin, end in zip(pool.starts[:-1], pool.starts[1:], strict=True):
        if end - begin < 2:
            continue
        left, right = rng.integers(begin, end, (2, _SAMPLES))
        gaps = scores[left] - scores[right]
        different = np.flatnonzero(np.abs(gaps) >= _MIN_DIFFERENCE)
        chosen = different[np.argsort(-np.abs(gaps[different]), kind="stable")[:_KEPT]]
        better = np.where(gaps[chosen] > 0, left[chosen], right[chosen])
        worse = np.where(gaps[chosen] > 0, right[chosen], left[chosen])
        pieces.append(pool.features[:, better].astype(np.float64).T - pool.features[:, worse].T)
    return np.concatenate(pieces) if pieces else np.zeros((0, len(pool.features)))


def _best_between(problem: Problem, region: Region, learnt: Weights) -> Weights:
    """Return the best-scoring point between the start weights and the learnt ones."""
    start = problem.start
    if region.scalable:
        free = region.free
        sizes = [np.linalg.norm((weights / region.spread)[free]) for weights in (start, learnt)]
        learnt[free] *= sizes[0] / sizes[1] if sizes[1] > 0 else 0.0
    search = LineSearch(problem.pool, problem.objective.shares)
    point, ends = point_at(problem.pool, start), np.array([[0.0, 1.0]])
    ((share, _),) = search.along(point, (learnt - start)[np.newaxis], ends)
    return start + share * (learnt - start)


def logistic_regression(differences: Floats, given: Floats, precision: float) -> Weights:
    """Return weights w that minimise the sum of ln(1 + exp(-(given + x w))) + precision |w|²/2.

    The sum counts every pair twice, because Moses also lists the reverse of each pair. The function
    is convex, so Newton's method finds its minimum; a step that does not lower the function is
    halved.

    Args:
        differences: (P, D) the rows x.
        given: (P,) the contribution of fixed weights.
        precision: The precision of the Gaussian prior, above 0.
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
