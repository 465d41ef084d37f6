"""The parts that all KenLM binaries have: header and vocabulary.

The layout follows KenLM's lm/binary_format.cc and lm/model_type.hh (format version 5): magic,
numbers that reveal byte order and word sizes, the type of the model, the n-gram counts. KenLM looks
words up by MurmurHash64A (Austin Appleby, public domain). It stores the text of the words, in the
order of their ids, only for programs that list them. This reader compares the text with the hashes
to detect damaged files.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from moses_integration.language_model.arpa import CUT_OFF, KENLM_BINARY_MAGIC, OnlyMosesError, shown
from moses_integration.language_model.automaton import HIGHEST_ORDER, UNKNOWN_WORD
from phrasescore.compiled import borrowed, compiled
from phrasescore.errors import LanguageModelError
from phrasescore.words.word_table import WordArrays, WordTable, intern_word

VERSION = 5
PROBING, REST_PROBING, TRIE, QUANTISED_TRIE, ARRAY_TRIE, QUANTISED_ARRAY_TRIE = range(6)
_MAGIC = KENLM_BINARY_MAGIC + b" format version %d\n" % VERSION
# the magic, padded with at least two zero bytes to a multiple of 8; the floats 0.0, 1.0 and -0.5;
# three 32-bit integers: 1, the maximum, and 0 as padding; the 64-bit integer 1
_SANITY = _MAGIC.ljust((len(_MAGIC) + 2 + 7) // 8 * 8, b"\0") + struct.pack(
    "<fffIIIQ", 0.0, 1.0, -0.5, 1, 0xFFFFFFFF, 0, 1
)
# order, probing multiplier, model type, whether the file has the words, version of the search data
_PARAMETERS = struct.Struct("<B3xfI?3xI")
_SEARCH_VERSIONS = {PROBING: 0, TRIE: 1, QUANTISED_TRIE: 1, ARRAY_TRIE: 1, QUANTISED_ARRAY_TRIE: 1}
BUILD_AGAIN = "build it again from its ARPA file with a current build_binary, or name the ARPA file"
_MAX_MULTIPLIER = 1e6
_MULTIPLIER = np.uint64(0xC6A4A7935BD1E995)
_SHIFT = np.uint64(47)
_BYTE = np.uint64(8)


@dataclass(frozen=True)
class KenlmHeader:
    """The content of the header.

    Attributes:
        kind: The type of the model, such as ``PROBING``.
        multiplier: The number of slots per entry of the probing tables.
        counts: The number of n-grams of each order, from order 1 up; at least two orders.
    """

    kind: int
    multiplier: float
    counts: tuple[int, ...]


class Sections:
    """Cuts a mapped file into its consecutive arrays.

    Args:
        data: The file, shape (bytes,).

    Attributes:
        at: The start of the next array.
    """

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self._data = data
        self.at = 0

    def take(self, kind: DTypeLike, count: int, what: str) -> NDArray[Any]:
        """Return a view of the next ``count`` values; ``what`` names them in errors.

        Raises:
            LanguageModelError: The file is too short.
        """
        kind = np.dtype(kind)
        stop = self.at + kind.itemsize * count
        if stop > self._data.size:
            raise LanguageModelError(
                f"the file ends within {what}: it has {self._data.size:,} bytes, and at least "
                f"{stop:,} were expected",
                remedy=CUT_OFF,
            )
        start, self.at = self.at, stop
        return self._data[start:stop].view(kind)

    def rest(self) -> NDArray[np.uint8]:
        """Return the remaining bytes."""
        return self._data[self.at :]


def read_header(sections: Sections) -> KenlmHeader:
    """Parse the header of a KenLM binary; ``sections`` must be at the start of the file.

    Raises:
        LanguageModelError: The file is no intact binary of format version 5, or lacks its words.
    """
    if sections.rest()[: len(_SANITY)].tobytes() != _SANITY:
        raise LanguageModelError(
            "a KenLM binary that is unfinished, cut off or damaged, not of format version "
            f"{VERSION}, or made on another kind of machine",
            remedy=BUILD_AGAIN,
        )
    sections.at = len(_SANITY)
    parameters = sections.take(np.uint8, _PARAMETERS.size, "its header").tobytes()
    order, multiplier, kind, has_words, search_version = _PARAMETERS.unpack(parameters)
    if kind == REST_PROBING:
        raise only_moses("the binary has rest costs")
    if _SEARCH_VERSIONS.get(kind) != search_version:
        raise LanguageModelError(
            f"a KenLM binary of type {kind}, version {search_version}, which is not known",
            remedy=BUILD_AGAIN,
        )
    if not has_words:
        raise LanguageModelError("a KenLM binary without the text of its words", remedy=BUILD_AGAIN)
    counts = sections.take("<u8", order, "its header")
    if not 2 <= order <= HIGHEST_ORDER or not 1.0 <= multiplier < _MAX_MULTIPLIER:
        raise damaged(f"its header says order {order}, multiplier {multiplier:g}")
    sections.at = (sections.at + 7) // 8 * 8
    return KenlmHeader(kind, multiplier, tuple(map(int, counts)))


def only_moses(why: str) -> OnlyMosesError:
    """Return the error of a binary that KenLM reads, and so real Moses, but not this program."""
    return OnlyMosesError(f"{why}, so only real Moses reads it", remedy="name the ARPA file")


def damaged(problem: str) -> LanguageModelError:
    """Return the error of an inconsistent binary."""
    return LanguageModelError(f"a damaged KenLM binary: {problem}", remedy="copy or make it again")


@compiled
def murmur_hash(text: NDArray[np.uint8], start: int, stop: int) -> np.uint64:
    """Return MurmurHash64A of ``text[start:stop]`` with seed 0."""
    digest = np.uint64(stop - start) * _MULTIPLIER
    at = start
    while at + 8 <= stop:
        part = little_endian(text, at, at + 8) * _MULTIPLIER
        part ^= part >> _SHIFT
        digest = (digest ^ (part * _MULTIPLIER)) * _MULTIPLIER
        at += 8
    if at < stop:
        digest = (digest ^ little_endian(text, at, stop)) * _MULTIPLIER
    digest = (digest ^ (digest >> _SHIFT)) * _MULTIPLIER
    return digest ^ (digest >> _SHIFT)


@compiled
def little_endian(text: NDArray[np.uint8], start: int, stop: int) -> np.uint64:
    """Read the number in the bytes from ``start`` to ``stop``, at most eight, the lowest first."""
    value = np.uint64(0)
    for at in range(stop - 1, start - 1, -1):
        value = (value << _BYTE) | np.uint64(text[at])
    return value


@compiled
def _take_words(
    words: WordArrays, text: NDArray[np.uint8], ends: NDArray[np.int64], hashes: NDArray[np.uint64]
) -> int:
    """Add words; return the first id whose word repeats or has a wrong hash, or the word count."""
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
        text: The words in the order of their ids, ``<unk>`` first, each followed by a zero byte.
        hashes: The hash of each word by id, shape (words,); the hash of ``<unk>`` is ignored.

    Raises:
        LanguageModelError: The number of words is wrong, or a word does not have its hash.
    """
    # writable copies: for read-only arrays numba would compile the functions a second time
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
        word = shown(text[start : ends[unfit]].tobytes())
        if hashes[unfit] in hashes[1:unfit]:
            raise only_moses(f"the binary lists the word {word} twice")
        raise LanguageModelError(
            f"the word {word} at the end of the file is not the one that the model was built with",
            remedy="the file is damaged: copy or make it again",
        )
    return words
