"""Numbers for the words and phrases of a text, in the order of the lines of a phrase table.

A line of a phrase table is a sequence of words, each followed by a space, and ``|||`` is one of
these words. No word contains a space. Therefore comparing two lines byte by byte (``LC_ALL=C
sort``) is the same as comparing their words one by one, each with the space after it. For this
reason words are numbered in the byte order of the word plus a space. Words with numbers below
``separator`` sort before ``||| ``.

All positions of the text are sorted by the words that follow (a suffix array cut at the longest
phrase). Positions with the same first words are then neighbours, so the phrases form a tree. A walk
through this tree visits the phrases in the byte order of ``phrase ||| ``. In this order, a phrase
comes after its continuations whose next word sorts before ``|||``, and before all other
continuations. Each phrase gets its index in this order as its number. Then a phrase pair is two
numbers, and a phrase table is sorted by sorting integers.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import compiled
from phrasescore.errors import CorpusError
from phrasescore.runs.final_names import own_file, own_folder
from phrasescore.table.input_files import line_blocks, open_input
from phrasescore.table.line_assembly import Phrases
from phrasescore.table.phrase_table import PIPES
from phrasescore.words.token_sequences import sorted_by_words
from phrasescore.words.word_table import WordTable

BOUNDARY = 0
_BLOCK = 1 << 22
_MAX_IDS = (1 << 31) - 1


@dataclass(frozen=True)
class NumberedText:
    """Sentences as word ids.

    Args:
        words: The word of each id; id 0 is the end of a sentence, and its word is empty.
        ids: (words and ends,) int32, the ids of all sentences, each followed by ``BOUNDARY``.
        starts: (sentences + 1,) int64; sentence i is ``ids[starts[i] : starts[i + 1] - 1]``.
        separator: The first id whose word sorts after the column separator ``|||``.
    """

    words: list[bytes]
    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    separator: int

    @classmethod
    def read(cls, path: str | Path) -> NumberedText:
        """Read prepared text: one sentence per line, words separated by single spaces.

        Raises:
            CorpusError: The text is too long to be numbered.
        """
        table = WordTable()
        parts = [np.zeros(0, np.int32)]
        size = 0
        # zero bytes need no check, because the preparation of the corpus refuses them
        with open_input(path, is_text=False) as stream:
            for block in line_blocks(stream, _BLOCK):
                whole = block if block.endswith(b"\n") else block + b"\n"
                numbers, offsets = table.encode_lines(whole, grow=True)
                # words are first numbered from 1 in order of appearance
                parts.append(np.insert(numbers + 1, offsets[1:], BOUNDARY))
                size += len(parts[-1])
        if size > _MAX_IDS:
            problem = f"the text has {size:,} words, more than can be processed"
            raise CorpusError(problem, path=path, remedy="take fewer sentences")
        words = table.words()
        order = sorted(range(len(words)), key=lambda number: words[number] + b" ")
        rank = np.zeros(len(words) + 1, np.int32)
        rank[np.array(order, np.int64) + 1] = np.arange(1, len(words) + 1)
        ids = rank[np.concatenate(parts)]
        ends = np.flatnonzero(ids == BOUNDARY) + 1
        before = sum(word + b" " < PIPES + b" " for word in words)
        return cls([b"", *(words[number] for number in order)], ids, np.append(0, ends), before + 1)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(sentences,) int64, the number of words of each sentence."""
        return np.diff(self.starts) - 1

    def sentence(self, number: int) -> list[int]:
        """Return the ids of the words of a sentence."""
        return self.ids[self.starts[number] : self.starts[number + 1] - 1].tolist()


