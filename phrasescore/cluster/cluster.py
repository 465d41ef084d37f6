"""A Dask cluster as a place that tasks are given to: each comes back once, or says why it cannot.

Dask finds the workers, sends a task to one, and sends it to another if that one dies. What it
leaves to its clients is done here: a task that does not come back for long (its worker is stopped,
or hangs) is given to another worker, too, and the first result counts; workers of other versions
are refused by name; a scheduler that is gone ends the work.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import statistics
import sys
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from phrasescore.cluster.connection import address_of, connected, patience
from phrasescore.cluster.worker_side import versions
from phrasescore.errors import ClusterError, counted

if TYPE_CHECKING:
    from distributed import Client

Made = TypeVar("Made")

_TIMES_LATE = 4.0  # times as long as such tasks take: their median
_FIRST_TIMES = 2.0  # times the patience while no task has come back: workers load and compile
_REMEMBERED = 50  # tasks whose seconds are known
_LOSSES = 8  # how often a task may lose the worker that has it, and those that Dask tries
_LOOK = 1.0  # seconds between two looks at who is there
_ANSWER = 20.0  # seconds within which a scheduler or a worker answers
_WORD = 60.0  # seconds between two words of waiting


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
        self._least_patience, self._versions = patience(), versions()
        self._seconds: deque[float] = deque(maxlen=_REMEMBERED)
        self._threads: dict[str, int] = {}
        self._client: Client
        self._names = (f"phrasescore-{uuid.uuid4().hex[:8]}-{n}" for n in itertools.count())
        self._loop = asyncio.new_event_loop()
        # what breaks is told by what was waited for
        self._loop.set_exception_handler(lambda loop, context: None)
        self._thread = threading.Thread(target=self._loop.run_forever, name="cluster", daemon=True)
        # done only by what ends all work
        self._end: asyncio.Future[None]
        self._under_way: set[asyncio.Task[Any]] = set()
        self._closing = False

    @property
    def workers(self) -> dict[str, int]:
        """How many threads each worker has that is there now, by its address."""
        return self._threads

    def start(
        self, function: Callable[..., Made], *arguments: Any, worker: str | None = None
    ) -> Future[Made]:
        """Give a task to the workers.

        Args:
            function: Of a module; it may run several times, and must give the same each time.
            arguments: Plain values and bytes.
            worker: Who alone may do it, however long it takes; by default anyone may.

        Returns:
            What becomes of it. Its errors are those of the function, and ClusterError: it cannot
            be done here.
        """
        attended = self._attended(function, arguments, worker)
        return asyncio.run_coroutine_threadsafe(attended, self._loop)

    async def _attended(
        self, function: Callable[..., Made], arguments: tuple[Any, ...], worker: str | None
    ) -> Made:
        """Let a task be done, as often as it takes."""
        self._keep(asyncio.current_task())
        begin, losses = time.monotonic(), 0
        waits = self._patience() if worker is None else _LOOK
        tries = _Tries(self._client, next(self._names), function, arguments)
        tries.give(None if worker is None else [worker], priority=0)
        try:
            while True:
                for made, error in await self._ended(tries, waits):
                    if error is None:
                        self._seconds.append(time.monotonic() - begin)
                        return made
                    await self._judge(error)
                    losses += 1
                if worker is not None:
                    if losses or worker not in self._threads:
                        raise LostWorkerError(f"the worker {worker} is gone")
                elif not tries.waiting:
                    _refuse_killer(losses)
                    tries.give(None)
                elif time.monotonic() - tries.last > waits:
                    waits *= 2
                    if others := await self._others(tries.name):
                        tries.give(others)
        finally:
            tries.drop()

    async def _ended(
        self, tries: _Tries, patience: float
    ) -> list[tuple[Any, BaseException | None]]:
        """Return what came of those tries that have ended, if any has so soon."""
        waited: set[asyncio.Future[Any]] = {self._end, *tries.waiting}
        done, _ = await asyncio.wait(waited, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
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
                if await self._asked(self._client.nthreads()) is not None:
                    return
                await asyncio.sleep(_LOOK)
            self._end.result()
        if isinstance(error, ImportError):
            # a worker without phrasescore is named by who greets it
            await asyncio.wait([self._end], timeout=_ANSWER)
            if self._end.done():
                self._end.result()
            raise ClusterError(
                f"a worker cannot run phrasescore ({error})",
                remedy="install the same version wherever a worker runs",
            )
        raise error

    def _patience(self) -> float:
        if not self._seconds:
            return _FIRST_TIMES * self._least_patience
        return max(self._least_patience, _TIMES_LATE * statistics.median(self._seconds))

    async def _others(self, name: str) -> list[str]:
        """Return the workers that have not been given a task that is late."""
        at_work = await self._asked(self._client.processing())
        late = {
            worker
            for worker, keys in (at_work or {}).items()
            if any(key.startswith(f"{name}-") for key in keys)
        }
        if late:
            _say(f"work is late at {', '.join(sorted(late))}; it is given to others, too")
        return [worker for worker in self._threads if worker not in late] if late else []

    # -- who is there --------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Know the workers, and greet new ones."""
        silent_since = told = time.monotonic()
        while True:
            found = await self._asked(self._client.nthreads())
            now = time.monotonic()
            if found is not None:
                silent_since = now
                self._tell_changes(found)
                self._threads = found
            elif now - silent_since > _ANSWER and not self._end.done():
                self._end.set_exception(
                    ClusterError(
                        f"the scheduler at {self.address} has gone",
                        remedy="start it again, and type the same command: what is done is kept",
                    )
                )
            if self._threads:
                told = now
            elif now - told > _WORD:
                told = now
                _say(f"no worker is there; waiting for one to join {self.address}")
            await asyncio.sleep(_LOOK)

    def _tell_changes(self, found: dict[str, int]) -> None:
        come, gone = found.keys() - self._threads.keys(), self._threads.keys() - found.keys()
        for worker in come:
            self._keep(asyncio.ensure_future(self._greet(worker)))
        if come or gone:
            changes = [f"{len(come)} joined"] * bool(come) + [f"{len(gone)} left"] * bool(gone)
            _say(f"{counted(len(found), 'worker')} at {self.address} ({', '.join(changes)})")

    async def _greet(self, worker: str) -> None:
        """Refuse a worker that is unlike this process."""
        run = self._client.run(versions, workers=[worker], on_error="return")
        found = (await self._asked(run) or {}).get(worker)
        if isinstance(found, ImportError):
            problem = f"the worker {worker} has no phrasescore of this version ({found})"
        elif isinstance(found, dict) and found != (ours := self._versions):
            differences = [
                f"{name} {found.get(name)}, this process {ours[name]}"
                for name in ours
                if found.get(name) != ours[name]
            ]
            problem = f"the worker {worker} has {'; '.join(differences)}"
        else:
            return
        if not self._end.done():
            remedy = "install the same versions wherever a worker runs"
            self._end.set_exception(ClusterError(problem, remedy=remedy))

    async def _asked(self, question: Any) -> Any:
        """Return an answer of the cluster, ``None`` if there is none."""
        try:
            return await asyncio.wait_for(question, _ANSWER)
        except (OSError, asyncio.TimeoutError, ValueError):
            return None
        except asyncio.CancelledError:
            # by Dask, where a connection breaks, unless it is by us
            if self._closing:
                raise
            return None

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
        self._keep(asyncio.ensure_future(self._watch()))

    async def _close(self) -> None:
        self._closing = True
        for task in self._under_way:
            task.cancel()
        await asyncio.wait([*self._under_way], timeout=_ANSWER)
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(self._client.close(), _ANSWER)

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


