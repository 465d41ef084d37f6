"""Progress in a log, where there is no terminal."""

from __future__ import annotations

import sys
import time

import pytest

from phrasescore.runs import progress, terminal
from phrasescore.runs.progress import Progress


@pytest.fixture(autouse=True)
def _command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show progress as commands do; the packages alone are silent."""
    monkeypatch.setattr(terminal, "serves_a_command", True)


def test_a_log_gets_whole_lines_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After the interval a line says how much, how fast, how long still, and the note."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with Progress("scoring", total=1000, unit="pairs") as shown:
        now[0] = 110.0
        shown.advance(100)
        assert capsys.readouterr().err == ""
        now[0] = 130.0
        shown.advance(100, "nll 1.5")
    assert capsys.readouterr().err == (
        "scoring: 200 of 1,000 pairs (20%), 5/s, 160 s left, nll 1.5\n"
    )


def test_compiling_is_not_taken_for_the_pace_of_the_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first part may wait for numba: it counts as done, and not for how fast the work is."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with Progress("scoring", total=100_000, unit="pairs", done=1000) as shown:
        now[0] = 160.0
        shown.advance(1000)
        assert capsys.readouterr().err == "scoring: 2,000 of 100,000 pairs (2%)\n"
        now[0] = 162.0
        shown.advance(2000)
        now[0] = 190.0
        shown.advance(26_000)
    assert capsys.readouterr().err == ("scoring: 30,000 of 100,000 pairs (30%), 933/s, 75 s left\n")


def test_a_terminal_gets_a_bar_with_the_same_pace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is said of the time left in the first seconds."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shown = Progress("decoding", unit="sentences")
    shown.expect(1000)
    now[0] = 160.0
    shown.advance(10)
    time.sleep(0.11)  # tqdm draws ten times a second
    now[0] = 161.0
    shown.advance(10)
    early = capsys.readouterr().err
    assert "20.0/1.00k" in early
    assert "left" not in early
    time.sleep(0.11)
    now[0] = 170.0
    shown.advance(80, "nll 1.5")
    late = capsys.readouterr().err
    assert "9/s, 100 s left, nll 1.5" in late
