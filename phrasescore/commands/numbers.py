"""Numbers on the command line, which must be finite and within bounds.

Without a maximum, an option could request more memory or time than there is, or its value might not
fit into a machine word. Each option therefore has a maximum, well above any useful value.
"""

from __future__ import annotations

import math
from typing import Any

import click

from phrasescore.closed_settings import Between


class BoundedInt(click.IntRange):
    """A whole number within bounds, both included."""

    name, metavar = "whole number", "N"


class BoundedFloat(click.FloatRange):
    """A finite number within bounds."""

    name, metavar = "number", "NUMBER"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number; refuse nan, which click would accept."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)
        return number


def bounded(bounds: Between, *, whole: bool) -> BoundedInt | BoundedFloat:
    """Return the click type of a number that has the bounds of a setting."""
    if whole:
        return BoundedInt(int(bounds.low), int(bounds.high))
    return BoundedFloat(bounds.low, bounds.high, min_open=bounds.above, max_open=bounds.below)


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
# position of a score among the scores of a line of a phrase table, counted from 1
COLUMN = BoundedInt(1, 10_000)
WEIGHT = BoundedFloat(-1e6, 1e6)
