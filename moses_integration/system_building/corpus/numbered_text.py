"""One side of a parallel text as numbers, where the order of numbers is the order of bytes.

A line of a phrase table is a sequence of words, each followed by a space, and ``|||`` is one of
them. No word contains a space, so comparing two lines byte by byte (``LC_ALL=C sort``) is comparing
their words one by one, each with the space after it. Words are therefore numbered in the byte
order of word-and-space, and one number tells which of them stand before ``||| ``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import CorpusError
from phrasescore.table.input_files import line_blocks, open_input
from phrasescore.table.phrase_table import PIPES

BOUNDARY = 0
_NO_WORD = -1
_BLOCK = 1 << 22
_MOST_IDS = (1 << 31) - 1


@dataclass(frozen=True)
class NumberedText:
    """Sentences as word ids.

    Args:
        words: The word of each id; id 0 is the end of a sentence and has an empty one.
        ids: (words and ends,) int32, each sentence followed by ``BOUNDARY``.
        starts: (sentences + 1,) int64; sentence i is ``ids[starts[i] : starts[i + 1] - 1]``.
        separator: The first id whose word sorts after the column separator ``|||``.
    """

    words: list[bytes]
    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    separator: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(sentences,) int64, the words of each sentence."""
        return np.diff(self.starts) - 1

    def sentence(self, number: int) -> list[int]:
        """Return the ids of the words of a sentence."""
        return self.ids[self.starts[number] : self.starts[number + 1] - 1].tolist()

    def id_of(self, word: bytes) -> int:
        """Return a word's id, or the first unused id where it does not occur."""
        # a rare question: no index is kept for it
        return self.words.index(word) if word in self.words else len(self.words)


def read_numbered_text(path: str | Path) -> NumberedText:
    """Read prepared text: one sentence per line, words separated by single spaces.

    Raises:
        CorpusError: The text is too long to be numbered.
    """
    arrivals = _Arrivals({b"\n": BOUNDARY, b"": _NO_WORD})
    parts: list[NDArray[np.int32]] = []
    size = 0
    # preparing the corpus has refused zero bytes
    with open_input(path, is_text=False) as stream:
        for block in line_blocks(stream, _BLOCK):
            whole = block if block.endswith(b"\n") else block + b"\n"
            tokens = whole.replace(b"\n", b" \n ").split(b" ")
            numbers = np.fromiter(map(arrivals.__getitem__, tokens), np.int32, len(tokens))
            parts.append(numbers[numbers != _NO_WORD])
            size += len(parts[-1])
    if size > _MOST_IDS:
        raise CorpusError(
            f"the text has {size:,} words, more than can be numbered",
            path=path,
            remedy="build from a part of it",
        )
    words = list(arrivals)[2:]
    order = sorted(range(len(words)), key=lambda number: words[number] + b" ")
    rank = np.zeros(len(words) + 1, np.int32)
    rank[np.array(order, np.int64) + 1] = np.arange(1, len(words) + 1)
    ids = rank[np.concatenate(parts)] if parts else np.zeros(0, np.int32)
    ends = np.flatnonzero(ids == BOUNDARY) + 1
    before = sum(word + b" " < PIPES + b" " for word in words)
    return NumberedText(
        [b"", *(words[number] for number in order)],
        ids,
        np.concatenate([np.zeros(1, np.int64), ends]),
        before + 1,
    )


class _Arrivals(dict[bytes, int]):
    """Words and their numbers, which count from 1 in the order of arrival."""

    def __missing__(self, word: bytes) -> int:
        number = self[word] = len(self) - 1
        return number
