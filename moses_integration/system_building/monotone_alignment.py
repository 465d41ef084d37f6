"""Monotone alignment of characters: a stochastic edit distance that is learned from the pairs.

The model generates a pair of sequences from left to right by independent operations: write a source
and a target symbol together, a source symbol alone, or a target symbol alone. The probabilities of
the operations are estimated by expectation maximisation. Then the most probable sequence of
operations is found for each pair, and symbols that are written together are linked (Ristad and
Yianilos 1998, "Learning String-Edit Distance", sections 2.2 and 2.3).

Word aligners such as fast_align have no monotone model. In spelling, symbols keep their order, so
links that cross are errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from moses_integration.system_building.phrase_numbers import NumberedText
from phrasescore.compiled import borrowed, compiled
from phrasescore.errors import CorpusError
from phrasescore.runs.progress import Progress

_ROUNDS = 10
_NONE = 0  # "no symbol", in an operation that writes only one symbol; ids of symbols begin at 1
# before the first round, a pair of equal symbols is this many times as probable as another pair
_EQUAL = 100.0
# added to the expected count of every operation, so that none becomes impossible
_FLOOR = 1e-3
# a pair with a lower scaled probability is not learned from: its two lengths differ too much
_TOO_UNEVEN = 1e-200
_MAX_OPERATIONS = 50_000_000
_SIDE_BY_SIDE, _SOURCE_ALONE, _TARGET_ALONE = 0, 1, 2


def align_monotonically(
    source: NumberedText, target: NumberedText
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Align all pairs of sequences.

    Returns:
        The source and target positions of all links, shape (2, links), and offsets, shape
        (pairs + 1,): pair i has the links from offsets[i] up to, but not including, offsets[i + 1].

    Raises:
        CorpusError: There are too many distinct symbols for a table of all symbol pairs.
    """
    shape = len(source.words), len(target.words)
    if shape[0] * shape[1] > _MAX_OPERATIONS:
        raise CorpusError(
            f"{shape[0] - 1:,} and {shape[1] - 1:,} distinct words are too many for the aligner "
            "monotone, which is for characters",
            remedy="give --characters, or choose another --aligner",
        )
    counts = np.full(shape, 1.0)
    place = {word: number for number, word in enumerate(target.words)}
    for number, word in enumerate(source.words):
        if number != _NONE and word in place:
            counts[number, place[word]] = _EQUAL
    texts = source.ids, source.starts, target.ids, target.starts
    longest = int(source.lengths.max(initial=0)) + 1, int(target.lengths.max(initial=0)) + 1
    rooms = np.empty((2, *longest))
    with Progress("aligning (monotone)", unit="rounds") as progress:
        for _ in range(_ROUNDS):
            counts = _expected_counts(texts, counts / counts.sum(), rooms) + _FLOOR
            progress.advance(1)
    counts[_NONE, _NONE] = 1.0  # no operation; its logarithm is never read
    most_probable = np.log(counts / counts.sum())
    links = np.empty((2, int(np.minimum(source.lengths, target.lengths).sum())), np.int32)
    offsets = np.zeros(len(source) + 1, np.int64)
    _find_best(texts, most_probable, (rooms[0], np.empty(longest, np.uint8)), links, offsets)
    return links[:, : offsets[-1]].copy(), offsets


@compiled
def _expected_counts(texts: Any, prob: Any, rooms: Any) -> Any:
    """Return the expected count of each operation, computed by the forward-backward algorithm."""
    source_ids, source_starts, target_ids, target_starts = borrowed(texts)
    counts = np.zeros(prob.shape)
    scale = np.empty(rooms.shape[1])
    for pair in range(source_starts.size - 1):
        s = source_ids[source_starts[pair] : source_starts[pair + 1] - 1]
        t = target_ids[target_starts[pair] : target_starts[pair + 1] - 1]
        _go_forward(s, t, prob, rooms[0], scale)
        if rooms[0, s.size, t.size] > _TOO_UNEVEN:
            _count_backward(s, t, prob, rooms, scale, counts)
    return counts


