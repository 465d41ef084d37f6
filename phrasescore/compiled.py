"""Compiled functions, arrays without reference counts, and turns between processes that compile.

numba counts references to every array that a variable or a named tuple holds: each call from one
compiled function to another increments the counter of each array atomically and decrements it
afterwards. In loops over bytes or hypotheses this takes several times as long as the work. A
function that neither returns nor stores its arguments needs no counts, because its caller holds the
arrays. Such a function begins with ``data, spans = borrowed((data, spans))``.

numba numbers the files of its cache without a lock. If two processes compile a function for
different types, the code of one process could get the file name of the other process's code. numba
looks into the cache while it holds its internal lock, and emits an event before it acquires that
lock. If a process waits at this event until another process has compiled a function, the waiting
process finds that function in the cache. But most processes find all functions there and have
nothing to wait for. So a process waits only after it has missed its first function, or if the cache
was empty when it started; the function that it missed may be compiled twice.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar, cast

from numpy.typing import NDArray

from phrasescore import compile_cache
from phrasescore.runs import progress
from phrasescore.runs.interruption import postponed_while

compile_cache.choose_folder()  # numba reads its settings when it is imported

import numba  # noqa: E402
from llvmlite import ir  # noqa: E402
from numba import types  # noqa: E402
from numba.core import event  # noqa: E402
from numba.extending import intrinsic  # noqa: E402

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Lent = TypeVar("Lent")

# a record of a structured array, and the array itself; type checkers do not know their fields
Record: TypeAlias = Any
Records: TypeAlias = NDArray[Any]

_PATIENCE = 1.0  # total seconds of compiling before the message
_MAX_WAIT = 600.0  # maximum wait in seconds; a suspended process must not block others for ever
_PAUSE = 0.01  # seconds between attempts to get the lock
_KEPT = "a minute or two in all, once per version; `phrasescore warm-up` does this ahead of time"
_NOT_KEPT = (
    "each time, for want of a folder that you alone can write; name one with NUMBA_CACHE_DIR"
)


def _compiled_with(
    function: Callable[Parameters, Result], **options: Any
) -> Callable[Parameters, Result]:
    kept = compile_cache.chosen_folder is not None
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


class _Watch(event.Listener):
    """Measures how long this process compiles or waits for it, and tells the user if it is long."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._since, self.depth, self._said = 0.0, 0, False
        atexit.register(self.tell_seconds)

    def on_start(self, _event: object) -> None:
        """Note that numba begins to compile a function."""
        _turns.begin_to_compile()
        if not self.depth:
            self._since = time.monotonic()
        self.depth += 1
        self.tell(self.seconds + time.monotonic() - self._since)

    def on_end(self, _event: object) -> None:
        """Count a compiled function."""
        self.depth -= 1
        if not self.depth:
            self.seconds += time.monotonic() - self._since

    def tell(self, seconds: float, other: bytes = b"") -> None:
        """Print the message, once, if the user has waited long enough, maybe for another process.

        Args:
            seconds: The time of compiling or waiting so far.
            other: The number of the process that this one waits for.
        """
        if progress.serves_a_command() and not self._said and seconds > _PATIENCE:
            self._said = True
            how = _NOT_KEPT if compile_cache.chosen_folder is None else _KEPT
            number = other.decode("ascii", "replace")
            who = f"waiting for process {number}, which is " if other else ""
            with contextlib.suppress(OSError):
                print(f"{who}compiling for this machine, {how}", file=sys.stderr, flush=True)  # noqa: T201

    def tell_seconds(self) -> None:
        """At exit, print how long this process has compiled code that is kept.

        After an error this does not run, because ``__main__`` ends the process at once.
        """
        if self._said and self.seconds >= _PATIENCE and compile_cache.chosen_folder is not None:
            with contextlib.suppress(OSError):
                print(progress.compiled_line(self.seconds), file=sys.stderr, flush=True)  # noqa: T201


class _Turns(event.Listener):
    """Holds a lock file from before numba looks into its cache until numba has stored the code."""

    def __init__(self) -> None:
        self._threads = threading.Lock()
        self.depth = 0  # depth of nesting: compiling a function can start compiling another
        self._file = -1
        folder = compile_cache.chosen_folder
        self._compiles = folder is not None and not any(folder.glob("*/*.nbi"))

    def on_start(self, _event: object) -> None:
        """Wait for other processes that compile, if this one compiles too."""
        with self._threads:
            if not self.depth and self._compiles:
                self._file = _locked()
            self.depth += 1

    def begin_to_compile(self) -> None:
        """Wait for other processes that compile, if this is the first function to compile."""
        with self._threads:
            self._compiles = True
            if self._file < 0:
                self._file = _locked()

    def on_end(self, _event: object) -> None:
        """Let the next process compile."""
        with self._threads:
            self.depth -= 1
            if not self.depth and self._file >= 0:
                os.close(self._file)
                self._file = -1


def _locked() -> int:
    """Open and lock the lock file; return -1 if it cannot be opened."""
    if compile_cache.chosen_folder is None:
        return -1
    try:
        file = os.open(compile_cache.chosen_folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:  # the folder is gone, so nothing can be stored
        return -1
    began = time.monotonic()
    with contextlib.suppress(OSError):  # some file systems have no locks
        while time.monotonic() - began < _MAX_WAIT:
            try:
                # unlike with flock, a process forked in the meantime does not inherit the lock
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.truncate(file, os.pwrite(file, b"%d" % os.getpid(), 0))
                break
            except (BlockingIOError, PermissionError):
                _watch.tell(time.monotonic() - began, os.pread(file, 20, 0))
                time.sleep(_PAUSE)
    _watch.seconds += time.monotonic() - began
    return file


_watch, _turns = _Watch(), _Turns()


def _loads_code() -> bool:
    """Tell whether numba loads machine code now; compiling takes long, so signals may end it."""
    return _turns.depth > 0 and not _watch.depth


def compiling_seconds() -> float:
    """Return the seconds that this process compiled, or waited for another process's compiling."""
    return _watch.seconds


event.register("numba:compile", _watch)
event.register("numba:compiler_lock", _turns)
postponed_while.append(_loads_code)
