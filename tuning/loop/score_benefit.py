"""Estimates, over n-best lists, the gain that a system owes to each score that is ln p of a model.

The estimate is twofold: weights are optimised on the even sentences and choose the candidates of
the odd ones, and the other way round, once with the score and once with its weight fixed at 0. The
gain is the difference in the objective of all sentences together. It is an estimate over lists: the
decoder found all candidates with one system, so without the score it might have found others.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from functools import partial
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from moses_integration.ini.feature_kinds import FEATURE_KINDS, OWN_KINDS, PHRASE_TABLE_KINDS
from moses_integration.ini.feature_weights import Feature
from phrasescore.errors import NBestError, SettingsError
from phrasescore.model.kinds import KINDS
from tuning.loop.tuning_settings import OptimizationSettings, ScoreBenefit
from tuning.loop.weights import WeightPlan
from tuning.metrics.metric_scores import objective_score
from tuning.metrics.metric_settings import TEST_SEED, TRIALS
from tuning.metrics.score_tables import points
from tuning.metrics.significance import bootstrap, pooled_difference
from tuning.optimizers.candidate_pool import PoolArrays, point_at
from tuning.optimizers.optimizer import Problem, Weights

_MIN_SENTENCES = 20  # with fewer, weights of half the sentences say nothing about the other half
_RESTARTS = 3  # an estimate needs fewer restarts of MERT than the weights themselves
TOGETHER = "rescoring"  # the name of all scores that choose among candidates
AND = " + "  # between the names of scores that are judged together
_TRAINED = 4  # the scores of a phrase table by Moses's training; models append further scores
# the usual names in lists, which do not show the classes of features
_MODELS = frozenset(kind.feature for kind in KINDS)
_TABLES = PHRASE_TABLE_KINDS | {"TranslationModel"}
_NO_MODELS = FEATURE_KINDS.keys() | {"LM", "TranslationModel"}


def model_columns(plan: WeightPlan, pool: PoolArrays) -> list[int]:
    """Return the indices, among the components in n-best lists, of scores that are ln p of a model.

    These are the features of `OWN_KINDS`, the features with the names that ``nbest`` gives by
    default, the scores of a phrase table after the fourth, and single scores in lists that have
    neither a line in the ini nor a usual name of Moses. The last two count only if their values are
    logarithms of probabilities: an indicator or a count is no ln p.
    """
    features = plan.layout.features
    places = [(feature, at) for feature in features for at in range(feature.components)]
    return [
        column
        for column, place in enumerate(compress(places, plan.layout.tuneable))
        if _is_of_model(*place, pool.features[column])
    ]


def _is_of_model(feature: Feature, at: int, values: NDArray[np.float32]) -> bool:
    name = feature.name.rstrip("0123456789")
    if feature.kind in OWN_KINDS or name in _MODELS:
        return True
    appended = (feature.kind or name) in _TABLES and at >= _TRAINED
    unknown = not feature.kind and name not in _NO_MODELS and feature.components == 1
    return (appended or unknown) and bool(values.max(initial=0) <= 0 and (values % 1).any())


def estimate_benefits(
    plan: WeightPlan,
    pool: PoolArrays,
    weights: Weights,
    settings: OptimizationSettings,
    second: Sequence[str] = (),
) -> tuple[ScoreBenefit, ...]:
    """Estimate the benefit of each score that is ln p of a model, and then of all together.

    There is no estimate for very few sentences.

    Args:
        plan: The weights of the system; every optimisation begins with its start weights.
        pool: The candidates of S sentences, at least one of each.
        weights: (F,) the tuned weights.
        settings: The optimiser and the objective.
        second: The components to judge instead, each alone, then together (`TOGETHER`), and then
            with all other scores of models.
    """
    models = model_columns(plan, pool)
    judged = [plan.names.index(name) for name in second] or models
    groups = [(plan.names[place], [place]) for place in judged]
    if second:
        groups.append((TOGETHER, judged))
    every = sorted({*models, *judged})
    if every != sorted(judged) or (not second and len(every) > 1):
        groups.append((AND.join(plan.names[place] for place in every), every))
    if not judged or len(pool.starts) <= _MIN_SENTENCES:
        return ()
    settings = dataclasses.replace(settings, restarts=min(settings.restarts, _RESTARTS))
    problem = plan.problem(pool, settings.objective)
    score = partial(np.apply_along_axis, partial(objective_score, settings.objective), -1)
    found = []
    with contextlib.suppress(NBestError, SettingsError):  # half of the lists may leave no choice
        complete = _of_unseen(problem, settings)
        for number, (name, places) in enumerate(groups):
            off = np.isin(np.arange(len(problem.start)), places)
            start, free = np.where(off, 0, problem.start), problem.free & ~off
            without = _of_unseen(dataclasses.replace(problem, start=start, free=free), settings)
            drawn = bootstrap(without, complete, score, TRIALS, TEST_SEED)
            gain = pooled_difference(without, complete, score)
            weight = float(weights[places[0]]) if number < len(judged) else None
            found.append(ScoreBenefit(name, weight, gain, drawn.low, drawn.high))
    return tuple(found)


def _of_unseen(problem: Problem, settings: OptimizationSettings) -> NDArray[np.float64]:
    """Return (1, S, K) the statistics that weights of the other half choose in each sentence."""
    pool = problem.pool
    counts = np.diff(pool.starts)
    chosen = np.empty((1, len(counts), pool.statistics.shape[1]))
    for parity in (0, 1):
        seen = np.repeat(np.arange(len(counts)) % 2 == parity, counts)
        starts = np.concatenate([[0], counts[parity::2].cumsum()])
        half = PoolArrays(pool.features[:, seen], pool.statistics[seen], starts)
        rng = np.random.default_rng(settings.seed)
        optimizer = settings.choose_optimizer()
        solution = optimizer(dataclasses.replace(problem, pool=half), rng)
        winners = point_at(pool, solution.weights).winners[1 - parity :: 2]
        chosen[0, 1 - parity :: 2] = pool.statistics[winners]
    return chosen


def benefit_in_words(benefit: ScoreBenefit, objective: str) -> str:
    """Say in a sentence whether a score that is ln p of a model helps.

    >>> benefit_in_words(ScoreBenefit("NeuralLM0", 0.2, 0.004, 0.001, 0.007), "bleu")
    'NeuralLM0 helps: +0.40 bleu (95 % interval +0.10 to +0.70), an estimate over lists'
    """
    gain, low, high = (points(x, sign=True) for x in (benefit.gain, benefit.low, benefit.high))
    one, several = ("helps", "help") if benefit.low > 0 else ("is not", "are not")
    verdict = several if AND in benefit.name else one
    verdict += "" if benefit.low > 0 else " shown to help"
    said = f"{benefit.name} {verdict}: {gain} {objective} (95 % interval {low} to {high}), "
    said += "an estimate over lists"
    if benefit.weight is not None and benefit.weight < 0:
        said += "; its weight is negative, so translations that its model finds probable lose"
    return said
