"""Processes of ``phrasescore`` that start with all modules imported.

Importing torch takes most of the time of a short call. So a server imports all modules once, and
forks for each call. A call is still a separate process, with its own arguments, folder, environment
and status. The commands that a call or a script runs can be such processes, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import gc
import importlib
import json
import os
import pkgutil
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numba

from phrasescore.runs import processes

PROJECT = Path(__file__).resolve().parents[2]
_PACKAGES = ("phrasescore", "moses_integration", "tuning")
_CLIENT = Path(__file__).with_name("warm_client.py")
_MOST = 1 << 20  # bytes of a request
# slow libraries that some commands import only when they draw
_DRAWING = ("jinja2", "matplotlib.backends.backend_agg", "matplotlib.figure")
_MAPS = (*_DRAWING, "bokeh.embed", "bokeh.plotting", "sklearn.cluster", "sklearn.manifold")
_LIBRARIES = {"analyze": _DRAWING, "alignments": _DRAWING, "report": _DRAWING, "map": _MAPS}
_PR_SET_CHILD_SUBREAPER = 36
_UNCAUGHT = 1
_start = processes.start


def _of_this_process() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(PROJECT)}


@dataclass(frozen=True)
class Surroundings:
    """The environment, streams and limits of a process.

    Args:
        folder: The current directory.
        environment: The environment variables; those of this process by default.
        stdin: The content of standard input.
        stdout: A device for standard output instead of a pipe; ``abandoned`` is a pipe without a
            reader.
        closed: The numbers of standard streams that do not exist.
        gone: Whether the current directory is deleted before the command starts.
        timeout: The number of seconds after which the process is killed.
        memory: The maximum number of bytes that the process may allocate beyond those of the
            imported modules; ``None`` for no limit.
        largest_file: The maximum size of a file that the process writes, in bytes.
        signals: Signals to send, each after a number of seconds.
        last_step: Kill the process just before its N-th step (from 1) that makes, renames, removes
            or truncates a file.
        named: Kill the process just before the first such step after a rename to this name.
        children: The socket of the server whose warm processes run what the process would start as
            ``python -c``; by default, a new Python runs it.
    """

    folder: Path
    environment: Mapping[str, str] = field(default_factory=_of_this_process)
    stdin: bytes = b""
    stdout: str | None = None
    closed: tuple[int, ...] = ()
    gone: bool = False
    timeout: float = 300
    memory: int | None = None
    largest_file: int | None = None
    signals: tuple[tuple[float, int], ...] = ()
    last_step: int | None = None
    named: str | None = None
    children: str | None = None


@dataclass(frozen=True)
class Observed:
    """The result of a process, as in `subprocess.CompletedProcess`, and its cost.

    Args:
        status: The exit status; negative for a signal.
        output: The content of standard output.
        errors: The content of standard error.
        seconds: The running time.
        peak: The peak memory in bytes, without the memory of the imported modules.
        left: The number of child processes that outlived the process and were then killed.
    """

    status: int
    output: bytes
    errors: bytes
    seconds: float
    peak: int
    left: int


class WarmProcesses:
    """Starts a server; use it in a ``with`` block."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.place = f"{self._folder.name}/socket"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            listening.bind(self.place)
            listening.listen()
            self._server = processes.start(
                [sys.executable, "-m", "tests.support.warm_process", str(listening.fileno())],
                cwd=PROJECT,
                pass_fds=[listening.fileno()],
                env=_of_this_process(),
            )

    def observe(self, arguments: Sequence[str], surroundings: Surroundings) -> Observed:
        """Run ``phrasescore ARGUMENTS`` and measure it; kill it at its timeout."""
        return self.start(arguments, surroundings).wait()

    def start(self, arguments: Sequence[str], surroundings: Surroundings) -> Started:
        """Start ``phrasescore ARGUMENTS``."""
        request = {**dataclasses.asdict(surroundings), "arguments": list(arguments)}
        request |= {"folder": str(surroundings.folder), "stdin": None}
        (read, fed), (out, printed), (err, told), (report, reported) = (os.pipe() for _ in "0123")
        if surroundings.stdout == "abandoned":
            os.close(out)
            out = os.open(os.devnull, os.O_RDONLY)
        elif surroundings.stdout is not None:
            os.close(printed)
            printed = os.open(surroundings.stdout, os.O_WRONLY)
        ends = [read, printed, told, reported]
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
            server.connect(self.place)
            socket.send_fds(server, [json.dumps(request).encode()], ends)
        for end in ends:
            os.close(end)
        return Started(surroundings.stdin, fed, out, err, report)

    def __enter__(self) -> WarmProcesses:
        return self

    def __exit__(self, *_: object) -> None:
        with self._server, self._folder:
            self._server.terminate()


