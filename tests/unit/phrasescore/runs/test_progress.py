"""Progress on a terminal and in a log."""

from __future__ import annotations

import sys
import time

import pytest

from phrasescore.runs import progress, terminal
from phrasescore.runs.progress import Progress


@pytest.fixture(autouse=True)
def _command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show progress like commands do; used as a library, the packages print nothing."""
    monkeypatch.setattr(terminal, "serves_a_command", True)


def test_a_log_gets_whole_lines_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LOG_LINES", 0.1)
    with Progress("scoring", total=1000, unit="pairs") as shown:
        shown.advance(100)
        assert capsys.readouterr().err == ""
        time.sleep(0.15)
        shown.advance(100, "nll 1.5")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("scoring:  20% 200/1.00k [")
    assert line.endswith("nll 1.5]")
    assert " pairs/s" in line


def test_a_terminal_gets_a_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress("decoding", unit="sentences") as shown:
        shown.expect(1000)
        time.sleep(0.11)  # tqdm draws ten times a second
        shown.advance(20, "nll 1.5")
        drawn = capsys.readouterr().err
    assert "20.0/1.00k" in drawn
    assert "nll 1.5" in drawn
