"""What numba does again and again while it compiles, and once is enough for our functions.

These take the place of methods of numba's while one of our functions is compiled, under numba's
lock, and leave them as they were: functions of others are compiled as ever.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.transforms import canonicalize_cfg
from numba.core.types.functions import BaseFunction

_passes: Any = PostProcessor
_functions: Any = BaseFunction
_run, _get_call_type = _passes.run, _functions.get_call_type
_signatures: dict[tuple[Any, ...], Any] = {}


def _put_in_order(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Put blocks in order after a pass; where variables live is asked for after the last one."""
    function = self.func_ir
    if emit_dels or function.is_generator:
        _run(self, emit_dels, extend_lifetimes)
        return
    function.blocks = canonicalize_cfg(function.blocks)
    function.variable_lifetime = VariableLifetime(function.blocks)
    function.generator_info = None


def _find_once(self: Any, context: Any, args: Sequence[Any], kws: dict[str, Any]) -> Any:
    """Return the signature of an operation on these types, found once in all functions."""
    key = context, self, *args
    signature = None if kws else _signatures.get(key)
    if signature is None:
        signature = _get_call_type(self, context, args, kws)
        # others are functions that are compiled, for what calls them
        if not kws and self._impl_keys.get(signature.args) is self.typing_key:
            _signatures[key] = signature
    return signature


@contextlib.contextmanager
def taken() -> Iterator[None]:
    """Take the shortcuts, for a thread that holds numba's lock."""
    before = _passes.run, _functions.get_call_type
    _passes.run, _functions.get_call_type = _put_in_order, _find_once
    try:
        yield
    finally:
        _passes.run, _functions.get_call_type = before
