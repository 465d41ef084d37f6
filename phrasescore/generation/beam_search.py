"""Beam search: the most probable targets of many sources at once.

The beam of each source holds ``size`` hypotheses. Each step fills the beam with the best
continuations of the source's prefixes. A hypothesis that ends with </s> stays in the beam, so fewer
unfinished hypotheses remain, as in the program of Bahdanau et al. (2014). A target must end at its
maximum length. If ``size`` is at least the number of possible targets, the search is exhaustive.

Each row of the arrays is a prefix, and the rows of a source are contiguous. If continuations have
equal ln p, the earlier row and the lower id win, so the targets do not depend on the grouping of
sources.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from phrasescore.compiled import compiled
from phrasescore.generation.targets import BeamSettings, Found, Prefixes, Rows, TargetSettings
from phrasescore.model.fast_math import LOWEST_KEY, order, unorder
from phrasescore.model.sequence_model import END

_BLOCK = 64  # number of words to skip at once if none is among the best so far


class BeamSearch(Prefixes):
    """The prefixes of a step; the prefixes of a source are neighbours.

    Args:
        settings: Settings of the search.
        allowed: The constraints on targets.
        numbers: (N,) indexes of the sources; a beam search does not use them.
        lengths: (N,) the number of words of each source.
    """

    def __init__(
        self, settings: BeamSettings, allowed: TargetSettings, numbers: Rows, lengths: Rows
    ) -> None:
        super().__init__(allowed, lengths, settings.best, normalised=settings.length_normalisation)
        self._settings = settings
        self._room = np.full(len(lengths), settings.size, np.int64)
        # ln p of finished targets
        self._finished = np.full((len(lengths), settings.size), -np.inf)

    def prepare(self) -> None:
        """Allocate arrays for the most probable words that follow each row."""
        super().prepare()
        rows, K = len(self._owners), self._settings.size
        self._wanted = self._room[self._owners]
        self._words = np.empty((rows, K), np.int64)
        self._gains = np.empty((rows, K), np.float32)

    def choose(self, a: int, b: int, ln_p: Tensor) -> None:
        """Find the most probable words of rows ``a`` to ``b - 1``."""
        part, ids = slice(a, b), None
        if ln_p.is_cuda:
            ids, ln_p = _candidates(ln_p, self._settings.size)
        near, words = ln_p.cpu().numpy(), self._words[part]
        near[self._early[part], END] = -np.inf
        best_words(near, self._wanted[part], self._ending[part], words, self._gains[part])
        if ids is not None:
            known = np.take_along_axis(ids, np.maximum(words, 0), axis=1)
            words[:] = np.where(words < 0, words, known)

    def extend(self) -> NDArray[np.int64]:
        """Select the most probable continuations; return the parent row of each unfinished one."""
        parents, words, sums = self._chosen()
        ended = words == END
        self._keep_ended(parents[ended], sums[ended])
        alive = ~ended
        owners = self._owners[parents]
        if not self._settings.length_normalisation:
            # ln p decreases with each word: drop a prefix if ``best`` finished targets beat it
            best = self._settings.best
            bound = -np.partition(-self._finished, best - 1, axis=1)[:, best - 1]
            alive &= sums > bound[owners]
        parents = parents[alive]
        self._go_on(parents, words[alive], sums[alive])
        return parents

    def _chosen(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return row, word and ln p of the best continuations, in the order of the sources."""
        alive, begins = np.unique(self._owners, return_index=True)
        begins = np.append(begins, len(self._owners))
        room = self._room[alive]
        chosen, sums = best_rows(begins, self._totals, self._words, self._gains, room)
        return chosen[:, 0], chosen[:, 1], sums

    def _keep_ended(self, rows: NDArray[np.int64], ln_p: NDArray[np.float64]) -> None:
        owners = self._owners[rows]
        ones = np.ones(len(rows), np.int64)
        self._found.append(Found(owners, self._prefixes[rows], ln_p, ones))
        before = np.arange(len(owners)) - np.searchsorted(owners, owners)
        self._finished[owners, self._settings.size - self._room[owners] + before] = ln_p
        np.subtract.at(self._room, owners, 1)


