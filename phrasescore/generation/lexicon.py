"""The most probable translation of each word, from a lexical table of Moses.

A line of such a table is ``written read p(written | read)``; NULL stands for no word. Moses writes
two: in ``lex.f2e`` the first word is the target's, in ``lex.e2f`` the source's.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from phrasescore.errors import CorpusError
from phrasescore.model.model_settings import Direction
from phrasescore.runs.progress import Progress
from phrasescore.table.input_files import finite_number, read_lines

_NULL = b"NULL"
_LINES_AT_ONCE = 1 << 16
_FILES: dict[Direction, str] = {"source-target": "lex.f2e", "target-source": "lex.e2f"}


@dataclass
class _Sides:
    """How many lines have their words where a model has them, and how many the other way round."""

    right: int = 0
    swapped: int = 0


def read_lexicon(
    path: str | Path, read: AbstractSet[bytes], written: AbstractSet[bytes], direction: Direction
) -> dict[bytes, bytes]:
    """Return the most probable translation of each word; of equals the first by its bytes.

    Args:
        path: Plain or gzip, or ``-``.
        read: The words that the models read.
        written: The words that they write.
        direction: Theirs, for the advice.

    Raises:
        InputError: The file cannot be read.
        CorpusError: A line is not ``word word probability``, or the words stand the other way
            round.
    """
    best: dict[bytes, tuple[float, bytes]] = {}
    sides = _Sides()
    with Progress("reading the lexicon", unit="lines") as progress:
        for number, line in enumerate(read_lines(path), 1):
            translation, word, p = _fields(line, path, number)
            sides.right += translation in written and word in read
            sides.swapped += translation in read and word in written
            if _NULL not in (translation, word):
                known_p, known = best.get(word, (-1.0, b""))
                if p > known_p or (p == known_p and translation < known):
                    best[word] = p, translation
            if number % _LINES_AT_ONCE == 0:
                progress.advance(_LINES_AT_ONCE)
    if sides.swapped > sides.right:
        raise CorpusError(
            "its words stand the other way round, those that the model reads first",
            path=path,
            remedy=f"give the other one of Moses's two lexical tables, {_FILES[direction]}",
        )
    return {word: translation for word, (_, translation) in best.items()}


def _fields(line: bytes, path: str | Path, number: int) -> tuple[bytes, bytes, float]:
    fields = line.split(b" ")
    p = finite_number(fields[-1])
    if len(fields) != 3 or p is None or p < 0:
        raise CorpusError(
            "not a line of a lexical table, which is two words and a probability",
            path=path,
            line=number,
            remedy="give lex.f2e or lex.e2f, as Moses's training or phrasescore build wrote it",
        )
    return fields[0], fields[1], p
