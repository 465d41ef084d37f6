"""The text and the progress that a command shows; neither can control the terminal.

Messages contain names and lines from files of other people. The standard streams escape control
characters, so that commands need not do so. Data (translations, tables, JSON) is written as bytes,
which are not escaped. Progress is a bar on a terminal, or occasional lines in a log.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import TextIO, TypeVar

from phrasescore.errors import on_one_line, terminal_text

Block = TypeVar("Block", bound=Sized)
Say = Callable[[str], None]  # prints a line for the user
_COMPILED = re.compile(r"compiling took (\d+) s")
_SECONDS_TO_FIRST_LOG_LINE, _SECONDS_BETWEEN_LOG_LINES = 10.0, 30.0


class EscapingStream:
    """A text stream that escapes unprintable characters before it passes text to another stream."""

    def __init__(self, stream: TextIO) -> None:
        self.unescaped = stream

    def write(self, text: str) -> int:
        """Write a text and return its length."""
        self.unescaped.write(terminal_text(text))
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self.unescaped, name)


def escape_standard_streams() -> None:
    """Make standard output and standard error escape unprintable characters."""
    for name in ("stdout", "stderr"):
        setattr(sys, name, EscapingStream(getattr(sys, name)))


def serves_a_command() -> bool:
    """Tell whether a command is running, and not a program that imports these packages.

    A command shows progress to its user, but a library must not print.
    """
    return isinstance(sys.stderr, EscapingStream)


def compiled_line(seconds: float) -> str:
    """Return the line in which a command says how long it has compiled."""
    return f"compiling took {seconds:.0f} s"


def compiled_seconds(line: str) -> int:
    """Return the seconds in a line of `compiled_line`, or 0 for any other line.

    >>> compiled_seconds(compiled_line(95.2)), compiled_seconds("round 1: decoding 500 sentences")
    (95, 0)
    """
    found = _COMPILED.fullmatch(line)
    return int(found[1]) if found else 0


def _shows_a_bar() -> bool:
    """Return whether standard error is a terminal with a width; in a container it may have none."""
    if not sys.stderr.isatty():
        return False
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns > 0
    except OSError:
        return True


class _LogLines:
    """A stream that writes each state of a progress bar as a line."""

    def write(self, text: str) -> None:
        """Print a state of the bar; ignore text that only clears the bar."""
        if line := text.strip("\r\n "):
            print(line, file=sys.stderr, flush=True)  # noqa: T201 - progress, not a result

    def flush(self) -> None:
        """Do nothing, because each line is flushed when it is written."""


class Progress:
    """Shows the progress of the work, its speed and its expected end on standard error.

    The time until the first units are done belongs to loading and compiling: speed and end leave it
    out. Progress is shown only while a command runs, and not if a program uses the library.

    Args:
        what: The name of the work, e.g. ``scoring``.
        total: The total number of units; ``None`` while it is unknown.
        unit: The unit in the plural, e.g. ``pairs``.
        done: The number of units that an earlier run has done.
    """

    def __init__(
        self, what: str, total: float | None = None, unit: str = "", done: float = 0.0
    ) -> None:
        self._bar: tqdm[None] | None = None
        self._moves = False
        if not serves_a_command():
            return
        from tqdm import tqdm  # late, because every command imports this module

        tqdm.monitor_interval = 0  # no thread is needed: every call of advance checks the time
        # a bar moves the cursor, so its stream must not escape
        stream = getattr(sys.stderr, "unescaped", sys.stderr)
        shown: dict[str, object] = {"file": stream, "dynamic_ncols": True}
        if not _shows_a_bar():
            pause = _SECONDS_TO_FIRST_LOG_LINE
            shown = {"file": _LogLines(), "ncols": 0, "mininterval": pause, "delay": pause}
        # the stream of the bar does not escape; names in the text may come from other people
        shown |= {"unit_scale": True, "leave": False, "miniters": 0, "desc": on_one_line(what)}
        self._bar = tqdm(total=total, initial=done, unit=f" {unit}", **shown)

    def __enter__(self) -> Progress:
        return self

    def expect(self, total: float) -> None:
        """Set the total number of units, when it becomes known."""
        if self._bar is not None:
            self._bar.total = total

    def advance(self, amount: float, note: str = "") -> None:
        """Count ``amount`` more units as done, and show ``note`` (e.g. a loss) beside the bar."""
        if self._bar is None:
            return
        self._bar.set_postfix_str(on_one_line(note), refresh=False)
        if self._moves:
            if self._bar.update(amount) and self._bar.delay:
                self._bar.mininterval = _SECONDS_BETWEEN_LOG_LINES
            return
        self._moves = True
        self._bar.unpause()  # the clock starts here
        self._bar.n += amount
        self._bar.initial = self._bar.last_print_n = self._bar.n
        if not self._bar.delay:
            self._bar.refresh()

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


def with_progress(what: str, blocks: Iterable[Block], unit: str = "lines") -> Iterator[Block]:
    """Yield blocks; when the next one is requested, count the units of the last one as done."""
    with Progress(what, unit=unit) as progress:
        for block in blocks:
            yield block
            progress.advance(len(block))
