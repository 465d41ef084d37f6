"""A page that follows a run, and ends with it."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

import pytest

from phrasescore.errors import InputError
from phrasescore.runs.lock import held
from tests.support.result_folders import write_tuning
from tuning.report.report_page import ReportSettings, watch

REFRESH = 'http-equiv="refresh"'


def test_the_page_follows(tmp_path: Path) -> None:
    """It is written anew when a round is done, and the last one asks for no newer."""
    write_tuning(tmp_path / "all", rounds=3)
    write_tuning(tmp_path / "results" / "tuned", rounds=1, finished=False)
    page = tmp_path / "page.html"
    said: list[str] = []
    seen: list[str] = []

    def work() -> None:
        with held(tmp_path / "results" / "tuned", inside=True):
            _wait(page.exists)
            seen.append(page.read_text("utf-8"))
            shutil.copy(tmp_path / "all" / "result.json", tmp_path / "results" / "tuned")
            _wait(lambda: "3 rounds; round 3 is the best" in page.read_text("utf-8"))
            seen.append(page.read_text("utf-8"))

    thread = threading.Thread(target=work)
    thread.start()
    settings = ReportSettings(tmp_path / "results")
    watch(settings, page, said.append, between=0.05, patience=0.5)
    thread.join()
    assert len(said) >= 2
    assert "1 round so far" in seen[0] and REFRESH in seen[0] and REFRESH in seen[1]
    last = page.read_text("utf-8")
    assert REFRESH not in last and "LIVE = false" in last and "Not finished" not in last


def test_nothing_to_follow(tmp_path: Path) -> None:
    """A folder without results is an error, and no page."""
    with pytest.raises(InputError):
        watch(ReportSettings(tmp_path), tmp_path / "page.html", print)
    assert not (tmp_path / "page.html").exists()


def _wait(until: object, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not until():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.02)
