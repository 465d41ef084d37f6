"""Results in the order of what was asked, with a bounded number of tasks under way."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")
# times as many may be finished before their turn, while an early one is late
_FINISHED = 3


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
