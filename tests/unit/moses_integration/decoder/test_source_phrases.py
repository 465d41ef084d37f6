"""The checks of the text to translate."""

from __future__ import annotations

import signal

import pytest

from moses_integration.decoder.loading.source_phrases import parse_sentence
from phrasescore.errors import InputError


@pytest.mark.parametrize("part", [b"x", b"(", b"[", b"<a", b"</a", b"<a/", b"<a=", b"="])
def test_a_very_long_word(part: bytes) -> None:
    """In time that grows with the square of the length, this word would take an hour."""
    word = b"<a" + part * 1_000_000
    signal.alarm(120)  # ends the process
    try:
        assert parse_sentence(word) == (word,)
    finally:
        signal.alarm(0)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (b"a b|c|d e", "'b|c|d'"),
        (b"|", "'|'"),
        (b"a <b c=d e=f> g", "'<b c=d e=f>'"),
        (b"<b=>", "'<b=>'"),
        (b"a</b>", "'</b>'"),
        (b"<br/>", "'<br/>'"),
    ],
)
def test_errors_show_the_text(line: bytes, shown: str) -> None:
    """Errors show the whole word with a bar, and the whole tag."""
    with pytest.raises(InputError) as caught:
        parse_sentence(line)
    assert shown in str(caught.value)
