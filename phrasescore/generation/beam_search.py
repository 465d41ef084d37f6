"""Beam search: the most probable targets of many sources at once.

Each source has ``size`` places. A step fills them with the best continuations of its prefixes; one
that ends with </s> keeps its place, so that the beam of those that go on narrows, as in the program
of Bahdanau et al. (2014). At its longest length a target must end. With as many places as there are
targets the search is exhaustive.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from phrasescore.generation.choosing import best_rows, best_words
from phrasescore.generation.model_rows import ModelRows
from phrasescore.generation.targets import BeamSettings, Found, Targets, TargetSettings, ranked
from phrasescore.model.sequence_model import END, StepModel
from phrasescore.words.token_sequences import TokenSequences


class BeamSearch:
    """Finds targets with one model.

    Args:
        settings: Of the search.
        allowed: Which targets are allowed.
    """

    def __init__(self, settings: BeamSettings, allowed: TargetSettings) -> None:
        self._settings, self._allowed = settings, allowed

    def targets(
        self, model: StepModel, sources: TokenSequences, numbers: NDArray[np.int64], chunk: int
    ) -> Targets:
        """Return the best targets of N sources.

        Args:
            model: In evaluation mode.
            sources: Of ids of the side that the model reads.
            numbers: (N,) the number of each among all sources; a search needs none.
            chunk: How many prefixes to take at a time.
        """
        lengths = sources.lengths
        beam = _Beam(self._allowed.limits(lengths), self._allowed.least(lengths), self._settings)
        ModelRows(model, self._allowed.unknown, chunk).search(sources, beam)
        normalised = self._settings.length_normalisation
        return ranked(
            beam.found, len(sources), self._settings.best, length_normalisation=normalised
        )


class _Beam:
    """The prefixes of a step, a row each; those of a source are neighbours."""

    def __init__(
        self, limits: NDArray[np.int64], least: NDArray[np.int64], settings: BeamSettings
    ) -> None:
        sources = len(limits)
        self._limits, self._least, self._settings = limits, least, settings
        self.found: list[Found] = []
        self._owners = np.arange(sources)
        self._totals = np.zeros(sources, np.float64)
        self._prefixes = np.empty((sources, 0), np.int32)
        self._room = np.full(sources, settings.size, np.int64)
        self._finished = np.full((sources, settings.size), -np.inf)  # ln p of what has ended

    @property
    def last_words(self) -> NDArray[np.int64]:
        """(rows,) the word that each row reads next."""
        return self._prefixes[:, -1].astype(np.int64)

    def prepare(self) -> None:
        """Make place for the words that follow each row."""
        rows, K = len(self._owners), self._settings.size
        self._most = self._room[self._owners]
        length = self._prefixes.shape[1]
        self._ending = self._limits[self._owners] <= length
        self._early = self._least[self._owners] > length  # must not end yet
        self._words = np.empty((rows, K), np.int64)
        self._gains = np.empty((rows, K), np.float32)

    def look(self, a: int, b: int, ln_p: Tensor) -> None:
        """Note the best words of rows ``a`` to ``b``."""
        part, ids = slice(a, b), None
        if ln_p.is_cuda:
            ids, ln_p = _candidates(ln_p, self._settings.size)
        near, words = ln_p.cpu().numpy(), self._words[part]
        near[self._early[part], END] = -np.inf
        best_words(near, self._most[part], self._ending[part], words, self._gains[part])
        if ids is not None:
            known = np.take_along_axis(ids, np.maximum(words, 0), axis=1)
            words[:] = np.where(words < 0, words, known)

    def extend(self) -> NDArray[np.int64]:
        """Choose the best continuations; return the row that each one that goes on came from."""
        parents, words, sums = self._chosen()
        ended = words == END
        self._keep_ended(parents[ended], sums[ended])
        alive = ~ended
        owners = self._owners[parents]
        if not self._settings.length_normalisation:
            # ln p only falls: what is below enough finished targets cannot come among the best
            best = self._settings.best
            bound = -np.partition(-self._finished, best - 1, axis=1)[:, best - 1]
            alive &= sums > bound[owners]
        parents, words = parents[alive], words[alive]
        self._owners, self._totals = owners[alive], sums[alive]
        self._prefixes = np.column_stack([self._prefixes[parents], words.astype(np.int32)])
        return parents

    def _chosen(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return row, word and ln p of the continuations chosen, those of a source together."""
        alive, begins = np.unique(self._owners, return_index=True)
        begins = np.append(begins, len(self._owners))
        room = self._room[alive]
        most = int(room.sum())
        chosen, sums = np.empty((most, 2), np.int64), np.empty(most, np.float64)
        heads = np.empty(len(self._owners), np.int64)
        given = begins, self._totals, self._words, self._gains, room, heads
        count = best_rows(*given, chosen, sums)
        return chosen[:count, 0], chosen[:count, 1], sums[:count]

    def _keep_ended(self, rows: NDArray[np.int64], ln_p: NDArray[np.float64]) -> None:
        owners = self._owners[rows]
        ones = np.ones(len(rows), np.int64)
        self.found.append(Found(owners, self._prefixes[rows], ln_p, ones))
        before = np.arange(len(owners)) - np.searchsorted(owners, owners)
        self._finished[owners, self._settings.size - self._room[owners] + before] = ln_p
        np.subtract.at(self._room, owners, 1)


def _candidates(ln_p: Tensor, most: int) -> tuple[NDArray[np.int64], Tensor]:
    """Return what the best ``most`` words of each row are among, so that a GPU hands over no more.

    Returns:
        ``(rows, C)`` their ids in ascending order, </s> first, and ``(rows, C)`` their ln p.
    """
    others = ln_p[:, END + 1 :]
    best = others.topk(min(most, others.shape[1]), dim=1, sorted=False).indices
    ids = torch.cat([best.new_full((len(best), 1), END), best.sort(dim=1).values + 1], dim=1)
    return ids.cpu().numpy(), ln_p.gather(1, ids)
