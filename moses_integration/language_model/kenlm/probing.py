"""A KenLM probing binary: hash tables of keys, from which the n-grams are recovered.

The layout follows KenLM's lm/search_hashed.hh, lm/vocab.cc and util/probing_hash_table.hh. The
tables hold the keys of n-grams (64-bit hashes), not their words. For every n-gram the model also
contains its suffix (all words but the first) and its context (all words but the last). Therefore
each n-gram of order n is a pair of (n-1)-grams that overlap in n-2 words. Two sign bits tell which
(n-1)-grams to pair: an n-gram whose log10 p lacks the sign bit is the suffix of a longer n-gram,
and only an n-gram whose back-off weight is not -0.0 can be a context. A key for which no pair is
found is an error.

The key of an n-gram is the XOR of two halves: one comes from the key of its suffix, the other from
its first word (lm/search_hashed.hh). A bitmap over the first bits of the keys rejects nearly all
pairs. Both kinds of halves are sorted and tried tile by tile. The keys of a tile agree in their
first bits, so they use a part of the bitmap that fits into the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.language_model.automaton import NGrams
from moses_integration.language_model.kenlm.header import KenlmHeader, Sections, damaged
from phrasescore.compiled import borrowed, compiled
from phrasescore.errors import LanguageModelError
from phrasescore.runs.progress import Progress
from phrasescore.words.token_sequences import offsets_of

_SUFFIX_FACTOR = np.uint64(8978948897894561157)
_WORD_FACTOR = np.uint64(17894857484156487943)
_LOW_BITS = np.uint64(63)
_WORD_BITS = np.uint64(6)
_ONE = np.uint64(1)
_BITMAP_BITS_PER_KEY = 16
_TILE = 256  # the number of halves on each side of a tile
# the maximum number of pairs to try for one order; trying this many takes over ten minutes
MAX_PAIRS = 200_000_000_000
_PAIRS_AT_A_TIME = 100_000_000
_SPARE_MATCHES = 1024  # room for pairs that have the key of an n-gram by chance
_WORD = np.dtype([("key", "<u8"), ("id", "<u4")])
_UNIGRAM = np.dtype([("log10", "<f4"), ("backoff", "<f4")])
_MIDDLE = np.dtype([("key", "<u8"), ("log10", "<f4"), ("backoff", "<f4")])
_LONGEST = np.dtype([("key", "<u8"), ("log10", "<f4")])


def suffix_halves(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the half of a longer n-gram's key that comes from the key of its suffix."""
    return keys * _SUFFIX_FACTOR


