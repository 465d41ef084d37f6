"""What a model may be trained on, whatever it was read from, and how it is split.

The distinct pairs of a phrase table are one such thing (``phrase_pairs``); training knows no more
of them than stands here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import SettingsError
from phrasescore.model.model_settings import Direction
from phrasescore.words.outside_words import OutsideWords
from phrasescore.words.token_sequences import TokenSequences
from phrasescore.words.vocabulary import Vocabulary

Rows = NDArray[np.int64]


class PairSide(Protocol):
    """One side of N pairs; a side that is not read has no words."""

    @property
    def groups(self) -> NDArray[np.int32]:
        """(N,) pairs with the same sequence on this side share this number, 0, 1, ..."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """Which word an id is."""
        ...

    @property
    def outside(self) -> OutsideWords:
        """The words that stand for ``<unk>``."""
        ...

    def select(self, rows: NDArray[Any]) -> TokenSequences:
        """Return the sequences of some pairs."""
        ...

    def lengths(self, rows: NDArray[Any]) -> Rows:
        """Return the words of some pairs' sequences, ``(N,)``, </s> not counted."""
        ...


class TrainingPairs(Protocol):
    """N pairs; source is the side a model reads, target the side it predicts."""

    @property
    def source(self) -> PairSide:
        """What is read."""
        ...

    @property
    def target(self) -> PairSide:
        """What is predicted."""
        ...

    @property
    def digests(self) -> tuple[str | None, ...]:
        """The SHA-256 of each file that they were read from, ``None`` for a pipe."""
        ...

    @property
    def set_aside(self) -> int:
        """How many pairs at the end are a text of their own, to be held out."""
        ...

    def __len__(self) -> int: ...

    def in_direction(self, direction: Direction) -> TrainingPairs:
        """Return the pairs with their sides swapped for ``target-source``."""
        ...

    def described(self) -> list[str]:
        """Return what the user should know of them, a line each."""
        ...


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


def split(pairs: TrainingPairs, held_out_sources: int, held_out_pairs: int, seed: int) -> Split:
    """Set two kinds of pairs aside, the same ones for the same seed.

    A text that was set aside from the beginning counts as unseen sources, and nothing is drawn.

    Args:
        pairs: All pairs.
        held_out_sources: Draw whole sources until there are at least this many pairs.
        held_out_pairs: Then draw this many single pairs from the rest.
        seed: For the draws.

    Raises:
        SettingsError: Nothing would be left to learn from.
    """
    if min(held_out_sources, held_out_pairs) < 0:
        raise SettingsError("the number of held-out pairs cannot be negative")
    if pairs.set_aside:
        rows, last = np.arange(len(pairs)), len(pairs) - pairs.set_aside
        return Split(rows[:last], rows[last:], rows[:0])
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
            f"there are {len(pairs):,} pairs; with {int(by_source.sum()):,} held out "
            f"by source and {held_out_pairs:,} at random, none is left to learn from",
            remedy="lower --held-out-sources, where there is a source, and --held-out-pairs",
        )
    chosen = np.zeros(len(rest), np.bool_)
    chosen[generator.choice(len(rest), held_out_pairs, replace=False)] = True
    return Split(rest[~chosen], np.flatnonzero(by_source), rest[chosen])
