"""Threads that work on jobs; threads without a job take parts of the jobs of others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import TypeVar

Result = TypeVar("Result")

# for each thread, so that one that comes late finds some left
_PARTS = 2


class Workers:
    """A pool of threads; results come in the order of the work, whatever the number of threads.

    Args:
        threads: How many.
    """

    def __init__(self, threads: int) -> None:
        self._pool, self._threads = ThreadPoolExecutor(threads), threads
        self._jobs, self._lock = 0, threading.Lock()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def run(self, jobs: Sequence[Callable[[], Result]]) -> list[Result]:
        """Do jobs, as many at a time as there are threads."""
        with self._lock:
            self._jobs += len(jobs)
        futures = [self._pool.submit(self._done, job) for job in jobs]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()  # where the wait was interrupted

    def _done(self, job: Callable[[], Result]) -> Result:
        try:
            return job()
        finally:
            with self._lock:
                self._jobs -= 1

    @property
    def _idle(self) -> int:
        # jobs that wait for a thread count, too
        return max(self._threads - max(self._jobs, 1), 0)

    def share(self, parts: Sequence[Callable[[], Result]]) -> list[Result]:
        """Do the parts of a job that is being done, some of them on threads without a job."""
        if not self._idle or len(parts) < 2:
            return [part() for part in parts]
        futures = [self._pool.submit(part) for part in parts]
        # no part waits for a thread: the parts that no thread has begun are done here
        own = {place: parts[place]() for place, each in enumerate(futures) if each.cancel()}
        return [own[place] if place in own else each.result() for place, each in enumerate(futures)]

    def share_range(self, work: Callable[[slice], Result], count: int) -> list[Result]:
        """Do a part of a job that is work on some things; it is given them range by range."""
        idle = self._idle
        pieces = max(min(_PARTS * (idle + 1), count), 1) if idle else 1
        edges = [count * piece // pieces for piece in range(pieces + 1)]
        return self.share([partial(work, slice(*ends)) for ends in pairwise(edges)])
