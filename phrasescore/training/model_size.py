"""The number of hidden units that a model should have, from the amount of text, time and speed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from phrasescore.model.kinds import Material


@dataclass(frozen=True)
class _Widths:
    """The numbers of hidden units to choose from, and the time that they take.

    Args:
        hidden: The numbers, the largest first.
        passes: The passes over the examples that a size must be able to make in the time.
        linear: The time for a word is 1 + units / ``linear`` + (units / ``square``)^2 units of
            time.
        square: See ``linear``.
    """

    hidden: tuple[int, ...]
    passes: float
    linear: float
    square: float


# Phrases: on Multi30k (839,237 pairs), the loss on unseen sources was lowest with 200 units in 5
# minutes (1.1 passes; 500 units made 0.6), and with 1,000 units in 45 minutes (2.3 passes; 500
# units made 5.4). The time for a word was measured with 200, 500 and 1,000 units on one core in
# bfloat16: 41, 75 and 174 microseconds.
# Sentences: for a word of English-Hausa, a model of 256 units took 2.3 times, and one of 512 units
# 7.4 times the time of 128 units, on one core in float32. On its unseen sentences, 256 units after
# 4 passes (5.97 nats a word, the rate still high) were better than 128 units after 8 (6.08), which
# take as long; on English-Indonesian, 384 units had 5.02 after 5 passes, and 128 units 6.48 after 8
# passes in a third of the time. On Multi30k, 512 units gained most, with 14 passes.
_WIDTHS: Mapping[Material, _Widths] = {
    "phrases": _Widths((1000, 700, 500, 400, 300, 200), 2.0, 820, 521),
    "sentences": _Widths((512, 384, 256, 128), 5.0, math.inf, 146),
}


def smallest(learns_from: Material) -> int:
    """Return the smallest number of hidden units that is ever chosen."""
    return _WIDTHS[learns_from].hidden[-1]


def passes_of(hidden: int, passes: float, measured: int, learns_from: Material) -> float:
    """Return the passes that a model makes in the time that another size takes for some.

    Args:
        hidden: Number of hidden units.
        passes: Passes of the model that was measured.
        measured: Its number of hidden units.
        learns_from: The material of both models.

    >>> round(passes_of(200, 1.0, 500, "phrases"), 2)
    1.82
    """
    sizes = _WIDTHS[learns_from]
    times = [1 + units / sizes.linear + (units / sizes.square) ** 2 for units in (measured, hidden)]
    return passes * times[0] / times[1]


def hidden_for(
    learns_from: Material, words: float = math.inf, passes: float = math.inf, measured: int = 1
) -> int:
    """Return the number of hidden units with which a model learns most.

    A square matrix of the model has at most as many weights as the text has words, as had the
    models that gained most on Multi30k; and the model makes enough passes in the time.

    Args:
        learns_from: The material of the model.
        words: Words of the parallel text's target side.
        passes: Passes that a model makes over the examples in the time, on this machine.
        measured: The number of hidden units of this model.

    >>> [hidden_for("phrases", passes=passes, measured=200) for passes in (1.1, 4.0, 10.0)]
    [200, 500, 1000]
    >>> [hidden_for("sentences", words) for words in (40_000, 400_000)]
    [128, 512]
    """
    sizes = _WIDTHS[learns_from]
    able = (
        each
        for each in sizes.hidden
        if each * each <= words and passes_of(each, passes, measured, learns_from) >= sizes.passes
    )
    return next(able, smallest(learns_from))
