"""Compiled choices of a search: the best words of a row, the best rows of a source, draws.

Rows are prefixes; those of a source are neighbours. Ties go to the earlier row and the lower id, so
that a search gives the same targets however it is cut into groups.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phrasescore.compiled import compiled
from phrasescore.model.fast_math import exp, order, unorder
from phrasescore.model.sequence_model import END

_LEAST_KEY = np.int32(-0x80000000)
_BLOCK = 64  # words compared at once with the worst that is kept


@compiled
def best_words(ln_p: Any, most: Any, ending: Any, words: Any, gains: Any) -> None:
    """Find the most probable words of each row.

    Args:
        ln_p: ``(rows, V)`` float32.
        most: ``(rows,)`` how many to find.
        ending: ``(rows,)`` bool, where only </s> is allowed.
        words: ``(rows, K)`` their ids on return, the best first; -1 where there are fewer.
        gains: ``(rows, K)`` float32, their ln p.
    """
    rows, V = ln_p.shape
    for b in range(rows):
        row, kept, wanted = ln_p[b], 0, most[b]
        words[b, :] = -1
        if ending[b]:
            words[b, 0], gains[b, 0] = END, row[END]
            continue
        lowest = np.float32(-np.inf)
        for first in range(0, V, _BLOCK):
            last = min(first + _BLOCK, V)
            highest = _LEAST_KEY
            for v in range(first, last):
                key = order(row[v])
                highest = key if key > highest else highest
            if not unorder(highest) > lowest:
                continue
            for v in range(first, last):
                x = row[v]
                if not x > lowest:
                    continue
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
    begins: Any, totals: Any, words: Any, gains: Any, room: Any, heads: Any, chosen: Any, sums: Any
) -> int:
    """Choose the best continuations of each source, best first.

    Args:
        begins: ``(N + 1,)`` the rows of source n are begins[n] to begins[n + 1].
        totals: ``(rows,)`` float64 ln p of each prefix.
        words: ``(rows, K)`` continuations of each, the best first, -1 for none.
        gains: ``(rows, K)`` float32, their ln p.
        room: ``(N,)`` how many continuations to choose.
        heads: ``(rows,)`` int64 scratch.
        chosen: ``(any, 2)`` on return row and word of each.
        sums: ``(any,)`` float64, their ln p.

    Returns:
        How many were chosen.
    """
    K, count = words.shape[1], 0
    heads[:] = 0
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
    return count


@compiled
def draw_words(
    ln_p: Any, begins: Any, numbers: Any, ending: Any, inverse: float, sums: Any, drawn: Any
) -> None:
    """Draw a word for each sample from softmax(ln p / temperature).

    Args:
        ln_p: ``(rows, V)`` float32.
        begins: ``(rows + 1,)`` the samples of row b are begins[b] to begins[b + 1].
        numbers: ``(samples,)`` uniform in [0, 1).
        ending: ``(rows,)`` bool, where only </s> is allowed.
        inverse: 1 / temperature, float32.
        sums: ``(V,)`` float64 scratch.
        drawn: ``(samples,)`` the words on return.
    """
    rows, V = ln_p.shape
    for b in range(rows):
        row = ln_p[b]
        if ending[b]:
            drawn[begins[b] : begins[b + 1]] = END
            continue
        highest = _LEAST_KEY
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
            wanted = numbers[sample] * total
            low, high = 0, last
            while low < high:  # the first word whose sum is above what is wanted
                middle = (low + high) // 2
                if sums[middle] > wanted:
                    high = middle
                else:
                    low = middle + 1
            drawn[sample] = low
