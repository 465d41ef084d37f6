"""What a model may be trained on, whatever it was read from.

The distinct pairs of a phrase table are one such thing (``phrase_pairs``); training knows no more
of them than stands here.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

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
