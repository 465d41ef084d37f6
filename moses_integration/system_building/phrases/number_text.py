"""Numbers as C++ streams and ``printf("%.6g")`` print them, a whole array at a time.

A compiled loop scales each number to six digits before the point. That takes at most three
roundings, so the digits are certain unless what follows the point is close to one half; then, and
for numbers out of the usual range, Python's own exact formatting decides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

_DIGITS = 6
WIDTH = 12  # of the longest, such as 1.23457e-05
_LEAST, _GREATEST = 1e-38, 1e15
# three roundings of at most 2^-53 of a number below 10^6 err by less than 4e-10
_DOUBT = 1e-6
_POWERS = 10.0 ** np.arange(23)  # exact
_ZERO, _POINT, _E, _PLUS, _MINUS = 48, 46, 101, 43, 45


class NumberTexts(NamedTuple):
    """Texts of equal shape.

    Args:
        characters: (rows, columns, WIDTH) uint8.
        lengths: (rows, columns) uint8, the characters in use.
    """

    characters: NDArray[np.uint8]
    lengths: NDArray[np.uint8]


def six_digits(values: NDArray[np.float64]) -> NumberTexts:
    """Format numbers with six significant digits, without trailing zeros.

    Args:
        values: (rows, columns), not negative.

    >>> texts = six_digits(np.array([[0.5, 1 / 3, 8.42632e-07]]))
    >>> [bytes(text[:length]) for text, length in zip(texts.characters[0], texts.lengths[0])]
    [b'0.5', b'0.333333', b'8.42632e-07']
    """
    texts = NumberTexts(
        np.empty((*values.shape, WIDTH), np.uint8), np.zeros(values.shape, np.uint8)
    )
    doubtful = np.zeros(values.shape, np.bool_)
    _format(values, texts, doubtful)
    for row, column in np.argwhere(doubtful):
        text = f"{values[row, column]:.6g}".encode()
        texts.characters[row, column, : len(text)] = np.frombuffer(text, np.uint8)
        texts.lengths[row, column] = len(text)
    return texts


@njit(cache=True, nogil=True)
def _format(values: NDArray[np.float64], texts: NumberTexts, doubtful: NDArray[np.bool_]) -> None:
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            digits, exponent = _leading_digits(values[row, column])
            if digits < 0:
                doubtful[row, column] = True
            else:
                text = texts.characters[row, column]
                texts.lengths[row, column] = _write(text, digits, exponent)


@njit(cache=True, nogil=True)
def _leading_digits(value: float) -> tuple[int, int]:
    """Return six digits as an integer, -1 where they are not certain, and the decimal exponent."""
    if not _LEAST < value < _GREATEST:
        return -1, 0
    exponent = int(np.floor(np.log10(value)))
    scaled = _scale(value, _DIGITS - 1 - exponent)
    if scaled < 1e5:  # the logarithm was rounded up
        exponent -= 1
        scaled = _scale(value, _DIGITS - 1 - exponent)
    elif scaled >= 1e6:
        exponent += 1
        scaled = _scale(value, _DIGITS - 1 - exponent)
    digits = int(scaled)
    if abs(scaled - digits - 0.5) < _DOUBT:
        return -1, 0
    digits += scaled - digits > 0.5
    if digits == 1_000_000:
        return 100_000, exponent + 1
    return digits, exponent


@njit(cache=True, nogil=True)
def _scale(value: float, power: int) -> float:
    """Multiply by a power of ten."""
    if power < 0:
        return value / _POWERS[-power]
    if power < len(_POWERS):
        return value * _POWERS[power]
    return value * _POWERS[len(_POWERS) - 1] * _POWERS[power - len(_POWERS) + 1]


@njit(cache=True, nogil=True)
def _write(text: NDArray[np.uint8], digits: int, exponent: int) -> int:
    """Write the digits with a point or an exponent; return the length."""
    kept = _DIGITS
    while kept > 1 and digits % 10 == 0:
        digits //= 10
        kept -= 1
    if exponent < -4 or exponent >= _DIGITS:
        length = _write_digits(text, 0, digits, kept, 1)
        return _write_exponent(text, length, exponent)
    if exponent < 0:
        text[0], text[1] = _ZERO, _POINT
        for i in range(-exponent - 1):
            text[2 + i] = _ZERO
        return _write_digits(text, 1 - exponent, digits, kept, kept)
    while kept <= exponent:  # zeros before the point count
        digits *= 10
        kept += 1
    return _write_digits(text, 0, digits, kept, exponent + 1)


@njit(cache=True, nogil=True)
def _write_digits(text: NDArray[np.uint8], at: int, digits: int, count: int, before: int) -> int:
    """Write digits, with a point after the first ``before`` if any follow; return the end."""
    end = at + count + (1 if before < count else 0)
    place = end - 1
    for left in range(count, 0, -1):
        if left == before and before < count:
            text[place] = _POINT
            place -= 1
        text[place] = _ZERO + digits % 10
        digits //= 10
        place -= 1
    return end


@njit(cache=True, nogil=True)
def _write_exponent(text: NDArray[np.uint8], at: int, exponent: int) -> int:
    text[at] = _E
    text[at + 1] = _MINUS if exponent < 0 else _PLUS
    text[at + 2] = _ZERO + abs(exponent) // 10
    text[at + 3] = _ZERO + abs(exponent) % 10
    return at + 4
