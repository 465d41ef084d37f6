"""Models on tries: each prefix's state once, each prefix's normaliser once.

:class:`TrieSteps` is what the scorer asks for. :class:`ModelSteps` gives it to every kind of model
by its own ``start`` and ``step``; a kind may bring faster steps. The gated unit does
(``scoring/gated``), and so does the feed-forward language model, :class:`HistorySteps`: its ln p of
a word depends on the last words before it alone, so prefixes of different sentences share an
evaluation, which their states, one after the other, would not tell.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from phrasescore.model.networks.feed_forward_lm import FeedForwardLm
from phrasescore.model.sequence_model import END, SequenceModel, State
from phrasescore.model.softmax import log_softmax
from phrasescore.scoring.prefix_trie import PrefixTrie
from phrasescore.words.distinct_phrases import first_rows, phrase_digests
from phrasescore.words.token_sequences import TokenSequences, as_matrix

Numbers = NDArray[np.int64]


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


class HistorySteps:
    """Steps of a feed-forward language model.

    Args:
        model: In evaluation mode, where it is to compute; several threads may share it.
        dtype: What the products of the hidden layers run in.
        chunk: How many histories to take at a time.
    """

    def __init__(self, model: FeedForwardLm, dtype: torch.dtype, chunk: int) -> None:
        self._model, self._dtype, self._chunk = model, dtype, chunk

    def encode(self, sources: TokenSequences) -> int:
        """See :meth:`TrieSteps.encode`; there is nothing to read."""
        return 0

    def decode(self, trie: PrefixTrie) -> tuple[NDArray[np.float32], NDArray[np.float32], int]:
        """See :meth:`TrieSteps.decode`."""
        histories, which = _distinct(self._histories(trie))
        edges, at_ends = np.zeros(len(trie), np.float32), np.zeros(len(trie), np.float32)
        # nodes in the order of the histories that are asked: for </s>, and for the node's own word
        asking = np.argsort(which, kind="stable")
        children = np.flatnonzero(trie.parents >= 0)
        children = children[np.argsort(which[trie.parents[children]], kind="stable")]
        ends, words = which[asking], which[trie.parents[children]]
        for a in range(0, len(histories), self._chunk):
            b = min(a + self._chunk, len(histories))
            ln_p = self._ln_p(histories[a:b])
            nodes = asking[slice(*np.searchsorted(ends, (a, b)).tolist())]
            at_ends[nodes] = ln_p[self._index(which[nodes] - a), END].cpu().numpy()
            nodes = children[slice(*np.searchsorted(words, (a, b)).tolist())]
            places, wanted = which[trie.parents[nodes]] - a, trie.words[nodes]
            edges[nodes] = ln_p[self._index(places), self._index(wanted)].cpu().numpy()
        return edges, at_ends, len(histories)

    def _histories(self, trie: PrefixTrie) -> Numbers:
        """Return what each prefix's next word is predicted from, ``(nodes, n - 1)``."""
        settings = self._model.settings
        histories = np.full((len(trie), settings.order - 1), settings.target_vocabulary, np.int64)
        for level in range(1, trie.depth + 1):
            nodes = slice(*trie.levels[level : level + 2].tolist())
            histories[nodes, :-1] = histories[trie.parents[nodes], 1:]
            histories[nodes, -1] = trie.words[nodes]
        return histories

    def _ln_p(self, histories: Numbers) -> Tensor:
        """Return ln p of every word after histories, ``(N, V)``."""
        model = self._model
        features = model.features(self._index(histories), self._dtype)
        kind = model.output_words.dtype
        return log_softmax(features.to(kind), model.output_words, model.output_bias)

    def _index(self, numbers: Numbers) -> Tensor:
        return torch.from_numpy(numbers).to(self._model.device)


def _distinct(histories: Numbers) -> tuple[Numbers, Numbers]:
    """Return the distinct rows, and of each row which of them it is."""
    offsets = np.arange(len(histories) + 1) * histories.shape[1]
    first = first_rows(phrase_digests(histories.astype(np.int32).ravel(), offsets))
    leaders, which = np.unique(first, return_inverse=True)
    return histories[leaders], which
