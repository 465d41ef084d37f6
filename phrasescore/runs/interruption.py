"""Ctrl-C, SIGTERM and SIGHUP: work ends in order, and a sentence says how to continue."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from phrasescore.errors import InterruptedWorkError
from phrasescore.runs.signals import signals_handled


@contextlib.contextmanager
def interruptible(path: str | Path | None = None, *, without: str = "") -> Iterator[None]:
    """Let SIGTERM and SIGHUP act like Ctrl-C while the block runs.

    Args:
        path: Where the work is kept, for the error.
        without: An option that would start again, to be left out when the command is repeated.

    Raises:
        InterruptedWorkError: For a ``KeyboardInterrupt`` in the block, with the command to type.
    """
    with signals_handled():
        try:
            yield
        except KeyboardInterrupt:
            words = [word for word in sys.argv[1:] if word != without]
            raise InterruptedWorkError(
                "stopped; what is done is kept",
                path=path,
                remedy=f"to continue, type: {shlex.join(['phrasescore', *words])}",
            ) from None


class StopRequest:
    """Notes a signal, for work that must come to a good place before it stops.

    Attributes:
        made: Whether a signal came; the second one raises ``KeyboardInterrupt`` at once.
    """

    def __init__(self) -> None:
        self.made = False

    def listening(self) -> contextlib.AbstractContextManager[None]:
        """Note signals while the block runs."""
        return signals_handled(self._note)

    def _note(self, number: int, _frame: Any) -> None:
        if self.made:
            raise KeyboardInterrupt
        self.made = True
