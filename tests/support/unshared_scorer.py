"""ln p of pairs, each computed by the model itself: the reference for scores with shared work."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from phrasescore.model.device import Cores, choose_device, in_fitting_parts
from phrasescore.model.sequence_model import END, Batch, SequenceModel
from phrasescore.runs.results import SharedWork
from phrasescore.scoring.pair_order import steps_one_by_one
from phrasescore.words.token_sequences import TokenSequences, as_matrix

_BATCH = {"cpu": 512, "cuda": 8192}  # pairs at a time
Rows = NDArray[np.int64]


class UnsharedScorer:
    """Scores pairs with one model, each on its own.

    Args:
        model: Of any kind, on any device.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        batch_size: Pairs at a time; ``None`` for the default of the device.

    Attributes:
        device: The device that it computes on.
        precision: ``fp32``.
        work: The steps it has taken since it was made.
    """

    def __init__(
        self, model: SequenceModel, device: str = "auto", batch_size: int | None = None
    ) -> None:
        self.device = choose_device(device)
        self.precision = "fp32"
        self.work = SharedWork()
        self._batch_size = batch_size or _BATCH[self.device.type]
        self._model = copy.deepcopy(model).to(self.device).eval()
        threads = torch.get_num_threads() if self.device.type == "cpu" else 1
        self._cores = Cores(threads)

    def score(self, sources: TokenSequences, targets: TokenSequences) -> NDArray[np.float64]:
        """Return ln p(target and final </s> | source) of N pairs, ``(N,)``, in their order.

        Args:
            sources: ``N`` phrases of ids of the side the model reads, without </s>.
            targets: ``N`` phrases of ids of the side it predicts, without </s>.
        """
        ln_p = np.empty(len(targets), np.float64)

        def work(rows: Rows) -> None:
            read, _ = as_matrix(sources.select(rows), END)
            predicted, _ = as_matrix(targets.select(rows), END)
            batch = Batch(torch.from_numpy(read), torch.from_numpy(predicted), None, predicted.size)
            with torch.inference_mode():
                found = self._model.score(batch.to(self.device))
            ln_p[rows] = found.sum(1, dtype=torch.float64).cpu().numpy()

        batches = self._batches(sources.lengths, targets.lengths)
        list(self._cores.each(lambda rows: in_fitting_parts(work, rows), batches))
        self.work += steps_one_by_one(sources, targets)
        return ln_p

    def _batches(self, source_lengths: Rows, target_lengths: Rows) -> Iterator[Rows]:
        """Yield rows of equal lengths, a batch at a time, the longest first."""
        shapes = source_lengths * (int(target_lengths.max(initial=0)) + 1) + target_lengths
        for shape in np.unique(shapes)[::-1]:
            rows = np.flatnonzero(shapes == shape)
            yield from np.split(rows, range(self._batch_size, len(rows), self._batch_size))
