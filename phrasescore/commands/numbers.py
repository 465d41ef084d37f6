"""Numbers on the command line, which must be finite, within bounds, and in ASCII digits.

Without a maximum, an option could request more memory or time than there is, or a number that does
not fit into a machine word. Each option therefore has a maximum, well above any useful value.
"""

from __future__ import annotations

import math
import re
from typing import Any

import click

_SHOWN = 30  # maximum number of characters of a wrong value in a message


class BoundedInt(click.IntRange):
    """A whole number within bounds, both included."""

    metavar = "N"

    def __init__(self, minimum: int, maximum: int) -> None:
        super().__init__(minimum, maximum)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        if isinstance(value, str) and not re.fullmatch(r"[+-]?[0-9]{1,400}", value):
            self.fail(f"{_short(value)} is not a whole number", param, ctx)
        return int(super().convert(value, param, ctx))


class BoundedFloat(click.FloatRange):
    """A finite number within bounds.

    Args:
        minimum: The lower bound.
        maximum: The upper bound.
        above: Whether the lower bound itself is excluded.
        below: Whether the upper bound itself is excluded.
    """

    metavar = "NUMBER"

    def __init__(
        self, minimum: float, maximum: float, *, above: bool = False, below: bool = False
    ) -> None:
        super().__init__(minimum, maximum, min_open=above, max_open=below)

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


THREADS = BoundedInt(1, 256)
# up to 2^53, which stays exact if a JSON reader turns it into a floating-point number
SEED = BoundedInt(0, 1 << 53)
FACTOR = BoundedInt(0, 99)
# number of words of a sentence or phrase
WORDS = BoundedInt(1, 10_000)
# number of pairs, sentences or words, up to the size of a corpus
ITEMS = BoundedInt(1, 10**12)
# number of items that a model computes at a time
BATCH = BoundedInt(1, 10**6)
# number of hypotheses of a neural model for each source
BEAM = BoundedInt(1, 1000)
# number of a score in a line of a phrase table, counted from 1
COLUMN = BoundedInt(1, 10_000)
WEIGHT = BoundedFloat(-1e6, 1e6)
