"""Encoded pairs of phrases or sentences as memory-mapped arrays, and held-out splits.

The module ``encoding`` reads the input once and stores the arrays in a work folder, where a second
run with the same input and settings finds them. No pair becomes a Python object. The text for a
language model is stored as pairs without a source.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.closed_settings import from_mapping
from phrasescore.errors import InputError, ModelError, SettingsError
from phrasescore.model.kinds import Direction
from phrasescore.runs.file_kinds import open_regular
from phrasescore.runs.json_files import read_object
from phrasescore.training.repeated_rows import ROWS_AT_ONCE
from phrasescore.words.byte_pairs import BYTE_PAIRS, BytePairs
from phrasescore.words.token_sequences import TokenSequences, gather
from phrasescore.words.vocabulary import NO_OUTSIDE_WORDS, UNK_ID, OutsideWords, Vocabulary

MANIFEST = "pairs.json"
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Coverage:
    """The coverage of a text by a shortlist.

    Args:
        words: The number of words in the shortlist, without ``</s>`` and ``<unk>``.
        types: The number of distinct words of the side.
        tokens: The share of the tokens that are in the shortlist, from 0 to 1. In a phrase table,
            each distinct phrase counts once.
    """

    words: int
    types: int
    tokens: float


@dataclass(frozen=True)
class PhraseSide:
    """One side of all pairs.

    Args:
        tokens: (sum of lengths,) uint16 or int32, memory-mapped: word ids, pair by pair.
        offsets: (N + 1,) int64, memory-mapped: where each pair's phrase begins in ``tokens``, and
            the end of the last phrase.
        digests: (N,) uint64, memory-mapped: a hash of each pair's phrase, equal for equal phrases.
        vocabulary: The shortlist.
        coverage: The coverage of the input by the shortlist.
        outside: The words outside the shortlist.
    """

    tokens: NDArray[np.generic]
    offsets: NDArray[np.int64]
    digests: NDArray[np.uint64]
    vocabulary: Vocabulary
    coverage: Coverage
    outside: OutsideWords

    def select(self, rows: NDArray[np.generic]) -> TokenSequences:
        """Return the phrases of some pairs."""
        return gather(self.tokens, self.offsets, rows)

    def lengths(self, rows: NDArray[np.generic]) -> Rows:
        """Return the lengths of some pairs' phrases, ``(N,)``, without </s>."""
        return np.asarray(self.offsets[rows + 1] - self.offsets[rows], np.int64)

    def words(self, rows: NDArray[np.generic]) -> int:
        """Return the number of words of some pairs' phrases, without </s>."""
        return self.vocabulary.count_words(self.select(rows).tokens)