def word_halves(words: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return the half of an n-gram's key that comes from its first word."""
    return (words.astype(np.uint64) + _ONE) * _WORD_FACTOR


def keys_of(words: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return the keys of n-grams, given as word ids of shape (rows, order).

    The key of a single word is its id, and the key of no words is 0.
    """
    rows, order = words.shape
    if not order:
        return np.zeros(rows, np.uint64)
    keys = words[:, -1].astype(np.uint64)
    for position in range(order - 2, -1, -1):
        keys = suffix_halves(keys) ^ word_halves(words[:, position])
    return keys


class KeyIndex(NamedTuple):
    """An index of sorted keys for fast lookups.

    Attributes:
        keys: The keys, all different and ascending, shape (keys,).
        bitmap: One bit for each value of the first bits of a key, set if any key begins with these
            bits.
        bitmap_shift: How many bits to shift a key to the right to get the index in ``bitmap``.
        starts: For each value of the first few bits, the index of the first key with this value;
            then the number of keys.
        starts_shift: How many bits to shift a key to the right to get the index in ``starts``.
    """

    keys: NDArray[np.uint64]
    bitmap: NDArray[np.uint64]
    bitmap_shift: np.uint64
    starts: NDArray[np.int64]
    starts_shift: np.uint64

    @classmethod
    def build(cls, keys: NDArray[np.uint64]) -> KeyIndex:
        """Index ascending keys."""
        bits = max(6, (keys.size * _BITMAP_BITS_PER_KEY - 1).bit_length())
        fewer_bits = max(1, keys.size.bit_length() - 1)
        bitmap = np.zeros(1 << (bits - 6), np.uint64)
        set_bits(bitmap, keys, np.uint64(64 - bits))
        shift = np.uint64(64 - fewer_bits)
        first = np.arange(1 << fewer_bits, dtype=np.uint64) << shift
        starts = np.append(np.searchsorted(keys, first), keys.size).astype(np.int64)
        return cls(keys, bitmap, np.uint64(64 - bits), starts, shift)


@compiled
def set_bits(bitmap: NDArray[np.uint64], keys: NDArray[np.uint64], shift: np.uint64) -> None:
    """Set the bit of each key."""
    for at in range(keys.size):
        bit = keys[at] >> shift
        bitmap[bit >> _WORD_BITS] |= _ONE << (bit & _LOW_BITS)


@compiled
def find_key(index: KeyIndex, key: np.uint64) -> int:
    """Return the position of a key, or -1."""
    bucket = np.int64(key >> index.starts_shift)
    for at in range(index.starts[bucket], index.starts[bucket + 1]):
        if index.keys[at] == key:
            return at
    return -1


class Halves(NamedTuple):
    """The halves of all possible keys.

    Attributes:
        suffix: The halves from suffixes, shape (rows,).
        start: The index in ``word`` of the first half to try with each suffix, shape (rows,).
        stop: The index in ``word`` after the last half to try with each suffix, shape (rows,).
        word: The halves from first words.
    """

    suffix: NDArray[np.uint64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    word: NDArray[np.uint64]


@compiled
def find_matches(
    halves: Halves, first: int, last: int, index: KeyIndex, matches: NDArray[np.int64], found: int
) -> int:
    """Try the suffix halves ``first`` to ``last - 1`` with their word halves.

    Args:
        halves: The halves. The search is fastest if halves with the same partners are sorted by
            value.
        first: The index of the first suffix half.
        last: The index after the last suffix half.
        index: The keys of the table.
        matches: Receives the indexes of the key, the suffix half and the word half of each pair
            whose key is in the table, shape (3, capacity).
        found: The number of pairs found before.

    Returns:
        The number of pairs found so far. Pairs beyond the capacity are counted but not stored.
    """
    halves, index, matches = borrowed((halves, index, matches))
    row = first
    while row < last:
        start, stop = halves.start[row], halves.stop[row]
        end = row + 1
        while end < last and end - row < _TILE and halves.start[end] == start:
            if halves.stop[end] != stop:
                break
            end += 1
        for low in range(start, stop, _TILE):
            high = min(low + _TILE, stop)
            for suffix in range(row, end):
                half = halves.suffix[suffix]
                for word in range(low, high):
                    key = half ^ halves.word[word]
                    bit = key >> index.bitmap_shift
                    if (index.bitmap[bit >> _WORD_BITS] >> (bit & _LOW_BITS)) & _ONE:
                        at = find_key(index, key)
                        if at >= 0:
                            if found < matches.shape[1]:
                                matches[0, found], matches[1, found] = at, suffix
                                matches[2, found] = word
                            found += 1
        row = end
    return found


class _Known(NamedTuple):
    """The n-grams of one order.

    Attributes:
        words: Word ids, shape (rows, order).
        keys: The key of each n-gram, shape (rows,).
        is_suffix: Whether a longer n-gram ends with each n-gram, shape (rows,).
        is_context: Whether a longer n-gram may begin with each n-gram, shape (rows,).
    """

    words: NDArray[np.int32]
    keys: NDArray[np.uint64]
    is_suffix: NDArray[np.bool_]
    is_context: NDArray[np.bool_]


class ProbingModel:
    """The arrays of a probing binary.

    Args:
        sections: The file after its header; the constructor reads up to the end of the hash tables.
        header: The header of the file.

    Attributes:
        hashes: The hash of each word by id, shape (words,).
        unigrams: The log10 probability and the back-off weight of each word by id, shape (words,).

    Raises:
        LanguageModelError: The file is cut off or damaged.
    """

    def __init__(self, sections: Sections, header: KenlmHeader) -> None:
        types = header.counts[0]
        _, words = sections.take("<u4", 2, "its vocabulary").tolist()
        table = sections.take(_WORD, _slots(types, header), "its vocabulary")
        self.hashes = _hashes_by_id(table, words)
        if words > types + 1:
            raise damaged(f"its vocabulary has {words:,} words, but it has {types:,} 1-grams")
        # the count lacks <unk> if the ARPA file did, and has it twice if the file listed <UNK>, too
        self.unigrams = sections.take(_UNIGRAM, types + 1, "its 1-grams")[:words]
        kinds = [_MIDDLE] * (len(header.counts) - 2) + [_LONGEST]
        self._tables = [
            sections.take(kind, _slots(count, header), f"its {order}-grams")
            for order, (kind, count) in enumerate(zip(kinds, header.counts[1:], strict=True), 2)
        ]

    def longer(self) -> Iterator[NGrams]:
        """Yield the n-grams of order 2, then 3, and so on; each order is unsorted.

        Raises:
            LanguageModelError: The n-grams cannot be recovered, or there are too many pairs to try.
        """
        known = _Known(
            np.arange(self.unigrams.size, dtype=np.int32)[:, None],
            np.arange(self.unigrams.size, dtype=np.uint64),
            *_flags(self.unigrams),
        )
        for order, table in enumerate(self._tables, 2):
            entries = _found_entries(table)
            rows, words = _recover(known, KeyIndex.build(entries["key"].copy()), order)
            entries = entries[rows]
            longest = "backoff" not in (entries.dtype.names or ())
            backoff = np.zeros(rows.size, np.float32) if longest else entries["backoff"].copy()
            yield NGrams(words, -np.abs(entries["log10"]), backoff)
            if not longest:
                known = _Known(words, entries["key"].copy(), *_flags(entries))


def _slots(entries: int, header: KenlmHeader) -> int:
    """Return the length of a hash table, computed in single precision as in KenLM."""
    return max(entries + 1, int(np.float32(header.multiplier) * np.float32(entries)))


def _hashes_by_id(table: NDArray[Any], words: int) -> NDArray[np.uint64]:
    filled = table[table["key"] != 0]
    if filled.size + 1 != words or not np.all(filled["id"] < words):
        raise damaged(f"its vocabulary has {filled.size:,} words, but should have {words - 1:,}")
    hashes = np.zeros(words, np.uint64)
    hashes[filled["id"]] = filled["key"]
    return hashes


def _found_entries(table: NDArray[Any]) -> NDArray[Any]:
    """Return the entries of a hash table by key, of equal keys the one that KenLM finds.

    An n-gram that the ARPA file lists twice has two entries. KenLM finds the first one after the
    free slot that precedes them.
    """
    entries = np.roll(table, -int(np.argmin(table["key"])))  # a free slot first
    entries = entries[entries["key"] != 0]
    return entries[np.unique(entries["key"], return_index=True)[1]]


def _flags(weights: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which n-grams are suffixes of longer n-grams, and which may be contexts."""
    is_suffix = ~np.signbit(weights["log10"])
    return is_suffix, (weights["backoff"] != 0) | ~np.signbit(weights["backoff"])


def _recover(
    known: _Known, index: KeyIndex, order: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Recover the n-grams of keys from pairs of n-grams that are one word shorter.

    Returns:
        The positions of the keys, shape (rows,), and the words, shape (rows, order).

    Raises:
        LanguageModelError: A key belongs to no pair, far more pairs match than there are keys, or
            there are too many pairs to try.
    """
    suffixes, firsts, halves = _pairs(known)
    pairs = offsets_of(halves.stop - halves.start)
    total = int(pairs[-1])
    if total > MAX_PAIRS:
        raise LanguageModelError(
            f"a KenLM probing binary holds hashes instead of words, and to find its {order}-grams "
            f"{total:,} pairs would have to be tried, which is too many",
            remedy="name the ARPA file, or a trie: build_binary trie MODEL.arpa MODEL.trie",
        )
    matches = np.zeros((3, index.keys.size + _SPARE_MATCHES), np.int64)
    found = row = 0
    with Progress(f"finding the words of {order}-grams", total, "pairs") as progress:
        while row < halves.suffix.size:
            # take whole suffixes with all their pairs, and at least one suffix
            end = int(np.searchsorted(pairs, pairs[row] + _PAIRS_AT_A_TIME, "right")) - 1
            end = max(end, row + 1)
            found = int(find_matches(halves, row, end, index, matches, found))
            progress.advance(int(pairs[end] - pairs[row]))
            row = end
    rows, suffix, first = matches[:, :found]
    met = np.zeros(index.keys.size, np.bool_)
    met[rows] = True
    if found > matches.shape[1]:
        raise damaged(
            f"{found:,} pairs of shorter n-grams have the keys of its {index.keys.size:,} "
            f"{order}-grams, far more than one for each key"
        )
    if not np.all(met):
        raise damaged(
            f"of its {index.keys.size:,} {order}-grams only {np.count_nonzero(met):,} were found"
        )
    words = [known.words[firsts[first], :1], known.words[suffixes[suffix]]]
    return rows, np.concatenate(words, axis=1)


def _pairs(known: _Known) -> tuple[NDArray[np.int64], NDArray[np.int64], Halves]:
    """Pair n-grams that may be suffixes with overlapping n-grams that may be contexts.

    Returns:
        The rows of the suffixes, the rows of the contexts, and their halves of keys. All are sorted
        by the key of the overlapping words, then by the value of the half.
    """
    suffixes, contexts = np.flatnonzero(known.is_suffix), np.flatnonzero(known.is_context)
    halves = suffix_halves(known.keys[suffixes])
    common = keys_of(known.words[suffixes, :-1])
    order = np.lexsort((halves, common))
    suffixes, halves, common = suffixes[order], halves[order], common[order]
    word = word_halves(known.words[contexts, 0])
    other_common = keys_of(known.words[contexts, 1:])
    order = np.lexsort((word, other_common))
    contexts, word, other_common = contexts[order], word[order], other_common[order]
    start = np.searchsorted(other_common, common, "left").astype(np.int64)
    stop = np.searchsorted(other_common, common, "right").astype(np.int64)
    return suffixes, contexts, Halves(halves, start, stop, word)
