"""The trust region of the outer loop: how far the next weights go towards the weights found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tuning.loop.tuning_settings import TunedRound
from tuning.optimizers.optimizer import Problem, Weights, rounded, spreads

# the largest radius of the trust region, in the units of `within_trust`; measured on news texts of
# three languages, longer steps often led to translations several times too long
_TRUST = 0.2
_WHOLE = 3  # of so many steps that start from untuned weights, one goes the whole way


def radius_after(rounds: Sequence[TunedRound]) -> float:
    """Return the radius of the trust region after these rounds.

    Equal scores, the sign of a region too small to change a choice, let it grow beyond _TRUST. As
    long as no round beats the start weights, there is no limit after every third round: good
    weights may lie beyond worse ones. Such a step, if it fails, says nothing about the region.
    """
    radius, start = _TRUST, rounds[0].score
    best = start
    for number, decoded in enumerate(rounds[1:], 1):
        if decoded.score > best:
            radius, best = max(radius, min(2 * radius, _TRUST)), decoded.score
        elif best > start or number % _WHOLE:
            radius *= 2 if decoded.score == best else 0.5
    whole = best == start and len(rounds) % _WHOLE == 0
    return np.inf if whole or not best else radius  # a score of 0 cannot get worse


def within_trust(problem: Problem, found: Weights, radius: float) -> tuple[Weights, float]:
    """Go from the start weights of a problem towards the weights found, at most to a radius.

    A weight is measured by its influence, which is the weight times the standard deviation of its
    feature among the candidates of a sentence.

    Args:
        problem: The problem, whose start weights decoded best so far.
        found: (T,) weights found over the pool, without the weight of an extra feature.
        radius: The limit of the distance between start and result, relative to the start's size.

    Returns:
        (T,) the weights reached, and the part of the way that was gone, above 0 and at most 1.
    """
    start, unit = problem.start[: len(found)], spreads(problem.pool)[: len(found)]
    size = float(np.linalg.norm(start * unit))
    if problem.is_scalable and (length := float(np.linalg.norm(found * unit))):
        found = found * (size / length)
    distance = float(np.linalg.norm((found - start) * unit))
    share = min(1.0, radius * size / distance) if size and distance else 1.0
    return rounded(start + share * (found - start), scalable=problem.is_scalable), share
