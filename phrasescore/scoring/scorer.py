"""Exact ln p of many phrase pairs: grouped by length, so that no batch has padding.

Each source of a run of equal ones is encoded once, and pairs meet again by the length of their
targets. Cores work on batches of their own, each result depends on its batch alone.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from phrasescore.device import choose_device
from phrasescore.model.encoder_decoder import EncoderDecoder
from phrasescore.token_sequences import TokenSequences

Precision = Literal["auto", "fp32", "bf16"]
Rows = NDArray[np.int64]

_BATCH = {"cpu": 512, "cuda": 8192}


class Scorer:
    """Scores pairs with one model.

    Args:
        model: Its network, on any device.
        device: ``auto``, ``cpu`` or ``cuda``.
        precision: Of the recurrent products; the output layer and all sums are float32 or better.
            ``auto`` is float32, the reference.
        batch_size: Phrases at a time; ``None`` for the device's own.

    Attributes:
        device: Where it computes.
        precision: ``fp32`` or ``bf16``.
    """

    def __init__(
        self,
        model: EncoderDecoder,
        device: str = "auto",
        precision: Precision = "auto",
        batch_size: int | None = None,
    ) -> None:
        self.device = choose_device(device)
        self.precision = "bf16" if precision == "bf16" else "fp32"
        self._batch_size = batch_size or _BATCH[self.device.type]
        self._model = copy.deepcopy(model).to(self.device).eval()
        if self.precision == "bf16":
            for name, parameter in self._model.named_parameters():
                if name not in ("output_words", "output_bias"):
                    parameter.data = parameter.data.to(torch.bfloat16)
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
        firsts, source_of = _runs(sources)
        distinct = sources.select(firsts)
        contexts = torch.empty(len(firsts), H, dtype=self._model.source_embedding.dtype)
        ln_p = torch.empty(len(targets), dtype=torch.float64)

        def encode(rows: Rows) -> None:
            ids = _matrix(distinct.select(rows)).to(self.device)
            contexts[torch.from_numpy(rows)] = self._model.summaries(ids).cpu()

        def decode(rows: Rows) -> None:
            ids = _matrix(targets.select(rows)).to(self.device)
            context = contexts[torch.from_numpy(source_of[rows])].to(self.device)
            found = self._model.log_probabilities(context, ids)
            ln_p[torch.from_numpy(rows)] = found.sum(1, dtype=torch.float64).cpu()

        self._run(encode, distinct)
        self._run(decode, targets)
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


def _runs(phrases: TokenSequences) -> tuple[Rows, Rows]:
    """Return the first row of each run of equal phrases, and for each row the number of its run."""
    lengths = phrases.lengths
    new = np.ones(len(phrases), np.bool_)
    same_length = np.flatnonzero(lengths[1:] == lengths[:-1]) + 1
    for length in np.unique(lengths[same_length]):
        rows = same_length[lengths[same_length] == length]
        starts = phrases.offsets[rows][:, None] + np.arange(length)
        new[rows] = (phrases.tokens[starts] != phrases.tokens[starts - length]).any(1)
    return np.flatnonzero(new), np.cumsum(new) - 1
