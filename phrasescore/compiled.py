"""Declarations of compiled functions, and arrays without reference counts for inner loops.

numba counts references to every array that a variable or a named tuple holds: each call from one
compiled function to another increments the counter of each array atomically and decrements it
afterwards. In loops over bytes or hypotheses this takes several times as long as the work. A
function that neither returns nor stores its arguments needs no counts, because its caller holds the
arrays. Such a function begins with ``data, spans = borrowed((data, spans))``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar, cast

from numpy.typing import NDArray

from phrasescore.compiling import cache

cache.choose_folder()  # numba reads its settings when it is imported

import numba  # noqa: E402
from llvmlite import ir  # noqa: E402
from numba import types  # noqa: E402
from numba.extending import intrinsic  # noqa: E402

from phrasescore.compiling import watch  # noqa: E402

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Lent = TypeVar("Lent")

# a record of a structured array, and the array itself; type checkers do not know their fields
Record: TypeAlias = Any
Records: TypeAlias = NDArray[Any]

watch.begin()


def _compiled_with(
    function: Callable[Parameters, Result], **options: Any
) -> Callable[Parameters, Result]:
    kept = cache.chosen_folder is not None
    kernel = numba.njit(cache=kept, nogil=True, **options)(function)
    return cast("Callable[Parameters, Result]", kernel)


def compiled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a function for Python and other compiled functions; calls release Python's lock."""
    return _compiled_with(function)


def compiled_fast(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a function of floating-point numbers so that LLVM vectorises its sums.

    LLVM does so only if it may change the order of additions (reassoc). The flags nnan and ninf are
    left out: they would hide infinity and NaN, the signs of a model that has diverged.
    """
    flags = {"reassoc", "contract", "arcp", "nsz"}
    return _compiled_with(function, fastmath=flags, error_model="numpy")


def inlined(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a function into its callers, because in an inner loop the calls would take most time.

    With each call, numba counts references to the arrays among the arguments.
    """
    return _compiled_with(function, inline="always")


def _without_counter(builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.Array):
        # the first member of an array points to its counter; null: do not count references
        return builder.insert_value(value, ir.Constant(value.type.elements[0], None), 0)
    if isinstance(kind, types.BaseTuple):
        kinds: Any = kind
        for place, inner in enumerate(kinds):
            part = _without_counter(builder, inner, builder.extract_value(value, place))
            value = builder.insert_value(value, part, place)
    return value


def _borrow(typing: Any, value: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _without_counter(builder, value, arguments[0])

    return value(value), generate


if TYPE_CHECKING:

    def borrowed(value: Lent) -> Lent:
        """Return an array, or a tuple that contains arrays, whose references are not counted.

        The calling function must not return or store these arrays.
        """
else:
    borrowed = intrinsic(_borrow)  # the compiler passes the context
