"""Training recipes: batches, optimiser, initial weights and learning rate.

The recipe ``paper`` follows section 4.1.1 of Cho et al. (2014) and their program. The recipe
``fast`` reaches the same likelihood in a fraction of the time on today's machines.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from phrasescore.model.kinds import EncoderDecoderSettings, Material, ModelSettings
from phrasescore.model.sequence_model import Initialisation
from phrasescore.training.batches import (
    Plan,
    bucket_plan,
    paper_plan,
    paper_sentence_plan,
    uniform_plan,
)
from phrasescore.training.optimization.flat_weights import adadelta, adam
from phrasescore.training.settings import RecipeName, TrainingSettings

_MAX_NORM = 1.0  # maximum norm of the gradient, in all recipes; the authors call it cutoff
# the learning rate warms up over 200 updates, or over 5 % of the run if that is fewer
_WARM_UP_UPDATES, _WARM_UP_SHARE = 200, 0.05
# Adam changes each weight by about the learning rate, so it changes a sum over H weights by up to H
# times the rate. Narrower layers therefore tolerate a higher rate, up to this factor.
_MAX_TIMES = 4.0
# Batches of little text, in nats a word on unseen sentences. RNNsearch of 128 units on
# English-Hausa (5,600 pairs of news) after 8 passes: 7.41, 6.77 and 6.51 with batches of 64, 16
# and 8 at a rate of 0.0015; 6.33, 6.08 and 6.71 with batches of 16 at 0.003, 0.006 and 0.012.
# Batches of 8 take a third longer. With 18,000 pairs of English-Indonesian, 16 was tried alone. A
# language model of Hausa after 3 passes: 5.62 and 5.39 with 64 and 16; of Indonesian after 2.4:
# 6.29 with 64, and 6.38 with 16 at twice the rate. Multi30k (29,000 captions) was tested with 64.
_SMALL_BATCH = 16
_SHRINKAGE = 0.1  # a gradient that is not finite is replaced by the weights times this factor


@dataclass(frozen=True)
class Recipe:
    """The parts of training that a recipe decides.

    Attributes:
        plan: Cuts one pass over the data into batches.
        batch_size: Default number of pairs in a batch; ``None`` if it depends on the table
            (:func:`batch_size_for`).
        learning_rate: Default of the highest learning rate, for ``width`` units.
        small: The number of pairs up to which a batch is small.
        width: The number of hidden units that ``learning_rate`` suits; narrower models learn at a
            higher rate (:meth:`rate_of_width`). ``None`` for one rate.
        mean_loss: Whether the loss of an update is the mean over words; otherwise it is the sum.
        decays: Whether the learning rate warms up and decays; otherwise it is constant.
        optimizer: Changes weights, with the arguments of :func:`adam`.
        initialisation: How the initial weights are drawn.
        keeps_best: Whether the run writes the model with the lowest held-out loss; otherwise it
            writes the last model.
        plan_held_out: Cuts the held-out pairs into batches.
        min_share: Minimum number of pairs per core; with fewer, matrix products are inefficient.
    """

    plan: Plan
    batch_size: int | None
    learning_rate: float
    mean_loss: bool
    decays: bool
    optimizer: Callable[[Tensor, Tensor, Tensor, float, int], None]
    initialisation: Initialisation
    keeps_best: bool
    plan_held_out: Plan = uniform_plan
    min_share: int = 8
    width: int | None = None
    small: int = 0

    def rate_of_width(self, hidden: int) -> float:
        """Return the default of the highest learning rate for a number of hidden units.

        >>> [RECIPES["phrases", "fast"].rate_of_width(hidden) for hidden in (100, 400, 1000)]
        [0.008, 0.005, 0.002]
        """
        return self.learning_rate * min(_MAX_TIMES, (self.width or hidden) / hidden)

    def rate(self, highest: float, updates: int, progress: float, *, begun: int = 0) -> float:
        """Return the learning rate after ``updates`` updates, at a ``progress`` from 0 to 1.

        If a finished model is trained further, the rate warms up again after its ``begun`` updates.
        """
        if not self.decays:
            return highest
        warm = (updates - begun + 1) / _WARM_UP_UPDATES
        if not begun:
            warm = max(warm, progress / _WARM_UP_SHARE)
        return highest * min(1.0, warm) * 0.5 * (1 + math.cos(math.pi * min(progress, 1.0)))


_FAST = Recipe(
    plan=uniform_plan,
    batch_size=None,
    learning_rate=2e-3,
    width=1000,
    mean_loss=True,
    decays=True,
    optimizer=adam,
    initialisation="scaled",
    keeps_best=True,
)
_PAPER = Recipe(
    plan=paper_plan,
    batch_size=64,
    learning_rate=1.0,
    mean_loss=False,
    decays=False,
    optimizer=adadelta,
    initialisation="paper",
    keeps_best=False,
)
# for models of sentences; `paper` follows Bahdanau et al. (2014), appendix B.2
_FAST_LONG, _PAPER_LONG = (
    dataclasses.replace(
        recipe, plan=plan, plan_held_out=bucket_plan, min_share=32, batch_size=64, width=None
    )
    for recipe, plan in ((_FAST, bucket_plan), (_PAPER, paper_sentence_plan))
)
# Cho et al. (2014), 4.1.2, state only the initial weights of their language model and when its
# training ends. The rest follows their training of translation models: Adadelta, the summed loss,
# and 64 examples per update. An example is a sentence here, so an update sees about a thousand
# n-grams.
RECIPES: dict[tuple[Material, RecipeName], Recipe] = {
    ("phrases", "fast"): _FAST,
    ("phrases", "paper"): _PAPER,
    ("sentences", "fast"): dataclasses.replace(
        _FAST_LONG, learning_rate=1.5e-3, width=512, small=20_000
    ),
    ("sentences", "paper"): dataclasses.replace(_PAPER_LONG, batch_size=80),
    ("text", "fast"): dataclasses.replace(_FAST_LONG, small=8_000),
    ("text", "paper"): dataclasses.replace(_PAPER_LONG, keeps_best=True),
}


def recipe_of(
    settings: TrainingSettings, pairs: int, model: ModelSettings
) -> tuple[Recipe, int, float]:
    """Return the recipe, and the batch size and the highest learning rate to use.

    Args:
        settings: The user's settings, which override the recipe's.
        pairs: Number of pairs to train on.
        model: Settings of the model.
    """
    recipe = RECIPES[settings.learns_from, settings.recipe]
    size, rate = recipe.batch_size or batch_size_for(pairs), recipe.learning_rate
    is_gated = isinstance(model, EncoderDecoderSettings) and model.unit == "gated"
    if is_gated or settings.learns_from != "phrases":  # tested with 128 to 400 units
        rate = recipe.rate_of_width(model.hidden)
    if pairs <= recipe.small:
        size = _SMALL_BATCH
    return recipe, settings.batch_size or size, settings.learning_rate or rate


def batch_size_for(pairs: int) -> int:
    """Return a batch size that gives small tables enough updates and large ones full batches.

    The size is a quarter of the square root of the number of pairs, rounded to a power of two
    between 32 and 512.

    >>> [batch_size_for(pairs) for pairs in (3_000, 80_000, 830_000, 10_000_000)]
    [32, 64, 256, 512]
    """
    return min(512, max(32, 2 ** round(math.log2(max(1.0, math.sqrt(pairs) / 4)))))


def bound_gradient(values: Tensor, gradient: Tensor, norm: float, scale: float = 1.0) -> None:
    """Scale a part of a gradient, and clip it so that the whole gradient's norm is at most 1.

    A gradient that is not finite is replaced by a tenth of the weights, so that the update shrinks
    the weights. This is the authors' rule.

    Args:
        values: ``(N,)`` a part of the weights.
        gradient: ``(N,)`` the gradient of these weights; changed in place.
        norm: Norm of the whole gradient before scaling.
        scale: Factor to apply first.
    """
    if not math.isfinite(norm):
        gradient.copy_(values).mul_(_SHRINKAGE)
        return
    factor = scale / max(1.0, norm * scale / _MAX_NORM)
    if factor != 1.0:
        gradient.mul_(factor)
