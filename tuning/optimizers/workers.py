"""Threads that do jobs; threads without a job take parts of the jobs of others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

Result = TypeVar("Result")

# ranges per thread, so that a thread that becomes idle late still finds one
_RANGES = 2


class Workers:
    """A pool of threads; results come in the order of the work, whatever the number of threads.

    Args:
        threads: The number of threads; none starts before the first job.
    """

    def __init__(self, threads: int) -> None:
        self._pool, self._threads = ThreadPoolExecutor(threads), threads
        self._jobs, self._lock = 0, threading.Lock()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def run(self, jobs: Sequence[Callable[[], Result]]) -> list[Result]:
        """Do jobs, one in each thread at a time."""
        with self._lock:
            self._jobs += len(jobs)
        futures = [self._pool.submit(self._done, job) for job in jobs]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()  # after an error or an interrupt

    def _done(self, job: Callable[[], Result]) -> Result:
        try:
            return job()
        finally:
            with self._lock:
                self._jobs -= 1

    def share(self, work: Callable[[slice], None], count: int) -> None:
        """Do a part of a job that is work on ``count`` things, range by range.

        Threads without a job take some of the ranges.
        """
        idle = self._threads - max(self._jobs, 1)  # jobs that wait for a thread count, too
        ranges = min(_RANGES * (idle + 1), count) if idle > 0 else 1
        if ranges < 2:
            work(slice(0, count))
            return
        edges = [count * place // ranges for place in range(ranges + 1)]
        parts = [slice(*ends) for ends in pairwise(edges)]
        futures = [self._pool.submit(work, part) for part in parts]
        # no range waits for a thread: those that no thread has begun are done here
        for future, part in zip(futures, parts, strict=True):
            if future.cancel():
                work(part)
        for future in futures:
            if not future.cancelled():
                future.result()


# works in the thread of the caller
ALONE = Workers(1)
