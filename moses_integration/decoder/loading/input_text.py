"""The text to translate: one sentence a line, checked for what the decoder would get wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from moses_integration.decoder.settings import LONGEST_SENTENCE
from phrasescore.errors import InputError
from phrasescore.table.input_files import open_input

# <x translation="...">, </x>, <x/>: what Moses would take for markup if it was told to
_MARKUP = re.compile(rb"<[A-Za-z][^<>]*=[^<>]*>|</[A-Za-z][^<>]*>|<[A-Za-z][^<>]*/>")
_LATTICE = re.compile(rb"\(\s*\(\s*\(\s*['\"]")
_ESCAPE = "escape special characters as Moses does (phrasescore preprocess does it)"


def read_sentences(path: str | Path, *, longest: int = LONGEST_SENTENCE) -> list[tuple[bytes, ...]]:
    """Read sentences; an empty line is a sentence without words.

    Args:
        path: A plain or gzip file, or ``-``.
        longest: Words of the longest sentence that is accepted.

    Raises:
        InputError: The file cannot be read, or a line has a bar, a token in brackets, markup, a
            lattice or too many words; the error names it.
    """
    with open_input(path) as stream:
        lines = stream.read().split(b"\n")
    if not lines[-1]:
        lines.pop()
    sentences = []
    for number, line in enumerate(lines, 1):
        try:
            sentences.append(parse_sentence(line, longest=longest))
        except InputError as error:
            raise error.at(path, number) from None
    return sentences


def parse_sentence(line: bytes, *, longest: int = LONGEST_SENTENCE) -> tuple[bytes, ...]:
    """Split a line into words at spaces and tabs.

    Raises:
        InputError: What is wrong with it.

    >>> parse_sentence(b"a man &apos;s  hat ")
    (b'a', b'man', b'&apos;s', b'hat')
    """
    line = line.strip(b" \t\r")
    if b"\0" in line:
        raise InputError("binary data, where a line of text was expected")
    if _LATTICE.match(line):
        raise InputError(
            "this looks like a word lattice or confusion network, and only text is translated",
            remedy="decode lattices with Moses",
        )
    if markup := _MARKUP.search(line):
        raise InputError(
            f"XML markup ({_shown(markup[0])}), and only plain text is translated",
            remedy="remove the markup, or write < and > as &lt; and &gt;",
        )
    words = tuple(word for word in line.replace(b"\t", b" ").split(b" ") if word)
    if len(words) > longest:
        raise InputError(
            f"{len(words)} words in one line, where at most {longest} are translated",
            remedy="put one sentence on a line, or raise --max-sentence-length",
        )
    _check_words(words)
    return words


def _check_words(words: Sequence[bytes]) -> None:
    for word in words:
        if b"|" in word:
            raise InputError(
                f"the word {_shown(word)} has an unescaped bar, which separates factors",
                remedy=f"write it as &#124;: {_ESCAPE}",
            )
        if len(word) > 1 and word.startswith(b"[") and word.endswith(b"]"):
            raise InputError(
                f"the word {_shown(word)} is in unescaped brackets, which mark non-terminals",
                remedy=f"write them as &#91; and &#93;: {_ESCAPE}",
            )


def _shown(text: bytes) -> str:
    return repr(text[:40].decode("utf-8", "replace"))
