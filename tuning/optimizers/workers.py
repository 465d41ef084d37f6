"""Threads that work on jobs; those without a job take parts of the jobs of others."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")

# for each thread, so that one that comes late finds some left
_PARTS = 2


class _Parts(Generic[Result]):
    """Parts of some work; whoever is free takes the next."""

    def __init__(self, parts: Sequence[Callable[[], Result]]) -> None:
        self.waiting = deque(enumerate(parts))
        self._done: dict[int, Result] = {}
        self._errors: list[BaseException] = []
        self._left, self._lock = len(parts), threading.Lock()
        # held until all are done; an Event takes longer
        self._under_way = threading.Lock()
        if parts:
            self._under_way.acquire()

    def work(self) -> None:
        """Do what nobody has begun."""
        while True:
            try:
                place, part = self.waiting.popleft()
            except IndexError:
                return
            try:
                self._done[place] = part()
            except BaseException as error:  # the one who waits for the results shall see it
                self._errors.append(error)
            with self._lock:
                self._left -= 1
                if not self._left:
                    self._under_way.release()

    def results(self) -> list[Result]:
        """Wait for all parts; return their results in order."""
        self._under_way.acquire()
        if self._errors:
            raise self._errors[0]
        return [self._done[place] for place in range(len(self._done))]


class Workers:
    """A pool of threads; results come in the order of what was asked, whatever their number.

    Args:
        threads: How many.
    """

    def __init__(self, threads: int) -> None:
        self._offers: SimpleQueue[_Parts[Any] | None] = SimpleQueue()
        self._threads = [threading.Thread(target=self._serve) for _ in range(threads)]
        self._jobs, self._lock = 0, threading.Lock()

    def __enter__(self) -> Workers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._offer(None, len(self._threads))
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        while parts := self._offers.get():
            parts.work()

    def _offer(self, parts: _Parts[Any] | None, times: int) -> None:
        for _ in range(times):
            self._offers.put(parts)

    def run(self, jobs: Sequence[Callable[[], Result]]) -> list[Result]:
        """Do jobs, as many at a time as there are threads."""
        with self._lock:
            self._jobs += len(jobs)
        parts = _Parts([partial(self._done, job) for job in jobs])
        self._offer(parts, len(self._threads))
        try:
            return parts.results()
        finally:
            parts.waiting.clear()  # where the wait was interrupted

    def _done(self, job: Callable[[], Result]) -> Result:
        try:
            return job()
        finally:
            with self._lock:
                self._jobs -= 1

    @property
    def _idle(self) -> int:
        # jobs that wait for a thread count, too
        return max(len(self._threads) - max(self._jobs, 1), 0)

    def share(self, parts: Sequence[Callable[[], Result]]) -> list[Result]:
        """Do the parts of a job that is being done, some of them on threads without a job."""
        idle = min(self._idle, len(parts) - 1)
        if idle < 1:
            return [part() for part in parts]
        # none waits for a thread: what nobody else has begun is done here
        shared = _Parts(parts)
        self._offer(shared, idle)
        shared.work()
        return shared.results()

    def share_range(self, work: Callable[[slice], Result], count: int) -> list[Result]:
        """Do a part of a job that is work on some things; it is given them range by range."""
        idle = self._idle
        pieces = max(min(_PARTS * (idle + 1), count), 1) if idle else 1
        edges = [count * piece // pieces for piece in range(pieces + 1)]
        return self.share([partial(work, slice(*ends)) for ends in pairwise(edges)])
