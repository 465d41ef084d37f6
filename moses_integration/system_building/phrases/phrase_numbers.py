"""Every phrase of a text as one number, where the order of numbers is the order of table lines.

All positions of the text are sorted by the words that follow (a suffix array cut at the longest
phrase). Neighbours that share their first words form a tree; walking it in order visits phrases in
the byte order of ``phrase ||| ``: a phrase stands before its own longer phrases that continue with
a word behind ``|||``, and after the others. A phrase pair is then two numbers, and a phrase table
is sorted by sorting integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moses_integration.system_building.corpus.numbered_text import BOUNDARY, NumberedText
from phrasescore.words.position_sorting import sorted_by_words


@dataclass(frozen=True)
class PhraseNumbers:
    """The numbers of all phrases of one side of a corpus; arrays may be memory-mapped.

    Args:
        at: (positions, longest) uint32, the number of the phrase that begins at a position and
            has 1, 2, ... words; meaningless where the sentence is shorter.
        position: (phrases,) int32, one place where each phrase stands.
        length: (phrases,) uint8, its words.
    """

    at: NDArray[np.uint32]
    position: NDArray[np.int32]
    length: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.position)

    @property
    def longest(self) -> int:
        """The most words of a numbered phrase."""
        return int(self.at.shape[1])

    def save(self, folder: Path) -> None:
        """Write the arrays into a folder, which is made."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("at", "position", "length"):
            np.save(folder / f"{name}.npy", getattr(self, name))

    @classmethod
    def load(cls, folder: Path) -> PhraseNumbers:
        """Map the arrays that ``save`` wrote; the system keeps in memory what is in use."""
        at, position, length = (
            np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False))
            for name in ("at", "position", "length")
        )
        return cls(at, position, length)


class Phrases(NamedTuple):
    """Some phrases as places in a text, and how to spell them.

    Args:
        ids: The text's word ids.
        positions: (rows,) where each phrase begins.
        lengths: (rows,) its words.
        characters: All words of the text, one behind the other, by id.
        word_starts: (words + 1,) where each of these begins.
    """

    ids: NDArray[np.int32]
    positions: NDArray[np.int32]
    lengths: NDArray[np.uint8]
    characters: NDArray[np.uint8]
    word_starts: NDArray[np.int64]


class PhraseTexts:
    """The words of all phrases of one side.

    Args:
        text: The text.
        phrases: Its phrases.
    """

    def __init__(self, text: NumberedText, phrases: PhraseNumbers) -> None:
        self.phrases, self._ids = phrases, text.ids
        self._characters = np.frombuffer(b"".join(text.words), np.uint8)
        self._word_starts = np.zeros(len(text.words) + 1, np.int64)
        np.cumsum([len(word) for word in text.words], out=self._word_starts[1:])

    def chosen(self, numbers: NDArray[np.int64]) -> Phrases:
        """Return the phrases with these numbers."""
        places = self.phrases.position[numbers], self.phrases.length[numbers]
        return Phrases(self._ids, *places, self._characters, self._word_starts)


def number_phrases(text: NumberedText, longest: int) -> PhraseNumbers:
    """Number all phrases of up to ``longest`` words."""
    ids = np.concatenate([text.ids, np.full(longest, BOUNDARY, np.int32)])
    positions = np.flatnonzero(ids != BOUNDARY).astype(np.int32)
    positions = sorted_by_words(ids, positions, len(text.words), range(longest - 1, -1, -1))
    shared = np.zeros(len(positions), np.uint8)
    phrases = _count_shared(ids, positions, longest, shared)
    at = np.zeros((len(text.ids), longest), np.uint32)
    position = np.zeros(phrases, np.int32)
    length = np.zeros(phrases, np.uint8)
    _number_in_order(ids, positions, shared, text.separator, at, position, length)
    return PhraseNumbers(at, position, length)


@njit(cache=True, nogil=True)
def _phrase_limit(ids: NDArray[np.int32], position: int, longest: int) -> int:
    """The words from a position to the end of its sentence, at most ``longest``."""
    words = 1
    while words < longest and ids[position + words] != BOUNDARY:
        words += 1
    return words


@njit(cache=True, nogil=True)
def _count_shared(
    ids: NDArray[np.int32],
    positions: NDArray[np.int32],
    longest: int,
    shared: NDArray[np.uint8],
) -> int:
    """Note how many words each position shares with the one before; count distinct phrases."""
    phrases = 0
    for row in range(len(positions)):
        position = positions[row]
        limit = _phrase_limit(ids, position, longest)
        same = 0
        if row > 0:
            before = positions[row - 1]
            while same < limit and ids[before + same] == ids[position + same]:
                same += 1
        shared[row] = same
        phrases += limit - same
    return phrases


@njit(cache=True, nogil=True)
def _number_in_order(
    ids: NDArray[np.int32],
    positions: NDArray[np.int32],
    shared: NDArray[np.uint8],
    separator: int,
    at: NDArray[np.uint32],
    position_of: NDArray[np.int32],
    length_of: NDArray[np.uint8],
) -> None:
    """Walk the tree of phrases in the order of table lines, and number them.

    A phrase gets its number when the first longer phrase that sorts behind it is met, or when all
    positions that begin with it have been seen.
    """
    longest = at.shape[1]
    first_row = np.zeros(longest + 1, np.int64)
    number = np.full(longest + 1, -1, np.int64)
    given, depth = 0, 0
    for row in range(len(positions) + 1):
        same, limit = 0, 0
        if row < len(positions):
            same = np.int64(shared[row])
            limit = _phrase_limit(ids, positions[row], longest)
        while depth > same:  # these phrases do not occur again
            given = _give_number(depth, number, given, length_of)
            position_of[number[depth]] = positions[first_row[depth]]
            for member in range(first_row[depth], row):
                at[positions[member], depth - 1] = number[depth]
            depth -= 1
        while depth < limit:
            if depth > 0 and ids[positions[row] + depth] >= separator:
                given = _give_number(depth, number, given, length_of)
            depth += 1
            first_row[depth], number[depth] = row, -1


@njit(cache=True, nogil=True)
def _give_number(
    depth: int, number: NDArray[np.int64], given: int, length_of: NDArray[np.uint8]
) -> int:
    """Number the phrase open at a depth, if it has none yet; return how many are numbered."""
    if number[depth] >= 0:
        return given
    number[depth] = given
    length_of[given] = depth
    return given + 1