class _Tries:
    """A task as it was given to workers, once or several times.

    Args:
        client: Gives it.
        name: Unlike those of other tasks.
        function: See `Cluster.start`.
        arguments: Likewise.

    Attributes:
        waiting: Each try that has not ended, by what waits for it.
        last: When the last one began.
    """

    def __init__(
        self, client: Client, name: str, function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> None:
        self._client, self.name = client, name
        self._function, self._arguments = function, arguments
        self._numbers = itertools.count()
        self.waiting: dict[asyncio.Task[Any], Any] = {}
        self.last = 0.0

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
        self.last = time.monotonic()

    def taken(self, ended: asyncio.Task[Any]) -> tuple[Any, BaseException | None]:
        """Return what came of a try that has ended, and forget it."""
        self.waiting.pop(ended).release()
        return ended.result()

    def drop(self) -> None:
        """Forget all; what runs may end, and nobody wants it."""
        for waiting, future in self.waiting.items():
            waiting.cancel()
            future.release()


async def _outcome(future: Any) -> tuple[Any, BaseException | None]:
    """Return what a task gave, or why it did not."""
    try:
        return await future, None
    except (Exception, asyncio.CancelledError) as error:
        return None, error


def _refuse_killer(losses: int) -> None:
    if losses > _LOSSES:
        raise ClusterError(
            f"a part of the work has lost its worker {losses} times",
            remedy="see the workers' logs, perhaps they need more memory (docs/cluster.md); the "
            "same command goes on",
        )


def _say(text: str) -> None:
    print(f"cluster: {text}", file=sys.stderr, flush=True)  # noqa: T201 - a note to the user
