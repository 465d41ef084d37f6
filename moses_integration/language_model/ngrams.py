"""The n-grams of a model file, whatever its format: what a reader gives, order by order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from phrasescore.words.word_table import WordTable


@dataclass(frozen=True)
class NGrams:
    """Some n-grams of one order, in the order of the file.

    Attributes:
        order: How many words each has.
        words: Word ids, shape (rows, order).
        log10: log10 probabilities, shape (rows,).
        backoff: log10 back-off weights, shape (rows,); 0 where the file has none.
        first_line: The 1-based line of row 0, the rows follow without a gap; ``None`` where the
            file has no lines.
    """

    order: int
    words: NDArray[np.int32]
    log10: NDArray[np.float32]
    backoff: NDArray[np.float32]
    first_line: int | None

    def line_of(self, row: int) -> int | None:
        """Return the 1-based line of a row, if the file has lines."""
        return None if self.first_line is None else self.first_line + row


class NGramFile(Protocol):
    """An open model file."""

    @property
    def counts(self) -> tuple[int, ...]:
        """The n-gram counts that its header states, order 1 first."""

    @property
    def words(self) -> WordTable:
        """The vocabulary; id 0 is ``<unk>``. Whole once the n-grams of order 1 were read."""

    @property
    def has_unknown(self) -> bool:
        """Whether the model has ``<unk>``. Known once the n-grams of order 1 were read."""

    @property
    def unknown_is_context(self) -> bool:
        """Whether ``<unk>`` is a state though nothing follows it. Known when `has_unknown` is."""

    def blocks(self) -> Iterator[NGrams]:
        """Yield the n-grams, lowest order first, at least one block for each order."""
