"""Ancestral sampling: draws targets word by word from the model, for many sources at once.

Samples of a source with the same prefix share a row, so each distinct prefix is computed once. The
random numbers of a source depend only on the seed and the index of the source, so the grouping of
sources does not change samples.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from phrasescore.compiled import compiled
from phrasescore.generation.targets import Found, Prefixes, Rows, SampleSettings, TargetSettings
from phrasescore.model.fast_math import LOWEST_KEY, exp, order, unorder
from phrasescore.model.sequence_model import END


class Sampling(Prefixes):
    """The distinct prefixes of a step, and the samples that have reached each prefix.

    The ln p of a target does not depend on the temperature: it is the ln p of the model.

    Args:
        settings: Settings of the draws.
        allowed: The constraints on targets. If ``<unk>`` is not allowed, the other words share its
            probability.
        numbers: (N,) the index of each source among all sources; it selects random numbers.
        lengths: (N,) the number of words of each source.
    """

    def __init__(
        self, settings: SampleSettings, allowed: TargetSettings, numbers: Rows, lengths: Rows
    ) -> None:
        super().__init__(allowed, lengths, settings.best, normalised=False)
        N, count = len(numbers), settings.count
        self._inverse = np.float32(1 / settings.temperature)
        self._seed, self._numbers = settings.seed, numbers
        # for each unfinished sample, its row and its index among all samples of the group
        self._rows, self._samples = np.repeat(np.arange(N), count), np.arange(N * count)
        self._count = count

    def prepare(self) -> None:
        """Allocate arrays for the words that are drawn for the samples."""
        super().prepare()
        length = self._prefixes.shape[1]
        self._begins = np.searchsorted(self._rows, np.arange(len(self._owners) + 1))
        self._drawn = np.empty(len(self._rows), np.int64)
        self._gains = np.empty(len(self._rows), np.float32)
        uniform = _uniform(self._numbers, self._count, self._seed, length)
        self._uniform = uniform[self._samples]

    def choose(self, a: int, b: int, found: Tensor) -> None:
        """Draw the words of the samples of rows ``a`` to ``b - 1``."""
        ln_p = found.cpu().numpy()
        ln_p[self._early[a:b], END] = -np.inf
        begins = self._begins[a : b + 1]
        part = slice(begins[0], begins[-1])
        drawn = self._drawn[part]
        begins = begins - begins[0]
        draw_words(ln_p, begins, self._uniform[part], self._ending[a:b], self._inverse, drawn)
        self._gains[part] = ln_p[self._rows[part] - a, drawn]

    def extend(self) -> NDArray[np.int64]:
        """Append each sample's word; return the parent row of each distinct unfinished prefix."""
        words = int(self._drawn.max()) + 1
        all_keys = self._rows * words + self._drawn
        keys, first, members, counts = np.unique(
            all_keys, return_index=True, return_inverse=True, return_counts=True
        )
        parents, last = keys // words, keys % words
        totals = self._totals[parents] + self._gains[first]
        owners, ended = self._owners[parents], last == END
        done = parents[ended]
        self._found.append(Found(owners[ended], self._prefixes[done], totals[ended], counts[ended]))
        alive = ~ended
        number = np.cumsum(alive) - 1
        going_on = alive[members]
        rows, samples = number[members[going_on]], self._samples[going_on]
        order = np.argsort(rows, kind="stable")
        self._rows, self._samples = rows[order], samples[order]
        parents = parents[alive]
        self._go_on(parents, last[alive], totals[alive])
        return parents


def _uniform(numbers: NDArray[np.int64], count: int, seed: int, step: int) -> NDArray[np.float64]:
    """Return (N * count,) random numbers in [0, 1) for one step of the samples of N sources.

    Philox is a counter-based generator. Step and source are part of the counter, so any random
    number can be computed without the numbers before it.
    """
    counters = ([0, step, int(number), 0] for number in numbers)
    sources = (np.random.Philox(key=seed, counter=counter) for counter in counters)
    return np.concatenate([np.random.Generator(source).random(count) for source in sources])


@compiled
def draw_words(
    ln_p: NDArray[np.float32],
    begins: Rows,
    numbers: NDArray[np.float64],
    ending: NDArray[np.bool_],
    inverse: float,
    drawn: Rows,
) -> None:
    """Draw a word for each sample from softmax(ln p / temperature).

    Args:
        ln_p: ``(rows, V)`` float32.
        begins: ``(rows + 1,)`` the samples of row b are begins[b] to begins[b + 1] - 1.
        numbers: ``(samples,)`` random numbers, uniform in [0, 1).
        ending: ``(rows,)`` bool, true if only </s> is allowed.
        inverse: 1 / temperature, float32.
        drawn: ``(samples,)`` on return, the word of each sample.
    """
    rows, V = ln_p.shape
    sums = np.empty(V)
    for b in range(rows):
        row = ln_p[b]
        if ending[b]:
            drawn[begins[b] : begins[b + 1]] = END
            continue
        highest = LOWEST_KEY
        for v in range(V):
            key = order(row[v])
            highest = key if key > highest else highest
        top, lowest = unorder(highest), np.float32(-np.inf)
        for v in range(V):
            p = exp((row[v] - top) * inverse)
            sums[v] = p if row[v] > lowest else np.float32(0.0)
        total, last = 0.0, 0
        for v in range(V):
            last = v if sums[v] > 0.0 else last
            total += sums[v]
            sums[v] = total
        for sample in range(begins[b], begins[b + 1]):
            # the first word whose cumulative sum exceeds the random number
            drawn[sample] = np.searchsorted(sums[:last], numbers[sample] * total, "right")
