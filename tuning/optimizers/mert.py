"""Minimum error rate training (Och 2003): finds weights whose choices have the best corpus score.

The corpus score is piecewise constant with very many local optima, and most climbs end at a poor
optimum. So the search has three parts:

1. *Annealing*: climbing the expected score, at rising sharpness, leads from the start weights to a
   good region (``tuning.optimizers.annealing``).
2. *Climbing*: exact line searches along single weights (``tuning.optimizers.line_search``).
   Directions come in small groups, in random order. The searches of a group start from the same
   point, and the best of their steps is taken. A climb ends when a pass over all directions
   gains nothing. Only the climb from the start weights searches unbounded lines, in its first two
   passes: after these, long steps hardly ever gain anything, and searching a bounded line takes a
   third of the time of an unbounded one.
3. *Restarts*: the best point so far is changed at random by a tenth or a fifth of the weights'
   size, and a climb starts there; four such climbs run at a time. Every twentieth restart changes
   the weights by their full size and is annealed, too.

With ``near``, the search stays in the region of the start weights if it has better weights: no
annealing, no unbounded lines and no far restarts. Tuning searches near the start, because only
decoding can tell whether weights far away are any good.

The result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from phrasescore.runs.progress import Progress
from tuning.optimizers.annealing import SHARPNESSES, anneal
from tuning.optimizers.candidate_pool import point_at
from tuning.optimizers.line_search import LineSearch
from tuning.optimizers.optimizer import Problem, Region, Solution, Weights, prepare, usable_weights
from tuning.optimizers.workers import Workers

# the number of first passes, which search unbounded lines because a good region may be far away
_WHOLE_PASSES = 2
# the standard deviation of a restart's random change to a weight is one of the strengths times
# (_OWN_SIZE * the weight's own size + (1 - _OWN_SIZE) * the root mean square of the free weights)
_STRENGTHS = (0.1, 0.2)
_OWN_SIZE = 0.7
_CLIMBS_AT_ONCE = 4
_FAR_EVERY = 20  # every twentieth restart starts far away
_FAR_SHARPNESSES = (6.0, 25.0)
# a gain smaller than this is rounding
_GAIN = 1e-9
# the length of a bounded line to either side, as a fraction of the size of the weights
_REACH = 0.2
# directions searched from the same point before the best step is taken
_LINES_AT_ONCE = 4


def run_mert(
    problem: Problem,
    rng: np.random.Generator,
    *,
    restarts: int,
    threads: int = 1,
    near: bool = False,
) -> Solution:
    """Return the best weights found.

    Args:
        problem: The problem to solve.
        rng: The generator of random changes and orders.
        restarts: The number of climbs after the first two, which begin at the start weights and
            at the annealed start weights.
        threads: The number of threads, which share the climbs and the lines of each climb.
        near: Whether to search only near the start weights, unless no better weights are there.
    """
    problem, region, notes = prepare(problem)
    start_score = problem.score(problem.start)
    climbs = 1 + restarts  # those from the start weights, up to three, count as one
    with Workers(threads) as workers, Progress("optimising", climbs, "climbs") as progress:
        search = _Search(problem, region, rng, workers)
        if near:
            search.climb_from([_Start(problem.start)])
            near = search.best_score > start_score + _GAIN
        if not near:
            whole = _Start(problem.start, whole_passes=_WHOLE_PASSES)
            search.climb_from([whole, _Start(problem.start, SHARPNESSES)])
        progress.advance(1)
        for done in range(0, restarts, _CLIMBS_AT_ONCE):
            points = [
                search.restart(far=not near and number % _FAR_EVERY == _FAR_EVERY - 1)
                for number in range(done, min(done + _CLIMBS_AT_ONCE, restarts))
            ]
            search.climb_from(points)
            progress.advance(len(points))
    weights = usable_weights(search.best, problem, region, "the search", notes)
    score = problem.score(weights)
    if score <= start_score:
        weights, score = problem.start, start_score
    return Solution(weights, score, start_score, tuple(notes))


class _Start(NamedTuple):
    """The start of a climb.

    Attributes:
        weights: (F,) the point.
        sharpnesses: The sharpness values of the annealing before the climb; empty for none.
        whole_passes: The number of first passes, which search unbounded lines.
    """

    weights: Weights
    sharpnesses: Sequence[float] = ()
    whole_passes: int = 0


class _Search:
    """The state of a search: the best point so far, and the generator of random changes.

    The workers share the climbs from several points, and the lines from one point.
    """

    def __init__(
        self, problem: Problem, region: Region, rng: np.random.Generator, workers: Workers
    ) -> None:
        self._problem, self._region, self._rng, self._workers = problem, region, rng, workers
        self._lines = LineSearch(problem.pool, problem.objective.shares)
        self.best = problem.start
        self.best_score = -np.inf

    def climb_from(self, points: Sequence[_Start]) -> None:
        """Climb from several points in parallel, and keep the best result (the first, if equal)."""
        seeds = self._rng.integers(1 << 31, size=len(points)).tolist()
        jobs = [partial(self._climb, *each) for each in zip(points, seeds, strict=True)]
        for weights, score in self._workers.run(jobs):
            if score > self.best_score and not self._region.defect_of(weights):
                self.best, self.best_score = weights, score

    def _climb(self, start: _Start, seed: int) -> tuple[Weights, float]:
        """Return (F,) the weights that a climb reaches, and their score.

        Args:
            start: The start of the climb.
            seed: The seed of the random order of directions.
        """
        pool, region, workers = self._problem.pool, self._region, self._workers
        objective, rng = self._problem.objective, np.random.RandomState(seed)
        weights = anneal(pool, start.weights, region, objective, workers, start.sharpnesses)
        axes, point = np.eye(len(weights)), point_at(pool, weights, workers)
        free, spread = region.free, region.spread
        best, passes, gained = -np.inf, 0, True
        while gained:
            gained, order = False, np.empty_like(free)
            order[rng.permutation(len(order))] = free
            reach = np.inf if passes < start.whole_passes else _REACH
            for begin in range(0, len(order), _LINES_AT_ONCE):
                features = order[begin : begin + _LINES_AT_ONCE]
                lengths = reach * np.linalg.norm((weights / spread)[free]) * spread[features]
                ends = np.stack([-lengths, lengths], 1)
                found = self._lines.along(point, axes[features], ends, workers)
                chosen = int(np.argmax([score for _, score in found]))
                step, score = found[chosen]
                if score > best + _GAIN:
                    best, gained = score, True
                    weights = weights + step * axes[features[chosen]]
                    if region.scalable:
                        weights /= np.abs(weights).sum()
                    point = point_at(pool, weights, workers)
            passes += 1
        return weights, best

    def restart(self, *, far: bool) -> _Start:
        """Return a start: the best point with a random change to every free weight.

        A far start changes each weight by the typical size of all weights, and is annealed.
        """
        free, spread = self._region.free, self._region.spread
        strength, own = (1.0, 0.0) if far else (self._rng.choice(_STRENGTHS), _OWN_SIZE)
        size = np.sqrt(np.mean((self.best[free] / spread[free]) ** 2))
        deviation = strength * (own * np.abs(self.best) + (1 - own) * size * spread)
        moved = self.best.copy()
        moved[free] += deviation[free] * self._rng.normal(size=len(free))
        return _Start(moved, _FAR_SHARPNESSES if far else ())