class Started:
    """A running ``phrasescore`` with its streams; made by `WarmProcesses.start`.

    Args:
        stdin: The content of standard input.
        fed: The descriptor to write this content to.
        out: The descriptor to read standard output from.
        err: The descriptor to read standard error from.
        report: The descriptor to read the process number from, and at the end the result.
    """

    def __init__(self, stdin: bytes, fed: int, out: int, err: int, report: int) -> None:
        self._pool = ThreadPoolExecutor(3)
        self._feeding = self._pool.submit(_feed, fed, stdin)
        self._texts = [self._pool.submit(_drain, end) for end in (out, err)]
        self._report = os.fdopen(report)
        self.pid = int(self._report.readline())

    @property
    def is_running(self) -> bool:
        """Whether the process still runs."""
        return is_running(self.pid)

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the process if it still runs."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def wait(self) -> Observed:
        """Wait until the process ends."""
        with self._pool, self._report:
            output, errors = (text.result() for text in self._texts)
            self._feeding.result()
            return Observed(output=output, errors=errors, **json.loads(self._report.read()))


def _feed(end: int, text: bytes) -> None:
    # the process may end before it reads everything; then writing or closing fails
    with contextlib.suppress(BrokenPipeError), os.fdopen(end, "wb") as stream:
        stream.write(text)


def _drain(end: int) -> bytes:
    with os.fdopen(end, "rb") as stream:
        return stream.read()


def client(place: str) -> list[str]:
    """Return the words that make the rest of a command line run in a warm process of a server."""
    return [sys.executable, "-I", "-S", str(_CLIENT), place]


