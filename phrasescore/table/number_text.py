"""Numbers that files state: ASCII digits, within bounds, nothing that only Python takes for one.

``int`` and ``float`` also read the digits of other scripts, blanks around a number, ``1_000``, nan
and inf, and neither says what is too large for an array.
"""

from __future__ import annotations

import math
import re

_WHOLE = re.compile(rb"[0-9]{1,400}")
_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def whole_number(text: str | bytes, most: int) -> int | None:
    """Return a whole number from 0 to ``most``, or nothing where a text is none.

    >>> whole_number("20", 100), whole_number("200", 100), whole_number("²", 100)
    (20, None, None)
    """
    data = _bytes(text)
    value = int(data) if _WHOLE.fullmatch(data) else most + 1
    return value if value <= most else None


def finite_number(text: str | bytes) -> float | None:
    """Return a decimal number that a double holds, or nothing where a text is none.

    >>> finite_number(b"-1.5e3"), finite_number("1e999"), finite_number("nan")
    (-1500.0, None, None)
    """
    data = _bytes(text)
    value = float(data) if _DECIMAL.fullmatch(data) else math.inf
    return value if math.isfinite(value) else None


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
