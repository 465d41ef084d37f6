"""The checks of the text to translate."""

from __future__ import annotations

import signal

import pytest

from moses_integration.decoder.loading.source_phrases import parse_sentence


@pytest.mark.parametrize("part", [b"x", b"(", b"[", b"<a", b"</a", b"<a/", b"<a=", b"="])
def test_a_very_long_word(part: bytes) -> None:
    """In time that grows with the square of the length, this word would take an hour."""
    word = b"<a" + part * 1_000_000
    signal.alarm(120)  # ends the process
    try:
        assert parse_sentence(word) == (word,)
    finally:
        signal.alarm(0)