def warm_start(place: str) -> Callable[..., subprocess.Popen[bytes]]:
    """Return a `processes.start` that runs ``python -c`` in a warm process of a server."""

    def start(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        runs_code = command[0] == sys.executable and "-c" in command[1:3]
        return _start([*client(place), *command[1:]] if runs_code else command, **options)

    return start


def _serve(listening: socket.socket) -> None:
    for package in _PACKAGES:
        for module in pkgutil.walk_packages([str(PROJECT / package)], f"{package}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    _refresh_numba()
    _freeze()
    # no process waits for the watching processes, so let the kernel discard their status
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    usual = vars(Surroundings(Path()))
    while True:
        with listening.accept()[0] as connection:
            text, ends, *_ = socket.recv_fds(connection, _MOST, 4)
        request = {**usual, **json.loads(text)}
        _import_for(request["arguments"])
        if os.fork() == 0:
            listening.close()
            _watch(request, ends)
        for end in ends:
            os.close(end)


def _freeze() -> None:
    """Exclude existing objects from garbage collection, which would copy their memory pages."""
    gc.collect()
    gc.freeze()


def _import_for(command: Sequence[str]) -> None:
    """Import the drawing libraries of a command, for all later calls; skip missing libraries."""
    wanted = {library for word in command for library in _LIBRARIES.get(word, ())}
    missing = wanted - set(sys.modules)
    for library in sorted(missing):
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    if missing:
        _freeze()


def _watch(request: dict[str, Any], ends: Sequence[int]) -> None:
    """Start the requested process and report its result; does not return."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # orphans of the process become children of this process
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    *streams, report = ends
    before = _memory("VmRSS")
    child = os.fork()
    if child == 0:
        os.close(report)
        _become(request, streams)
    for end in streams:
        os.close(end)
    with os.fdopen(report, "w") as reported:
        print(child, file=reported, flush=True)
        reply = _observed(child, report, request["timeout"], request["signals"])
        reply["peak"] = max(0, reply["peak"] - before)
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps({**reply, "left": _end_orphans()}), file=reported, flush=True)
    os._exit(0)


def _refresh_numba() -> None:
    """Compile a first function, so that numba loads its registries."""
    numba.njit(lambda: None)()


def _memory(name: str) -> int:
    """Return a field of this process's memory status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) * 1024


def _become(request: dict[str, Any], ends: Sequence[int]) -> None:
    """Become the requested process; does not return."""
    for number, end in enumerate(ends):
        os.dup2(end, number)
        os.close(end)
    for number in request["closed"]:
        # as Python does if it starts without this stream
        os.close(number)
        setattr(sys, ("stdin", "stdout", "stderr")[number], None)
    os.chdir(request["folder"])
    if request["gone"]:
        Path("gone").mkdir()
        os.chdir("gone")
        Path("../gone").rmdir()
    _limit(request)
    os.environ.clear()
    os.environ.update(request["environment"])
    if request["children"] is not None:
        processes.start = warm_start(request["children"])
    status = 70
    try:
        _run(request["arguments"])
        status = 0
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
        status = _UNCAUGHT
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                if stream is not None:
                    stream.flush()
            except (OSError, ValueError):
                status = status or 120
        os._exit(status)


def _run(arguments: list[str]) -> None:
    """Run a command, or code after Python's option -c."""
    if "-c" in arguments[:2]:
        code, *sys.argv[1:] = arguments[arguments.index("-c") + 1 :]
        exec(code, {"__name__": "__main__"})
    else:
        from phrasescore.cli import main

        sys.argv = ["phrasescore", *arguments]
        main()


def _limit(request: dict[str, Any]) -> None:
    """Limit this process's memory, file sizes and steps."""
    if request["memory"] is not None:
        most = _memory("VmSize") + request["memory"]
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    if request["largest_file"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["largest_file"],) * 2)
    if request["last_step"] is not None or request["named"] is not None:
        die_at(request["last_step"] or 0, request["named"])


def die_at(step: int, name: str | None = None) -> None:
    """Kill this process before its N-th change to a folder, or before the next after a rename."""
    left = step

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event == "open":
            path, _, flags = arguments
            if not flags & os.O_CREAT or str(path) == os.devnull:
                return
        elif event not in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"):
            return
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        if event == "os.rename" and Path(arguments[1]).name == name:
            left = 1

    sys.addaudithook(count)


def _observed(
    child: int, report: int, timeout: float, signals: Sequence[list[float]]
) -> dict[str, Any]:
    """Wait for a process; send the signals at their times.

    The process is killed at its timeout, and when its report has no reader any more.
    """
    begin = time.monotonic()
    ended = os.pidfd_open(child)
    events = select.poll()
    events.register(ended, select.POLLIN)
    events.register(report, 0)  # poll reports an error once the pipe has no reader
    for after, number in sorted([*signals, [timeout, signal.SIGKILL]]):
        found = dict(events.poll(max(0.0, begin + after - time.monotonic()) * 1000))
        if ended in found:
            break
        os.kill(child, signal.SIGKILL if report in found else int(number))
    _, status, usage = os.wait4(child, 0)
    return {
        "status": os.waitstatus_to_exitcode(status),
        "seconds": time.monotonic() - begin,
        "peak": usage.ru_maxrss * 1024,
    }


def _end_orphans() -> int:
    """Kill the remaining children of a process that has ended; return their number."""
    count = 0
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue  # this child had ended by itself
        except ChildProcessError:
            return count
        time.sleep(0.3)  # wait for children that are about to end
        for child in Path("/proc/self/task").glob("*/children"):
            for number in child.read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    if is_running(int(number)):
                        os.kill(int(number), signal.SIGKILL)
                        count += 1


def is_running(number: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
