"""Functions that workers run: their address, their threads, and their versions."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata

from phrasescore import __version__
from phrasescore.errors import ClusterError
from phrasescore.runs.final_names import packer

# the libraries that decide the bytes of an output; builds of a version differ after a plus sign
_LIBRARIES = ("torch", "numpy")


class UnfitWorkerError(ClusterError):
    """A worker lacks what a task needs; the task raises this, and other workers may do it.

    Args:
        problem: See `PhrasescoreError`; it names the worker.
        remedy: See `PhrasescoreError`.
        worker: The address of the worker.
    """

    def __init__(self, problem: str, *, remedy: str | None = None, worker: str = "") -> None:
        super().__init__(problem, remedy=remedy)
        self.worker = worker


def versions() -> dict[str, str]:
    """Return the versions of the software that decides the bytes of an output."""
    found = {"phrasescore": __version__, "gzip": packer()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name).partition("+")[0]
        except metadata.PackageNotFoundError:
            found[name] = "none"
    return found


def own_name() -> str:
    """Return the address of the worker that calls this."""
    from distributed import get_worker

    return str(get_worker().address)


def own_threads() -> int:
    """Return the number of threads of the worker that calls this, set by ``--nthreads``."""
    from distributed import get_worker

    return int(get_worker().state.nthreads)


def cancellation_check() -> Callable[[], bool]:
    """Return a function that tells, in any thread, whether the calling task was cancelled.

    A task is cancelled when its client withdraws it, exits or dies.
    """
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_cancelled() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    return is_cancelled
