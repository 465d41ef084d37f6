"""Indices of arrays count from the front, as in C: compiled functions never mean the end by -1.

numba asks of every index whether it is negative, and adds the length then. In a search that reads a
dozen arrays for each hypothesis that is a tenth of its time or more. Indices that are written as
negative numbers keep their meaning. With ``NUMBA_BOUNDSCHECK=1`` one that turns out negative is an
``IndexError``.
"""

from __future__ import annotations

from typing import Any

from numba.core import ir, types


def count_from_front(function: Any, signatures: Any) -> None:
    """Have signed indices of arrays lowered as if they were unsigned.

    Args:
        function: numba's representation of a typed function.
        signatures: Those of its calls, changed where elements are read and written.
    """
    for block in function.blocks.values():
        for statement in block.body:
            place = statement.value if isinstance(statement, ir.Assign) else statement
            reads = isinstance(place, ir.Expr) and place.op == "getitem"
            if not reads and not isinstance(place, ir.SetItem):
                continue
            signature = signatures.pop(place)  # numba lets no key be set twice
            array, index, *value = signature.args
            if isinstance(array, types.Array):
                signature = signature.replace(args=(array, _from_front(index), *value))
            signatures[place] = signature


def _from_front(index: Any) -> Any:
    """Return the type of an index, its signed numbers made unsigned; literal ones are left."""
    if isinstance(index, types.BaseTuple):
        return types.Tuple([_from_front(each) for each in index.types])  # type: ignore[attr-defined]
    return types.uintp if index in types.signed_domain else index
