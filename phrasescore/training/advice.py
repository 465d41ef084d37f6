"""Which size of a model learns most in the time there is.

Measured with recipe fast (docs/performance.md): a run that made 0.8 passes over its pairs with 400
units, or 1.2 with 1000, ended with a worse model than one of half the units in the same time or
less, which saw about twice as many words. 128 units were no better than 200. Longer runs were not
compared.
"""

from __future__ import annotations

from phrasescore.model.model_settings import EncoderDecoderSettings, ModelSettings

_ENOUGH = 1.5  # passes over the pairs
_SMALLEST = 200
_FASTER = 2.0  # times as many words in the same time, with half the units


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