@dataclass(frozen=True)
class PhraseNumbers:
    """The numbers of all phrases of one side of a corpus; arrays may be memory-mapped.

    Args:
        at: (positions, longest) uint32, for each position the number of the phrase of 1, 2, ...
            words that begins there; undefined if the sentence ends before the phrase does.
        position: (phrases,) int32, the start of one occurrence of each phrase.
        length: (phrases,) uint8, the number of words of each phrase.
    """

    at: NDArray[np.uint32]
    position: NDArray[np.int32]
    length: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.position)

    @property
    def longest(self) -> int:
        """The maximum number of words of a numbered phrase."""
        return int(self.at.shape[1])

    def mapped(self, folder: Path) -> PhraseNumbers:
        """Write the arrays into a new folder, and map them: only pages in use take memory."""
        own_folder(folder)
        paths = {name: folder / f"{name}.npy" for name in vars(self)}
        for name, path in paths.items():
            with own_file(path, os.O_TRUNC) as stream:
                np.save(stream, getattr(self, name))
        return PhraseNumbers(*(np.load(path, "r", allow_pickle=False) for path in paths.values()))

    def chosen(self, text: Phrases, numbers: NDArray[np.int64]) -> Phrases:
        """Return the phrases with these numbers, as spans of the numbered text."""
        return text._replace(
            positions=remapped(self.position)[numbers], lengths=remapped(self.length)[numbers]
        )


Array = TypeVar("Array", bound=NDArray[np.generic])


def remapped(array: Array) -> Array:
    """Map a memory-mapped array again; pages read through the result are freed with it."""
    if not isinstance(array, np.memmap) or array.filename is None:
        return array
    mapped = np.memmap(array.filename, array.dtype, "r", array.offset, array.shape)
    return cast("Array", np.asarray(mapped))


def number_phrases(text: NumberedText, longest: int) -> PhraseNumbers:
    """Number all phrases of up to ``longest`` words."""
    ids = np.concatenate([text.ids, np.full(longest, BOUNDARY, np.int32)])
    positions = np.flatnonzero(ids != BOUNDARY).astype(np.int32)
    positions, equal = sorted_by_words(ids, positions, len(text.words), range(longest))
    after = np.repeat((text.starts[1:] - 1).astype(np.int32), text.lengths + 1)
    after -= np.arange(len(text.ids), dtype=np.int32)
    limits = np.minimum(after, longest).astype(np.uint8)[positions]
    del after  # make room for the larger arrays
    shared = np.minimum(equal, limits)
    at = np.zeros((len(text.ids), longest), np.uint32)
    phrases = int(limits.sum(dtype=np.int64) - shared.sum(dtype=np.int64))
    position, length = np.zeros(phrases, np.int32), np.zeros(phrases, np.uint8)
    _number_in_order(ids, positions, (limits, shared), text.separator, at, position, length)
    return PhraseNumbers(at, position, length)


@compiled
def _number_in_order(
    ids: NDArray[np.int32],
    positions: NDArray[np.int32],
    words: tuple[NDArray[np.uint8], NDArray[np.uint8]],
    separator: int,
    at: NDArray[np.uint32],
    place: NDArray[np.int32],
    length: NDArray[np.uint8],
) -> None:
    """Walk the tree of phrases in the order of table lines, and number them.

    A phrase gets its number just before the first continuation that sorts after the phrase, or, if
    there is no such continuation, after the last position where the phrase begins. ``open_at``
    describes the current phrase at each depth: its first row, and its number plus 1, or 0 as long
    as it has no number.
    """
    limits, shared = words
    open_at = np.zeros((2, at.shape[1] + 1), np.int64)
    given, depth = 0, 0
    for row in range(len(positions) + 1):
        same = np.int64(shared[row]) if row < len(positions) else 0
        while depth > same:  # these phrases do not occur again
            first = open_at[0, depth]
            if open_at[1, depth] == 0:
                given += 1
                open_at[1, depth] = given
            number = open_at[1, depth] - 1
            place[number], length[number] = positions[first], depth
            for member in range(first, row):
                at[positions[member], depth - 1] = number
            depth -= 1
        while row < len(positions) and depth < limits[row]:
            later = depth > 0 and ids[positions[row] + depth] >= separator
            if later and open_at[1, depth] == 0:
                given += 1
                open_at[1, depth] = given
            depth += 1
            open_at[0, depth], open_at[1, depth] = row, 0
