"""Scores pairs with the model itself, without sharing work: the reference for the fast scorers."""

from __future__ import annotations

import copy

import numpy as np
import torch
from numpy.typing import NDArray

from phrasescore.model.sequence_model import Batch, SequenceModel
from phrasescore.words.token_sequences import TokenSequences, as_matrix

_BATCH = 512  # pairs at a time


class UnsharedScorer:
    """Scores pairs with one model, in batches of equal lengths."""

    def __init__(self, model: SequenceModel, device: str) -> None:
        self.device = torch.device(device)
        self._model = copy.deepcopy(model).to(self.device).eval()

    def score(self, sources: TokenSequences, targets: TokenSequences) -> NDArray[np.float64]:
        """Return ``(N,)`` ln p(target and final </s> | source) of N pairs, in input order."""
        ln_p = np.empty(len(targets), np.float64)
        shapes = np.stack([sources.lengths, targets.lengths])
        for shape in np.unique(shapes, axis=1).T:
            of_shape = np.flatnonzero((shapes == shape[:, None]).all(axis=0))
            for rows in np.split(of_shape, range(_BATCH, len(of_shape), _BATCH)):
                read, _ = as_matrix(sources.select(rows))
                predicted, _ = as_matrix(targets.select(rows))
                sides = torch.from_numpy(read), torch.from_numpy(predicted)
                with torch.inference_mode():
                    batch = Batch(*sides, None).to(self.device)
                    found = self._model.score(batch)
                ln_p[rows] = found.sum(1, dtype=torch.float64).cpu().numpy()
        return ln_p
