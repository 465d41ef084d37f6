"""Building blocks of compiled loops over text: separators, columns, decimal numbers, comparison.

Text is an array of uint8, positions are byte offsets, and a run of bytes is ``data[at:end]``.
Formats differ in the bytes that separate tokens, so functions have an argument for the set of these
bytes: `SPACE_ONLY`, `SPACES_AND_TABS` or `BLANKS`.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled, inlined

Bytes: TypeAlias = NDArray[np.uint8]

LINE_FEED, TAB, RETURN, SPACE, BAR = 10, 9, 13, 32, ord("|")
DASH, OPEN, CLOSE = ord("-"), ord("["), ord("]")
_PLUS, _POINT, _ZERO, _NINE = ord("+"), ord("."), ord("0"), ord("9")
_SMALL_E, _LARGE_E = ord("e"), ord("E")

# sets of separators: bit b is set if byte b is in the set; none is greater than 32, the space
SPACE_ONLY = 1 << SPACE
SPACES_AND_TABS = SPACE_ONLY | 1 << TAB
BLANKS = SPACES_AND_TABS | 1 << RETURN

_MAX_DIGITS = 18  # maximum number of digits of a mantissa; it must fit into 64 bits
_MAX_EXPONENT = 9999
_POWERS = np.array([float(f"1e{k}") for k in range(309)])
# integers up to 2^53 and powers of ten up to 10^22 are exact doubles, so one operation on them
# rounds correctly
_MAX_EXACT, _MAX_EXACT_POWER = 1 << 53, 22


@inlined
def is_separator(byte: int, separators: int) -> bool:
    """Tell whether a byte is in a set of separators."""
    return byte <= SPACE and (separators >> byte) & 1 != 0


@compiled
def token_begin(data: Bytes, at: int, end: int, separators: int) -> int:
    """Return the first position from ``at`` on that holds no separator, or ``end``."""
    while at < end and is_separator(np.int64(data[at]), separators):
        at += 1
    return at


@compiled
def token_end(data: Bytes, at: int, end: int, separators: int) -> int:
    """Return the first position from ``at`` on that holds a separator, or ``end``."""
    while at < end and not is_separator(np.int64(data[at]), separators):
        at += 1
    return at


@compiled
def trimmed_end(data: Bytes, at: int, end: int, separators: int) -> int:
    """Return the end of a run without its final separators, or ``at`` if nothing is left."""
    while end > at and is_separator(np.int64(data[end - 1]), separators):
        end -= 1
    return end


@compiled
def trim(data: Bytes, at: int, end: int, separators: int) -> tuple[int, int]:
    """Return the start and end of a run without the separators around it."""
    at = token_begin(data, at, end, separators)
    return at, trimmed_end(data, at, end, separators)


@compiled
def last_token(data: Bytes, at: int, end: int, separators: int) -> int:
    """Return where the last token of a run begins; the run must not end with a separator."""
    while end > at and not is_separator(np.int64(data[end - 1]), separators):
        end -= 1
    return end


@compiled
def find_byte(data: Bytes, at: int, end: int, byte: int) -> int:
    """Return the first position from ``at`` on that holds ``byte``, or ``end``."""
    while at < end and data[at] != byte:
        at += 1
    return at


@compiled
def find_bars(data: Bytes, at: int, end: int) -> int:
    """Return where the next ``|||`` begins, or -1 if there is none."""
    while at < end - 2:
        if data[at] == BAR and data[at + 1] == BAR and data[at + 2] == BAR:
            return at
        at += 1
    return -1


@compiled
def column_after(data: Bytes, at: int, end: int, columns: int) -> tuple[int, int]:
    """Find the column after ``columns`` more bars ``|||``; return an empty run if there is none."""
    for _ in range(columns):
        at = find_bars(data, at, end)
        if at < 0:
            return end, end
        at += 3
    stop = find_bars(data, at, end)
    return at, end if stop < 0 else stop


@compiled
def is_bracketed(data: Bytes, at: int, end: int) -> bool:
    """Tell whether a token is in square brackets."""
    return end - at > 1 and data[at] == OPEN and data[end - 1] == CLOSE


@compiled
def same_bytes(data: Bytes, at: int, other: Bytes, other_at: int, length: int) -> bool:
    """Tell whether two runs of the same length hold the same bytes."""
    for i in range(length):  # noqa: SIM110 - a generator would not be compiled
        if data[at + i] != other[other_at + i]:
            return False
    return True


@compiled
def parse_integer(data: Bytes, at: int, end: int) -> int:
    """Return the value of a run of at most nine digits, or -1 for any other run."""
    if at == end or end - at > 9:
        return -1
    value = 0
    for i in range(at, end):
        if not _ZERO <= data[i] <= _NINE:
            return -1
        value = 10 * value + np.int64(data[i]) - _ZERO
    return value


@compiled
def parse_decimal(data: Bytes, at: int, end: int) -> tuple[float, int, bool]:
    """Read the decimal number that begins at ``at``: sign, digits, point, exponent.

    Returns:
        The value; the end of the number, or ``at`` if there is no number; and whether the value is
        certainly the nearest double. If not, the value may be wrong by a few units in the last
        place, because the mantissa or the power of ten is not exact as a double.
    """
    data = borrowed(data)
    begin = at
    negative = at < end and data[at] == DASH
    if at < end and (data[at] == DASH or data[at] == _PLUS):
        at += 1
    mantissa, digits, scale = np.int64(0), 0, 0
    seen = after_point = False
    exact = True
    while at < end:
        byte = np.int64(data[at])
        if _ZERO <= byte <= _NINE:
            seen = True
            if digits < _MAX_DIGITS:
                mantissa = 10 * mantissa + byte - _ZERO
                digits += mantissa > 0
                scale -= after_point
            else:
                exact = False
                scale += not after_point
        elif byte == _POINT and not after_point:
            after_point = True
        else:
            break
        at += 1
    if not seen:
        return 0.0, begin, False
    exponent, at = _exponent(data, at, end)
    scale += exponent
    exact = exact and mantissa <= _MAX_EXACT and abs(scale) <= _MAX_EXACT_POWER
    value = _scaled(mantissa, scale)
    return (-value if negative else value), at, exact


@compiled
def _exponent(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return the exponent at ``at`` and its end, or 0 and ``at`` if there is no exponent."""
    if at == end or (data[at] != _SMALL_E and data[at] != _LARGE_E):
        return 0, at
    digits = at + 1
    negative = digits < end and data[digits] == DASH
    if digits < end and (data[digits] == DASH or data[digits] == _PLUS):
        digits += 1
    value, i = 0, digits
    while i < end and _ZERO <= data[i] <= _NINE:
        value = min(10 * value + np.int64(data[i]) - _ZERO, _MAX_EXPONENT)
        i += 1
    if i == digits:
        return 0, at
    return (-value if negative else value), i


@compiled
def _scaled(mantissa: int, scale: int) -> float:
    """Return mantissa * 10**scale."""
    if mantissa == 0 or scale < -308:
        return 0.0
    if scale < 0:
        return float(mantissa) / _POWERS[-scale]
    return float(mantissa) * _POWERS[scale] if scale <= 308 else np.inf
