"""The distinct phrase pairs of a table as memory-mapped integer arrays, and how they are split.

``encode_table`` reads a table once and leaves arrays in a work folder; a second run on the same
table with the same settings finds them there. Training needs no Python object per pair.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import InputError, SettingsError
from phrasescore.words.token_sequences import TokenSequences, gather
from phrasescore.words.vocabulary import SHORTLIST_WORDS, Coverage, Vocabulary

Direction = Literal["source-target", "target-source"]
Rows = NDArray[np.int64]
MANIFEST = "pairs.json"


@dataclass(frozen=True)
class PairSettings:
    """What decides how a table is encoded; the sides are those of the table.

    Args:
        source_words: The size of the source shortlist, ``</s>`` and ``<unk>`` not counted.
        target_words: The size of the target shortlist.
        factor: Which factor of a factored token counts, from 0.
    """

    source_words: int = SHORTLIST_WORDS
    target_words: int = SHORTLIST_WORDS
    factor: int = 0

    def __post_init__(self) -> None:
        for name in ("source_words", "target_words"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}, expected 1 or more")
        if self.factor < 0:
            raise SettingsError(f"factor is {self.factor}; factors are counted from 0")


@dataclass(frozen=True)
class PhraseSide:
    """One side of all pairs.

    Args:
        tokens: (sum of lengths,) uint16 or int32, memory-mapped: ids, pair after pair.
        offsets: (N + 1,) int64, memory-mapped: where the phrase of each pair begins.
        groups: (N,) int32, memory-mapped: pairs with the same phrase share this number, 0, 1, ...
        vocabulary: Which word an id is.
        coverage: How much of the table the shortlist knows.
    """

    tokens: NDArray[Any]
    offsets: NDArray[np.int64]
    groups: NDArray[np.int32]
    vocabulary: Vocabulary
    coverage: Coverage

    def select(self, rows: NDArray[Any]) -> TokenSequences:
        """Return the phrases of some pairs."""
        return gather(self.tokens, self.offsets, rows)


@dataclass(frozen=True)
class PhrasePairs:
    """N distinct pairs; source is the side a model reads, target the side it predicts.

    Args:
        source: The phrases read.
        target: The phrases predicted.
        lines: How many lines the table has, repeated pairs included.
        table_sha256: The digest of the table's file, ``None`` for one read from a pipe.
    """

    source: PhraseSide
    target: PhraseSide
    lines: int
    table_sha256: str | None

    def __len__(self) -> int:
        return len(self.source.groups)

    @property
    def source_tokens(self) -> NDArray[Any]:
        """The ids of all source phrases, one after the other."""
        return self.source.tokens

    @property
    def source_offsets(self) -> NDArray[np.int64]:
        """(N + 1,) where the source phrase of each pair begins."""
        return self.source.offsets

    @property
    def target_tokens(self) -> NDArray[Any]:
        """The ids of all target phrases, one after the other."""
        return self.target.tokens

    @property
    def target_offsets(self) -> NDArray[np.int64]:
        """(N + 1,) where the target phrase of each pair begins."""
        return self.target.offsets

    @property
    def source_vocabulary(self) -> Vocabulary:
        """The shortlist of the side read."""
        return self.source.vocabulary

    @property
    def target_vocabulary(self) -> Vocabulary:
        """The shortlist of the side predicted."""
        return self.target.vocabulary

    def in_direction(self, direction: Direction) -> PhrasePairs:
        """Swap the sides of a freshly read table for ``target-source``."""
        if direction == "source-target":
            return self
        return PhrasePairs(self.target, self.source, self.lines, self.table_sha256)


@dataclass(frozen=True)
class Split:
    """Rows of pairs, each ascending, that together are all pairs once.

    Args:
        training: To learn from.
        held_out_sources: All pairs of some sources; none of these sources is in another part.
        held_out_pairs: Pairs drawn at random among the others; their sources may be trained on.
    """

    training: Rows
    held_out_sources: Rows
    held_out_pairs: Rows


def split(pairs: PhrasePairs, held_out_sources: int, held_out_pairs: int, seed: int) -> Split:
    """Set two kinds of pairs aside, the same ones for the same seed.

    Args:
        pairs: All pairs.
        held_out_sources: Draw whole sources until there are at least so many pairs.
        held_out_pairs: Then draw so many single pairs from the rest.
        seed: For the draws.

    Raises:
        SettingsError: Nothing would be left to learn from.
    """
    if min(held_out_sources, held_out_pairs) < 0:
        raise SettingsError("the number of held-out pairs cannot be negative")
    generator = np.random.default_rng(seed)
    sizes = np.bincount(pairs.source.groups)
    order = generator.permutation(len(sizes))
    taken = order[: np.searchsorted(np.cumsum(sizes[order]), held_out_sources) + 1]
    of_held_out_source = np.zeros(len(sizes), np.bool_)
    if held_out_sources:
        of_held_out_source[taken] = True
    by_source = of_held_out_source[pairs.source.groups]
    rest = np.flatnonzero(~by_source)
    if len(rest) <= held_out_pairs:
        raise SettingsError(
            f"the table has {len(pairs):,} distinct pairs; with {int(by_source.sum()):,} held out "
            f"by source and {held_out_pairs:,} at random, none is left to learn from",
            remedy="lower --held-out-sources and --held-out-pairs",
        )
    chosen = np.zeros(len(rest), np.bool_)
    chosen[generator.choice(len(rest), held_out_pairs, replace=False)] = True
    return Split(rest[~chosen], np.flatnonzero(by_source), rest[chosen])


def load_pairs(folder: str | Path) -> PhrasePairs:
    """Map the arrays of an encoded table.

    Raises:
        InputError: The folder is not one that ``encode_table`` wrote, or not whole.
    """
    folder = Path(folder)
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        sides = [_load_side(folder, side, manifest[side]) for side in ("source", "target")]
        return PhrasePairs(sides[0], sides[1], manifest["lines"], manifest["table_sha256"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"no whole encoded phrase table ({error})",
            path=folder,
            remedy="delete the folder; it is made again",
        ) from None


def _load_side(folder: Path, side: str, coverage: dict[str, Any]) -> PhraseSide:
    arrays = [
        np.load(folder / f"{side}.{name}.npy", mmap_mode="r", allow_pickle=False)
        for name in ("tokens", "offsets", "groups")
    ]
    if len(arrays[1]) != len(arrays[2]) + 1 or arrays[1][-1] != len(arrays[0]):
        raise ValueError(f"the {side} arrays do not fit together")
    vocabulary = Vocabulary.read(folder / f"{side}.vocabulary.txt")
    return PhraseSide(arrays[0], arrays[1], arrays[2], vocabulary, Coverage(**coverage))
