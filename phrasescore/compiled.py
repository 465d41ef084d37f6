"""How compiled functions are declared, and how inner loops do without reference counts.

numba counts references to every array that a variable or a named tuple holds: each call of one
compiled function by another adds one to the counter of each array, atomically, and takes one away.
In loops that look at a byte or a hypothesis at a time this takes several times as long as the work.
A function that neither returns nor stores its arguments needs no counts, because its caller holds
the arrays: it begins with ``data, spans = borrowed((data, spans))``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar, cast

from numpy.typing import NDArray

from phrasescore import compile_cache

compile_cache.choose_folder()  # numba reads its settings when it is imported

import numba  # noqa: E402
from llvmlite import ir  # noqa: E402
from numba import types  # noqa: E402
from numba.extending import intrinsic  # noqa: E402

from phrasescore.compiling import watch  # noqa: E402

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Lent = TypeVar("Lent")

# one record of a structured array, and such an array: the type system knows no fields
Record: TypeAlias = Any
Records: TypeAlias = NDArray[Any]

watch.begin()


def compiled_with(
    **options: Any,
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Compile with options of numba's ``njit``, e.g. ``fastmath``."""

    def declare(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        kernel = numba.njit(cache=True, nogil=True, **options)(function)
        return cast("Callable[Parameters, Result]", kernel)

    return declare


def compiled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a function that Python or other compiled functions call; it holds no lock."""
    return compiled_with()(function)


def inlined(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a function of an inner loop where it is called: a call costs more than it does.

    numba counts references to each array that a call is given, also inside named tuples.
    """
    return compiled_with(inline="always")(function)


def _without_counter(builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.Array):
        # the first member of an array refers to its counter; null is an array that nobody counts
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
        """Return an array, or a tuple with arrays in it, whose references are not counted.

        Nothing of it may be returned or stored by the kernel that calls this.
        """
else:
    borrowed = intrinsic(_borrow)  # the compiler supplies the context
