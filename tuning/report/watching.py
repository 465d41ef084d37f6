"""A report that follows a run: written anew whenever the results have changed."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from phrasescore.errors import InputError
from phrasescore.runs.interruption import interruptible
from tuning.report.readers.result_files import is_at_work
from tuning.report.report_page import ReportSettings, read_results, write_report

Say = Callable[[str], None]
# what a report reads; lists and tables change more often, and say nothing new
_READ = (".json", ".jsonl", ".txt")
_LEVELS = 4
_BETWEEN_LOOKS = 2.0  # seconds
# between two commands of one script nobody is at work for as long as one takes to start
_PATIENCE = 10.0  # seconds


def watch(
    settings: ReportSettings,
    path: str | Path,
    say: Say,
    *,
    between: float = _BETWEEN_LOOKS,
    patience: float = _PATIENCE,
) -> None:
    """Write the page whenever results change, until nobody has been at work for a while.

    Args:
        settings: What is watched.
        path: Where the page goes.
        say: Gets a line for each page.
        between: Seconds between two looks at the folder.
        patience: Seconds without anybody at work or any change, after which the run is over.

    Raises:
        InputError: The folder holds no results.
        InterruptedWorkError: Ctrl-C; the page is the last one then.
    """
    seen: dict[str, tuple[int, int]] | None = None
    quiet_since = time.monotonic()
    with interruptible(path):
        try:
            while True:
                now = _state(settings.folder)
                if now != seen:
                    # a model that is finished leaves its work folder for its own
                    with contextlib.nullcontext() if seen is None else _between_two_names():
                        write_report(path, read_results(settings), live=True)
                        say(f"{time.strftime('%H:%M:%S')}: wrote {path}")
                    seen = now
                    quiet_since = time.monotonic()
                elif is_at_work(settings.folder):
                    quiet_since = time.monotonic()
                if time.monotonic() - quiet_since >= patience:
                    return
                time.sleep(between)
        finally:
            # the last page asks for no newer one
            if seen is not None:
                with _between_two_names():
                    write_report(path, read_results(settings))


def _between_two_names() -> contextlib.AbstractContextManager[None]:
    """Pass over a moment in which nothing is there."""
    return contextlib.suppress(InputError)


def _state(folder: Path) -> dict[str, tuple[int, int]]:
    return dict(_files(str(folder), _LEVELS))


def _files(folder: str, levels: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the files that a report reads, with what changes when they do."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            # what is hidden is not whole
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if levels:
                    yield from _files(entry.path, levels - 1)
            elif entry.name.endswith(_READ):
                found = entry.stat()
                yield entry.path, (found.st_size, found.st_mtime_ns)
