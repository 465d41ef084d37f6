"""Whether a run had time to teach its model anything, and which size learns most in its time.

What is known of sizes was measured with recipe fast (docs/performance.md): a run that made 0.8
passes over its pairs with 400 units, or 1.2 with 1000, ended with a worse model than one of half
the units in the same time or less, which saw about twice as many words. 128 units were no better
than 200. Longer runs were not compared.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from phrasescore.model.model_settings import EncoderDecoderSettings, ModelSettings
from phrasescore.model.sequence_model import END
from phrasescore.training.held_out import Remainder
from phrasescore.training.rare_words import word_counts
from phrasescore.training.training_pairs import PairSide

_ENOUGH = 1.5  # passes over the pairs
_SMALLEST = 200
_FASTER = 2.0  # times as many words in the same time, with half the units
_LEARNT = 0.95  # of the nats per word that word frequencies give: a model of use has far fewer
_BUSY = 0.6  # of the time with a core: a process that is left less shares it with others


def better_size(model: ModelSettings, passes: float) -> int | None:
    """Return how many hidden units would do better in the same time; ``None`` for no fewer.

    Args:
        model: What is trained.
        passes: How often the run will have seen each pair when its time is over.

    >>> sizes = {"source_vocabulary": 9, "target_vocabulary": 9}
    >>> [better_size(EncoderDecoderSettings(**sizes), passes) for passes in (0.5, 1.2, 1.6)]
    [250, 500, None]
    """
    if not isinstance(model, EncoderDecoderSettings):
        return None
    hidden = model.hidden
    while passes < _ENOUGH and hidden // 2 >= _SMALLEST:
        hidden, passes = hidden // 2, passes * _FASTER
    return hidden if hidden < model.hidden else None


def frequency_nll(side: PairSide, training: Remainder, held_out: NDArray[np.int64]) -> float:
    """Return the nats per held-out word, </s> counted, that word frequencies alone give.

    Args:
        side: The target side of all pairs.
        training: The rows whose words are counted.
        held_out: The rows that are predicted.
    """
    seen, asked = word_counts(side, training), word_counts(side, held_out)
    seen[END], asked[END] = len(training), len(held_out)
    ln_p = np.log((seen + 1) / (seen.sum() + len(seen)))
    return float(-(asked @ ln_p) / asked.sum())


def warning_of(
    passes: float, figures: tuple[float, float] | None, *, timed: bool, processor_share: float
) -> str | None:
    """Say that the time was too short; ``None`` if it was not.

    Args:
        passes: How often the run saw each pair.
        figures: Nats per held-out word, of the model and of word frequencies alone; ``None`` where
            nothing is held out.
        timed: Whether the run ends after some time.
        processor_share: The part of that time when this process had a core.
    """
    few = timed and passes < 1
    hardly = figures is not None and figures[0] > _LEARNT * figures[1]
    if not hardly and not few:
        return None
    said = []
    if hardly and figures is not None:
        said.append(
            f"the model has hardly learnt anything: {figures[0]:.3f} nats per word, where word "
            f"frequencies alone give {figures[1]:.3f}"
        )
    if few:
        said.append(f"the time was over after {passes:.2f} passes over the pairs")
        if processor_share < _BUSY:
            said.append(f"other programs left this one {processor_share:.0%} of it")
    remedy = "the same command with a larger --max-time trains it further"
    if not timed:
        remedy = "the same command with a larger --max-epochs trains it further"
    return f"{'; '.join(said)}; {remedy}"
