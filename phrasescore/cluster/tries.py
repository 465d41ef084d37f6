"""A task as it is given to workers, once or several times, and what came of each try."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed import Client


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
        """Forget all; what runs may end, and nobody wants it."""
        for waiting, future in self.waiting.items():
            waiting.cancel()
            future.release()


def name_of(key: str) -> str:
    """Return the name of a task from the key of one of its tries."""
    return key.rpartition("-")[0]


async def _outcome(future: Any) -> tuple[Any, BaseException | None]:
    """Return what a task gave, or why it did not."""
    try:
        return await future, None
    except (Exception, asyncio.CancelledError) as error:
        return None, error
