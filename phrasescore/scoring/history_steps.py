"""A feed-forward language model on tries: each distinct history once, in bulk.

What such a model says of a prefix depends on its last words alone, so that prefixes of different
sentences share an evaluation, which their states, one after the other, would not tell. See
:class:`~phrasescore.scoring.model_steps.TrieSteps`.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from phrasescore.model.networks.feed_forward_lm import FeedForwardLm
from phrasescore.model.sequence_model import END
from phrasescore.model.softmax import log_softmax
from phrasescore.scoring.prefix_trie import PrefixTrie
from phrasescore.words.distinct_phrases import first_rows, phrase_digests
from phrasescore.words.token_sequences import TokenSequences

Numbers = NDArray[np.int64]


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
