"""Numba's statements as LLVM's, fewer of them where our functions have most.

For ``records[i].total`` numba copies what it knows of the array to a place of its own, looks it up
there twice, and does so again for the next item. For a variable it asks how large it is, and prints
and parses a module each time, for the sake of a debugger. LLVM removes all of that, but only after
it was made, printed, parsed and linked. What is left unsaid here changes no result, and
functions run as fast.
"""

from __future__ import annotations

from typing import Any

from llvmlite.ir import IntType
from numba.core import cgutils, ir, types
from numba.core.lowering import Lower

_PLACE = IntType(32)  # of a field in a structure


class ShortLower(Lower):
    """How one function is lowered."""

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        """Make a place for a variable; numba would ask for its size, which debuggers want."""
        return cgutils.alloca_once(self.builder, lltype, name=name)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Assign to a variable; numba would read what it held, counted or not."""
        kind = self.typeof(name)
        self._alloca_var(name, kind)
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
            return
        if argidx is None and self._is_counted(kind):
            self.decref(kind, self.loadvar(name))
        self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        """End a variable; numba would overwrite it, counted or not."""
        if self._is_counted(self.typeof(name)):
            super().delvar(name)

    def _is_counted(self, kind: Any) -> bool:
        """Tell whether references to values of this type are counted."""
        model = self.context.data_model_manager[kind]
        return bool(self.context.enable_nrt and model.contains_nrt_meminfo())

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """Lower an operation; numba would look for one with constant operands first."""
        if expr.static_lhs is not ir.UNDEFINED or expr.static_rhs is not ir.UNDEFINED:
            return super().lower_binop(resty, expr, op)
        signature = self.fndesc.calltypes[expr]
        left, right = signature.args
        values = [self._cast_var(expr.lhs, left), self._cast_var(expr.rhs, right)]
        typing = self.context.typing_context
        function = typing.resolve_value_type(op)
        called = function.get_call_type(typing, signature.args, {})
        result = self.context.get_function(function, called)(self.builder, values)
        return self.context.cast(self.builder, result, signature.return_type, resty)

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """Lower the reading of an item."""
        place = self._item(value.name, index.name, signature.args[1])
        if place is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        array = self.typeof(value.name)
        align = _alignment(array)
        item = self.context.unpack_value(self.builder, array.dtype, place, align=align)
        return self.context.cast(self.builder, item, signature.return_type, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """Lower the writing of an item."""
        array = self.typeof(target_var.name)
        place = None
        if isinstance(self.typeof(value_var.name), types.Number | types.Boolean):
            place = self._item(target_var.name, index_var.name, signature.args[1])
        if place is None:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        value = self._cast_var(value_var, signature.args[2])
        value = self.context.cast(self.builder, value, signature.args[2], array.dtype)
        align = _alignment(array)
        self.context.pack_value(self.builder, array.dtype, value, place, align=align)
        return None

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """Lower an expression."""
        if expr.op == "static_getitem" and self._is_item(expr):
            signature = self.fndesc.calltypes[expr]
            return self.lower_getitem(resty, expr, expr.value, expr.index_var, signature)
        found = self._part_of_a_variable(expr)
        if found is None:
            return super().lower_expr(resty, expr)
        kind, value = found
        self.incref(kind, value)
        return self.context.cast(self.builder, value, kind, resty)

    def _is_item(self, expr: Any) -> bool:
        """Tell whether an expression with a constant index is an item of an array."""
        plain = _has_plain_items(self.typeof(expr.value.name))
        return plain and isinstance(expr.index, int) and expr.index_var is not None

    def _part_of_a_variable(self, expr: Any) -> tuple[Any, Any] | None:
        """Return type and value of what is a part of a structure, or nothing for numba to find."""
        if expr.op == "call":
            names = [var.name for var in expr.args]
            is_len = getattr(self.typeof(expr.func.name), "typing_key", None) is len
            if is_len and len(names) == 1 and _is_plain(self.typeof(names[0])):
                return types.intp, self._array_field(names[0], "shape", 0)
            return None
        if expr.op not in ("getattr", "static_getitem"):
            return None
        name = expr.value.name
        kind = self.typeof(name)
        if expr.op == "static_getitem":
            if not isinstance(expr.index, int) or not _is_a(kind, types.BaseTuple):
                return None
            return kind[expr.index], self._field(name, expr.index % len(kind))
        if _is_a(kind, types.BaseNamedTuple) and expr.attr in kind.fields:
            place = kind.fields.index(expr.attr)
            return kind[place], self._field(name, place)
        if _is_plain(kind) and expr.attr == "shape":
            return types.UniTuple(types.intp, kind.ndim), self._array_field(name, "shape")
        if _is_plain(kind) and expr.attr == "size":
            return types.intp, self._array_field(name, "nitems")
        return None

    def _item(self, name: str, index: str, wanted: Any) -> Any:
        """Return where an item of an array lies, or nothing if the index is no item's.

        Args:
            name: The variable of the array.
            index: That of the index.
            wanted: The type that an index has here.
        """
        array, kinds, wants = self.typeof(name), _each(self.typeof(index)), _each(wanted)
        if (
            not _has_plain_items(array)
            or len(kinds) != array.ndim
            or self.context.enable_boundscheck
        ):
            return None
        if not all(isinstance(kind, types.Integer) for kind in (*kinds, *wants)):
            return None
        value = self.loadvar(index)
        values = cgutils.unpack_tuple(self.builder, value) if len(kinds) > 1 else [value]
        shape = [self._array_field(name, "shape", axis) for axis in range(array.ndim)]
        indices = [
            self._from_front(self.context.cast(self.builder, value, kind, want), want, length)
            for value, kind, want, length in zip(values, kinds, wants, shape, strict=True)
        ]
        data = self._array_field(name, "data")
        if array.layout == "C" and array.ndim == 1:
            return self.builder.gep(data, indices)
        strides = [self._array_field(name, "strides", axis) for axis in range(array.ndim)]
        return cgutils.get_item_pointer2(
            self.context, self.builder, data, shape, strides, array.layout, indices
        )

    def _from_front(self, index: Any, kind: Any, length: Any) -> Any:
        """Return an index as it counts from the front, which negative ones do not."""
        if not kind.signed:
            return self.context.cast(self.builder, index, kind, types.uintp)
        index = self.context.cast(self.builder, index, kind, types.intp)
        if isinstance(kind, types.IntegerLiteral) and kind.literal_value >= 0:
            return index
        negative = self.builder.icmp_signed("<", index, index.type(0))
        return self.builder.select(negative, self.builder.add(index, length), index)

    def _array_field(self, name: str, field: str, *places: int) -> Any:
        model = self.context.data_model_manager[self.typeof(name)]
        return self._field(name, model.get_field_position(field), *places)

    def _field(self, name: str, *places: int) -> Any:
        """Return a field of a variable that is a structure."""
        if name in self._blk_local_varmap:
            return self.builder.extract_value(self._blk_local_varmap[name], places)
        places = (0, *places)
        pointer = self.builder.gep(self.getvar(name), [_PLACE(n) for n in places], inbounds=True)
        return self.builder.load(pointer)


def _is_a(kind: Any, sort: type) -> bool:
    """Tell whether a type is of a sort, of which numba's own types say too little."""
    return isinstance(kind, sort)


def _alignment(array: Any) -> int | None:
    """Return the alignment of items: that of their type, if they are aligned."""
    return None if array.aligned else 1


def _each(kind: Any) -> tuple[Any, ...]:
    """Return the types of the indices of an item."""
    return tuple(kind.types) if _is_a(kind, types.BaseTuple) and len(kind) > 1 else (kind,)


def _is_plain(kind: Any) -> bool:
    """Tell whether a type is numpy's array and none of those that are made like it."""
    return type(kind) is types.Array and kind.ndim > 0


def _has_plain_items(kind: Any) -> bool:
    return _is_plain(kind) and isinstance(kind.dtype, types.Number | types.Boolean | types.Record)
