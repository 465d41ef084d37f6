"""The scores of phrase pairs: relative frequencies and lexical weights, with Moses's rounding.

For a pair that was extracted n times, whose source phrase was extracted n_s and whose target
phrase n_t times, the scores are

    p(source | target) = n / n_t        lex(source | target)
    p(target | source) = n / n_s        lex(target | source)

lex(target | source) is the product, over target words, of the mean of p(target word | source word)
over the linked source words, or p(target word | NULL) without a link (Koehn, Och and Marcu 2003).
It is computed on the most frequent alignment of the pair; among equally frequent ones Moses takes
the largest, comparing them as lists that hold for each target word its source positions. The
other direction compares them as lists over source words, so it may use another alignment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moses_integration.system_building.phrases.external_sort import SortedRun
from moses_integration.system_building.phrases.lexical_weights import LexicalTable
from moses_integration.system_building.phrases.pair_counts import MASK_BITS, PairCounts
from moses_integration.system_building.phrases.phrase_numbers import PhraseNumbers, Phrases

# from here on, Moses prints counts with an exponent and six digits, and divides what it printed
_ROUNDED_COUNT = 1_000_000
_SMOOTHING = 0.5  # train-model.perl's: added to each count of an orientation


class PairSummaries(NamedTuple):
    """One row for each distinct pair, in the order of table lines.

    Args:
        sources: (pairs,) int64, the numbers of the source phrases.
        targets: (pairs,) int64, the numbers of the target phrases.
        counts: (pairs,) int64, occurrences.
        orientations: (pairs, 6) int64, the sums over all alignments.
        best: (pairs,) int64, the row of the alignment that is kept.
        inverse_best: (pairs,) int64, the row of the alignment that lex(source | target) uses.
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    counts: NDArray[np.int64]
    orientations: NDArray[np.int64]
    best: NDArray[np.int64]
    inverse_best: NDArray[np.int64]


def count_phrases(runs: Sequence[SortedRun], sources: int, targets: int) -> list[NDArray[np.int64]]:
    """Count how often each source and each target phrase was extracted.

    Args:
        runs: All counts.
        sources: The number of source phrases.
        targets: The number of target phrases.

    Returns:
        (sources,) int64 and (targets,) int64.
    """
    totals = [np.zeros(sources, np.int64), np.zeros(targets, np.int64)]
    for run in runs:
        for block in run.blocks():
            _count_phrases(block.pairs, block.orientations, *totals)
    return totals


@njit(cache=True, nogil=True)
def _count_phrases(pairs: Any, orientations: Any, sources: Any, targets: Any) -> None:
    for row in range(len(pairs)):
        count = _occurrences(orientations, row)
        sources[pairs[row] >> np.uint64(32)] += count
        targets[pairs[row] & np.uint64(0xFFFFFFFF)] += count


@njit(cache=True, nogil=True)
def _occurrences(orientations: Any, row: int) -> int:
    return (
        np.int64(orientations[row, 0])
        + np.int64(orientations[row, 1])
        + np.int64(orientations[row, 2])
    )


def summarise(counts: PairCounts, source: PhraseNumbers, target: PhraseNumbers) -> PairSummaries:
    """Add up the alignments of each pair, and choose among them.

    Args:
        counts: Sorted and added up.
        source: The source phrases.
        target: The target phrases.
    """
    pairs, firsts = np.unique(counts.pairs, return_index=True)
    out = PairSummaries(
        (pairs >> np.uint64(32)).astype(np.int64),
        (pairs & np.uint64(0xFFFFFFFF)).astype(np.int64),
        np.zeros(len(pairs), np.int64),
        np.zeros((len(pairs), 6), np.int64),
        np.empty(len(pairs), np.int64),
        np.empty(len(pairs), np.int64),
    )
    ends = np.append(firsts[1:], len(counts.pairs))
    lengths = (source.length[out.sources], target.length[out.targets])
    _summarise(counts, (firsts, ends), lengths, source.longest, out)
    return out


@njit(cache=True, nogil=True)
def _summarise(counts: Any, groups: Any, lengths: Any, longest: int, out: Any) -> None:
    firsts, ends = groups
    source_lengths, target_lengths = lengths
    for pair in range(len(out.sources)):
        first, end = firsts[pair], ends[pair]
        best, inverse_best, most = first, first, 0
        for row in range(first, end):
            count = _occurrences(counts.orientations, row)
            out.counts[pair] += count
            for column in range(6):
                out.orientations[pair, column] += counts.orientations[row, column]
            if count > most:
                best, inverse_best, most = row, row, count
            elif count == most:
                source_length, target_length = source_lengths[pair], target_lengths[pair]
                masks = counts.alignments
                # bit t * longest + s: by target words, and by source words
                if _less(masks[best], masks[row], target_length, source_length, longest, 1):
                    best = row
                if _less(masks[inverse_best], masks[row], source_length, target_length, 1, longest):
                    inverse_best = row
        out.best[pair], out.inverse_best[pair] = best, inverse_best


