"""Progress of long work: a bar on a terminal, a plain line now and then in a log."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from tqdm import tqdm

from phrasescore.runs import terminal

_SECONDS_BETWEEN_LOG_LINES = 30.0
_SECONDS_TO_JUDGE = 3.0  # of work, before a rate and an end are shown
# tqdm writes ", " before the postfix
_BAR = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt}{unit} [{elapsed}{postfix}]"
_BAR_WITHOUT_END = "{desc}: {n_fmt}{unit} [{elapsed}{postfix}]"


class Progress:
    """Show on standard error how far the work is, how fast it goes and when it will end.

    The rate counts from the first finished units on, because compiling mostly comes before them;
    tqdm's own rate would include that time. Only a command shows anything; a library is silent.

    Args:
        what: The name of the work, e.g. ``scoring``.
        total: The number of units in all; ``None`` while it is unknown.
        unit: The unit in the plural, e.g. ``pairs``.
        done: The number of units that an earlier run did.
    """

    def __init__(
        self, what: str, total: float | None = None, unit: str = "", done: float = 0.0
    ) -> None:
        self._what, self._total, self._unit = what, total, unit
        self._done = done
        self._last_line = time.monotonic()
        self._first: tuple[float, float] | None = None  # the time of the first units, and how many
        self._bar: tqdm | None = None
        if terminal.serves_a_command and sys.stderr.isatty():
            self._bar = tqdm(
                total=total,
                initial=done,
                desc=what,
                unit=f" {unit}",
                unit_scale=True,
                file=terminal.cursor_stream(),
                dynamic_ncols=True,
                leave=False,
                bar_format=_BAR if total else _BAR_WITHOUT_END,
            )

    def __enter__(self) -> Progress:
        return self

    def expect(self, total: float) -> None:
        """Set the number of units in all, once it is known."""
        self._total = total
        if self._bar is not None:
            self._bar.total, self._bar.bar_format = total, _BAR

    def advance(self, amount: float, note: str = "") -> None:
        """Count ``amount`` more units as done; ``note`` is the state of the work, e.g. a loss."""
        self._done += amount
        if self._first is None:
            self._first = time.monotonic(), self._done
        if self._bar is not None:
            self._bar.set_postfix_str(self._state(*self._first, note), refresh=False)
            self._bar.update(amount)
        elif (
            terminal.serves_a_command
            and time.monotonic() - self._last_line >= _SECONDS_BETWEEN_LOG_LINES
        ):
            self._last_line = time.monotonic()
            of_total = f" of {self._total:,.0f}" if self._total else ""
            share = f" ({self._done / self._total:.0%})" if self._total else ""
            line = f"{self._what}: {self._done:,.0f}{of_total} {self._unit}{share}"
            state = self._state(*self._first, note)
            print(", ".join(filter(None, [line, state])), file=sys.stderr, flush=True)  # noqa: T201

    def _state(self, start: float, done_before: float, note: str) -> str:
        """Return units per second and seconds left, once both can be judged, and the note."""
        seconds, done = time.monotonic() - start, self._done - done_before
        if seconds < _SECONDS_TO_JUDGE or done <= 0:
            return note
        rate = done / seconds
        left = f"{(self._total - self._done) / rate:,.0f} s left" if self._total else ""
        return ", ".join(filter(None, [f"{rate:,.0f}/s", left, note]))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()
