"""A KenLM trie binary: a trie of n-grams from their last word to their first, packed in bits.

The layout follows KenLM's lm/search_trie.cc, lm/trie.cc, lm/quantize.cc and lm/bhiksha.cc. The
children of the root are the words; the children of a node are the words that may precede its
n-gram. The nodes of one order form a row. Each node has its word, its weights and the position of
its first child in the next row; the previous node's children end at this position. Weights are
numbers or, in a quantised model, positions in tables of numbers. In some kinds of tries a node has
only the low bits of its child position, and a list contains the nodes at which the high bits
increase by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.language_model.automaton import NGrams
from moses_integration.language_model.kenlm.header import (
    ARRAY_TRIE,
    BUILD_AGAIN,
    QUANTISED_ARRAY_TRIE,
    QUANTISED_TRIE,
    KenlmHeader,
    Sections,
    damaged,
    little_endian,
    only_moses,
)
from phrasescore.compiled import compiled
from phrasescore.errors import LanguageModelError

_UNIGRAM = np.dtype([("log10", "<f4"), ("backoff", "<f4"), ("children", "<u8")])
_LOG10_BITS, _BACKOFF_BITS = 31, 32  # the sign of a log10 probability is not stored
_SIGN = np.uint64(1 << 31)
_QUANTISATION_VERSION, _ARRAY_VERSION = 2, 0
_MAX_BITS_OF_A_TABLE = 25
_MAX_BITS = 57  # a field of this many bits always lies within eight bytes


class Level(NamedTuple):
    """The n-grams of one order, still packed.

    Attributes:
        row: The packed bits of the n-grams, shape (bytes,).
        size: The number of n-grams.
        word_bits: How many bits a word takes.
        weight_bits: How many bits a probability takes, and how many a back-off weight takes (0 in
            the highest order).
        weights: In a quantised model, the tables of probabilities and of back-off weights, to which
            nodes refer by position; otherwise empty.
        child_bits: How many bits a child position takes; 0 in the highest order, or if all bits
            were moved to ``grows_at``.
        grows_at: The nodes at which the high bits of child positions increase by one.
    """

    row: NDArray[np.uint8]
    size: int
    word_bits: int
    weight_bits: tuple[int, int]
    weights: Sequence[NDArray[np.float32]]
    child_bits: int
    grows_at: NDArray[np.uint64]

    @property
    def step(self) -> int:
        """How many bits a node takes."""
        return self.word_bits + sum(self.weight_bits) + self.child_bits

    def unpack(self, offset: int, width: int, extra: int = 0) -> NDArray[np.uint64]:
        """Return a field of all nodes, and of ``extra`` records after the last node."""
        return unpack(self.row, offset, self.step, width, self.size + extra)


class TrieModel:
    """The arrays of a trie binary, of any of the four kinds.

    Args:
        sections: The file after its header; the constructor reads up to the end of the trie.
        header: The header of the file.

    Attributes:
        hashes: The hash of each word by id, shape (words,).
        unigrams: The log10 probability and the back-off weight of each word by id, shape (words,).

    Raises:
        LanguageModelError: The file is cut off, damaged, or of another version.
    """

    def __init__(self, sections: Sections, header: KenlmHeader) -> None:
        types = header.counts[0]
        hashes = sections.take("<u8", types + 1, "its vocabulary")
        # in place of the hash of <unk>, the file has the number of words; this is less than the
        # number of 1-grams if the ARPA file lists both <unk> and <UNK>
        words = int(hashes[0]) + 1
        if words > types:
            raise damaged(f"its vocabulary has {words - 1:,} words, but at most {types - 1:,} fit")
        self.hashes = hashes[:words]
        tables: list[Sequence[NDArray[np.float32]]] = [()] * len(header.counts)
        if header.kind in (QUANTISED_TRIE, QUANTISED_ARRAY_TRIE):
            tables = _take_quantisation(sections, len(header.counts))
        unigrams = sections.take(_UNIGRAM, types + 2, "its 1-grams")
        self.unigrams = unigrams[:words]
        self._children = unigrams["children"][: words + 1].astype(np.int64)
        self._levels = [
            _take_level(sections, header, order, tables[order - 2])
            for order in range(2, len(header.counts) + 1)
        ]

    def longer(self) -> Iterator[NGrams]:
        """Yield the n-grams of orders 2, 3, ..., sorted by their last words.

        Raises:
            LanguageModelError: The n-grams do not form a trie.
        """
        words = np.arange(self.hashes.size, dtype=np.int32)[:, None]
        children = self._children
        for order, level in enumerate(self._levels, 2):
            ascending = bool(np.all(children[1:] >= children[:-1]))
            if children[0] != 0 or children[-1] != level.size or not ascending:
                raise damaged(f"its {order}-grams do not belong to its {order - 1}-grams")
            first = level.unpack(0, level.word_bits).astype(np.int32)
            if not np.all(first < self.hashes.size):
                raise damaged(f"its {order}-grams have words beyond its vocabulary")
            words = np.column_stack([first, np.repeat(words, np.diff(children), axis=0)])
            if np.any(np.all(words[1:] == words[:-1], axis=1)):
                raise only_moses(f"the binary lists one of its {order}-grams twice")
            log10, backoff = _weights(level)
            yield NGrams(words, log10, backoff)
            if level is not self._levels[-1]:
                children = _children(level)


def _take_quantisation(sections: Sections, order: int) -> list[Sequence[NDArray[np.float32]]]:
    """Cut out the tables of weights of orders 2 and up; the highest has no back-off weights."""
    what = "its tables of weights"
    version, *bits = sections.take(np.uint8, 8, what)[:3].tolist()
    if version != _QUANTISATION_VERSION or not 1 <= min(bits) <= max(bits) <= _MAX_BITS_OF_A_TABLE:
        raise _unknown_version("quantisation", version)
    kinds = [bits] * (order - 2) + [bits[:1]]
    return [[sections.take("<f4", 1 << width, what) for width in widths] for widths in kinds]


def _take_level(
    sections: Sections, header: KenlmHeader, order: int, tables: Sequence[NDArray[np.float32]]
) -> Level:
    """Cut out the n-grams of one order, and before them the list of high bits, if there is one."""
    longest = order == len(header.counts)
    size, what = header.counts[order - 1], f"its {order}-grams"
    bits = [(table.size - 1).bit_length() for table in tables] or [_LOG10_BITS, _BACKOFF_BITS]
    weight_bits = (bits[0], 0 if longest else bits[1])
    child_bits, grows_at = 0, np.zeros(1, np.uint64)
    if not longest:
        child_bits = header.counts[order].bit_length()
        if header.kind in (ARRAY_TRIE, QUANTISED_ARRAY_TRIE):
            moved, grows_at = _take_high_bits(sections, size, header.counts[order], what)
            child_bits -= moved
    word_bits = header.counts[0].bit_length()
    step = word_bits + sum(weight_bits) + child_bits
    if max(word_bits, child_bits) > _MAX_BITS:
        raise damaged(f"its header states {size:,} {order}-grams")
    # an extra record contains the end of the last node's children; eight bytes of padding follow
    row = sections.take(np.uint8, ((1 + size) * step + 7) // 8 + 8, what)
    return Level(row, size, word_bits, weight_bits, tables, child_bits, grows_at)


def _take_high_bits(
    sections: Sections, size: int, children: int, what: str
) -> tuple[int, NDArray[np.uint64]]:
    """Cut out the list of nodes at which the high bits of child positions increase.

    Returns:
        The number of high bits, and the list, shape (greatest value of these bits + 1,).
    """
    start = sections.at
    version, max_moved = sections.take(np.uint8, 2, what).tolist()
    if version != _ARRAY_VERSION:
        raise _unknown_version("array compression", version)
    width = children.bit_length()

    def cost(moved: int) -> int:
        """Return how many bits the list takes, minus how many bits it saves."""
        return (children >> (width - moved)) * 64 - (size + 1) * moved

    moved = min(range(min(width, max_moved) + 1), key=cost)
    # a header of eight bytes, the list, and seven bytes to align both at multiples of eight
    sections.at = (start + 7) // 8 * 8 + 8
    grows_at = sections.take("<u8", (children >> (width - moved)) + 1, what)
    sections.at = start + 8 + grows_at.nbytes + 7
    return moved, grows_at


def _weights(level: Level) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Unpack probabilities and back-off weights, both shape (rows,)."""
    at = level.word_bits
    log10_bits, backoff_bits = level.weight_bits
    if not level.weights:
        log10 = as_floats(level.unpack(at, log10_bits) | _SIGN)
        return log10, as_floats(level.unpack(at + log10_bits, backoff_bits))
    # in a quantised model, the back-off weight precedes the probability
    log10 = level.weights[0][level.unpack(at + backoff_bits, log10_bits)]
    if not backoff_bits:
        return log10, np.zeros(level.size, np.float32)
    return log10, level.weights[1][level.unpack(at, backoff_bits)]


