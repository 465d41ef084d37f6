"""The vocabulary of a KenLM binary: words as text, and the hashes they are found by.

KenLM looks words up by MurmurHash64A (Austin Appleby, public domain) and stores their text, in the
order of their ids, only for those who want all of them. Both together say whether a file is whole.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moses_integration.language_model.arpa_diagnosis import shown
from moses_integration.language_model.automaton import UNKNOWN_WORD
from phrasescore.compiled import borrowed, compiled
from phrasescore.errors import LanguageModelError
from phrasescore.words.word_table import WordArrays, WordTable, intern_word

_MULTIPLIER = np.uint64(0xC6A4A7935BD1E995)
_SHIFT = np.uint64(47)
_BYTE = np.uint64(8)


@compiled
def murmur_hash(text: NDArray[np.uint8], start: int, stop: int) -> np.uint64:
    """Return MurmurHash64A of ``text[start:stop]`` with seed 0."""
    digest = np.uint64(stop - start) * _MULTIPLIER
    at = start
    while at + 8 <= stop:
        part = _little_endian(text, at, at + 8) * _MULTIPLIER
        part ^= part >> _SHIFT
        digest = (digest ^ (part * _MULTIPLIER)) * _MULTIPLIER
        at += 8
    if at < stop:
        digest = (digest ^ _little_endian(text, at, stop)) * _MULTIPLIER
    digest = (digest ^ (digest >> _SHIFT)) * _MULTIPLIER
    return digest ^ (digest >> _SHIFT)


@compiled
def _little_endian(text: NDArray[np.uint8], start: int, stop: int) -> np.uint64:
    value = np.uint64(0)
    for at in range(stop - 1, start - 1, -1):
        value = (value << _BYTE) | np.uint64(text[at])
    return value


@compiled
def _take_words(
    words: WordArrays, text: NDArray[np.uint8], ends: NDArray[np.int64], hashes: NDArray[np.uint64]
) -> int:
    """Add words 1, 2, ...; return the first with another hash or met before, or their number."""
    words, text, ends, hashes = borrowed((words, text, ends, hashes))
    for word in range(1, ends.size):
        start, stop = ends[word - 1] + 1, ends[word]
        if murmur_hash(text, start, stop) != hashes[word]:
            return word
        if intern_word(words, text, start, stop) != word:
            return word
    return np.int64(ends.size)


def read_words(text: NDArray[np.uint8], hashes: NDArray[np.uint64]) -> WordTable:
    """Read the words at the end of a binary.

    Args:
        text: Words by id, each followed by a zero byte, ``<unk>`` first.
        hashes: The hash of each word by id, shape (words,); that of ``<unk>`` does not matter.

    Raises:
        LanguageModelError: There are not this many words, or other ones.
    """
    # arrays that may be written, as others have: for the rest numba would compile it all again
    text, hashes = text.copy(), hashes.copy()
    ends = np.flatnonzero(text == 0)
    whole = ends.size > 0 and int(ends[-1]) + 1 == text.size
    if not whole or ends.size != hashes.size:
        raise LanguageModelError(
            f"expected {hashes.size:,} words at the end of the file, found {ends.size:,}",
            remedy="it was cut off or damaged: copy or make it again",
        )
    words = WordTable([b"<unk>"])
    words.reserve(ends.size, text.size)
    unfit = UNKNOWN_WORD
    if text[: ends[UNKNOWN_WORD]].tobytes() == b"<unk>":
        unfit = int(_take_words(words.arrays, text, ends, hashes))
    if unfit < ends.size:
        start = ends[unfit - 1] + 1 if unfit else 0
        raise LanguageModelError(
            f"the word {shown(text[start : ends[unfit]].tobytes())} at the end of the file is not "
            "the one that the model was built with",
            remedy="the file is damaged: copy or make it again",
        )
    return words
