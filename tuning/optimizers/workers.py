"""Threads that work on jobs; where there are fewer jobs than threads, jobs share their parts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


class Workers:
    """A pool of threads; results come in the order of what was asked, whatever their number.

    Args:
        threads: How many.
    """

    def __init__(self, threads: int) -> None:
        self._threads, self._pool = threads, ThreadPoolExecutor(threads)
        self._jobs, self._lock = 0, threading.Lock()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def run(self, jobs: Sequence[Callable[[], Result]]) -> list[Result]:
        """Do jobs, as many at a time as there are threads."""
        with self._lock:
            self._jobs += len(jobs)
        return [done.result() for done in [self._pool.submit(self._done, job) for job in jobs]]

    def _done(self, job: Callable[[], Result]) -> Result:
        try:
            return job()
        finally:
            with self._lock:
                self._jobs -= 1

    def share(self, parts: Sequence[Callable[[], Result]]) -> list[Result]:
        """Do the parts of a job that is being done, some of them on threads without a job."""
        # none waits for a thread: jobs that wait for one count, too
        pieces = min(len(parts), max(1, self._threads // max(self._jobs, 1)))
        size = -(-len(parts) // pieces)
        others = [
            self._pool.submit(_all, parts[begin : begin + size])
            for begin in range(size, len(parts), size)
        ]
        results = _all(parts[:size])
        for other in others:
            results += other.result()
        return results


def _all(parts: Sequence[Callable[[], Result]]) -> list[Result]:
    return [part() for part in parts]
