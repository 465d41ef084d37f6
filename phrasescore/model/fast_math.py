"""Building blocks of the compiled kernels: bfloat16 in and out, exp, sigmoid and tanh.

numba has no bfloat16 and, without Intel's vector library, calls exp one number at a time. These are
written so that LLVM turns them into vector instructions: polynomials and bit patterns, no branches.
A bfloat16 array comes in as uint16 (its bits); ``load`` and ``store`` hide the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

# it chooses the cache folder, so it comes before numba
import phrasescore.compiled  # noqa: F401

# isort: split
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

# Reassociation is what makes sums vectors. Infinities and NaN keep their meaning.
FAST = {"reassoc", "contract", "arcp", "nsz"}

_LOG2_E = np.float32(1.4426950408889634)
# 2^f on [-1/2, 1/2]: the Taylor coefficients ln(2)^n / n!, error below 1e-7 relative
_C1, _C2, _C3 = (
    np.float32(0.6931471805599453),
    np.float32(0.2402265069591007),
    np.float32(0.05550410866482158),
)
_C4, _C5, _C6 = (
    np.float32(0.009618129107628477),
    np.float32(0.0013333558146428443),
    np.float32(0.00015403530393381608),
)
_LEAST, _MOST = np.float32(-87.0), np.float32(88.0)  # where float32 exp neither sinks nor bursts
_HALF, _ONE, _TWO = np.float32(0.5), np.float32(1.0), np.float32(2.0)


def _bits_to_float(context: Any, bits: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.uint32), generate


def _float_to_bits(context: Any, value: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.uint32(types.float32), generate


# the compiler supplies the context
_float_of_bits = cast(Callable[[Any], Any], intrinsic(_bits_to_float))
_bits_of_float = cast(Callable[[Any], Any], intrinsic(_float_to_bits))


@numba.njit(inline="always")
def exp(x: Any) -> Any:
    """Return e^x in float32, clamped outside [-87, 88].

    The relative error is below 3e-7 + 8e-8 |x|: that of a multiplication by log2 e in float32.
    """
    scaled = min(max(x, _LEAST), _MOST) * _LOG2_E
    whole = np.floor(scaled + _HALF)
    f = scaled - whole
    power = _ONE + f * (_C1 + f * (_C2 + f * (_C3 + f * (_C4 + f * (_C5 + f * _C6)))))
    return power * _float_of_bits(np.uint32((np.int32(whole) + np.int32(127)) << np.int32(23)))


@numba.njit(inline="always")
def order(x: Any) -> Any:
    """Return an int32 that compares as the float32 does: unlike floats, its maximum vectorises."""
    bits = np.int32(_bits_of_float(x))
    # numba's results are 64 bits wide, which would halve the numbers of a vector
    return np.int32(bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF)))


@numba.njit(inline="always")
def unorder(key: Any) -> Any:
    """Return the float32 that :func:`order` made ``key`` of."""
    return _float_of_bits(np.uint32(key ^ ((key >> np.int32(31)) & np.int32(0x7FFFFFFF))))


@numba.njit(inline="always")
def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + e^-x) in float32."""
    return _ONE / (_ONE + exp(-x))


@numba.njit(inline="always")
def tanh(x: Any) -> Any:
    """Return tanh x in float32, absolute error below 5e-7."""
    return _TWO / (_ONE + exp(-_TWO * x)) - _ONE


def load(array: Any, index: Any) -> Any:
    """Return ``array[index]`` as float32; compiled code only."""
    raise RuntimeError("for compiled code only")


def store(array: Any, index: Any, value: Any) -> Any:
    """Set ``array[index]`` to a float32, rounded to nearest even for bfloat16; compiled only."""
    raise RuntimeError("for compiled code only")


@overload(load, inline="always")
def _load(array: Any, index: Any) -> Any:
    if array.dtype == types.uint16:

        def widen(array: Any, index: Any) -> Any:
            return _float_of_bits(np.uint32(array[index]) << np.uint32(16))

        return widen

    def same(array: Any, index: Any) -> Any:
        return array[index]

    return same


@overload(store, inline="always")
def _store(array: Any, index: Any, value: Any) -> Any:
    if array.dtype == types.uint16:

        def narrow(array: Any, index: Any, value: Any) -> Any:
            bits: Any = _bits_of_float(value)
            odd = (bits >> np.uint32(16)) & np.uint32(1)
            array[index] = np.uint16((bits + np.uint32(0x7FFF) + odd) >> np.uint32(16))

        return narrow

    def plain(array: Any, index: Any, value: Any) -> Any:
        array[index] = value

    return plain
