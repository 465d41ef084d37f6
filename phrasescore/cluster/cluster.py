"""A Dask cluster as a place that tasks are given to: each comes back once, or says why it cannot.

Dask finds the workers, sends a task to one, and sends it to another if that one dies. What it
leaves to its clients is done here: a task whose worker gives no sign of life, or that takes far
longer than its like, is given to another worker, too, and the first result counts; a worker that
lacks what tasks need gets no more of them; workers of other versions are refused by name; a
scheduler that is gone ends the work.
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

# A task is late that takes so many times as long as its size and the median of others let expect:
# it may wait for two before it at its worker. A sign of life that is missing shows sooner.
_TIMES_LATE = 6.0
_LEAST_LATE = 2.0  # times the patience with workers' signs of life, at least
_REMEMBERED = 50  # tasks whose seconds are known
_LOSSES = 8  # how often a task may lose the worker that has it, and those that Dask tries
# times as many may be finished before their turn, while an early one is late
_FINISHED = 3

_FILE_PATIENCE = 10.0  # seconds for a scheduler that has just been started to write its file
_PATIENCE = 30.0  # seconds
_START_IT = "start one with: dask scheduler --scheduler-file FILE; see docs/cluster.md"


class LostWorkerError(ClusterError):
    """The worker that alone had a task is gone."""


class Cluster:
    """A connection to a scheduler; use it in a ``with`` block.

    Args:
        place: The scheduler's address, or the file that it writes that to.

    Attributes:
        address: Of the scheduler.
    """

    def __init__(self, place: str) -> None:
        self.address = address_of(place)
        self._patience, self._versions = patience(), versions()
        # of tasks, for each unit of their size
        self._seconds: deque[float] = deque(maxlen=_REMEMBERED)
        self._client: Client
        self._watch: Watch
        self._names = (f"phrasescore-{uuid.uuid4().hex[:8]}-{n}" for n in itertools.count())
        self._loop = asyncio.new_event_loop()
        # what breaks is told by what was waited for
        self._loop.set_exception_handler(lambda loop, context: None)
        self._thread = threading.Thread(target=self._loop.run_forever, name="cluster", daemon=True)
        # done only by what ends all work
        self._end: asyncio.Future[None]
        self._under_way: set[asyncio.Task[Any]] = set()

    @property
    def workers(self) -> dict[str, int]:
        """How many threads each worker has that is there now and gets tasks, by its address."""
        return self._watch.fit

    def start(
        self,
        function: Callable[..., Made],
        *arguments: Any,
        size: float = 1.0,
        worker: str | None = None,
    ) -> Future[Made]:
        """Give a task to the workers.

        Args:
            function: Of a module; it may run several times, and must give the same each time.
            arguments: Plain values and bytes.
            size: What its seconds are in proportion to.
            worker: Who alone may do it, however long it takes; by default anyone may.

        Returns:
            What becomes of it. Its errors are those of the function, and ClusterError: it cannot
            be done here. What says `UnfitWorkerError` is done by another worker, if there is one.
        """
        attended = self._attended(function, arguments, size, worker)
        return asyncio.run_coroutine_threadsafe(attended, self._loop)

    async def _attended(
        self,
        function: Callable[..., Made],
        arguments: tuple[Any, ...],
        size: float,
        worker: str | None,
    ) -> Made:
        """Let a task be done, as often as it takes."""
        self._keep(asyncio.current_task())
        begin, losses = time.monotonic(), 0
        tries = Tries(self._client, next(self._names), function, arguments)
        if worker is not None:
            tries.give([worker], priority=0)
        else:
            self._give(tries, priority=0)
        try:
            while True:
                for made, error in await self._ended(tries):
                    if error is None:
                        self._seconds.append((time.monotonic() - begin) / size)
                        return made
                    if worker is None and isinstance(error, UnfitWorkerError):
                        self._watch.pass_over(error)
                        continue
                    await self._judge(error)
                    losses += 1
                if worker is not None:
                    if losses or worker not in self._watch.threads:
                        raise LostWorkerError(f"the worker {worker} is gone")
                else:
                    await self._give_again(tries, size, losses)
        finally:
            tries.drop()

    async def _ended(self, tries: Tries) -> list[tuple[Any, BaseException | None]]:
        """Return what came of those tries that have ended, if any has so soon."""
        waited: set[asyncio.Future[Any]] = {self._end, *tries.waiting}
        done, _ = await asyncio.wait(waited, timeout=LOOK, return_when=asyncio.FIRST_COMPLETED)
        if self._end in done:
            self._end.result()
        return [tries.taken(each) for each in list(tries.waiting) if each in done]

    async def _judge(self, error: BaseException) -> None:
        """Return if a task may be tried again after this.

        Raises:
            BaseException: The error itself.
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
            # a worker without phrasescore is named by who greets it
            await asyncio.wait([self._end], timeout=ANSWER)
            if self._end.done():
                self._end.result()
            raise ClusterError(
                f"a worker cannot run phrasescore ({error})",
                remedy="install the same version wherever a worker runs",
            )
        raise error

    async def _give_again(self, tries: Tries, size: float, losses: int) -> None:
        """Give a task to workers once more, if those who had it are gone, silent or late."""
        threads = self._watch.threads
        # its workers alone may have it, and none of them is left
        gone = tries.workers is not None and threads.keys().isdisjoint(tries.workers)
        if not tries.waiting or gone:
            if losses > _LOSSES:
                raise ClusterError(
                    f"a part of the work has lost its worker {losses} times",
                    remedy="see the workers' logs, perhaps they need more memory "
                    "(docs/cluster.md); the same command goes on",
                )
            self._give(tries)
        elif time.monotonic() - tries.last > tries.patience * self._late(size):
            tries.patience *= 2
            await self._give_away(tries)
        elif len(tries.waiting) == 1 and tries.name in self._watch.stuck:
            await self._give_away(tries)

    def _late(self, size: float) -> float:
        """Return the seconds after which a task is late; a first one has no like."""
        least = _LEAST_LATE * self._patience
        if not self._seconds:
            return _TIMES_LATE * least
        return max(least, _TIMES_LATE * size * statistics.median(self._seconds))

    async def _give_away(self, tries: Tries) -> None:
        """Give a task to a worker that does not have it and is alive, if there is one."""
        at_work = await self._watch.asked(self._client.processing()) or {}
        late = {worker for worker, keys in at_work.items() if tries.name in map(name_of, keys)}
        others = [each for each in self._watch.fit if each not in late | self._watch.silent]
        # what nobody has begun waits for its turn
        if late and others:
            say(f"work is late at {', '.join(sorted(late))}; it is given to others, too")
            tries.give(others)

    # -- workers that lack something -----------------------------------------------------------

    def _give(self, tries: Tries, priority: int = 1) -> None:
        """Give a task to any worker that may have what it takes, once there is one.

        Raises:
            UnfitWorkerError: None that is there has, and none ever had.
        """
        if not self._watch.unfit:
            tries.give(None, priority)
        elif fit := list(self._watch.fit):
            tries.give(fit, priority)
        elif not self._seconds:
            raise next(reversed(self._watch.unfit.values()))

    # -- from begin to end ---------------------------------------------------------------------

    def _keep(self, task: asyncio.Task[Any] | None) -> None:
        """Remember what must end before the connection does."""
        assert task is not None
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _open(self) -> None:
        self._end = self._loop.create_future()
        # nobody may be waiting when it fails
        self._end.add_done_callback(lambda end: end.cancelled() or end.exception())
        self._client = await connected(self.address)
        self._watch = Watch(self._client, self.address, self._end, self._patience, self._versions)
        self._keep(asyncio.ensure_future(self._watch.run()))

    async def _close(self) -> None:
        self._watch.closing = True
        for task in self._under_way:
            task.cancel()
        await asyncio.wait([*self._under_way], timeout=ANSWER)
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(self._client.close(), ANSWER)

    def __enter__(self) -> Cluster:
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        except BaseException:
            self._stop()
            raise
        return self

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._stop()


