"""Child processes that end when this process ends, usable cores, and the current folder.

On Linux, the kernel kills a child when this process ends, even by kill -9. If the child has started
processes in the same way, they are killed, too. On other systems, a child outlives a parent that is
killed with kill -9.

A child may run in a folder of somebody else, so it must not import anything from its current
folder, where Python by default looks for modules first.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import phrasescore

_SCRIPT = Path(__file__).with_name("bound_program.py")
# Python 3.13 needs ``-P``, because it imports a module before it runs the code of ``-c``.
# Python 3.10 does not have this option, but imports nothing before the code.
_NO_CURRENT_FOLDER = ["-P"] if sys.version_info >= (3, 11) else []
_LEAVE_OUT_CURRENT_FOLDER = "import sys; sys.path[:] = filter(None, sys.path)\n"
_RUN_PHRASESCORE = "from phrasescore.__main__ import main\nsys.argv[0] = 'phrasescore'\nmain()\n"
# Python ignores these signals, and a child program would inherit the setting
_IGNORED_BY_PYTHON = f"{signal.SIGPIPE:d},{signal.SIGXFSZ:d}"
# options of `run` for a program whose output is read instead of shown
CAPTURED: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
_MAX_REPORT = 16  # maximum number of bytes of an error number


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # not on Linux


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Make a folder the current folder of this process while the block runs."""
    before = os.open(".", os.O_RDONLY)
    try:
        os.chdir(folder)
        yield
    finally:
        os.fchdir(before)
        os.close(before)


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a program that does not outlive the calling thread.

    Args:
        command: The program and its arguments; for Python, the result of ``python_command`` or
            ``phrasescore_command``.
        options: Arguments for ``subprocess.Popen``. Folders in PYTHONPATH that are not absolute
            are removed for the child.

    Raises:
        OSError: The program cannot be started, as with ``subprocess.Popen``.
    """
    options["env"] = _with_absolute_path(options.get("env") or os.environ)
    if sys.platform != "linux":
        return subprocess.Popen(command, **options)
    binder = sys.executable, "-I", "-S", str(_SCRIPT), str(os.getpid())
    failed, report = os.pipe()
    with os.fdopen(failed, "rb") as reading:
        try:
            process = subprocess.Popen(
                [*binder, str(report), _IGNORED_BY_PYTHON, *command],
                pass_fds=(*options.pop("pass_fds", ()), report),
                **options,
            )
        finally:
            os.close(report)
        # if the program starts, the pipe is closed, and nothing is read
        number = reading.read(_MAX_REPORT)
    if number:
        process.communicate()
        raise OSError(int(number), os.strerror(int(number)), command[0])
    return process


def python_command(code: str, arguments: Sequence[str] = ()) -> list[str]:
    """Return the command that runs code in a Python that imports nothing from its current folder.

    Args:
        code: The code, for which ``sys`` is imported; the arguments are in ``sys.argv[1:]``.
        arguments: The texts.
    """
    code = _LEAVE_OUT_CURRENT_FOLDER + code
    return [sys.executable, *_NO_CURRENT_FOLDER, "-c", code, *arguments]


def phrasescore_command(arguments: Sequence[str]) -> list[str]:
    """Return the command that runs ``phrasescore ARGUMENTS`` with the code of this process."""
    return python_command(_RUN_PHRASESCORE, arguments)


def _with_absolute_path(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment whose PYTHONPATH has only absolute folders.

    An empty entry of PYTHONPATH means the current folder, and Python may import modules from there
    before it runs any code. If this program is not installed, its checkout is the first entry, so
    that the child finds it.
    """
    entries = environment.get("PYTHONPATH", "").split(os.pathsep)
    kept = [entry for entry in entries if os.path.isabs(entry)]  # noqa: PTH117 - the entry is text
    root = Path(phrasescore.__file__).parent.parent
    if root.name not in ("site-packages", "dist-packages"):
        kept.insert(0, str(root))
    return {**environment, "PYTHONPATH": os.pathsep.join(kept)}


@contextlib.contextmanager
def waiting_for(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """After the block, wait for a program to end; kill it if the block raises an error."""
    with process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def run(
    command: Sequence[str],
    *,
    given: bytes | None = None,
    timeout: float | None = None,
    **options: Any,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end; kill it after an interruption or a timeout.

    Args:
        command: The program and its arguments.
        given: The standard input, if the options have ``stdin=subprocess.PIPE``; it is written
            while the output is read.
        timeout: The maximum running time in seconds.
        options: Arguments for ``subprocess.Popen``.

    Raises:
        OSError: The program cannot be started.
        subprocess.TimeoutExpired: The program took too long.
    """
    with waiting_for(start(command, **options)) as process:
        output, errors = process.communicate(given, timeout)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def last_line(log: Path) -> str:
    """Return the last line that a program wrote into a log, without a full stop."""
    lines = [line for line in log.read_text("utf-8", "replace").split("\n") if line.strip()]
    return lines[-1].strip().rstrip(".") if lines else "it printed nothing"
