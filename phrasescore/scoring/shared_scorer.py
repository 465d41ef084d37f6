"""Exact ln p of many phrase pairs, at the cost of their distinct prefixes.

Pairs are sorted, so that equal beginnings are neighbours, and cut into groups. In a group each
source prefix is encoded once, each source projected once, and each distinct (source, target prefix)
is one decoder step and one normaliser; a pair's ln p is the sum along its path. Cores work on
groups of their own; a group's results depend on the group alone.
"""

from __future__ import annotations

import copy
import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from numpy.typing import NDArray

from phrasescore.device import choose_device
from phrasescore.model.encoder_decoder import EncoderDecoder
from phrasescore.model.sequence_model import SequenceModel
from phrasescore.scoring.gated.gated_steps import GatedSteps
from phrasescore.scoring.gated.packed_weights import pack
from phrasescore.scoring.model_steps import ModelSteps, TrieSteps
from phrasescore.scoring.pair_order import cut_in_groups, is_new, pair_order
from phrasescore.scoring.precision import Precision
from phrasescore.scoring.prefix_trie import build_trie
from phrasescore.scoring.shared_work import SharedWork
from phrasescore.words.token_sequences import TokenSequences

_GROUP = {"cpu": 2048, "cuda": 32768}
# Prefixes at a time: on a CPU few enough for the caches, enough for the products' full rate.
_CHUNK = {"cpu": 256, "cuda": 8192}
_PANEL = {"cpu": 1024, "cuda": 4096}


class SharedScorer:
    """Scores pairs with one model.

    Args:
        model: Of any kind, on any device.
        device: ``auto``, ``cpu`` or ``cuda``.
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
        chunk = min(_CHUNK[kind], self._group)
        steps = _maker(model, self.device, dtype, self._group, chunk, compiled)
        threads = torch.get_num_threads() if kind == "cpu" else 1
        # the same threads and memory for all blocks: new ones would each leave memory behind
        self._pool = ThreadPoolExecutor(threads)
        self._free: queue.SimpleQueue[TrieSteps] = queue.SimpleQueue()
        with torch.inference_mode():
            for _ in range(threads):
                self._free.put(steps())

    def score(self, sources: TokenSequences, targets: TokenSequences) -> NDArray[np.float64]:
        """Return ln p(target and final </s> | source) of N pairs, ``(N,)``, in their order.

        Args:
            sources: ``N`` phrases of ids of the side the model reads, without </s>.
            targets: ``N`` phrases of ids of the side it predicts, without </s>.
        """
        order = pair_order(sources, targets)
        groups = cut_in_groups(order, sources, self._group)
        ln_p = np.empty(len(targets), np.float64)

        def work(rows: NDArray[np.int64]) -> SharedWork:
            ln_p[rows], done = self._score_group(sources.select(rows), targets.select(rows))
            return done

        before = torch.get_num_threads()
        try:
            for done in self._pool.map(work, [order[group] for group in groups]):
                self.work += done
        finally:
            torch.set_num_threads(before)
        return ln_p

    def _score_group(
        self, sources: TokenSequences, targets: TokenSequences
    ) -> tuple[NDArray[np.float64], SharedWork]:
        """Score sorted pairs."""
        torch.set_num_threads(1)
        new = is_new(sources)
        trie = build_trie(targets, np.cumsum(new) - 1)
        steps = self._free.get()
        try:
            with torch.inference_mode():
                encoded = steps.encode(sources.select(np.flatnonzero(new)))
                edges, at_ends = steps.decode(trie)
        finally:
            self._free.put(steps)
        asked = SharedWork.unshared(sources, targets)
        return trie.path_sums(edges, at_ends), asked.done(encoded, len(trie))


def _maker(
    model: SequenceModel,
    device: torch.device,
    dtype: torch.dtype,
    group: int,
    chunk: int,
    compiled: bool | None,
) -> Callable[[], TrieSteps]:
    """Return what makes the steps of one thread: a kind's own where it has faster ones."""
    if isinstance(model, EncoderDecoder) and model.settings.unit == "gated":
        weights = pack(model, device, dtype, _PANEL[device.type])
        return lambda: GatedSteps(weights, group, chunk, compiled)
    placed = copy.deepcopy(model).to(device).eval()
    return lambda: ModelSteps(placed, dtype, chunk)
