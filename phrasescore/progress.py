"""Progress of long work: a bar on a terminal, a plain line now and then in a log."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from tqdm import tqdm

from phrasescore.terminal import cursor_stream

_SECONDS_BETWEEN_LOG_LINES = 30.0


class Progress:
    """Show how far the work is, how fast it goes and when it will end, on standard error.

    Args:
        what: What is being done, e.g. ``scoring``.
        total: How many units there are in all; ``None`` where it is not known.
        unit: The unit in the plural, e.g. ``pairs``.
    """

    def __init__(self, what: str, total: float | None = None, unit: str = "") -> None:
        self._what, self._total, self._unit = what, total, unit
        self._done = 0.0
        self._start = self._last_line = time.monotonic()
        self._note = ""
        self._bar: tqdm | None = None
        if sys.stderr.isatty():
            self._bar = tqdm(
                total=total,
                desc=what,
                unit=f" {unit}",
                unit_scale=True,
                file=cursor_stream(),
                dynamic_ncols=True,
                leave=False,
            )

    def __enter__(self) -> Progress:
        return self

    def expect(self, total: float) -> None:
        """Say how many units there are in all, once that is known."""
        self._total = total
        if self._bar is not None:
            self._bar.total = total

    def advance(self, amount: float, note: str = "") -> None:
        """Count ``amount`` more units as done; ``note`` says how the work stands (e.g. a loss)."""
        self._done += amount
        self._note = note
        if self._bar is not None:
            if note:
                self._bar.set_postfix_str(note, refresh=False)
            self._bar.update(amount)
        elif time.monotonic() - self._last_line >= _SECONDS_BETWEEN_LOG_LINES:
            self._last_line = time.monotonic()
            print(self._line(), file=sys.stderr, flush=True)  # noqa: T201

    def _line(self) -> str:
        seconds = max(time.monotonic() - self._start, 1e-9)
        rate = self._done / seconds
        text = f"{self._what}: {self._done:,.0f}"
        if self._total:
            left = (self._total - self._done) / rate if rate > 0 else float("inf")
            text += f" of {self._total:,.0f} {self._unit} ({self._done / self._total:.0%})"
            text += f", {rate:,.0f}/s, {left:,.0f} s left"
        else:
            text += f" {self._unit}, {rate:,.0f}/s"
        return f"{text}, {self._note}" if self._note else text

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()
