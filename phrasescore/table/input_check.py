"""Read a whole input beside the scoring, so that its errors show in seconds and not after hours."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sized
from pathlib import Path
from types import TracebackType

from phrasescore.errors import PhrasescoreError
from phrasescore.table.block import read_blocks


class InputCheck:
    """Checks and counts an input's lines in a thread of its own; use it in a ``with`` block.

    The compiled loops and the decompression run without Python's lock, so this costs the scoring
    next to nothing. Leaving the block stops the thread.

    Args:
        read: Begins to read the input, which can be read again; the blocks count their lines.
    """

    def __init__(self, read: Callable[[], Iterator[Sized]]) -> None:
        self._blocks = read
        self._lines = 0
        self._error: PhrasescoreError | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read, name="input check", daemon=True)

    def _read(self) -> None:
        try:
            for block in self._blocks():
                self._lines += len(block)
                if self._stop.is_set():
                    return
        except PhrasescoreError as error:
            self._error = error

    def lines(self) -> int | None:
        """Return how many lines the input has, ``None`` while that is not known yet.

        Raises:
            InputError: What is wrong with the input.
        """
        if self._thread.is_alive():
            return None
        if self._error is not None:
            raise self._error
        return self._lines

    def wait(self) -> int:
        """Wait for the end of the input and return how many lines it has.

        Raises:
            InputError: What is wrong with the input.
        """
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._lines

    def __enter__(self) -> InputCheck:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()


class TableCheck(InputCheck):
    """The check of a phrase table.

    Args:
        path: A plain or gzip phrase table, not ``-``.
        lines_per_block: How many lines to hold at a time.
    """

    def __init__(self, path: str | Path, lines_per_block: int) -> None:
        super().__init__(lambda: read_blocks(path, lines_per_block))
