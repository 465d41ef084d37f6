"""A Dask cluster that runs tasks: each task gives one result, or an error that says why not.

Dask finds the workers, sends a task to one of them, and to another one if that worker dies. The
rest is done here. A task whose worker gives no sign of life, or that takes far longer than similar
tasks, is submitted again for another worker, and the first result counts. A worker that lacks what
tasks need gets no more of them. Workers of other versions are refused by name. A scheduler that is
gone ends the work.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import statistics
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from phrasescore.cluster.watch import ANSWER, LOOK, Watch, name_of, say
from phrasescore.cluster.worker_side import UnfitWorkerError, versions
from phrasescore.errors import ClusterError, MissingDependencyError, SettingsError
from phrasescore.runs.json_files import read_object

if TYPE_CHECKING:
    from distributed import Client

Item = TypeVar("Item")
Made = TypeVar("Made")

# A task is late when it takes so many times as long as its size and the median of other tasks let
# expect: two others may be queued before it at its worker. A missing sign of life shows earlier.
_LATE_FACTOR = 6.0
_MIN_LATE = 2.0  # times the patience with workers' signs of life
_REMEMBERED = 50  # tasks whose seconds are remembered
_MAX_LOSSES = 8  # how often a task may lose its worker, in addition to Dask's own retries
# so many times more tasks may be finished before their turn, while an early one is late
_MAX_FINISHED = 3

_FILE_PATIENCE = 10.0  # seconds for a scheduler that has just been started to write its file
_PATIENCE = 30.0  # seconds
_START_IT = "start one with: dask scheduler --scheduler-file FILE; see docs/cluster.md"


class LostWorkerError(ClusterError):
    """A task's only worker is gone."""


