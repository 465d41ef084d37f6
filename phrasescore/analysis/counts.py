"""How often phrases were extracted, where a table says so: its fifth column, read leniently."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass

from phrasescore.table.phrase_table import phrase_tokens


@dataclass(frozen=True)
class Counts:
    """The counts of a pair, in Moses's order.

    Args:
        target: How often the target phrase was extracted.
        source: How often the source phrase was.
        pair: How often the two were extracted together; ``None`` where only two counts stand.
    """

    target: float
    source: float
    pair: float | None

    @classmethod
    def parse(cls, column: bytes) -> Counts | None:
        """Read the fifth column of a line; ``None`` if it is no two or three numbers from 0.

        >>> Counts.parse(b"4 242 1")
        Counts(target=4.0, source=242.0, pair=1.0)
        """
        with contextlib.suppress(ValueError):
            numbers = [float(token) for token in phrase_tokens(column)]
            if len(numbers) in (2, 3) and all(0 <= number < math.inf for number in numbers):
                return cls(numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else None)
        return None