@njit(cache=True, nogil=True)
def _linked(mask: Any, bit: int) -> bool:
    return (mask[bit // MASK_BITS] >> np.uint64(bit % MASK_BITS)) & np.uint64(1) == np.uint64(1)


@njit(cache=True, nogil=True)
def _less(one: Any, other: Any, words: int, partners: int, word_step: int, step: int) -> bool:
    """Compare alignments as lists that hold, for each word, the ascending list of its partners."""
    for word in range(words):
        for partner in range(partners):
            bit = word * word_step + partner * step
            if _linked(one, bit) == _linked(other, bit):
                continue
            # equal up to here; who has this partner is less, unless the other's list has ended
            shorter = other if _linked(one, bit) else one
            ended = True
            for later in range(partner + 1, partners):
                ended = ended and not _linked(shorter, word * word_step + later * step)
            one_has_it = _linked(one, bit)
            return one_has_it != ended
    return False


def lexical_weights(
    counts: PairCounts,
    pairs: PairSummaries,
    phrases: tuple[Phrases, Phrases],
    tables: tuple[LexicalTable, LexicalTable],
    longest: int,
) -> NDArray[np.float32]:
    """Return lex(source | target) and lex(target | source) of each pair, (pairs, 2) float32.

    Args:
        counts: The rows that ``pairs`` refers to.
        pairs: The pairs.
        phrases: Their source and their target phrases.
        tables: p(target word | source word) by source word, and p(source word | target word) by
            target word.
        longest: The most words of a phrase, which the alignments are laid out by.
    """
    source, target = phrases
    by_source, by_target = tables
    weights = np.empty((len(pairs.sources), 2), np.float32)
    masks = counts.alignments
    _lexical_weights(
        masks, pairs.inverse_best, source, target, (1, longest), by_target, weights[:, 0]
    )
    _lexical_weights(masks, pairs.best, target, source, (longest, 1), by_source, weights[:, 1])
    return weights


@njit(cache=True, nogil=True)
def _lexical_weights(
    masks: Any, rows: Any, scored: Any, given: Any, steps: Any, table: Any, weights: Any
) -> None:
    """Score the words of one side given those of the other, in Moses's order of operations."""
    scored_step, given_step = steps
    for pair in range(len(rows)):
        mask = masks[rows[pair]]
        product = 1.0
        for i in range(scored.lengths[pair]):
            word = scored.ids[scored.positions[pair] + i]
            total, links = 0.0, 0
            for j in range(given.lengths[pair]):
                if _linked(mask, i * scored_step + j * given_step):
                    total += _look_up(table, given.ids[given.positions[pair] + j], word)
                    links += 1
            if links > 0:
                product *= total / links
            else:
                product *= _look_up(table, table.null, word)
        weights[pair] = product


@njit(cache=True, nogil=True)
def _look_up(table: Any, row: int, column: int) -> float:
    """Find an entry; as in Moses, what is not there does not count against a pair."""
    low, high = table.starts[row], table.starts[row + 1]
    while low < high:
        middle = (low + high) // 2
        if table.columns[middle] < column:
            low = middle + 1
        else:
            high = middle
    if low < table.starts[row + 1] and table.columns[low] == column:
        return table.prob[low]
    return 1.0


def printed_counts(counts: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return counts as Moses reads them back after it has printed them with six digits."""
    printed = counts.astype(np.float32)
    for place in np.flatnonzero(counts >= _ROUNDED_COUNT):
        printed[place] = np.float32(f"{counts[place]:.6g}")
    return printed


def orientation_probabilities(orientations: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return p(orientation | pair), (pairs, 6) float64, in the order of the table's columns.

    Args:
        orientations: (pairs, 6), how often monotone, swapped and other, towards the phrase before
            and then towards the phrase behind.

    >>> orientation_probabilities(np.array([[1, 0, 0, 0, 0, 1]])).round(3).tolist()
    [[0.6, 0.2, 0.2, 0.2, 0.2, 0.6]]
    """
    smoothed = orientations.reshape(-1, 2, 3) + _SMOOTHING
    probabilities: NDArray[np.float64] = smoothed / smoothed.sum(axis=2, keepdims=True)
    return probabilities.reshape(-1, 6)
