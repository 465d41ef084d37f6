"""Exact ln p of many phrase pairs without sharing: what ``scorer`` is compared with.

Pairs are grouped by length, so that no batch has padding, and each runs through the network as in
training. Cores work on batches of their own, each result depends on its batch alone.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from phrasescore.device import choose_device
from phrasescore.model.encoder_decoder import EncoderDecoder
from phrasescore.scoring.shared_work import SharedWork
from phrasescore.words.token_sequences import TokenSequences

Rows = NDArray[np.int64]

_BATCH = {"cpu": 512, "cuda": 8192}


class UnsharedScorer:
    """Scores pairs with one model, each on its own.

    Args:
        model: Its network, on any device.
        device: ``auto``, ``cpu`` or ``cuda``.
        batch_size: Phrases at a time; ``None`` for the device's own.

    Attributes:
        device: Where it computes.
        precision: ``fp32``.
        work: What it has done since it was made.
    """

    def __init__(
        self,
        model: EncoderDecoder,
        device: str = "auto",
        batch_size: int | None = None,
    ) -> None:
        self.device = choose_device(device)
        self.precision = "fp32"
        self.work = SharedWork()
        self._batch_size = batch_size or _BATCH[self.device.type]
        self._model = copy.deepcopy(model).to(self.device).eval()
        threads = torch.get_num_threads() if self.device.type == "cpu" else 1
        # the same threads for all blocks: new ones would each leave memory behind
        self._pool = ThreadPoolExecutor(threads)

    def score(self, sources: TokenSequences, targets: TokenSequences) -> NDArray[np.float64]:
        """Return ln p(target and final </s> | source) of N pairs, ``(N,)``, in their order.

        Args:
            sources: ``N`` phrases of ids of the side the model reads, without </s>.
            targets: ``N`` phrases of ids of the side it predicts, without </s>.
        """
        H = self._model.settings.hidden
        contexts = torch.empty(len(sources), H, dtype=self._model.source_embedding.dtype)
        ln_p = torch.empty(len(targets), dtype=torch.float64)

        def encode(rows: Rows) -> None:
            ids = _matrix(sources.select(rows)).to(self.device)
            contexts[torch.from_numpy(rows)] = self._model.summaries(ids).cpu()

        def decode(rows: Rows) -> None:
            ids = _matrix(targets.select(rows)).to(self.device)
            context = contexts[torch.from_numpy(rows)].to(self.device)
            found = self._model.log_probabilities(context, ids)
            ln_p[torch.from_numpy(rows)] = found.sum(1, dtype=torch.float64).cpu()

        self._run(encode, sources)
        self._run(decode, targets)
        self.work += SharedWork.unshared(sources, targets)
        return ln_p.numpy()

    def _run(self, work: Callable[[Rows], None], phrases: TokenSequences) -> None:
        """Do ``work`` on batches of phrases of one length, a batch a core at a time."""
        before = torch.get_num_threads()

        def alone(rows: Rows) -> None:
            torch.set_num_threads(1)
            with torch.inference_mode():
                work(rows)

        try:
            for _ in self._pool.map(alone, _batches(phrases, self._batch_size)):
                pass
        finally:
            torch.set_num_threads(before)


def _batches(phrases: TokenSequences, size: int) -> Iterator[Rows]:
    """Yield rows of equal length, at most ``size`` at a time, longest first."""
    lengths = phrases.lengths
    for length in np.unique(lengths)[::-1]:
        rows = np.flatnonzero(lengths == length)
        yield from np.split(rows, range(size, len(rows), size))


def _matrix(phrases: TokenSequences) -> Tensor:
    """Return phrases of one length as ``(B, length)`` ids."""
    length = len(phrases.tokens) // len(phrases)
    return torch.from_numpy(phrases.tokens.reshape(len(phrases), length).astype(np.int64))
