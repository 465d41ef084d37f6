"""What runs on the workers before any work: who they are, and what they have."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata

from phrasescore import __version__
from phrasescore.errors import ClusterError
from phrasescore.runs.final_names import packer

# those that decide the bytes of an output; builds of one version differ in what follows a plus
_LIBRARIES = ("torch", "numpy")


class UnfitWorkerError(ClusterError):
    """A worker that lacks what a task needs, raised by the task: others may have it.

    Args:
        problem: See `PhrasescoreError`; it names the worker.
        remedy: Likewise.
        worker: Its address.
    """

    def __init__(self, problem: str, *, remedy: str | None = None, worker: str = "") -> None:
        super().__init__(problem, remedy=remedy)
        self.worker = worker


def versions() -> dict[str, str]:
    """Return the versions of what decides the bytes of an output."""
    found = {"phrasescore": __version__, "gzip": packer()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name).partition("+")[0]
        except metadata.PackageNotFoundError:
            found[name] = "none"
    return found


def own_name() -> str:
    """Return the address of the worker that this runs on."""
    from distributed import get_worker

    return str(get_worker().address)


def own_threads() -> int:
    """Return how many threads the worker has that this runs on, as ``--nthreads`` said."""
    from distributed import get_worker

    return int(get_worker().state.nthreads)


def task_is_unwanted() -> Callable[[], bool]:
    """Return what tells, from any thread, whether nobody wants the task any more that calls this.

    So it is when who gave it takes it back, ends or is killed.
    """
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_unwanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    return is_unwanted
