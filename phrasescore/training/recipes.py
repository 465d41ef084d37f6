"""Recipes: which batches, which optimiser, which learning rate.

``paper`` is what the authors ran (section 4.1.1 and their program); ``fast`` reaches the same
likelihood in a fraction of the time on today's machines.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from torch import Tensor

from phrasescore.model.kinds import Material
from phrasescore.model.model_settings import ModelSettings
from phrasescore.model.sequence_model import Initialisation
from phrasescore.training.batches import (
    Plan,
    bucket_plan,
    paper_plan,
    paper_sentence_plan,
    uniform_plan,
)
from phrasescore.training.optimization.optimizers import Adadelta, Adam, Optimizer
from phrasescore.training.settings import RecipeName, TrainingSettings

_MAX_NORM = 1.0  # of the gradient, both recipes; the authors' cutoff
# the learning rate rises over so many updates, or this share of a short run
_WARM_UP_UPDATES, _WARM_UP_SHARE = 200, 0.05
# Adam moves each weight by about the learning rate, and a sum over H weights by H times as much
_RATE_OF_WIDTH, _WIDTH, _MAX_TIMES = 2e-3, 1000, 4.0
_SHRINKAGE = 0.1  # the authors replace a gradient that is not finite by this times the weights


@dataclass(frozen=True)
class Recipe:
    """One way to train.

    Attributes:
        plan: Cuts one pass over the data into batches.
        batch_size: Phrase pairs an update, unless the user says otherwise; ``None`` where it
            depends on the table (:func:`batch_size_for`).
        learning_rate: At its highest, unless the user says otherwise.
        mean_loss: Whether the loss of an update is the mean over words, or the sum.
        decays: Whether the learning rate warms up and decays, or stays.
        optimizer: How gradients change the weights.
        initialisation: How the weights begin.
        keeps_best: Whether the model is the best one evaluated, or the last.
        plan_held_out: Cuts what is held out into batches.
        min_share: Pairs; a smaller share of a batch leaves the matrix products too thin.
    """

    plan: Plan
    batch_size: int | None
    learning_rate: float
    mean_loss: bool
    decays: bool
    optimizer: Optimizer
    initialisation: Initialisation
    keeps_best: bool
    plan_held_out: Plan = uniform_plan
    min_share: int = 8

    def rate(self, highest: float, updates: int, progress: float, *, begun: int = 0) -> float:
        """Return the learning rate after ``updates``, ``progress`` (0 to 1) through the run.

        That of a model trained further rises again from its ``begun`` updates on.
        """
        if not self.decays:
            return highest
        warm = (updates - begun + 1) / _WARM_UP_UPDATES
        if not begun:
            warm = max(warm, progress / _WARM_UP_SHARE)
        return highest * min(1.0, warm) * 0.5 * (1 + math.cos(math.pi * min(progress, 1.0)))


RECIPES = {
    "fast": Recipe(
        plan=uniform_plan,
        batch_size=None,
        learning_rate=_RATE_OF_WIDTH,
        mean_loss=True,
        decays=True,
        optimizer=Adam(),
        initialisation="scaled",
        keeps_best=True,
    ),
    "paper": Recipe(
        plan=paper_plan,
        batch_size=64,
        learning_rate=1.0,
        mean_loss=False,
        decays=False,
        optimizer=Adadelta(),
        initialisation="paper",
        keeps_best=False,
    ),
}

# For sentences; the paper's is that of Bahdanau et al. (2014), appendix B.2.
SENTENCE_RECIPES = {
    "fast": dataclasses.replace(
        RECIPES["fast"],
        plan=bucket_plan,
        batch_size=64,
        learning_rate=1e-3,
        plan_held_out=bucket_plan,
        min_share=32,
    ),
    "paper": dataclasses.replace(
        RECIPES["paper"],
        plan=paper_sentence_plan,
        batch_size=80,
        plan_held_out=bucket_plan,
        min_share=32,
    ),
}


# For a text. Cho et al. (2014), 4.1.2, say of their language model how the weights begin and when
# training ends, not how it goes: here it goes as they train everything else, with Adadelta, the
# summed loss and 64 examples an update, which are sentences here, about a thousand n-grams.
TEXT_RECIPES = {
    "fast": dataclasses.replace(SENTENCE_RECIPES["fast"], batch_size=64, learning_rate=2e-3),
    "paper": dataclasses.replace(SENTENCE_RECIPES["paper"], batch_size=64, keeps_best=True),
}
_RECIPES: dict[Material, dict[str, Recipe]] = {
    "phrases": RECIPES,
    "sentences": SENTENCE_RECIPES,
    "text": TEXT_RECIPES,
}


def recipe_named(name: RecipeName, learns_from: Material) -> Recipe:
    """Return a recipe for phrases, for sentences or for a text."""
    return _RECIPES[learns_from][name]


def recipe_of(
    settings: TrainingSettings, pairs: int, model: ModelSettings
) -> tuple[Recipe, int, float]:
    """Return the recipe with the batch size and the highest learning rate in force.

    Args:
        settings: What the user asked for.
        pairs: How many pairs are trained on.
        model: What is trained.
    """
    recipe = recipe_named(settings.recipe, settings.learns_from)
    rate = recipe.learning_rate
    if recipe is RECIPES["fast"] and model.rate_by_width:
        rate = rate_of_width(model.hidden)
    return (
        recipe,
        settings.batch_size or recipe.batch_size or batch_size_for(pairs),
        settings.learning_rate or rate,
    )


def rate_of_width(hidden: int) -> float:
    """Return Adam's highest learning rate for so many hidden units: fewer stand a higher one.

    >>> [rate_of_width(hidden) for hidden in (100, 400, 1000)]
    [0.008, 0.005, 0.002]
    """
    return _RATE_OF_WIDTH * min(_MAX_TIMES, _WIDTH / hidden)


def batch_size_for(pairs: int) -> int:
    """Return a batch size that leaves a small table enough updates and a large one full batches.

    It is a quarter of the square root of the number of pairs, as a power of two from 32 to 512.

    >>> [batch_size_for(pairs) for pairs in (3_000, 80_000, 830_000, 10_000_000)]
    [32, 64, 256, 512]
    """
    return min(512, max(32, 2 ** round(math.log2(max(1.0, math.sqrt(pairs) / 4)))))


def bound_gradient(values: Tensor, gradient: Tensor, norm: float, scale: float = 1.0) -> None:
    """Scale a gradient, and then to a global norm of at most 1.

    A gradient that is not finite is replaced by a tenth of the weights, which shrinks them: the
    authors' rule.

    Args:
        values: ``(N,)`` some of the weights.
        gradient: ``(N,)`` theirs, changed.
        norm: Of the whole gradient as it is.
        scale: What it is times first.
    """
    if not math.isfinite(norm):
        gradient.copy_(values).mul_(_SHRINKAGE)
        return
    factor = scale / max(1.0, norm * scale / _MAX_NORM)
    if factor != 1.0:
        gradient.mul_(factor)