class Cluster:
    """A connection to a scheduler; use it in a ``with`` block.

    Args:
        place: The scheduler's address, or the file to which the scheduler writes it.

    Attributes:
        address: The scheduler's address.
    """

    def __init__(self, place: str) -> None:
        self.address = address_of(place)
        self._patience, self._versions = patience(), versions()
        # of finished tasks, per unit of their size
        self._seconds: deque[float] = deque(maxlen=_REMEMBERED)
        self._client: Client
        self._watch: Watch
        self._names = (f"phrasescore-{uuid.uuid4().hex[:8]}-{n}" for n in itertools.count())
        self._loop = asyncio.new_event_loop()
        # errors surface through the awaited futures
        self._loop.set_exception_handler(lambda loop, context: None)
        self._thread = threading.Thread(target=self._loop.run_forever, name="cluster", daemon=True)
        # only an error that ends all work finishes it
        self._end: asyncio.Future[None]
        self._running: set[asyncio.Task[Any]] = set()

    @property
    def workers(self) -> dict[str, int]:
        """The number of threads of each present worker that gets tasks, by its address."""
        return self._watch.fit

    def start(
        self,
        function: Callable[..., Made],
        *arguments: Any,
        size: float = 1.0,
        worker: str | None = None,
    ) -> Future[Made]:
        """Start a task on some worker.

        Args:
            function: A function of a module; it may run several times, with equal results.
            arguments: Plain values and bytes.
            size: A number that the task's seconds are proportional to.
            worker: The only worker that may do the task, however long it takes; by default any.

        Returns:
            The future result. Its errors are those of the function, and ClusterError if the task
            cannot be done here. After an `UnfitWorkerError` another worker does it, if any can.
        """
        attempts = self._finish_task(function, arguments, size, worker)
        return asyncio.run_coroutine_threadsafe(attempts, self._loop)

    async def _finish_task(
        self,
        function: Callable[..., Made],
        arguments: tuple[Any, ...],
        size: float,
        worker: str | None,
    ) -> Made:
        """Return the result of a task, after as many attempts as it takes."""
        self._keep(asyncio.current_task())
        begin, losses = time.monotonic(), 0
        attempts = _Attempts(self._client, next(self._names), function, arguments)
        try:
            if worker is not None:
                attempts.submit([worker], priority=0)
            else:
                self._submit(attempts, priority=0)
            while True:
                for made, error in await self._wait(attempts):
                    if error is None:
                        self._seconds.append((time.monotonic() - begin) / size)
                        return made
                    if worker is None and isinstance(error, UnfitWorkerError):
                        self._watch.pass_over(error)
                        continue
                    await self._raise_unless_lost(error)
                    losses += 1
                if worker is None:
                    await self._retry(attempts, size, losses)
                elif losses or worker not in self._watch.threads:
                    raise LostWorkerError(f"the worker {worker} is gone")
        finally:
            attempts.drop()

    async def _wait(self, attempts: _Attempts) -> list[tuple[Any, BaseException | None]]:
        """Wait a moment; return the results of the attempts that have ended."""
        waited: set[asyncio.Future[Any]] = {self._end, *attempts.pending}
        done, _ = await asyncio.wait(waited, timeout=LOOK, return_when=asyncio.FIRST_COMPLETED)
        if self._end in done:
            self._end.result()
        return [attempts.take_result(each) for each in list(attempts.pending) if each in done]

    async def _raise_unless_lost(self, error: BaseException) -> None:
        """Return if an attempt failed only because its worker or the connection was lost.

        Raises:
            BaseException: The error itself, or the error that ended all work.
        """
        from distributed.scheduler import KilledWorker

        if isinstance(error, KilledWorker):
            return
        if isinstance(error, asyncio.CancelledError | CancelledError):
            # the connection was lost; it may come back
            while not self._end.done():
                if await self._watch.asked(self._client.nthreads()) is not None:
                    return
                await asyncio.sleep(LOOK)
            self._end.result()
        if isinstance(error, ImportError):
            # greeting names a worker without phrasescore: give that error the time to arrive
            await asyncio.wait([self._end], timeout=ANSWER)
            if self._end.done():
                self._end.result()
            raise ClusterError(
                f"a worker cannot run phrasescore ({error})",
                remedy="install the same version wherever a worker runs",
            )
        raise error

    async def _retry(self, attempts: _Attempts, size: float, losses: int) -> None:
        """Submit a task once more if its workers are gone, silent or late."""
        # Dask would wait for ever for one of the workers that it may use
        allowed = attempts.workers
        gone = allowed is not None and self._watch.threads.keys().isdisjoint(allowed)
        if not attempts.pending or gone:
            if losses > _MAX_LOSSES:
                raise ClusterError(
                    f"a part of the work has lost its worker {losses} times",
                    remedy="see the workers' logs, perhaps they need more memory "
                    "(docs/cluster.md); the same command goes on",
                )
            self._submit(attempts)
        elif time.monotonic() - attempts.last > attempts.patience * self._late(size):
            attempts.patience *= 2
            await self._submit_elsewhere(attempts)
        elif len(attempts.pending) == 1 and attempts.name in self._watch.stuck:
            await self._submit_elsewhere(attempts)

    def _late(self, size: float) -> float:
        """Return the seconds after which a task is late; the first tasks have none to compare."""
        minimum = _MIN_LATE * self._patience
        if not self._seconds:
            return _LATE_FACTOR * minimum
        return max(minimum, _LATE_FACTOR * size * statistics.median(self._seconds))

    def _submit(self, attempts: _Attempts, priority: int = 1) -> None:
        """Submit a task to any worker that is not known to be unfit, once there is one.

        Raises:
            UnfitWorkerError: All present workers are unfit, and no worker has done a task yet.
        """
        if not self._watch.unfit:
            attempts.submit(None, priority)
        elif fit := list(self._watch.fit):
            attempts.submit(fit, priority)
        elif not self._seconds:
            raise next(reversed(self._watch.unfit.values()))

    async def _submit_elsewhere(self, attempts: _Attempts) -> None:
        """Submit a task to a live worker that is not working on it, if there is one."""
        at_work = await self._watch.asked(self._client.processing()) or {}
        late = {worker for worker, keys in at_work.items() if attempts.name in map(name_of, keys)}
        others = [each for each in self._watch.fit if each not in late | self._watch.silent]
        # a task that no worker has begun is only waiting for its turn
        if late and others:
            say(f"work is late at {', '.join(sorted(late))}; it is given to others, too")
            attempts.submit(others)

    # -- from begin to end ---------------------------------------------------------------------

    def _keep(self, task: asyncio.Task[Any] | None) -> None:
        """Remember a task that must end before the connection does."""
        assert task is not None
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _open(self) -> None:
        self._end = self._loop.create_future()
        # asyncio complains about errors that nobody fetches, and nobody may be waiting for this one
        self._end.add_done_callback(lambda end: end.cancelled() or end.exception())
        self._client = await connected(self.address)
        self._watch = Watch(self._client, self.address, self._end, self._patience, self._versions)
        self._keep(asyncio.ensure_future(self._watch.run()))

    async def _close(self) -> None:
        self._watch.closing = True
        for task in self._running:
            task.cancel()
        await asyncio.wait([*self._running], timeout=ANSWER)
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(self._client.close(), ANSWER)

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Cluster:
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._stop()


