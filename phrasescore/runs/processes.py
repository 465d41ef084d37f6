"""Child processes that end with this one, and the number of usable cores.

On Linux the kernel kills a child, and what the child started in the same way, when this process
ends, even by kill -9. Elsewhere a child outlives a parent that is killed with kill -9.

A child may run in a stranger's folder, so it must import nothing from there: by default Python
looks for modules in the current folder first.
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
# Python 3.13 imports a module before it runs the code, so it needs the option. Python 3.10 lacks
# the option, but imports nothing before the code.
_NO_CURRENT_FOLDER = ["-P"] if sys.version_info >= (3, 11) else []
_LEAVE_OUT_CURRENT_FOLDER = "import sys; sys.path[:] = filter(None, sys.path)\n"
_RUN_PHRASESCORE = "from phrasescore.__main__ import main\nsys.argv[0] = 'phrasescore'\nmain()\n"
# Python ignores these signals, and a program inherits what is ignored
_IGNORED_BY_PYTHON = f"{signal.SIGPIPE:d},{signal.SIGXFSZ:d}"
_MAX_REPORT = 16  # bytes


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # no Linux


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a program that does not outlive the calling thread.

    Args:
        command: The program and its arguments; for Python the result of ``python_command`` or
            ``phrasescore_command``.
        options: As for ``subprocess.Popen``, which by itself would leave orphans. The child gets
            only the absolute entries of PYTHONPATH.

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
        # ends empty once the script has become the program, which closes the pipe
        number = reading.read(_MAX_REPORT)
    if number:
        process.communicate()
        raise OSError(int(number), os.strerror(int(number)), command[0])
    return process


def python_command(code: str, arguments: Sequence[str] = ()) -> list[str]:
    """Return the command that runs code in a Python that imports nothing from its current folder.

    Args:
        code: Gets the arguments in ``sys.argv[1:]``; ``sys`` is imported.
        arguments: Any texts.
    """
    code = _LEAVE_OUT_CURRENT_FOLDER + code
    return [sys.executable, *_NO_CURRENT_FOLDER, "-c", code, *arguments]


def phrasescore_command(arguments: Sequence[str]) -> list[str]:
    """Return the command that runs ``phrasescore ARGUMENTS``, the one that is running now."""
    return python_command(_RUN_PHRASESCORE, arguments)


def _with_absolute_path(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment whose PYTHONPATH has absolute folders only.

    An empty entry is the current folder, and Python may import from the folders before it runs any
    code. A checkout that is not installed comes first, so that the child finds it.
    """
    entries = environment.get("PYTHONPATH", "").split(os.pathsep)
    kept = [entry for entry in entries if os.path.isabs(entry)]  # noqa: PTH117 - a text
    root = Path(phrasescore.__file__).parent.parent
    if root.name not in ("site-packages", "dist-packages"):
        kept.insert(0, str(root))
    return {**environment, "PYTHONPATH": os.pathsep.join(kept)}


@contextlib.contextmanager
def waiting_for(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Wait for a program to end after the block; kill the program if the block raises."""
    with process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def run(
    command: Sequence[str], *, timeout: float | None = None, **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end; kill it if the waiting is interrupted or times out.

    Args:
        command: The program and its arguments.
        timeout: In seconds.
        options: As for ``subprocess.Popen``.

    Raises:
        OSError: The program cannot be started.
        subprocess.TimeoutExpired: It took too long.
    """
    with waiting_for(start(command, **options)) as process:
        output, errors = process.communicate(timeout=timeout)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def last_line(log: Path) -> str:
    """Return the last line that a program wrote into a log, without a full stop."""
    lines = [line for line in log.read_text("utf-8", "replace").split("\n") if line.strip()]
    return lines[-1].strip().rstrip(".") if lines else "it said nothing"
