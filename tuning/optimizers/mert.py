"""Minimum error rate training (Och 2003): weights under which the best candidates score highest.

The corpus score is piecewise constant with very many local optima, and most starting points climb
to a poor one. So the search has three parts:

1. *Annealing*: the expected score at rising sharpness leads from the start weights to a good
   region (``tuning.optimizers.expected_score``).
2. *Climbing*: exact line searches along single weights (``tuning.optimizers.climbing``).
3. *Restarts*: the best point so far is shaken by a tenth or a fifth of the weights' size and
   climbed from, four such climbs at a time. Every twentieth begins from random weights instead,
   which are annealed too.

The result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from tuning.optimizers.climbing import Region, climb
from tuning.optimizers.expected_score import anneal
from tuning.optimizers.optimizer import Problem, Solution, Weights, written
from tuning.optimizers.problem_checks import defect_of, prepare

# passes over full lines: from the start weights a good region may be far away
_FROM_START, _FROM_BEST = 2, 0
_SHAKES = (0.1, 0.2)
# a shaken weight changes by a part of itself and by a part of the size of all
_OF_ITSELF = 0.7
_TOGETHER = 4
_FAR_EVERY = 20  # restarts
_FAR_SHARPNESSES = (6.0, 25.0)


@dataclass(frozen=True)
class Mert:
    """Settings of minimum error rate training.

    Args:
        restarts: How many climbs follow the ones from the start weights and from the annealed
            ones.
        threads: How many climbs run at a time.
    """

    restarts: int
    threads: int = 1

    def optimize(self, problem: Problem, rng: np.random.Generator) -> Solution:
        """Return the best weights found."""
        problem, region, notes = prepare(problem)
        start_score = problem.score(problem.start)
        search = _Search(problem, region, rng)
        with ThreadPoolExecutor(self.threads) as workers:
            search.climb_from([problem.start], _FROM_START, workers)
            annealed = anneal(problem.pool, problem.start, region, problem.objective.shares)
            search.climb_from([annealed], _FROM_BEST, workers)
            for done in range(0, self.restarts, _TOGETHER):
                points = [
                    search.far_point() if number % _FAR_EVERY == _FAR_EVERY - 1 else search.shaken()
                    for number in range(done, min(done + _TOGETHER, self.restarts))
                ]
                search.climb_from(points, _FROM_BEST, workers)
        weights = written(search.best, scalable=bool(region.scalable[0]))
        score = problem.score(weights)
        defect = defect_of(weights, region)
        if score <= start_score or defect:
            if defect:
                notes.append(f"the search ended where {defect}: the start weights stay")
            weights, score = problem.start, start_score
        effort = {"climbs": search.climbs, "lines": search.lines}
        return Solution(weights, score, start_score, tuple(notes), effort)


class _Search:
    """The state of a search: the best point so far, and the generator that shakes it."""

    def __init__(self, problem: Problem, region: Region, rng: np.random.Generator) -> None:
        self._problem, self._region, self._rng = problem, region, rng
        self.best = problem.start
        self.best_score = -np.inf
        self.climbs = self.lines = 0

    def climb_from(
        self, points: Sequence[Weights], full_passes: int, workers: ThreadPoolExecutor
    ) -> None:
        """Climb from some points at a time and keep the best end; the first of equals."""
        seeds = self._rng.integers(1 << 31, size=len(points)).tolist()
        shares = self._problem.objective.shares
        calls = [
            workers.submit(
                climb, self._problem.pool, point, self._region, full_passes, shares, seed
            )
            for point, seed in zip(points, seeds, strict=True)
        ]
        for call in calls:
            weights, score, lines = call.result()
            self.climbs += 1
            self.lines += lines
            if score > self.best_score and not defect_of(weights, self._region):
                self.best, self.best_score = weights, score

    def shaken(self) -> Weights:
        """Return the best point with random changes to all free weights."""
        free, spread = self._region.free, self._region.spread
        size = np.sqrt(np.mean((self.best[free] / spread[free]) ** 2))
        strength = self._rng.choice(_SHAKES)
        amount = _OF_ITSELF * np.abs(self.best) + (1 - _OF_ITSELF) * size * spread
        return self._moved(strength * amount)

    def far_point(self) -> Weights:
        """Return weights annealed from random ones: the best, each changed by the size of all."""
        region = self._region
        size = np.sqrt(np.mean((self.best[region.free] / region.spread[region.free]) ** 2))
        begin = self._moved(size * region.spread)
        shares = self._problem.objective.shares
        return anneal(self._problem.pool, begin, region, shares, _FAR_SHARPNESSES)

    def _moved(self, deviation: Weights) -> Weights:
        moved = self.best.copy()
        free = self._region.free
        moved[free] += deviation[free] * self._rng.normal(size=len(free))
        return np.clip(moved, self._problem.lower, self._problem.upper)
