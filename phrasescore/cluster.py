"""Runs tasks on a Dask cluster; each task returns one result or raises an error.

Dask finds the workers and sends each task to a worker. If this worker dies or gives no sign of life
for the time ``distributed.scheduler.worker-ttl``, Dask sends the task to another worker. If a
worker and this process have different versions of software that determines output bytes, the
worker's task raises an error, and the work ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from phrasescore import __version__
from phrasescore.errors import ClusterError, MissingDependencyError
from phrasescore.runs.final_names import packer
from phrasescore.runs.identity import version_of
from phrasescore.runs.json_files import read_object

if TYPE_CHECKING:
    from distributed import Future

Item = TypeVar("Item")
Made = TypeVar("Made")

_LOOK = 1.0  # seconds between two checks of the workers while waiting for a result
_REMINDER = 60.0  # seconds between two messages that there is no worker
_FILE_PATIENCE = 10.0  # seconds to wait for the file of a scheduler that has just been started
_CLOSING = 20.0  # timeout in seconds for disconnecting from a scheduler
_START_IT = "start a scheduler with: dask scheduler --scheduler-file FILE; see docs/cluster.md"
# the exceptions of Dask's client if the scheduler does not answer or has gone
_CANCELLED = (CancelledError, asyncio.CancelledError)
_UNANSWERED = (OSError, ValueError, TypeError, RuntimeError, asyncio.TimeoutError, *_CANCELLED)

# libraries that determine output bytes; in their versions, the part after a plus sign is ignored
_LIBRARIES = ("torch", "numpy")


class Cluster:
    """A connection to a scheduler; use it in a ``with`` block. Threads may share it.

    Args:
        place: The scheduler's address, or the file to which the scheduler writes it.

    Attributes:
        address: The scheduler's address.
    """

    def __init__(self, place: str) -> None:
        self.address = address_of(place)

    @property
    def workers(self) -> dict[str, int]:
        """The number of threads of each connected worker, by the worker's address.

        Raises:
            ClusterError: The scheduler has gone.
        """
        try:
            return dict(self._client.nthreads())
        except _UNANSWERED:
            raise self.gone() from None

    def gone(self) -> ClusterError:
        """Return the error for a scheduler that has gone."""
        return ClusterError(
            f"the scheduler at {self.address} has gone",
            remedy="start it again, then run the same command: finished work is kept",
        )

    def start(self, function: Callable[..., Made], *arguments: object) -> Task[Made]:
        """Start a task on a worker.

        Args:
            function: A module-level function. Dask may run it several times, so its results must
                be equal each time.
            arguments: Values that can be pickled.

        Raises:
            ClusterError: The scheduler has gone.
        """
        try:
            task = run_on_worker, versions(), function, arguments
            key = f"phrasescore-{uuid.uuid4().hex}"
            future = self._client.submit(*task, key=key, pure=False)
        except _UNANSWERED:
            raise self.gone() from None
        return Task(self, future)

    def __enter__(self) -> Cluster:
        from distributed import Client

        # hide Dask's messages about broken connections: this module reports these itself
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        try:
            self._client = Client(self.address, set_as_default=False, name="phrasescore")
        except _UNANSWERED as error:
            raise ClusterError(
                f"the scheduler at {self.address} does not answer ({_message(error)})",
                remedy="check that it runs; for a tls:// address, check that Dask's configuration "
                "names the certificates; see docs/cluster.md",
            ) from None
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(*_UNANSWERED):
            self._client.close(timeout=_CLOSING)


class Task(Generic[Made]):
    """A task of a cluster.

    Args:
        cluster: The cluster.
        future: Dask's future of the task.
    """

    def __init__(self, cluster: Cluster, future: Future[Made]) -> None:
        self._cluster, self._future = cluster, future

    def done(self) -> bool:
        """Tell whether the task has ended with a result or an error."""
        return bool(self._future.done())

    def cancel(self) -> None:
        """Withdraw the task; its result is not read afterwards."""
        with contextlib.suppress(*_UNANSWERED):
            self._future.cancel()

    def result(self) -> Made:
        """Wait for the result.

        Raises:
            ClusterError: The scheduler has gone, the task killed too many workers, or a worker has
                other software versions.
            BaseException: The error of the function.
        """
        from distributed.scheduler import KilledWorker

        self._wait()
        try:
            return self._future.result()
        except _CANCELLED:
            raise self._cluster.gone() from None
        except KilledWorker as error:
            raise ClusterError(
                f"a part of the work has lost its worker {error.allowed_failures + 1} times",
                remedy="read the logs of the workers, which may need more memory "
                "(docs/cluster.md), then run the same command to continue",
            ) from None
        except ImportError as error:
            raise ClusterError(
                f"a worker cannot run phrasescore ({error})",
                remedy="install the same version on all workers",
            ) from None

    def _wait(self) -> None:
        """Wait until the task is done; print a message if there is no worker for a long time."""
        told = time.monotonic()
        while not self.done():
            with contextlib.suppress(asyncio.TimeoutError, *_CANCELLED):
                self._future.exception(timeout=_LOOK)
                return
            if self._cluster.workers:
                told = time.monotonic()
            elif time.monotonic() - told > _REMINDER:
                told = time.monotonic()
                say(f"no worker is connected; waiting for a worker at {self._cluster.address}")


def in_order(
    items: Iterator[Item], start: Callable[[Item], Task[Made]], max_begun: Callable[[], int]
) -> Iterator[Made]:
    """Yield the result for each item, in the order of the items.

    Args:
        items: The items, read only as they are needed.
        start: Starts the work on an item.
        max_begun: Returns the maximum number of started items whose results were not yet yielded.
    """
    begun: deque[Task[Made]] = deque()
    try:
        for item in items:
            begun.append(start(item))
            while begun and (begun[0].done() or len(begun) >= max_begun()):
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
    finally:
        for task in begun:
            task.cancel()


def address_of(place: str) -> str:
    """Return the address of a scheduler.

    Args:
        place: The address, such as ``tcp://host:8786``, or the file that the scheduler writes.

    Raises:
        MissingDependencyError: Dask is not installed.
        ClusterError: The file does not exist, or contains no address.
    """
    try:
        import distributed  # noqa: F401 - whether it is installed
    except ImportError:
        raise MissingDependencyError.extra("distributed", "cluster") from None
    if "://" in place:
        return place
    deadline = time.monotonic() + _FILE_PATIENCE
    while True:
        try:
            address = read_object(Path(place)).get("address")
            break
        except (OSError, ValueError) as error:
            # an incomplete file is not JSON yet
            if time.monotonic() > deadline:
                problem = f"no scheduler has written this file ({_message(error)})"
                raise ClusterError(problem, path=place, remedy=_START_IT) from None
        time.sleep(0.1)
    if not isinstance(address, str) or "://" not in address:
        raise ClusterError("the file has no address of a scheduler", path=place, remedy=_START_IT)
    return address


def _message(error: BaseException) -> str:
    return str(error).split("\n")[0] or type(error).__name__


def say(text: str) -> None:
    """Print a note about the cluster on standard error."""
    print(f"cluster: {text}", file=sys.stderr, flush=True)  # noqa: T201 - a note to the user


def versions() -> dict[str, str]:
    """Return the versions of the software that determines the bytes of an output."""
    found = {name: (version_of(name) or "none").partition("+")[0] for name in _LIBRARIES}
    return {"phrasescore": __version__, "gzip": packer(), **found}


# -- on a worker -------------------------------------------------------------------------------


def run_on_worker(
    wanted: dict[str, str], function: Callable[..., Made], arguments: tuple[object, ...]
) -> Made:
    """Call a function if this worker has the same software versions as the requesting process.

    Raises:
        ClusterError: The versions differ.
    """
    own = versions()
    if own != wanted:
        differences = [
            f"{name} {own.get(name)}, but this process has {wanted[name]}"
            for name in wanted
            if own.get(name) != wanted[name]
        ]
        raise ClusterError(
            f"the worker {own_name()} has {'; '.join(differences)}",
            remedy="install the same versions on all workers",
        )
    return function(*arguments)


def own_name() -> str:
    """Return the address of the worker that calls this function."""
    from distributed import get_worker

    return str(get_worker().address)


def own_threads() -> int:
    """Return the number of threads (``--nthreads``) of the worker that calls this function."""
    from distributed import get_worker

    return int(get_worker().state.nthreads)
