"""Machine code on disk: never another's, never out of date, and shared with those who cannot write.

numba's own cache numbers the files of a function without a lock: two processes that compile it
for different types can leave one's code under the other's name. It also sees changes in a
function's own file only, not in functions and constants of other files that it was made with, and
it does not read what it cannot write (an image that is run by another user than built it).

Processes that begin together (tests, the workers of a cluster) want the same functions at the same
time. They take turns at each: who waited finds the code that the other has made.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import time
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite.binding import add_symbol, parse_assembly
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]

from phrasescore import compile_cache

_TURNS = "compiling.lock"
_LOOK_AGAIN, _LONGEST = 0.05, 60.0  # seconds; whoever holds up the others longer has been stopped


class _Wholes(CompileResultCacheImpl):
    """What is kept: machine code, and the name that it is called by.

    numba adds the code before it was optimised, for those that link it in, and reads all of that
    each time. Here they have parts.
    """

    def reduce(self, result: Any) -> Any:
        """Return what is kept of a compiled function."""
        (name, kind, (code, _)), *others = super().reduce(result)
        called = f'define void @"{result.fndesc.llvm_cpython_wrapper_name}"() {{ ret void }}'
        return ((name, kind, (code, parse_assembly(called).as_bitcode())), *others)


class _Files(IndexDataCacheFile):
    """What is kept of one function. What cannot be read is as if it were not there.

    An index names the classes of arguments as they were called when it was written, so that of an
    earlier version may not be readable; and a full disk leaves half a file.
    """

    def _load_index(self) -> dict[Any, str]:
        try:
            return dict(super()._load_index())
        except OSError:
            raise
        except Exception:  # whatever reading what another wrote can raise
            return {}

    def _load_data(self, name: str) -> Any:
        try:
            return super()._load_data(name)
        except OSError:
            raise
        except Exception as error:
            raise FileNotFoundError(name) from error


class Cache(FunctionCache):
    """The cache of one function."""

    _impl_class = _Wholes

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._content = ""
        self._turn: int | None = None
        locator, source = self._impl.locator, function.__code__.co_filename
        known = self._impl.filename_base, locator.get_source_stamp()
        self._cache_file = _Files(self._cache_path, *known)
        self._others = []
        if compile_cache.read_only_folder:
            below = locator.get_suitable_cache_subpath(source)
            self._others = [_Files(str(compile_cache.read_only_folder / below), *known)]

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the code for these types; or ``None``, for who compiles it now and is alone."""
        _add_symbols()
        found = self._found(signature, target_context)
        if found is None and self._take_turn():
            found = self._found(signature, target_context)
        return found

    def _found(self, signature: Any, target_context: Any) -> Any:
        with _locked(self._cache_path, fcntl.LOCK_SH):
            found = self._load_overload(signature, target_context)
        if found is not None:
            return found
        key = self._index_key(signature, target_context.codegen())
        for other in self._others:
            with contextlib.suppress(OSError):
                data = other.load(key)
                if data is not None:
                    return self._impl.rebuild(target_context, data)
        return None

    def _take_turn(self) -> bool:
        """Be the one who compiles this function; return whether another was before."""
        place = zlib.crc32(self._impl.filename_base.encode())
        waited = False
        with contextlib.suppress(OSError):
            self._impl.locator.ensure_cache_path()
            path = Path(self._cache_path) / _TURNS
            self._turn = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            until = time.monotonic() + _LONGEST
            while time.monotonic() < until:
                try:
                    # a lock of the process, which ends with it
                    fcntl.lockf(self._turn, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
                    break
                except BlockingIOError:
                    waited = True
                    time.sleep(_LOOK_AGAIN)
        return waited

    def end_turn(self) -> None:
        """Let others compile the function, or find it compiled."""
        if self._turn is not None:
            os.close(self._turn)
            self._turn = None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep the code for these types; where that cannot be, it is compiled again next time."""
        # a full disk is no reason to stop, and the folder may have gone
        with contextlib.suppress(OSError):
            self._impl.locator.ensure_cache_path()
            with _locked(self._cache_path, fcntl.LOCK_EX):
                super().save_overload(signature, result)

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        if not self._content:
            digest = hashlib.sha256(_way_of_compiling())
            for piece in _pieces(self._py_func, set()):
                digest.update(piece)
            self._content = digest.hexdigest()
        return (*super()._index_key(signature, codegen), self._content)


@cache
def _add_symbols() -> None:
    """Tell the linker where the C functions are that code refers to.

    The rest of numba is for those who compile, who ask for it themselves, and takes half a second
    to read, or a whole one where there is scipy. Its own functions that count references are part
    of all code that calls them.
    """
    for name, address in _nrt_python.c_helpers.items():
        add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


@contextlib.contextmanager
def _locked(folder: str, how: int) -> Iterator[None]:
    """Hold a folder's lock; do without it where there is no folder, or no lock."""
    place = None
    try:
        with contextlib.suppress(OSError):
            place = os.open(folder, os.O_RDONLY)
            fcntl.flock(place, how)
        yield
    finally:
        if place is not None:
            os.close(place)


@cache
def _way_of_compiling() -> bytes:
    """Return the sources of this room: with others the same function is other code."""
    return b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))


def _pieces(function: Callable[..., Any], seen: set[int]) -> Iterator[bytes]:
    """Yield what the code of a function is made of: its own, its callees', their constants."""
    seen.add(id(function))
    code = function.__code__
    yield code.co_code
    yield repr([part for part in code.co_consts if not hasattr(part, "co_code")]).encode()
    for name in sorted(set(code.co_names) & set(function.__globals__)):
        value = function.__globals__[name]
        if isinstance(value, Dispatcher):
            yield repr(sorted(value.targetoptions.items(), key=str)).encode()
            value = value.py_func
        if isinstance(value, np.ndarray):
            yield value.tobytes()
        elif isinstance(value, bool | int | float | str | tuple | np.generic | np.dtype):
            yield f"{name}={value!r}".encode()
        elif hasattr(value, "__code__") and id(value) not in seen:
            yield from _pieces(value, seen)
