"""Edits of phrase-table lines in plain Python, the reference for the code that edits blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from phrasescore.table.block import read_blocks
from phrasescore.table.phrase_table import PIPES, Entry


def read_entries(path: str | Path) -> Iterator[Entry]:
    """Yield the lines of a phrase table."""
    for block in read_blocks(path):
        yield from map(block.entry, range(len(block)))


def with_appended_scores(line: bytes, scores: Sequence[bytes]) -> bytes:
    """Return the line with scores added after the last score; all other bytes are unchanged.

    >>> with_appended_scores(b"a ||| b ||| 0.5 ||| 0-0", [b"0.25"])
    b'a ||| b ||| 0.5 0.25 ||| 0-0'
    """
    columns = line.split(PIPES, 3)
    end = len(columns[2].rstrip(b" \t\r"))
    columns[2] = columns[2][:end] + b" " + b" ".join(scores) + columns[2][end:]
    return PIPES.join(columns)


def with_replaced_score(line: bytes, number: int, score: bytes) -> bytes:
    """Return the line with one score replaced; all other bytes are unchanged.

    Args:
        line: A line whose scores have been checked.
        number: The number of the score, from 1.
        score: The new score.

    >>> with_replaced_score(b"a ||| b ||| 0.5  0.25 ||| 0-0", 2, b"1")
    b'a ||| b ||| 0.5  1 ||| 0-0'
    """
    columns = line.split(PIPES, 3)
    found = list(re.finditer(rb"[^ \t\r]+", columns[2]))[number - 1]
    columns[2] = columns[2][: found.start()] + score + columns[2][found.end() :]
    return PIPES.join(columns)
