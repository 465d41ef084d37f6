"""Progress in a log, where there is no terminal."""

from __future__ import annotations

import pytest

from phrasescore import progress
from phrasescore.progress import Progress


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
        now[0] = 140.0
        shown.advance(100, "nll 1.5")
    assert capsys.readouterr().err == (
        "scoring: 200 of 1,000 pairs (20%), 5/s, 160 s left, nll 1.5\n"
    )
