"""Computes exact ln p of many phrase pairs; pairs with equal prefixes share work.

Pairs are sorted, so that pairs that begin alike are neighbours, and cut into groups. In a group,
each source prefix is encoded once and each source is projected once. Each distinct combination of a
source and a target prefix costs one decoder step and one normaliser. The ln p of a pair is the sum
along its path through the trie of prefixes. A single core computes a group, and the results depend
only on the group. Pairs with long sources form separate small groups, because a model may pad the
sources that it reads together.

`SharedScorer` gets the values of a group from steps along a trie. `ModelSteps` computes them for
any model with its ``start`` and ``step``. Two networks have faster steps: gated units in the
formulation ``code`` (``gated_steps``), and the feed-forward language model (`HistorySteps`). In
that language model, ln p of a word depends only on the few words before it, so prefixes that end in
the same words share one evaluation, even if they belong to different sentences.
"""

from __future__ import annotations

import copy
import queue
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from phrasescore.errors import ModelError
from phrasescore.model.device import Cores, choose_device
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.model.networks.feed_forward_lm import FeedForwardLm
from phrasescore.model.sequence_model import END, SequenceModel, State
from phrasescore.model.units import GatedUnit
from phrasescore.scoring import prefix_trie
from phrasescore.scoring.gated_steps import GatedSteps, pack
from phrasescore.words.hashing import first_rows, phrase_digests
from phrasescore.words.token_sequences import TokenSequences, as_matrix

_GROUP = {"cpu": 2048, "cuda": 32768}  # number of pairs in a group
# Number of prefixes in a chunk. On a CPU, a chunk fits into the caches but is large enough for fast
# matrix products. On a GPU, its computation takes longer than launching the kernels.
_CHUNK = {"cpu": 256, "cuda": 16384}
_PANEL = {"cpu": 1024, "cuda": 16384}  # number of words of the output layer in a panel
_GPU_THREADS = 2  # one thread prepares its group while the GPU computes the other's
# More words than any real phrase has. Groups with longer sources are limited so that the padded
# sources of a group take no more memory than a chunk of sources of this length.
_LONG = 64

Precision: TypeAlias = Literal["fp32", "bf16"]
Rows = NDArray[np.int64]
Ln_p = NDArray[np.float32]
TrieSteps: TypeAlias = "ModelSteps | GatedSteps"