class _Attempts:
    """The attempts at one task.

    Args:
        client: The client that submits them.
        name: A unique name.
        function: See `Cluster.start`.
        arguments: See `Cluster.start`.

    Attributes:
        pending: Dask's future of each attempt that has not ended, by the task that awaits it.
        last: When the last attempt was submitted.
        workers: The workers that may do the last attempt; ``None`` for any.
        patience: A factor of the time after which the task is late; it grows with every retry.
    """

    def __init__(
        self, client: Client, name: str, function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> None:
        self._client, self.name = client, name
        self._function, self._arguments = function, arguments
        self._numbers = itertools.count()
        self.pending: dict[asyncio.Task[Any], Any] = {}
        self.last = 0.0
        self.workers: list[str] | None = None
        self.patience = 1.0

    def submit(self, workers: list[str] | None, priority: int = 1) -> None:
        """Submit the task to one of some workers, or to any."""
        future = self._client.submit(
            self._function,
            *self._arguments,
            key=f"{self.name}-{next(self._numbers)}",
            pure=False,
            workers=workers,
            priority=priority,
        )
        self.pending[asyncio.ensure_future(_outcome(future))] = future
        self.last, self.workers = time.monotonic(), workers

    def take_result(self, ended: asyncio.Task[Any]) -> tuple[Any, BaseException | None]:
        """Return the result or the error of an attempt that has ended, and forget the attempt."""
        self.pending.pop(ended).release()
        return ended.result()

    def drop(self) -> None:
        """Drop all pending attempts; running ones may finish and are ignored."""
        for waiting, future in self.pending.items():
            waiting.cancel()
            future.release()


async def _outcome(future: Any) -> tuple[Any, BaseException | None]:
    """Return the result of a task, or its error."""
    try:
        return await future, None
    except (Exception, asyncio.CancelledError) as error:
        return None, error


def in_order(
    items: Iterator[Item], start: Callable[[Item], Future[Made]], max_running: Callable[[], int]
) -> Iterator[Made]:
    """Yield the result for each item, in the order of the items.

    Args:
        items: The items; they are read no sooner than they are needed.
        start: Starts the work on an item.
        max_running: Returns how many may be in progress now.
    """
    begun: deque[Future[Made]] = deque()
    try:
        while True:
            running = [future for future in begun if not future.done()]
            limit = max_running()
            room = min(limit - len(running), (1 + _MAX_FINISHED) * limit - len(begun))
            if room > 0 and (item := next(items, None)) is not None:
                begun.append(start(item))
            elif begun and begun[0].done():
                yield begun.popleft().result()
            elif begun:
                wait(running, return_when=FIRST_COMPLETED)
            else:
                return
    finally:
        for future in begun:
            future.cancel()


# -- a connection to the scheduler ------------------------------------------------------------


def address_of(place: str) -> str:
    """Return the address of a scheduler.

    Args:
        place: The address, such as ``tcp://host:8786``, or the file that the scheduler writes.

    Raises:
        MissingDependencyError: Dask is not installed.
        ClusterError: There is no such file, or no address in it.
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
        raise ClusterError("there is no address of a scheduler here", path=place, remedy=_START_IT)
    return address


def patience() -> float:
    """Return the minimum of seconds before late work is given to another worker, too.

    Dask's configuration can set it: ``phrasescore.patience``.

    Raises:
        SettingsError: The configured value is not a number above 0.
    """
    import dask

    found = dask.config.get("phrasescore.patience", _PATIENCE)
    if not isinstance(found, int | float) or not found > 0:
        raise SettingsError(
            "phrasescore.patience in Dask's configuration is no number of seconds above 0",
            remedy="correct it, or leave it out",
        )
    return float(found)


async def connected(address: str) -> Client:
    """Return a client of a scheduler, for the running event loop; Dask finds the certificates.

    Raises:
        ClusterError: The scheduler does not answer, or refuses this machine.
    """
    from distributed import Client

    # broken connections are reported in our own words
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    client = Client(address, asynchronous=True, set_as_default=False, name="phrasescore")
    try:
        return await client
    except (OSError, ValueError, TypeError, RuntimeError, asyncio.TimeoutError) as error:
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            await client.close()
        raise ClusterError(
            f"the scheduler at {address} does not answer ({_message(error)})",
            remedy="see whether it runs, and with tls:// whether Dask's configuration names the "
            "certificates; see docs/cluster.md",
        ) from None


def _message(error: Exception) -> str:
    return str(error).split("\n")[0] or type(error).__name__
