"""Compiled functions, each made ready once: whole where Python calls it, else as a part.

numba makes every function callable from Python and from C, optimises it and makes machine code of
it, before it links it into those that call it and does all that again. That is half of the time of
compiling. What compiled functions call is compiled here as a *part*, up to code that has not been
optimised; only what Python calls becomes machine code, with its parts, once.

This uses numba's own extension points (a dispatcher, a pass, a code library) as they are in numba
0.61 to 0.68.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numba
from numba.core import config, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.lowering import Lower
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import DumpParforDiagnostics, IRLegalization, NativeLowering
from numba.core.untyped_passes import (
    FindLiterallyCalls,
    InlineClosureLikes,
    LiteralPropagationSubPipelinePass,
    LiteralUnroll,
    MakeFunctionToJitFunction,
    WithLifting,
)

from phrasescore.compiling import shortcuts
from phrasescore.compiling.cache import Cache
from phrasescore.compiling.indices import count_from_front
from phrasescore.compiling.lowering import ShortLower

# for what our functions do without: functions in functions, `with`, literal lists and the like
_NEEDLESS = (
    WithLifting,
    InlineClosureLikes,
    MakeFunctionToJitFunction,
    FindLiterallyCalls,
    LiteralUnroll,
    LiteralPropagationSubPipelinePass,
    DumpParforDiagnostics,
)

# what is made shorter is numba's alone where it is another, or where a debugger wants to know all
_KNOWN = (0, 61) <= numba.version_info.short <= (0, 68) and not vars(config)["DEBUGINFO_DEFAULT"]


class _WholeLibrary(JITCodeLibrary):
    """Code that Python calls, through a wrapper that numba makes for it."""

    def _optimize_functions(self, module: Any) -> None:
        # the wrapper is run once a call: what optimises all of the code is enough for it
        if module.name == "wrapper":
            module.data_layout = self._codegen._data_layout
        else:
            super()._optimize_functions(module)


class _PartLibrary(JITCodeLibrary):
    """Code that others link in: it stays as it is until they are optimised."""

    def finalize(self) -> None:
        """Link in what this calls, and leave the rest to those that call it."""
        # what is to be done again where code comes from a cache (not in old versions of numba)
        again: set[Any] = getattr(self, "_reload_init", set())
        for library in dict.fromkeys(self._linking_libraries):
            again.update(getattr(library, "_reload_init", ()))
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Legalization(IRLegalization):
    """numba's, which says where variables end: for those who count references."""

    _name = "our_legalization"

    def run_pass(self, state: Any) -> bool:
        """Prepare a function for lowering."""
        return bool(state.flags.nrt or state.func_ir.is_generator) and super().run_pass(state)


@register_pass(mutates_CFG=True, analysis_only=False)
class _WholeLowering(NativeLowering):
    """numba's lowering, of functions whose indices count from the front."""

    _name = "whole_lowering"
    lowering_class = ShortLower if _KNOWN else Lower
    library: type = _WholeLibrary if _KNOWN else JITCodeLibrary

    def run_pass(self, state: Any) -> bool:
        """Lower a function."""
        count_from_front(state.func_ir, state.calltypes)
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()  # as numba does where it makes one
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(_WholeLowering):
    """The same, without machine code."""

    _name = "part_lowering"
    library = _PartLibrary

    def run_pass(self, state: Any) -> bool:
        """Lower a function to code that has not been optimised."""
        state.flags.no_compile = True
        super().run_pass(state)
        # what callers look their callee up by is otherwise its address
        key = object()
        state.targetctx.insert_user_function(key, state.cr.fndesc, [state.library])
        state.cr = state.cr._replace(cfunc=key)
        return True


class _WholeCompiler(CompilerBase):
    lowering: type = _WholeLowering

    def define_pipelines(self) -> list[PassManager]:
        """Return numba's own steps that our functions need, with our lowering among them."""
        ours = PassManager("ours")
        instead: dict[type, type] = {NativeLowering: self.lowering}
        if _KNOWN:
            instead[IRLegalization] = _Legalization
        for step, purpose in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            if step not in _NEEDLESS:
                ours.add_pass(instead.get(step, step), purpose)
        ours.finalize()
        return [ours]

    def _compile_core(self) -> Any:
        with shortcuts.taken() if _KNOWN else contextlib.nullcontext():
            return super()._compile_core()


class _PartCompiler(_WholeCompiler):
    lowering = _PartLowering


class _Part(CPUDispatcher):
    """What compiled functions get when they call a `Kernel`."""

    def add_overload(self, result: Any) -> None:
        # nothing that Python could call
        self.overloads[tuple(result.signature.args)] = result

    def get_call_template(self, arguments: Sequence[Any], named: Any) -> Any:
        # numba would compile f(x, 0) and f(x, n) apart
        return super().get_call_template([types.unliteral(kind) for kind in arguments], named)


class Kernel(CPUDispatcher):
    """A function that is compiled when it is called, for those types, by Python or by others."""

    _cache: Any  # what numba makes of it is none

    def __init__(
        self,
        py_func: Callable[..., Any],
        locals: Any = None,
        targetoptions: Any = None,
        pipeline_class: type[CompilerBase] = _WholeCompiler,
    ) -> None:
        options = {**(targetoptions or {}), "no_cfunc_wrapper": True}
        super().__init__(py_func, locals or {}, options, pipeline_class)

    @cached_property
    def _part(self) -> Any:
        # a command declares hundreds of functions, and calls some of them
        options = {**self.targetoptions, "no_cpython_wrapper": True}
        return _Part(self.py_func, self.locals, options, _PartCompiler)

    def compile(self, signature: Any) -> Any:
        """Load or compile the code for these types; one process at a time compiles it."""
        # threads take turns, too: the turn is the process's
        with global_compiler_lock:
            if not isinstance(self._cache, Cache):
                self._cache = Cache(self.py_func)
            try:
                return super().compile(signature)
            finally:
                self._cache.end_turn()

    def get_call_template(self, arguments: Sequence[Any], named: Any) -> Any:
        """Compile a part for the call of a compiled function."""
        return self._part.get_call_template(arguments, named)

    def get_overload(self, signature: Any) -> Any:
        """Return what the part of these types is looked up by."""
        return self._part.get_overload(signature)

    def add_overload(self, result: Any) -> None:
        """Let Python call the code."""
        super().add_overload(result)
        # constants of the parts, as numba sees to it where code comes from a cache
        for constants in result._find_referenced_environments():
            result.codegen.set_env(constants.env_name, constants)