class SharedScorer:
    """Scores pairs with one model.

    Args:
        model: A model of any kind, on any device.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        precision: Precision of the large matrix products; states and sums are float32 or better.
        group: Number of pairs in a group; ``None`` for the default of the device.

    Attributes:
        device: The device that computes.
        precision: ``fp32`` or ``bf16``.
        cores: The threads that compute.
    """

    def __init__(
        self,
        model: SequenceModel,
        device: str = "auto",
        precision: Precision = "fp32",
        group: int | None = None,
    ) -> None:
        self.device = choose_device(device)
        self.precision = precision
        kind = self.device.type
        self._group = group or _GROUP[kind]
        dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        self._chunk = min(_CHUNK[kind], self._group)
        make = _steps_factory(model, self.device, dtype)
        self.cores = Cores(self.device, _GPU_THREADS)
        self._free: queue.SimpleQueue[TrieSteps] = queue.SimpleQueue()
        with torch.inference_mode():
            for _ in range(self.cores.count):
                self._free.put(self._fitting_steps(make))

    def _fitting_steps(self, make: Callable[[int, int], TrieSteps]) -> TrieSteps:
        """Make steps; halve the size of groups until the steps fit into the device's memory."""
        while True:
            try:
                return make(self._group, self._chunk)
            except torch.OutOfMemoryError:
                if self._group == 1:
                    raise
            torch.cuda.empty_cache()
            self._group = -(-self._group // 2)
            self._chunk = min(self._chunk, self._group)

    def score(self, sources: TokenSequences, targets: TokenSequences) -> NDArray[np.float64]:
        """Return ln p(target and final </s> | source) of N pairs, ``(N,)``, in their order.

        Args:
            sources: ``N`` phrases of ids, of the side that the model reads, without </s>.
            targets: ``N`` phrases of ids, of the side that the model predicts, without </s>.

        Raises:
            ModelError: A score is not finite.
        """
        # each pair has one value more, for </s>
        begins = targets.offsets[:-1] + np.arange(len(targets))
        return np.add.reduceat(self.score_words(sources, targets), begins)

    def score_words(self, sources: TokenSequences, targets: TokenSequences) -> NDArray[np.float64]:
        """Return ln p of each target word and of each final </s>, one pair after the other.

        Args:
            sources: ``N`` phrases of ids, of the side that the model reads, without </s>.
            targets: ``N`` phrases of ids, of the side that the model predicts, without </s>.

        Returns:
            ``(all target words + N,)``: for each pair, its words in their order and then </s>. The
            sum over the words of a pair is the pair's result of :meth:`score`.

        Raises:
            ModelError: A score is not finite.
        """
        stops = targets.offsets[1:] + np.arange(1, len(targets) + 1)
        ln_p = np.empty(len(targets.tokens) + len(targets), np.float64)

        def work(rows: Rows) -> None:
            read, predicted = sources.select(rows), targets.select(rows)
            # rows are sorted, so equal sources are neighbours; root n is the n-th distinct source
            new = prefix_trie.is_new(read)
            trie = prefix_trie.build_trie(predicted, np.cumsum(new) - 1)
            steps = self._free.get()
            try:
                with torch.inference_mode():
                    found = steps.decode(read.select(np.flatnonzero(new)), trie)
            finally:
                self._free.put(steps)
            trie.path_words(*found, stops[rows], ln_p)

        for parts in self.cores.each(work, self._groups(sources, targets)):
            if len(parts) > 1:  # the group was too large: make the next groups smaller, too
                self._group = min(self._group, max(len(rows) for rows, _ in parts))
        if not np.isfinite(ln_p).all():  # float32 sums can overflow
            remedy = "train the model again; its parameters are not finite"
            raise ModelError("the model's score of a pair is not finite", remedy=remedy)
        return ln_p

    def _groups(self, sources: TokenSequences, targets: TokenSequences) -> list[Rows]:
        order = prefix_trie.pair_order(sources, targets)
        is_long = sources.lengths[order] > _LONG
        short, long = order[~is_long], order[is_long]
        area = _LONG * self._chunk
        groups = prefix_trie.cut_in_groups(short, sources, self._group)
        return groups + prefix_trie.cut_by_area(long, sources.lengths, self._group, area)


def _steps_factory(
    model: SequenceModel, device: torch.device, dtype: torch.dtype
) -> Callable[[int, int], TrieSteps]:
    """Return a function that makes the fastest steps for the network, for one thread.

    The function's arguments are the maximum number of pairs in a group and of prefixes in a chunk.
    """
    if (
        isinstance(model, EncoderDecoder)
        and isinstance(model.decoder, GatedUnit)
        and model.settings.formulation == "code"
    ):
        weights = pack(model, device, dtype, _PANEL[device.type])
        return lambda group, chunk: GatedSteps(weights, group, chunk)
    placed = copy.deepcopy(model).to(device).eval()
    if isinstance(placed, FeedForwardLm):
        return lambda _, chunk: HistorySteps(placed, dtype, chunk)
    return lambda _, chunk: ModelSteps(placed, dtype, chunk)


# -- steps along a trie -----------------------------------------------------------------------


class ModelSteps:
    """Steps of any model: reads sources, then computes ln p along the prefixes of their targets.

    Args:
        model: A model in evaluation mode, on its device; several threads may share it.
        dtype: Type of the recurrent products.
        chunk: Number of prefixes to compute at a time.
    """

    def __init__(self, model: SequenceModel, dtype: torch.dtype, chunk: int) -> None:
        self._model, self._dtype, self._chunk = model, dtype, chunk

    def decode(self, sources: TokenSequences, trie: prefix_trie.PrefixTrie) -> tuple[Ln_p, Ln_p]:
        """Compute ln p along a trie.

        Args:
            sources: Sorted, distinct sources.
            trie: The targets; root n is source n.

        Returns:
            (nodes,) ln p of each prefix's last word given the words before it, 0 for roots; and
            (nodes,) ln p of ``</s>`` after each prefix.
        """
        edges, at_ends = np.zeros(len(trie), np.float32), np.zeros(len(trie), np.float32)
        before: State | None = None
        for level in range(trie.depth + 1):
            begin, end = trie.levels[level : level + 2].tolist()  # the nodes of this level
            states: list[State] = []
            for a in range(begin, end, self._chunk):
                b = min(a + self._chunk, end)
                if before is None:
                    ids, lengths = as_matrix(sources.select(np.arange(a, b)))
                    begun = self._index(ids), self._index(lengths)
                    state, ln_p = self._model.start(*begun, self._dtype)
                else:
                    parents = self._index(trie.parents[a:b] - trie.levels[level - 1])
                    words = self._index(trie.words[a:b])
                    # ln_p (b - a, V)
                    state, ln_p = self._model.step(before.gathered(parents), words)
                # ln p of the last words of the children, and of </s> after each prefix
                children = slice(*trie.first_children[[a, b]].tolist())
                places, wanted = trie.parents[children] - a, trie.words[children]
                edges[children] = ln_p[self._index(places), self._index(wanted)].cpu().numpy()
                at_ends[a:b] = ln_p[:, END].cpu().numpy()
                states.append(state)
            before = states[0].followed_by(states[1:])  # of the whole level
        return edges, at_ends

    def _index(self, numbers: Rows) -> Tensor:
        return torch.from_numpy(numbers).to(self._model.device)


class HistorySteps(ModelSteps):
    """Steps of a feed-forward language model, which computes each distinct history once."""

    _model: FeedForwardLm

    def decode(self, sources: TokenSequences, trie: prefix_trie.PrefixTrie) -> tuple[Ln_p, Ln_p]:
        """See :meth:`ModelSteps.decode`; the sources of a language model are empty."""
        histories, which = _distinct(self._histories(trie))
        edges, at_ends = np.zeros(len(trie), np.float32), np.zeros(len(trie), np.float32)
        # A node needs its own history for </s>, and its parent's history for its word. Nodes are
        # sorted by the history that they need, so that the nodes of a chunk of histories are a
        # range.
        asking = np.argsort(which, kind="stable")
        children = np.flatnonzero(trie.parents >= 0)
        children = children[np.argsort(which[trie.parents[children]], kind="stable")]
        ends, words = which[asking], which[trie.parents[children]]
        for a in range(0, len(histories), self._chunk):
            b = min(a + self._chunk, len(histories))
            ln_p = self._model.next_words(self._index(histories[a:b]), self._dtype)
            nodes = asking[slice(*np.searchsorted(ends, (a, b)).tolist())]
            at_ends[nodes] = ln_p[self._index(which[nodes] - a), END].cpu().numpy()
            nodes = children[slice(*np.searchsorted(words, (a, b)).tolist())]
            places, wanted = which[trie.parents[nodes]] - a, trie.words[nodes]
            edges[nodes] = ln_p[self._index(places), self._index(wanted)].cpu().numpy()
        return edges, at_ends

    def _histories(self, trie: prefix_trie.PrefixTrie) -> Rows:
        """Return the n - 1 words that predict each prefix's next word, ``(nodes, n - 1)``."""
        settings = self._model.settings
        histories = np.full((len(trie), settings.order - 1), settings.target_vocabulary, np.int64)
        for level in range(1, trie.depth + 1):
            nodes = slice(*trie.levels[level : level + 2].tolist())
            histories[nodes, :-1] = histories[trie.parents[nodes], 1:]  # drop the oldest word
            histories[nodes, -1] = trie.words[nodes]
        return histories


def _distinct(histories: Rows) -> tuple[Rows, Rows]:
    """Return the distinct rows, and for each row the index of the equal distinct row."""
    offsets = np.arange(len(histories) + 1) * histories.shape[1]
    first = first_rows(phrase_digests(histories.astype(np.int32).ravel(), offsets))
    leaders, which = np.unique(first, return_inverse=True)
    return histories[leaders], which
