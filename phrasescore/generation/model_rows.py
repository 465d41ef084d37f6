"""One more word for many prefixes at once: a model's states in rows, stepped in chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from phrasescore.model.sequence_model import END, UNKNOWN, State, StepModel
from phrasescore.words.token_sequences import TokenSequences, as_matrix

Rows = NDArray[np.int64]
# what to do with the ln p of rows a to b, (b - a, V) float32, where the model is
Look = Callable[[int, int, Tensor], None]


class Prefixes(Protocol):
    """The prefixes of a search, a row each."""

    @property
    def last_words(self) -> Rows:
        """(rows,) the word that each row reads next."""
        ...

    def prepare(self) -> None:
        """Make place for the words that follow each row."""
        ...

    def look(self, a: int, b: int, ln_p: Tensor) -> None:
        """Note of rows ``a`` to ``b`` what it needs of ``ln_p (b - a, V)``."""
        ...

    def extend(self) -> Rows:
        """Choose what goes on; return the row that each new prefix came from."""
        ...


class ModelRows:
    """The states of the prefixes of a search.

    Args:
        model: In evaluation mode, where it is to compute; several threads may share it.
        unknown: Whether ``<unk>`` may be a word; if not, its ln p is -inf.
        chunk: How many rows to take at a time, few enough that their ln p stay in the caches.
    """

    def __init__(self, model: StepModel, unknown: bool, chunk: int) -> None:
        self._model, self._unknown, self._chunk = model, unknown, chunk
        self._state: State

    def search(self, sources: TokenSequences, prefixes: Prefixes) -> None:
        """Read sources, a row for each, and then word after word until no prefix goes on."""
        prefixes.prepare()
        self._begin(sources, prefixes.look)
        while len(parents := prefixes.extend()):
            prefixes.prepare()
            self._advance(parents, prefixes.last_words, prefixes.look)

    def _begin(self, sources: TokenSequences, look: Look) -> None:
        """Read sources, a row for each."""
        kept = []
        for a in range(0, len(sources), self._chunk):
            b = min(a + self._chunk, len(sources))
            ids, lengths = as_matrix(sources.select(np.arange(a, b)), END)
            state, ln_p = self._model.start(self._index(ids), self._index(lengths), torch.float32)
            self._show(a, b, ln_p, look)
            kept.append(state)
        self._state = kept[0].followed_by(kept[1:])

    def _advance(self, rows: Rows, words: Rows, look: Look) -> None:
        """Replace the rows by some of them, each with one more word.

        Args:
            rows: (R,) which; a row may come again.
            words: (R,) the word that each reads.
            look: Is shown ln p of what follows.
        """
        kept = []
        for a in range(0, len(rows), self._chunk):
            b = min(a + self._chunk, len(rows))
            before = self._state.gathered(self._index(rows[a:b]))
            state, ln_p = self._model.step(before, self._index(words[a:b]))
            self._show(a, b, ln_p, look)
            kept.append(state)
        self._state = kept[0].followed_by(kept[1:])

    def _show(self, a: int, b: int, ln_p: Tensor, look: Look) -> None:
        if not self._unknown:
            ln_p[:, UNKNOWN] = -np.inf
        look(a, b, ln_p)

    def _index(self, numbers: Rows) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(numbers)).to(self._model.device)