@dataclass(frozen=True)
class EncodedPairs:
    """N pairs; source is the side that a model reads, target the side that it predicts.

    Args:
        source: The source side; it has no words if the input is a text alone.
        target: The target side.
        summary: A summary of the input, for the user.
        set_aside: Number of pairs from held-out texts; these are the last pairs.
    """

    source: PhraseSide
    target: PhraseSide
    summary: str
    set_aside: int = 0

    def __len__(self) -> int:
        return len(self.source.digests)

    def lengths(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the source and target lengths of some pairs, without </s>."""
        return self.source.lengths(rows), self.target.lengths(rows)

    def described(self) -> list[str]:
        """Return lines for the user: number of pairs, and coverage of the shortlists."""
        items = "words" if self.target.vocabulary.byte_pairs is None else "pieces of words"
        reads, writes = (
            f"{each.words:,} of {each.types:,} {items}, which cover {each.tokens:.2%} of the tokens"
            for each in (self.source.coverage, self.target.coverage)
        )
        if not self.source.coverage.words:
            return [self.summary, f"the model knows {writes}"]
        return [self.summary, f"the encoder reads {reads}", f"the decoder writes {writes}"]

    def in_direction(self, direction: Direction) -> EncodedPairs:
        """Return the pairs as a model of this direction reads them."""
        if direction == "source-target":
            return self
        return dataclasses.replace(self, source=self.target, target=self.source)


def load_pairs(folder: Path) -> EncodedPairs:
    """Memory-map the arrays of encoded pairs.

    Raises:
        InputError: The folder is incomplete or damaged.
    """
    try:
        content = read_object(folder / MANIFEST)
        manifest = from_mapping(_Manifest, content, where=MANIFEST, only_known=False)
        target = _load_side(folder, "target", manifest.target)
        if manifest.source is None:  # a text alone
            nothing = np.empty(0, np.uint16), np.zeros(len(target.digests) + 1, np.int64)
            words, coverage = Vocabulary.from_words([]), Coverage(0, 0, 1.0)
            source = PhraseSide(*nothing, target.digests, words, coverage, NO_OUTSIDE_WORDS)
        else:
            source = _load_side(folder, "source", manifest.source)
        if len(source.digests) != len(target.digests):
            raise ValueError("its sides have different numbers of pairs")
        if not 0 <= manifest.set_aside < len(target.digests):
            raise ValueError("more pairs are set aside than exist")
        return EncodedPairs(source, target, manifest.summary, manifest.set_aside)
    except (OSError, ValueError, SettingsError, EOFError, ModelError, OverflowError) as error:
        problem = f"the encoded pairs are incomplete ({error})"
        remedy = "delete the folder; the next run creates it again"
        raise InputError(problem, path=folder, remedy=remedy) from None


@dataclass(frozen=True)
class _Manifest:
    """The content of the manifest."""

    summary: str
    set_aside: int
    target: Coverage
    source: Coverage | None = None  # None if the input is a text alone


def _load_side(folder: Path, side: str, coverage: Coverage) -> PhraseSide:
    merges = folder / BYTE_PAIRS
    byte_pairs = BytePairs.read(merges) if merges.exists() else None
    vocabulary = Vocabulary.read(folder / f"{side}.vocabulary.txt", byte_pairs)
    outside = OutsideWords.read(folder / f"{side}.outside.txt")
    tokens = _mapped(folder / f"{side}.tokens.npy", np.uint16, np.int32)
    offsets = _mapped(folder / f"{side}.offsets.npy", np.int64)
    digests = _mapped(folder / f"{side}.digests.npy", np.uint64)
    if len(offsets) != len(digests) + 1 or offsets[0] != 0 or offsets[-1] != len(tokens):
        raise ValueError(f"the {side} arrays do not fit together")
    fewest = int(side == "source")  # a table may have empty targets
    for begin in range(0, len(digests), ROWS_AT_ONCE):
        if np.diff(offsets[begin : begin + ROWS_AT_ONCE + 1]).min() < fewest:
            raise ValueError(f"the {side} arrays have a pair without words")
    for begin in range(0, len(tokens), ROWS_AT_ONCE):
        ids = tokens[begin : begin + ROWS_AT_ONCE]
        if ids.min() < UNK_ID or ids.max() >= len(vocabulary):
            raise ValueError(f"the {side} arrays have an id without a word")
    return PhraseSide(tokens, offsets, digests, vocabulary, coverage, outside)


def _mapped(path: Path, *kinds: type[np.integer]) -> NDArray[Any]:
    """Memory-map a one-dimensional array of integers."""
    open_regular(path).close()  # np.load would wait for the writer of a pipe
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    # np.load returns another type for an archive of arrays
    if not isinstance(array, np.memmap) or array.ndim != 1 or array.dtype not in kinds:
        raise ValueError(f"{path.name} is an array of another kind")
    return array


@dataclass(frozen=True)
class Remainder:
    """The row indexes 0 .. ``count`` - 1 without some of them; only the missing ones are stored.

    Args:
        count: Number of all rows.
        without: ``(K,)`` the missing row indexes, ascending.
    """

    count: int
    without: Rows

    def __len__(self) -> int:
        return self.count - len(self.without)

    def __getitem__(self, places: slice | NDArray[np.int64]) -> Rows:
        """Return the rows at some positions of this sequence, counted from 0.

        >>> rows = Remainder(6, np.array([0, 3]))
        >>> rows[:].tolist(), rows[np.array([3, 1])].tolist()
        ([1, 2, 4, 5], [5, 2])
        """
        if isinstance(places, slice):
            places = np.arange(*places.indices(len(self)))
        # for each missing row, the number of remaining rows before it
        before = self.without - np.arange(len(self.without))
        return np.asarray(places + np.searchsorted(before, places, side="right"), np.int64)


@dataclass(frozen=True)
class Split:
    """A partition of the rows of all pairs, each part ascending.

    Args:
        training: Pairs to learn from.
        held_out_sources: All pairs of some sources, which occur in no other part; or the pairs of
            held-out texts.
        held_out_pairs: Pairs drawn at random from the rest; training pairs may share their sources.
    """

    training: Remainder
    held_out_sources: Rows
    held_out_pairs: Rows


def split(pairs: EncodedPairs, held_out_sources: int, held_out_pairs: int, seed: int) -> Split:
    """Hold out pairs by source and at random, reproducibly.

    If there are held-out texts, no pairs are drawn. The texts' pairs become ``held_out_sources``,
    even if training pairs have the same sources.

    Args:
        pairs: All pairs.
        held_out_sources: Sources are drawn until their pairs are at least this many; all these
            pairs are held out.
        held_out_pairs: Number of pairs to draw from the rest.
        seed: Seed of the draws.

    Raises:
        SettingsError: Nothing would be left to learn from.
    """
    N = len(pairs)
    if pairs.set_aside:
        aside = np.arange(N - pairs.set_aside, N)
        return Split(Remainder(N, aside), aside, aside[:0])
    generator = np.random.default_rng(seed)
    of_sources = _pairs_of_drawn_sources(pairs.source.digests, held_out_sources, generator)
    rest = Remainder(N, of_sources)
    if len(rest) <= held_out_pairs:
        raise SettingsError(
            f"there are {N:,} pairs; with {len(of_sources):,} held out "
            f"by source and {held_out_pairs:,} at random, none is left to learn from",
            remedy="lower --held-out-pairs or, if there is a source, --held-out-sources",
        )
    single = rest[np.sort(generator.choice(len(rest), held_out_pairs, replace=False))]
    return Split(Remainder(N, np.union1d(of_sources, single)), of_sources, single)


def _pairs_of_drawn_sources(
    digests: NDArray[np.uint64], wanted: int, generator: np.random.Generator
) -> Rows:
    """Draw sources until they have at least ``wanted`` pairs; return these pairs.

    Each source is hashed, and the sources with the lowest hashes are drawn.

    Args:
        digests: ``(N,)`` a hash of each pair's source.
        wanted: Minimum number of pairs.
        generator: Random numbers.
    """
    swap, spread = generator.integers(1 << 63, size=2, dtype=np.uint64)
    begins = range(0, len(digests), ROWS_AT_ONCE)

    def hashes(begin: int) -> NDArray[np.uint64]:
        return (digests[begin : begin + ROWS_AT_ONCE] ^ swap) * (spread | np.uint64(1))

    lowest = np.empty(0, np.uint64)
    for begin in begins:
        lowest = np.sort(np.concatenate([lowest, hashes(begin)]))[:wanted]
    if not len(lowest):
        return np.empty(0, np.int64)
    return np.concatenate([begin + np.flatnonzero(hashes(begin) <= lowest[-1]) for begin in begins])
