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
from numpy.typing import NDArray

from moses_integration.system_building.phrases.lexical_weights import LexicalTable
from moses_integration.system_building.phrases.pair_counts import MASK_BITS, PairCounts, SortedRun
from moses_integration.system_building.phrases.phrase_numbers import Phrases
from phrasescore.compiled import compiled

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
            counts = _occurrences(block)
            np.add.at(totals[0], _sources(block.pairs), counts)
            np.add.at(totals[1], _targets(block.pairs), counts)
    return totals


def _occurrences(counts: PairCounts) -> NDArray[np.int64]:
    """Return how often each row occurred, (rows,) int64."""
    occurrences: NDArray[np.int64] = counts.orientations[:, :3].sum(axis=1, dtype=np.int64)
    return occurrences


def _sources(pairs: NDArray[np.uint64]) -> NDArray[np.int64]:
    return (pairs >> np.uint64(32)).astype(np.int64)


def _targets(pairs: NDArray[np.uint64]) -> NDArray[np.int64]:
    return (pairs & np.uint64(0xFFFFFFFF)).astype(np.int64)


def summarise(counts: PairCounts, longest: int) -> PairSummaries:
    """Add up the alignments of each pair, and choose among them.

    Args:
        counts: Sorted and added up.
        longest: The most words of a phrase, which the alignments are laid out by.
    """
    pairs, firsts, sizes = np.unique(counts.pairs, return_index=True, return_counts=True)
    occurrences = _occurrences(counts)
    best, inverse_best = firsts.copy(), firsts.copy()
    several = np.flatnonzero(sizes > 1)
    group = np.repeat(several, sizes[several])
    rows = np.flatnonzero(np.repeat(sizes > 1, sizes))
    for chosen, by_source in ((best, False), (inverse_best, True)):
        lists = _partner_lists(counts.alignments[rows], longest, by_source=by_source)
        order = np.lexsort((lists, occurrences[rows], group))
        # of each pair the last: what was sorted before is overwritten
        chosen[group[order]] = rows[order]
    columns = [np.add.reduceat(counts.orientations[:, i], firsts, dtype=np.int64) for i in range(6)]
    return PairSummaries(
        _sources(pairs),
        _targets(pairs),
        np.add.reduceat(occurrences, firsts),
        np.stack(columns, axis=1),
        best,
        inverse_best,
    )


def _partner_lists(
    alignments: NDArray[np.uint64], longest: int, *, by_source: bool
) -> NDArray[np.bytes_]:
    """Return a text for each alignment, ordered as Moses orders alignments.

    Moses compares lists that hold, for each word, the ascending list of its partners. A text has a
    letter for each word and possible partner: 0 where the word's list has ended, so that a list is
    less than its continuations, 1 for a partner in the list, 2 for one that is not.

    Args:
        alignments: (rows, words), see ``PairCounts``.
        longest: The most words of a phrase.
        by_source: Whether the words are those of the source, their partners those of the target.
    """
    letters = np.zeros((len(alignments), longest, longest), np.uint8)
    for bit in range(longest * longest):
        target, source = divmod(bit, longest)
        word, partner = (source, target) if by_source else (target, source)
        linked = alignments[:, bit // MASK_BITS] >> np.uint64(bit % MASK_BITS) & np.uint64(1)
        letters[:, word, partner] = linked
    later = np.logical_or.accumulate(letters[:, :, ::-1] == 1, axis=2)[:, :, ::-1]
    letters[later & (letters == 0)] = 2
    size = longest * longest
    return letters.reshape(-1, size).view(f"S{size}").ravel()


def lexical_weights(
    counts: PairCounts,
    pairs: PairSummaries,
    phrases: tuple[Phrases, Phrases],
    tables: tuple[LexicalTable, LexicalTable],
    longest: int,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return lex(source | target) and lex(target | source) of each pair, (pairs,) float32 each.

    Args:
        counts: The rows that ``pairs`` refers to.
        pairs: The pairs.
        phrases: Their source and their target phrases.
        tables: p(target word | source word) by source word, and p(source word | target word) by
            target word.
        longest: The most words of a phrase, which the alignments are laid out by.
    """
    inverse, forward = (np.empty(len(pairs.sources), np.float32) for _ in range(2))
    source, target = (Words(side.ids, side.positions, side.lengths) for side in phrases)
    by_source, by_target = tables
    masks = counts.alignments
    _lexical_weights(masks, pairs.inverse_best, (source, target), (1, longest), by_target, inverse)
    _lexical_weights(masks, pairs.best, (target, source), (longest, 1), by_source, forward)
    return inverse, forward


class Words(NamedTuple):
    """The words of some phrases; see ``Phrases``."""

    ids: NDArray[np.int32]
    positions: NDArray[np.int32]
    lengths: NDArray[np.uint8]


@compiled
def _lexical_weights(
    masks: Any, rows: Any, sides: Any, steps: Any, table: Any, weights: Any
) -> None:
    """Score the words of one side given those of the other, in Moses's order of operations."""
    scored, given = sides
    for pair in range(len(rows)):
        product = 1.0
        for i in range(scored.lengths[pair]):
            word = scored.ids[scored.positions[pair] + i]
            total, links = 0.0, 0
            for j in range(given.lengths[pair] + 1):
                row = table.null
                if j < given.lengths[pair]:
                    bit = i * steps[0] + j * steps[1]
                    mask = masks[rows[pair], bit // MASK_BITS] >> np.uint64(bit % MASK_BITS)
                    if mask & np.uint64(1) == 0:
                        continue
                    row = np.int64(given.ids[given.positions[pair] + j])
                elif links > 0:
                    break
                total += _look_up(table, row, word)
                links += 1
            product *= total / links
        weights[pair] = product


@compiled
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
    """Return p(orientation | pair), (rows, 3) float64.

    Args:
        orientations: (rows, 3), how often monotone, swapped and other.

    >>> orientation_probabilities(np.array([[1, 0, 0]])).round(3).tolist()
    [[0.6, 0.2, 0.2]]
    """
    smoothed = orientations + _SMOOTHING
    probabilities: NDArray[np.float64] = smoothed / smoothed.sum(axis=1, keepdims=True)
    return probabilities
