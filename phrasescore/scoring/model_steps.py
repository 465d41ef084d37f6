"""Any kind of model on tries: each prefix's state once, each prefix's normaliser once.

:class:`TrieSteps` is what the scorer asks for. :class:`ModelSteps` gives it to every kind of model
by its own ``start`` and ``step``; a kind may bring faster steps, as the gated unit does.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from phrasescore.model.sequence_model import END, SequenceModel, State
from phrasescore.scoring.prefix_trie import PrefixTrie
from phrasescore.words.token_sequences import TokenSequences, as_matrix


class TrieSteps(Protocol):
    """Reads sources, then finds ln p along the distinct prefixes of their targets."""

    def encode(self, sources: TokenSequences) -> int:
        """Read sorted, distinct sources; return how many steps of an encoder that took."""
        ...

    def decode(self, trie: PrefixTrie) -> tuple[NDArray[np.float32], NDArray[np.float32], int]:
        """Find ln p of each step of a trie whose root n is the n-th source encoded last.

        Returns:
            (nodes,) ln p of each prefix's last word after what precedes it, 0 for roots;
            (nodes,) ln p of ``</s>`` after each prefix; and how many normalisers that took.
        """
        ...


class ModelSteps:
    """Steps of any model; see :class:`TrieSteps`.

    Args:
        model: In evaluation mode, where it is to compute; several threads may share it.
        dtype: What the recurrent products run in.
        chunk: How many prefixes to take at a time.
    """

    def __init__(self, model: SequenceModel, dtype: torch.dtype, chunk: int) -> None:
        self._model, self._dtype, self._chunk = model, dtype, chunk
        self._sources: TokenSequences

    def encode(self, sources: TokenSequences) -> int:
        """See :meth:`TrieSteps.encode`; a source is read when its targets are begun."""
        self._sources = sources
        return len(sources.tokens) + len(sources)

    def decode(self, trie: PrefixTrie) -> tuple[NDArray[np.float32], NDArray[np.float32], int]:
        """See :meth:`TrieSteps.decode`."""
        edges, at_ends = np.zeros(len(trie), np.float32), np.zeros(len(trie), np.float32)
        before: State | None = None
        for level in range(trie.depth + 1):
            begin, end = trie.levels[level : level + 2].tolist()
            kept: list[State] = []
            for a in range(begin, end, self._chunk):
                b = min(a + self._chunk, end)
                state, ln_p = self._advance(trie, level, a, b, before)
                self._pick(trie, a, b, ln_p, edges, at_ends)
                # of a root every state is kept, of a prefix only one that has children
                goes_on = np.flatnonzero(trie.ranks[a:b] >= 0)
                kept.append(state.gathered(self._index(goes_on)))
            before = kept[0].followed_by(kept[1:])
        return edges, at_ends, len(trie)

    def _advance(
        self, trie: PrefixTrie, level: int, a: int, b: int, before: State | None
    ) -> tuple[State, Tensor]:
        """Return state and ln p after the prefixes ``a`` to ``b`` of a level."""
        if before is None:
            ids, lengths = as_matrix(self._sources.select(np.arange(a, b)), END)
            return self._model.start(self._index(ids), self._index(lengths), self._dtype)
        parents = self._index(trie.ranks[trie.parents[a:b]])
        return self._model.step(before.gathered(parents), self._index(trie.words[a:b]))

    def _pick(
        self,
        trie: PrefixTrie,
        a: int,
        b: int,
        ln_p: Tensor,
        edges: NDArray[np.float32],
        at_ends: NDArray[np.float32],
    ) -> None:
        children = slice(*trie.first_children[[a, b]].tolist())
        places = self._index(trie.parents[children] - a)
        edges[children] = ln_p[places, self._index(trie.words[children])].cpu().numpy()
        at_ends[a:b] = ln_p[:, END].cpu().numpy()

    def _index(self, numbers: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(numbers).to(self._model.device)
