"""Phrase tables line by line in plain Python: the twin of the blocks that compiled loops read."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from phrasescore.errors import PhraseTableError
from phrasescore.table.input_files import open_input, truncation_named
from phrasescore.table.phrase_table import INSPECTED_LINES, PIPES, Entry, TableFormat, check_line


def read_entries(path: str | Path) -> Iterator[Entry]:
    """Yield the lines of a phrase table, checked and parsed; errors name file and line."""
    # zero bytes are judged as lines are
    with open_input(path, is_text=False) as stream, truncation_named(path):
        lines = (line.removesuffix(b"\n") for line in stream)
        head = list(itertools.islice(lines, INSPECTED_LINES))
        expected = TableFormat.from_lines(head, path)
        for number, line in enumerate(itertools.chain(head, lines), 1):
            try:
                yield check_line(line, expected)
            except PhraseTableError as error:
                raise error.at(path, number) from None


def with_appended_scores(line: bytes, scores: Sequence[bytes]) -> bytes:
    """Return the line with scores added after the last one, every other byte as it was.

    >>> with_appended_scores(b"a ||| b ||| 0.5 ||| 0-0", [b"0.25"])
    b'a ||| b ||| 0.5 0.25 ||| 0-0'
    """
    columns = line.split(PIPES, 3)
    end = len(columns[2].rstrip(b" \t\r"))
    columns[2] = columns[2][:end] + b" " + b" ".join(scores) + columns[2][end:]
    return PIPES.join(columns)


def with_replaced_score(line: bytes, number: int, score: bytes) -> bytes:
    """Return the line with one score replaced, every other byte as it was.

    Args:
        line: A line whose scores have been checked.
        number: Which score, counted from 1.
        score: What to write in its place.

    >>> with_replaced_score(b"a ||| b ||| 0.5  0.25 ||| 0-0", 2, b"1")
    b'a ||| b ||| 0.5  1 ||| 0-0'
    """
    columns = line.split(PIPES, 3)
    found = list(re.finditer(rb"[^ \t\r]+", columns[2]))[number - 1]
    columns[2] = columns[2][: found.start()] + score + columns[2][found.end() :]
    return PIPES.join(columns)
