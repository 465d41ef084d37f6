"""How compiled functions are declared, beyond numba's own defaults.

A ``leaf`` allocates nothing, so numba need not count references for it. That counting, one atomic
addition for each array that a function is given, otherwise takes most of the time of a search, and
stops threads from working side by side. A ``leaf`` that returns arrays lends them: it may be called
by others of its kind only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

from numpy.typing import NDArray

from phrasescore import compile_cache

compile_cache.choose_folder()  # numba reads its settings when it is imported

import numba  # noqa: E402

from phrasescore.compiling import watch  # noqa: E402
from phrasescore.compiling.parts import Kernel  # noqa: E402

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

# one record of a structured array, and such an array: the type system knows no fields
Record: TypeAlias = Any
Records: TypeAlias = NDArray[Any]

# numba's switch has no public name; its own library uses it (numba 0.50 to 0.68)
_LEAF: dict[str, Any] = {"nogil": True, "_nrt": False}

watch.begin()


def compiled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a function that Python or other compiled functions call; it holds no lock."""
    return compiled_with()(function)


def compiled_with(
    **options: Any,
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Compile with options of numba's ``njit``, e.g. ``fastmath``."""

    def declare(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        if vars(numba.config)["DISABLE_JIT"]:  # numba's way to debug in Python
            return function
        kernel = Kernel(function, targetoptions={"nopython": True, "nogil": True, **options})
        return cast("Callable[Parameters, Result]", kernel)

    return declare


def leaf(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a function that allocates nothing."""
    return compiled_with(**_LEAF)(function)


def inlined(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a small ``leaf`` of an inner loop: its arguments would take longer than it does.

    LLVM puts it where it is called, not numba: that would look at its statements at every call.
    """
    return compiled_with(**_LEAF, forceinline=True)(function)
