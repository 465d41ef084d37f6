"""The distinct phrase pairs of a table as memory-mapped integer arrays, and how they are split.

``encode_table`` reads a table once and leaves arrays in a work folder; a second run on the same
table with the same settings finds them there. Training needs no Python object per pair.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import InputError, SettingsError
from phrasescore.model.model_settings import Direction
from phrasescore.pairs.training_pairs import Rows
from phrasescore.words import SHORTLIST_WORDS
from phrasescore.words.token_sequences import TokenSequences, gather
from phrasescore.words.vocabulary import Coverage, Vocabulary

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

    def lengths(self, rows: NDArray[Any]) -> Rows:
        """Return the words of some pairs' phrases, ``(N,)``, </s> not counted."""
        return np.asarray(self.offsets[rows + 1] - self.offsets[rows], np.int64)


@dataclass(frozen=True)
class EncodedPairs:
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
    def digests(self) -> tuple[str | None]:
        """The digest of the table's file, ``None`` for one read from a pipe."""
        return (self.table_sha256,)

    def described(self) -> list[str]:
        """Return how many pairs there are, and what of them the shortlists know."""
        return [
            f"{self.lines:,} lines, {len(self):,} distinct pairs",
            f"the encoder reads {self.source.coverage}",
            f"the decoder writes {self.target.coverage}",
        ]

    def in_direction(self, direction: Direction) -> EncodedPairs:
        """Swap the sides of a freshly read table for ``target-source``."""
        if direction == "source-target":
            return self
        return EncodedPairs(self.target, self.source, self.lines, self.table_sha256)


def load_pairs(folder: str | Path) -> EncodedPairs:
    """Map the arrays of an encoded table.

    Raises:
        InputError: The folder is not one that ``encode_table`` wrote, or not whole.
    """
    folder = Path(folder)
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        sides = [_load_side(folder, side, manifest[side]) for side in ("source", "target")]
        return EncodedPairs(sides[0], sides[1], manifest["lines"], manifest["table_sha256"])
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
