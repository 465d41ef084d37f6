"""Progress on a terminal and in a log."""

from __future__ import annotations

import os
import sys

import pytest

from phrasescore.runs import progress
from phrasescore.runs.progress import Progress


@pytest.fixture(autouse=True)
def _command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show progress like commands do; used as a library, the packages print nothing."""
    monkeypatch.setattr(progress, "serves_a_command", lambda: True)


class Clock:
    """The time that progress bars see, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return a clock that stands still."""
    clock = Clock()
    monkeypatch.setattr("tqdm.std.time", clock)
    return clock


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_log_gets_whole_lines_now_and_then(
    is_terminal: bool,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The first line comes soon; a terminal without a width, as in a container, is a log, too."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys.stderr, "fileno", lambda: 2)
    monkeypatch.setattr("os.get_terminal_size", lambda _: os.terminal_size((0, 0)))
    with Progress("scoring", total=1000, unit="pairs") as shown:
        shown.advance(10)
        clock.now = 9
        shown.advance(10)
        assert capsys.readouterr().err == ""
        clock.now = 11
        shown.advance(80)
        assert capsys.readouterr().err.startswith("scoring:  10% 100/1.00k [")
        clock.now = 40
        shown.advance(100)
        assert capsys.readouterr().err == ""
        clock.now = 42
        shown.advance(100, "nll 1.5")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("scoring:  30% 300/1.00k [")
    assert line.endswith("nll 1.5]")
    assert " pairs/s" in line


def test_speed_and_end_leave_out_what_comes_before_the_first_units(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    """Loading and compiling may take a minute, and the first sentence a moment."""
    with Progress("decoding", total=500, unit="sentences") as shown:
        clock.now = 63
        shown.advance(1)
        clock.now = 103
        shown.advance(80)
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "decoding:  16% 81.0/500 [00:40<03:29, 2.00 sentences/s]"


def test_a_terminal_gets_a_bar(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress("decoding", unit="sentences") as shown:
        shown.expect(1000)
        clock.now = 0.11  # tqdm draws ten times a second
        shown.advance(20, "nll 1.5")
        drawn = capsys.readouterr().err
    assert "20.0/1.00k" in drawn
    assert "nll 1.5" in drawn


def test_names_cannot_control_the_terminal(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names in an ini may hold escapes, and bytes that are not UTF-8."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress("filtering t\x1b[2J\n\udcff.gz", total=10, unit="lines") as shown:
        clock.now = 0.11
        shown.advance(5, "\x9b2J")
        drawn = capsys.readouterr().err
    assert r"filtering t\x1b[2J\n\xff.gz" in drawn
    assert r"\x9b2J" in drawn
    assert "\x1b[2J" not in drawn