class Tries:
    """A task that is given to workers.

    Args:
        client: Gives it.
        name: Unlike those of other tasks.
        function: See `Cluster.start`.
        arguments: Likewise.

    Attributes:
        waiting: Each try that has not ended, by what waits for it.
        last: When the last one began.
        workers: Who alone may do that; ``None`` for anyone.
        patience: How many times as long as usual it may take until it is given again.
    """

    def __init__(
        self, client: Client, name: str, function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> None:
        self._client, self.name = client, name
        self._function, self._arguments = function, arguments
        self._numbers = itertools.count()
        self.waiting: dict[asyncio.Task[Any], Any] = {}
        self.last = 0.0
        self.workers: list[str] | None = None
        self.patience = 1.0

    def give(self, workers: list[str] | None, priority: int = 1) -> None:
        """Give it to one of some workers, or to any."""
        future = self._client.submit(
            self._function,
            *self._arguments,
            key=f"{self.name}-{next(self._numbers)}",
            pure=False,
            workers=workers,
            priority=priority,
        )
        self.waiting[asyncio.ensure_future(_outcome(future))] = future
        self.last, self.workers = time.monotonic(), workers

    def taken(self, ended: asyncio.Task[Any]) -> tuple[Any, BaseException | None]:
        """Return what came of a try that has ended, and forget it."""
        self.waiting.pop(ended).release()
        return ended.result()

    def drop(self) -> None:
        """Drop all pending tries; running ones may finish and are ignored."""
        for waiting, future in self.waiting.items():
            waiting.cancel()
            future.release()


async def _outcome(future: Any) -> tuple[Any, BaseException | None]:
    """Return what a task gave, or why it did not."""
    try:
        return await future, None
    except (Exception, asyncio.CancelledError) as error:
        return None, error


def in_order(
    items: Iterator[Item], start: Callable[[Item], Future[Made]], most: Callable[[], int]
) -> Iterator[Made]:
    """Yield what became of each item.

    Args:
        items: As many as there are; they are read no sooner than they are needed.
        start: Begins the work on one.
        most: How many may be under way now.
    """
    begun: deque[Future[Made]] = deque()
    try:
        while True:
            under_way = [future for future in begun if not future.done()]
            room = min(most() - len(under_way), (1 + _FINISHED) * most() - len(begun))
            more = None
            if room > 0 and (more := next(items, None)) is not None:
                begun.append(start(more))
            elif begun and begun[0].done():
                yield begun.popleft().result()
            elif begun:
                wait(under_way, return_when=FIRST_COMPLETED)
            else:
                return
    finally:
        for future in begun:
            future.cancel()


# -- a connection to the scheduler ------------------------------------------------------------


def address_of(place: str) -> str:
    """Return the address of a scheduler.

    Args:
        place: It, such as ``tcp://host:8786``, or the file that the scheduler writes it to.

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
            # a file that is being written is not JSON yet
            if time.monotonic() > deadline:
                problem = f"no scheduler has written this file ({_told(error)})"
                raise ClusterError(problem, path=place, remedy=_START_IT) from None
        time.sleep(0.1)
    if not isinstance(address, str) or "://" not in address:
        raise ClusterError("there is no address of a scheduler here", path=place, remedy=_START_IT)
    return address


def patience() -> float:
    """Return the seconds, at least, before work that is late is given to another worker, too.

    Dask's configuration may say them: ``phrasescore.patience``.

    Raises:
        SettingsError: What it says is no such number.
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
    """Return a client of a scheduler, for the event loop that runs; certificates are Dask's own.

    Raises:
        ClusterError: It does not answer, or not to this machine.
    """
    from distributed import Client

    # what it tells of connections that break is told in our words
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    client = Client(address, asynchronous=True, set_as_default=False, name="phrasescore")
    try:
        return await client
    except (OSError, ValueError, TypeError, RuntimeError, asyncio.TimeoutError) as error:
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            await client.close()
        raise ClusterError(
            f"the scheduler at {address} does not answer ({_told(error)})",
            remedy="see whether it runs, and with tls:// whether Dask's configuration names the "
            "certificates; see docs/cluster.md",
        ) from None


def _told(error: Exception) -> str:
    return str(error).split("\n")[0] or type(error).__name__
