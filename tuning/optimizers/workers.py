"""A pool of threads that run jobs; idle threads take over parts of the running jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

Result = TypeVar("Result")

# more than one range per thread, so that a thread that becomes idle late still finds work
_RANGES = 2


class Workers:
    """A pool of threads; the order of results never depends on the number of threads.

    Args:
        threads: The number of threads; they start with the first job.
    """

    def __init__(self, threads: int) -> None:
        self._pool, self._threads = ThreadPoolExecutor(threads), threads
        self._jobs, self._lock = 0, threading.Lock()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def run(self, jobs: Sequence[Callable[[], Result]]) -> list[Result]:
        """Run jobs in the threads of the pool, and return their results in order."""
        with self._lock:
            self._jobs += len(jobs)
        futures = [self._pool.submit(self._run_counted, job) for job in jobs]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()  # after an error or an interrupt, drop the pending jobs

    def _run_counted(self, job: Callable[[], Result]) -> Result:
        try:
            return job()
        finally:
            with self._lock:
                self._jobs -= 1

    def share(self, work: Callable[[slice], None], count: int) -> None:
        """Call ``work`` on ranges that together cover ``count`` items; idle threads help.

        A job calls this for a part of its work that can be divided.
        """
        idle = self._threads - max(self._jobs, 1)  # pending jobs count: they will need a thread
        ranges = min(_RANGES * (idle + 1), count) if idle > 0 else 1
        if ranges < 2:
            work(slice(0, count))
            return
        edges = [count * place // ranges for place in range(ranges + 1)]
        parts = [slice(*ends) for ends in pairwise(edges)]
        futures = [self._pool.submit(work, part) for part in parts]
        # never wait for a thread to begin (that could deadlock): run the pending ranges here
        for future, part in zip(futures, parts, strict=True):
            if future.cancel():
                work(part)
        for future in futures:
            if not future.cancelled():
                future.result()


# with a single thread, ``share`` always works in the calling thread
ALONE = Workers(1)
