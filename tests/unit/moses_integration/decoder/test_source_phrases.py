"""The checks of the text to translate."""

from __future__ import annotations

import time

import pytest

from moses_integration.decoder.loading.source_phrases import parse_sentence
from phrasescore.errors import InputError


@pytest.mark.parametrize("part", [b"x", b"(", b"[", b"<a", b"</a", b"<a/", b"<a=", b"="])
def test_a_very_long_word(part: bytes) -> None:
    """The time is proportional to the length of a word."""
    word = b"<a" + part * 50_000
    start = time.process_time()
    assert parse_sentence(word) == (word,)
    assert time.process_time() - start < 5


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
