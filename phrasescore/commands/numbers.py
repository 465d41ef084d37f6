"""Numbers on the command line: in ASCII digits, finite, and no larger than makes sense.

An option without an upper bound is a way to ask for more memory or time than there is, or for a
number that no machine word holds; so each has one, well above what anybody needs.
"""

from __future__ import annotations

import math
import re
from typing import Any

import click

_SHOWN = 30  # characters of a wrong value


class Whole(click.IntRange):
    """A whole number of a range.

    Args:
        least: The least.
        most: The most.
    """

    metavar = "N"

    def __init__(self, least: int, most: int) -> None:
        super().__init__(least, most)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        if isinstance(value, str) and not re.fullmatch(r"[+-]?[0-9]{1,400}", value):
            self.fail(f"{_short(value)} is not a whole number", param, ctx)
        return int(super().convert(value, param, ctx))


class Real(click.FloatRange):
    """A finite number of a range.

    Args:
        least: The least.
        most: The most.
        above: Whether the least itself is too little.
        below: Whether the most itself is too much.
    """

    metavar = "NUMBER"

    def __init__(
        self, least: float, most: float, *, above: bool = False, below: bool = False
    ) -> None:
        super().__init__(least, most, min_open=above, max_open=below)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number."""
        if isinstance(value, str) and not (value.isascii() and _is_finite(value)):
            self.fail(f"{_short(value)} is not a number", param, ctx)
        return float(super().convert(value, param, ctx))


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


THREADS = Whole(1, 256)
# exact in JSON, which some read as floating point
SEED = Whole(0, 1 << 53)
FACTOR = Whole(0, 99)
# words of a sentence or phrase
WORDS = Whole(1, 10_000)
# pairs, sentences, words of a list: as many as a corpus has
ITEMS = Whole(1, 10**12)
# what is computed at a time
BATCH = Whole(1, 10**6)
# hypotheses of a neural model for each source
BEAM = Whole(1, 1000)
# scores of a table
COLUMN = Whole(1, 10_000)
WEIGHT = Real(-1e6, 1e6)
