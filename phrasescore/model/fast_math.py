"""Building blocks of the compiled kernels: exp, sigmoid, tanh, and loads and stores of bfloat16.

Without Intel's vector library, numba calls exp for one number at a time. The functions here consist
of polynomials and bit operations without branches, so LLVM turns them into vector instructions.
numba does not support bfloat16. Callers therefore pass arrays of bfloat16 as uint16 bit patterns,
and ``load`` and ``store`` convert the elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

# phrasescore.compiled chooses the cache folder, so it must be imported before numba
import phrasescore.compiled  # noqa: F401

# isort: split
import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

LOWEST_KEY = np.int32(-0x80000000)  # no key of `order` is lower
_LOG2_E = np.float32(1.4426950408889634)
# the Taylor coefficients ln(2)^n / n! of 2^f; relative error below 1e-7 for f in [-1/2, 1/2]
_C1 = np.float32(0.6931471805599453)
_C2 = np.float32(0.2402265069591007)
_C3 = np.float32(0.05550410866482158)
_C4 = np.float32(0.009618129107628477)
_C5 = np.float32(0.0013333558146428443)
_C6 = np.float32(0.00015403530393381608)
_LOWEST, _HIGHEST = np.float32(-87.0), np.float32(88.0)  # between them, e^x is a normal float32
_HALF, _ONE, _TWO = np.float32(0.5), np.float32(1.0), np.float32(2.0)

# an array of float32, or of bfloat16 as bit patterns
Elements: TypeAlias = npt.NDArray[np.generic]


def _bits_to_float(context: Any, bits: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.uint32), generate


def _float_to_bits(context: Any, value: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.uint32(types.float32), generate


# numba supplies the first argument, the typing context; compiled code passes only the number
_float_of_bits = cast(Callable[[np.uint32], np.float32], intrinsic(_bits_to_float))
_bits_of_float = cast(Callable[[np.float32], np.uint32], intrinsic(_float_to_bits))


@numba.njit(inline="always")
def exp(x: np.float32) -> np.float32:
    """Return e^x in float32, with x clamped to [-87, 88].

    The relative error is below 3e-7 + 8e-8 |x|, mostly from the multiplication by log2 e.
    """
    # e^x = 2^(whole + f) with an integer `whole` and f in [-1/2, 1/2]
    scaled = min(max(x, _LOWEST), _HIGHEST) * _LOG2_E
    whole = np.floor(scaled + _HALF)
    f = scaled - whole
    power = _ONE + f * (_C1 + f * (_C2 + f * (_C3 + f * (_C4 + f * (_C5 + f * _C6)))))
    # an IEEE float32 with exponent field whole + 127 and fraction 0 is 2^whole
    return power * _float_of_bits(np.uint32((np.int32(whole) + np.int32(127)) << np.int32(23)))


@numba.njit(inline="always")
def order(x: np.float32) -> np.int32:
    """Return an int32 key that sorts like the float32 ``x``; a maximum of integers vectorises."""
    # positive floats sort like their bits; for negative ones, all bits but the sign are flipped
    bits = np.int32(_bits_of_float(x))
    # numba widens integer results to 64 bits, so a vector would hold half as many numbers
    return np.int32(bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF)))


@numba.njit(inline="always")
def unorder(key: np.int32) -> np.float32:
    """Return the float32 of a key: the inverse of :func:`order`."""
    return _float_of_bits(np.uint32(key ^ ((key >> np.int32(31)) & np.int32(0x7FFFFFFF))))


@numba.njit(inline="always")
def sigmoid(x: np.float32) -> np.float32:
    """Return 1 / (1 + e^-x) in float32."""
    return _ONE / (_ONE + exp(-x))


@numba.njit(inline="always")
def tanh(x: np.float32) -> np.float32:
    """Return tanh x in float32, with an absolute error below 5e-7."""
    return _TWO / (_ONE + exp(-_TWO * x)) - _ONE


def load(array: Elements, index: int) -> np.float32:
    """Return ``array[index]`` as float32; compiled code only."""
    raise RuntimeError("for compiled code only")


def store(array: Elements, index: int, value: np.float32) -> None:
    """Set ``array[index]`` to a float32, rounded to nearest even for bfloat16; compiled only."""
    raise RuntimeError("for compiled code only")


# numba demands equal annotations of both functions of an overload
@overload(load, inline="always")
def _load(array: Any, index: Any) -> Callable[[Elements, int], np.float32]:
    if array.dtype == types.uint16:

        def widen(array: Any, index: Any) -> np.float32:
            return _float_of_bits(np.uint32(array[index]) << np.uint32(16))

        return widen

    def same(array: Any, index: Any) -> np.float32:
        return array[index]

    return same


@overload(store, inline="always")
def _store(array: Any, index: Any, value: Any) -> Callable[[Elements, int, np.float32], None]:
    if array.dtype == types.uint16:

        def narrow(array: Any, index: Any, value: Any) -> None:
            bits = _bits_of_float(value)
            # bfloat16 is the upper half of a float32. To round to nearest even, add 0x7FFF, or
            # 0x8000 if the upper half is odd.
            odd = (bits >> np.uint32(16)) & np.uint32(1)
            array[index] = np.uint16((bits + np.uint32(0x7FFF) + odd) >> np.uint32(16))

        return narrow

    def plain(array: Any, index: Any, value: Any) -> None:
        array[index] = value

    return plain
