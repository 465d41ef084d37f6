"""Progress of long work: a bar on a terminal, a plain line now and then in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from tqdm import tqdm

from phrasescore.runs import terminal

_SECONDS_BETWEEN_LOG_LINES = 30.0
_SECONDS_TO_JUDGE = 3.0  # of work, before its pace says when it ends
_BAR = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt}{unit} [{elapsed}{pace}]"
_BAR_WITHOUT_END = "{desc}: {n_fmt}{unit} [{elapsed}{pace}]"


class Progress:
    """Show how far the work is, how fast it goes and when it will end, on standard error.

    Only a command shows anything; see `terminal.serves_a_command`.

    Compiling mostly comes before the first units are done, so the pace is measured from then on.

    Args:
        what: What is being done, e.g. ``scoring``.
        total: How many units there are in all; ``None`` where it is not known.
        unit: The unit in the plural, e.g. ``pairs``.
        done: How many of them an earlier run did.
    """

    def __init__(
        self, what: str, total: float | None = None, unit: str = "", done: float = 0.0
    ) -> None:
        self._what, self._total, self._unit = what, total, unit
        self._done = done
        self._last_line = time.monotonic()
        self._first: tuple[float, float] | None = None  # when units were first done, and how many
        self._note = ""
        self._bar: _Bar | None = None
        if terminal.serves_a_command and sys.stderr.isatty():
            self._bar = _Bar(
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
            self._bar.pace = self._pace

    def __enter__(self) -> Progress:
        return self

    def expect(self, total: float) -> None:
        """Say how many units there are in all, once that is known."""
        self._total = total
        if self._bar is not None:
            self._bar.total, self._bar.bar_format = total, _BAR

    def advance(self, amount: float, note: str = "") -> None:
        """Count ``amount`` more units as done; ``note`` says how the work stands (e.g. a loss)."""
        self._done += amount
        self._note = note
        if self._first is None:
            self._first = time.monotonic(), self._done
        if self._bar is not None:
            self._bar.update(amount)
        elif (
            terminal.serves_a_command
            and time.monotonic() - self._last_line >= _SECONDS_BETWEEN_LOG_LINES
        ):
            self._last_line = time.monotonic()
            print(self._line(), file=sys.stderr, flush=True)  # noqa: T201

    def _line(self) -> str:
        text = f"{self._what}: {self._done:,.0f}"
        if self._total:
            text += f" of {self._total:,.0f} {self._unit} ({self._done / self._total:.0%})"
        else:
            text += f" {self._unit}"
        return text + self._pace()

    def _pace(self) -> str:
        """Return units per second and seconds left, once they can be told, and the note."""
        text = f", {self._note}" if self._note else ""
        if self._first is None:
            return text
        start, done_before = self._first
        seconds, done = time.monotonic() - start, self._done - done_before
        if seconds < _SECONDS_TO_JUDGE or done <= 0:
            return text
        rate = done / seconds
        left = f", {(self._total - self._done) / rate:,.0f} s left" if self._total else ""
        return f", {rate:,.0f}/s{left}{text}"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()


class _Bar(tqdm):  # type: ignore[misc]  # tqdm has no types
    """A bar with a pace measured elsewhere; tqdm's own would count the time of compiling."""

    pace: Callable[[], str] = str

    @property
    def format_dict(self) -> dict[str, Any]:
        """What ``bar_format`` may name."""
        return {**super().format_dict, "pace": self.pace()}