def _candidates(ln_p: Tensor, count: int) -> tuple[NDArray[np.int64], Tensor]:
    """Select, on a GPU, </s> and the ``count`` most probable other words; only these leave the GPU.

    Returns:
        ``(rows, C)`` the ids of these words in ascending order, </s> first, and ``(rows, C)`` their
        ln p.
    """
    others = ln_p[:, END + 1 :]
    best = others.topk(min(count, others.shape[1]), dim=1, sorted=False).indices
    ids = torch.cat([best.new_full((len(best), 1), END), best.sort(dim=1).values + 1], dim=1)
    return ids.cpu().numpy(), ln_p.gather(1, ids)


@compiled
def best_words(
    ln_p: NDArray[np.float32],
    counts: Rows,
    ending: NDArray[np.bool_],
    words: Rows,
    gains: NDArray[np.float32],
) -> None:
    """Find the most probable words of each row.

    Args:
        ln_p: ``(rows, V)`` float32, ln p of each word.
        counts: ``(rows,)`` the number of words to find.
        ending: ``(rows,)`` bool, true where only </s> is allowed.
        words: ``(rows, K)`` on return the ids, the most probable first, and then -1.
        gains: ``(rows, K)`` float32, on return their ln p.
    """
    rows, V = ln_p.shape
    for b in range(rows):
        row, kept, wanted = ln_p[b], 0, counts[b]
        words[b, :] = -1
        if ending[b]:
            words[b, 0], gains[b, 0] = END, row[END]
            continue
        lowest = np.float32(-np.inf)
        for first in range(0, V, _BLOCK):
            last = min(first + _BLOCK, V)
            highest = LOWEST_KEY
            # the maximum of a block is vectorised; once ``wanted`` words are kept, this maximum is
            # usually below ln p of the worst kept word, and the block is skipped
            for v in range(first, last):
                key = order(row[v])
                highest = key if key > highest else highest
            if not unorder(highest) > lowest:
                continue
            for v in range(first, last):
                x = row[v]
                if not x > lowest:
                    continue
                # insert the word; a word with equal ln p comes after earlier words
                place = kept if kept < wanted else wanted - 1
                while place > 0 and gains[b, place - 1] < x:
                    gains[b, place], words[b, place] = gains[b, place - 1], words[b, place - 1]
                    place -= 1
                gains[b, place], words[b, place] = x, v
                kept = min(kept + 1, wanted)
                if kept == wanted:
                    lowest = gains[b, wanted - 1]


@compiled
def best_rows(
    begins: Rows, totals: NDArray[np.float64], words: Rows, gains: NDArray[np.float32], room: Rows
) -> tuple[Rows, NDArray[np.float64]]:
    """Choose the best continuations of each source by merging the sorted words of its rows.

    Args:
        begins: ``(N + 1,)`` the rows of source n are begins[n] to begins[n + 1] - 1.
        totals: ``(rows,)`` float64 ln p of each prefix.
        words: ``(rows, K)`` continuations of each prefix, best first; -1 for none.
        gains: ``(rows, K)`` float32, ln p of each continuation.
        room: ``(N,)`` the number of continuations to choose for each source.

    Returns:
        ``(chosen, 2)`` the row and the word of each chosen continuation, the best continuation of a
        source first; and ``(chosen,)`` float64, ln p of each extended prefix.
    """
    K, count, places = words.shape[1], 0, room.sum()
    chosen, sums = np.empty((places, 2), np.int64), np.empty(places, np.float64)
    heads = np.zeros(len(totals), np.int64)  # for each row, how many of its words are chosen
    for source in range(len(begins) - 1):
        for _ in range(room[source]):
            best, best_row = -np.inf, -1
            for row in range(begins[source], begins[source + 1]):
                at = heads[row]
                if at < K and words[row, at] >= 0:
                    total = totals[row] + gains[row, at]
                    if total > best:
                        best, best_row = total, row
            if best_row < 0:
                break
            chosen[count, 0], chosen[count, 1] = best_row, words[best_row, heads[best_row]]
            sums[count] = best
            heads[best_row] += 1
            count += 1
    return chosen[:count], sums[:count]