@compiled
def _go_forward(s: Any, t: Any, prob: Any, forward: Any, scale: Any) -> None:
    """Fill in the probability of every pair of prefixes.

    Each row is divided by its sum, so that long sequences do not underflow; ``scale`` receives the
    sums.
    """
    for i in range(s.size + 1):
        scale[i] = 0.0
        for j in range(t.size + 1):
            value = 1.0 if i == 0 and j == 0 else 0.0
            if i > 0:
                value += forward[i - 1, j] * prob[s[i - 1], _NONE]
            if j > 0:
                value += forward[i, j - 1] * prob[_NONE, t[j - 1]]
            if i > 0 and j > 0:
                value += forward[i - 1, j - 1] * prob[s[i - 1], t[j - 1]]
            forward[i, j] = value
            scale[i] += value
        forward[i, : t.size + 1] /= scale[i]


@compiled
def _count_backward(s: Any, t: Any, prob: Any, rooms: Any, scale: Any, counts: Any) -> None:
    """Add the expected count of every operation; rows are scaled as in `_go_forward`."""
    forward, backward = rooms[0], rooms[1]
    n, m = s.size, t.size
    for i in range(n, -1, -1):
        for j in range(m, -1, -1):
            value = 1.0 / forward[n, m] if i == n and j == m else 0.0
            if i < n:
                after = backward[i + 1, j] * prob[s[i], _NONE] / scale[i + 1]
                counts[s[i], _NONE] += forward[i, j] * after
                value += after
            if j < m:
                after = backward[i, j + 1] * prob[_NONE, t[j]]
                counts[_NONE, t[j]] += forward[i, j] * after
                value += after
            if i < n and j < m:
                after = backward[i + 1, j + 1] * prob[s[i], t[j]] / scale[i + 1]
                counts[s[i], t[j]] += forward[i, j] * after
                value += after
            backward[i, j] = value


@compiled
def _find_best(texts: Any, log_prob: Any, rooms: Any, links: Any, offsets: Any) -> None:
    """Fill in the links on each pair's most probable path; if steps tie, a link is preferred."""
    source_ids, source_starts, target_ids, target_starts = borrowed(texts)
    best, how = borrowed(rooms)
    used = 0
    for pair in range(source_starts.size - 1):
        s = source_ids[source_starts[pair] : source_starts[pair + 1] - 1]
        t = target_ids[target_starts[pair] : target_starts[pair + 1] - 1]
        for i in range(s.size + 1):
            for j in range(t.size + 1):
                best[i, j] = 0.0 if i == 0 and j == 0 else -np.inf
                if i > 0 and j > 0:
                    best[i, j] = best[i - 1, j - 1] + log_prob[s[i - 1], t[j - 1]]
                    how[i, j] = _SIDE_BY_SIDE
                if i > 0 and best[i - 1, j] + log_prob[s[i - 1], _NONE] > best[i, j]:
                    best[i, j] = best[i - 1, j] + log_prob[s[i - 1], _NONE]
                    how[i, j] = _SOURCE_ALONE
                if j > 0 and best[i, j - 1] + log_prob[_NONE, t[j - 1]] > best[i, j]:
                    best[i, j] = best[i, j - 1] + log_prob[_NONE, t[j - 1]]
                    how[i, j] = _TARGET_ALONE
        found = _trace(how, s.size, t.size, links[:, used:])
        links[:, used : used + found] = links[:, used : used + found][:, ::-1].copy()
        used += found
        offsets[pair + 1] = used


@compiled
def _trace(how: Any, i: int, j: int, links: Any) -> int:
    """Write the links of the path to (i, j), the last link first; return the number of links."""
    found = 0
    while i > 0 or j > 0:
        step = how[i, j]
        if step != _TARGET_ALONE:
            i -= 1
        if step != _SOURCE_ALONE:
            j -= 1
        if step == _SIDE_BY_SIDE:
            links[0, found], links[1, found] = i, j
            found += 1
    return found
