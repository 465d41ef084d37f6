"""Signals end work cleanly, and their handlers are restored afterwards."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from phrasescore.errors import InterruptedWorkError
from phrasescore.runs.interruption import interruptible, stop_requests

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", SIGNALS)
def test_each_signal_says_how_to_go_on(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message has the command to continue, without the option that would start again."""
    monkeypatch.setattr(sys, "argv", ["/bin/phrasescore", "train", "--overwrite", "a table"])
    before = [signal.getsignal(each) for each in SIGNALS]
    with (
        pytest.raises(InterruptedWorkError) as caught,
        interruptible("model", without="--overwrite"),
    ):
        os.kill(os.getpid(), number)
    assert str(caught.value) == (
        "model: stopped; finished work is kept. To continue, type: phrasescore train 'a table'"
    )
    assert [signal.getsignal(each) for each in SIGNALS] == before


def test_what_nohup_ignores_stays_ignored() -> None:
    """SIGHUP under nohup, and Ctrl-C in background jobs of a shell, stay ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_request_to_stop_waits_for_a_good_place() -> None:
    """The first signal requests a stop at a safe point, the second interrupts at once."""
    with pytest.raises(KeyboardInterrupt), stop_requests() as arrived:
        assert not arrived
        os.kill(os.getpid(), signal.SIGTERM)
        assert arrived
        os.kill(os.getpid(), signal.SIGINT)