def _children(level: Level) -> NDArray[np.int64]:
    """Return the position of each node's first child, and the end of the last node's children."""
    low = level.unpack(level.step - level.child_bits, level.child_bits, extra=1)
    nodes = np.arange(level.size + 1, dtype=np.uint64)
    high = np.searchsorted(level.grows_at, nodes, "right") - 1
    return (high << level.child_bits) | low.astype(np.int64)


def _unknown_version(what: str, version: int) -> LanguageModelError:
    return LanguageModelError(
        f"a KenLM binary with {what} of version {version}, which is not known", remedy=BUILD_AGAIN
    )


@compiled
def unpack(
    row: NDArray[np.uint8], offset: int, step: int, width: int, count: int
) -> NDArray[np.uint64]:
    """Return ``count`` numbers of ``width`` bits, one every ``step`` bits from bit ``offset`` on.

    Args:
        row: The bits, shape (bytes,), at least eight bytes from the start of the last number on.
        offset: The first bit of the first number.
        step: The distance in bits from one number to the next.
        width: How many bits a number has, at most 57.
        count: How many numbers to return.
    """
    assert 0 <= width <= _MAX_BITS
    assert count == 0 or (offset + (count - 1) * step) // 8 + 8 <= row.size
    mask = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    values = np.zeros(count, np.uint64)
    for at in range(count):
        bit = offset + at * step
        first = bit >> 3
        values[at] = (little_endian(row, first, first + 8) >> np.uint64(bit & 7)) & mask
    return values


def as_floats(bits: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Return the single-precision numbers that have these bits."""
    return bits.astype(np.uint32).view(np.float32)
