"""Exact ln p of many phrase pairs, at the cost of their distinct prefixes.

Pairs are sorted, so that equal beginnings are neighbours, and cut into groups. In a group each
source prefix is encoded once, each source projected once, and each distinct (source, target prefix)
is one decoder step and one normaliser; a pair's ln p is the sum along its path. Cores work on
groups of their own; a group's results depend on the group alone. Pairs with long sources stand in
small groups apart, because a kind of model may pad the sources that it reads together.
"""

from __future__ import annotations

import copy
import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from numpy.typing import NDArray

from phrasescore.model.device import choose_device, each_on_one_core, in_fitting_parts
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.model.networks.feed_forward_lm import FeedForwardLm
from phrasescore.model.sequence_model import SequenceModel
from phrasescore.scoring.gated.gated_steps import GatedSteps
from phrasescore.scoring.gated.packed_weights import pack
from phrasescore.scoring.model_steps import HistorySteps, ModelSteps, TrieSteps
from phrasescore.scoring.pair_order import (
    SharedWork,
    cut_by_area,
    cut_in_groups,
    is_new,
    pair_order,
)
from phrasescore.scoring.precision import Precision
from phrasescore.scoring.prefix_trie import PrefixTrie, build_trie
from phrasescore.words.token_sequences import TokenSequences

_GROUP = {"cpu": 2048, "cuda": 32768}
# Prefixes at a time: on a CPU few enough for the caches, enough for the products' full rate; on a
# GPU as many as keep it at work for longer than it takes to ask it.
_CHUNK = {"cpu": 256, "cuda": 16384}
_PANEL = {"cpu": 1024, "cuda": 16384}
_GPU_THREADS = 2  # one gets the next group ready while the GPU is at work on the other's
# More words than any phrase has: a chunk of sources of this length is what may be padded at once.
_LONG = 64

Rows = NDArray[np.int64]
Ln_p = NDArray[np.float32]
# what becomes of a group's rows, its trie, ln p of each edge and of </s> at each node
Keep = Callable[[Rows, PrefixTrie, Ln_p, Ln_p], None]


class SharedScorer:
    """Scores pairs with one model.

    Args:
        model: Of any kind, on any device.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        precision: Of the large products; states and sums are float32 or better.
        group: Pairs at a time; ``None`` for the device's own.
        compiled: Whether the gated unit uses its compiled passes; ``None``: wherever they run.

    Attributes:
        device: Where it computes.
        precision: ``fp32`` or ``bf16``.
        work: What it has done since it was made.
    """

    def __init__(
        self,
        model: SequenceModel,
        device: str = "auto",
        precision: Precision = "fp32",
        group: int | None = None,
        compiled: bool | None = None,
    ) -> None:
        self.device = choose_device(device)
        self.precision = precision
        self.work = SharedWork()
        kind = self.device.type
        self._group = group or _GROUP[kind]
        dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        self._chunk = min(_CHUNK[kind], self._group)
        make = _maker(model, self.device, dtype, compiled)
        threads = torch.get_num_threads() if kind == "cpu" else _GPU_THREADS
        # the same threads and memory for all blocks: new ones would each leave memory behind
        self._pool = ThreadPoolExecutor(threads)
        self._free: queue.SimpleQueue[TrieSteps] = queue.SimpleQueue()
        with torch.inference_mode():
            for _ in range(threads):
                self._free.put(self._fitting_steps(make))

    def _fitting_steps(self, make: Callable[[int, int], TrieSteps]) -> TrieSteps:
        """Make steps for groups that the device's memory has room for."""
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
            sources: ``N`` phrases of ids of the side the model reads, without </s>.
            targets: ``N`` phrases of ids of the side it predicts, without </s>.
        """
        ln_p = np.empty(len(targets), np.float64)

        def keep(rows: Rows, trie: PrefixTrie, edges: Ln_p, at_ends: Ln_p) -> None:
            ln_p[rows] = trie.path_sums(edges, at_ends)

        self._visit(sources, targets, keep)
        return ln_p

    def score_words(self, sources: TokenSequences, targets: TokenSequences) -> NDArray[np.float64]:
        """Return ln p of each target word and of each final </s>, one pair after the other.

        Args:
            sources: ``N`` phrases of ids of the side the model reads, without </s>.
            targets: ``N`` phrases of ids of the side it predicts, without </s>.

        Returns:
            ``(all target words + N,)``, of each pair its words in their order and then </s>; their
            sum is what :meth:`score` returns.
        """
        stops = targets.offsets[1:] + np.arange(1, len(targets) + 1)
        ln_p = np.empty(len(targets.tokens) + len(targets), np.float64)

        def keep(rows: Rows, trie: PrefixTrie, edges: Ln_p, at_ends: Ln_p) -> None:
            trie.path_words(edges, at_ends, stops[rows], ln_p)

        self._visit(sources, targets, keep)
        return ln_p

    def _visit(self, sources: TokenSequences, targets: TokenSequences, keep: Keep) -> None:
        """Score all pairs, group by group."""

        def work(rows: Rows) -> SharedWork:
            return self._score_group(sources, targets, rows, keep)

        def fit(rows: Rows) -> list[tuple[Rows, SharedWork]]:
            return in_fitting_parts(work, rows)

        for parts in each_on_one_core(self._pool, fit, self._groups(sources, targets)):
            if len(parts) > 1:  # what did not fit once is not tried again
                self._group = min(self._group, max(len(rows) for rows, _ in parts))
            self.work += sum((done for _, done in parts), SharedWork())

    def _groups(self, sources: TokenSequences, targets: TokenSequences) -> list[Rows]:
        order = pair_order(sources, targets)
        is_long = sources.lengths[order] > _LONG
        short, long = order[~is_long], order[is_long]
        area = _LONG * self._chunk
        return [short[group] for group in cut_in_groups(short, sources, self._group)] + [
            long[group] for group in cut_by_area(sources.lengths[long], self._group, area)
        ]

    def _score_group(
        self, sources: TokenSequences, targets: TokenSequences, rows: Rows, keep: Keep
    ) -> SharedWork:
        """Score sorted pairs."""
        sources, targets = sources.select(rows), targets.select(rows)
        new = is_new(sources)
        trie = build_trie(targets, np.cumsum(new) - 1)
        steps = self._free.get()
        try:
            with torch.inference_mode():
                encoded = steps.encode(sources.select(np.flatnonzero(new)))
                edges, at_ends, normalisers = steps.decode(trie)
        finally:
            self._free.put(steps)
        keep(rows, trie, edges, at_ends)
        return SharedWork.unshared(sources, targets).done(encoded, normalisers)


def _maker(
    model: SequenceModel,
    device: torch.device,
    dtype: torch.dtype,
    compiled: bool | None,
) -> Callable[[int, int], TrieSteps]:
    """Return what makes the steps of one thread: a kind's own where it has faster ones.

    It is given how many pairs a group has at most, and how many prefixes to take at a time.
    """
    if isinstance(model, EncoderDecoder) and model.settings.unit == "gated":
        weights = pack(model, device, dtype, _PANEL[device.type])
        return lambda group, chunk: GatedSteps(weights, group, chunk, compiled)
    placed = copy.deepcopy(model).to(device).eval()
    if isinstance(placed, FeedForwardLm):
        return lambda _, chunk: HistorySteps(placed, dtype, chunk)
    return lambda _, chunk: ModelSteps(placed, dtype, chunk)
