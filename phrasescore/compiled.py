"""How compiled functions are declared, beyond numba's own defaults.

A ``leaf`` allocates nothing, so numba need not count references for it. That counting, one atomic
addition for each array that a function is given, otherwise takes most of the time of a search, and
stops threads from working side by side. A ``leaf`` that returns arrays lends them: it may be called
by others of its kind only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

from numba import njit
from numpy.typing import NDArray

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

# one record of a structured array, and such an array: the type system knows no fields
Record: TypeAlias = Any
Records: TypeAlias = NDArray[Any]

# numba's switch has no public name; its own library uses it (numba 0.50 to 0.68)
_LEAF: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}


def leaf(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a function that allocates nothing."""
    return cast("Callable[Parameters, Result]", njit(**_LEAF)(function))


def inlined(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a small ``leaf`` of an inner loop: its arguments would take longer than it does."""
    return cast("Callable[Parameters, Result]", njit(**_LEAF, inline="always")(function))
