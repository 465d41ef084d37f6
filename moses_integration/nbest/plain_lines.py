"""The lines of an n-best list before they are read: blank ones, and ones that are too short."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def up_to_short_line(data: bytes, least: int) -> bytes:
    """Cut whole lines off behind one that lacks values, which is an error: no room is made for all.

    Args:
        data: The lines.
        least: The bytes of a line that has all values; each takes a blank and a digit.
    """
    if data.count(b"\n") * least <= len(data):
        return data
    begin = 0
    while (end := data.index(b"\n", begin)) - begin >= least:
        begin = end + 1
    return data[: end + 1]


def without_blank_lines(data: bytes) -> tuple[bytes, NDArray[np.int64]]:
    """Return whole lines without the blank ones, and the number of each, from 1."""
    if b"\n\n" not in data and not data.startswith(b"\n"):
        return data, np.arange(1, data.count(b"\n") + 1)
    kept = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    numbers = np.array([number for number, _ in kept], np.int64)
    return b"".join(line + b"\n" for _, line in kept), numbers
