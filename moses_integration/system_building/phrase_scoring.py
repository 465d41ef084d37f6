"""Scores of phrase pairs: relative frequencies and lexical weights, with Moses's rounding.

For a pair that was extracted n times, with a source phrase that was extracted n_s times and a
target phrase that was extracted n_t times, the scores are

    p(source | target) = n / n_t        lex(source | target)
    p(target | source) = n / n_s        lex(target | source)

lex(target | source) is a product over the target words. The factor of a target word is the mean of
p(target word | source word) over the source words linked to it, or p(target word | NULL) if it has
no link (Koehn, Och and Marcu 2003). The most frequent alignment of the pair is used. If several are
equally frequent, Moses takes the largest alignment; it compares alignments as lists of the source
positions of each target word. For lex(source | target) it compares lists of the target positions of
each source word, so the two directions may use different alignments.

Slices of pairs are scored on several threads and written in order. The tables do not depend on the
number of threads, the memory or the runs. Millions of lines share few different counts, relative
frequencies, orientations and alignments, so each distinct value is formatted only once. Lexical
weights hardly repeat, so each of them is formatted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from moses_integration.system_building.extraction import (
    MASK_BITS,
    PairCounts,
    SortedRun,
    merged_slices,
    rows_within,
    together,
)
from moses_integration.system_building.lexical_probabilities import LexicalTable
from moses_integration.system_building.phrase_numbers import PhraseNumbers
from phrasescore.compiled import borrowed, compiled
from phrasescore.runs.final_names import open_output
from phrasescore.runs.progress import Progress
from phrasescore.runs.stream import in_order
from phrasescore.table.line_assembly import ColumnTexts, Phrases, assembled_lines
from phrasescore.table.phrase_table import SEPARATOR
from phrasescore.words.word_table import as_array

# Moses prints counts of at least this size with an exponent and six digits, and divides the printed
# numbers
_ROUNDED_COUNT = 1_000_000
_SMOOTHING = 0.5  # added to each count of an orientation, as in train-model.perl
_END = b"\0"
# a lookup table is faster than sorting if it has at most this many entries per row
_PLACES_A_ROW = 8
_AT_ONCE = 1 << 14
_SPACE = b" "
# empty columns for sparse features and properties, as Moses writes them
_PHRASE_TABLE_END = b" ||| |||\n"
# the memory to score a row, as a multiple of its record's size; most of this memory holds lines
_SCORING_COPIES = 5

# the text of each side, and the numbers of its phrases
_Sides: TypeAlias = tuple[tuple[Phrases, PhraseNumbers], tuple[Phrases, PhraseNumbers]]
# the result for a slice of pairs: the lines of both tables, how many pairs, and how many records
_Scored: TypeAlias = tuple[list[memoryview], list[memoryview], int, int]


class PairSummaries(NamedTuple):
    """One row for each distinct pair, in the order of table lines.

    Args:
        sources: (pairs,) int64, the indexes of the source phrases.
        targets: (pairs,) int64, the indexes of the target phrases.
        counts: (pairs,) int64, how often each pair occurred.
        orientations: (pairs, 6) int64, the sums over all alignments.
        best: (pairs,) int64, the row of the alignment that the phrase table shows.
        inverse_best: (pairs,) int64, the row of the alignment that lex(source | target) uses.
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    counts: NDArray[np.int64]
    orientations: NDArray[np.int64]
    best: NDArray[np.int64]
    inverse_best: NDArray[np.int64]


def count_targets(runs: Sequence[SortedRun], targets: int) -> NDArray[np.uint32]:
    """Count how often each target phrase was extracted.

    Args:
        runs: The runs with all counts.
        targets: The number of target phrases.

    Returns:
        The count of each target phrase, (targets,) uint32.
    """
    totals = np.zeros(targets, np.uint32)
    for run in runs:
        for block in run.blocks():
            np.add.at(totals, _targets(block.pairs), _occurrences(block).astype(np.uint32))
    return totals


def source_counts(pairs: PairSummaries) -> NDArray[np.int64]:
    """Return the count of each pair's source phrase; all pairs of a source must be given."""
    firsts = np.flatnonzero(np.diff(pairs.sources, prepend=-1))
    sizes = np.diff(firsts, append=len(pairs.sources))
    return np.repeat(np.add.reduceat(pairs.counts, firsts), sizes)


def _occurrences(counts: PairCounts) -> NDArray[np.int64]:
    """Return how often each row occurred, (rows,) int64."""
    return counts.orientations[:, :3].sum(axis=1, dtype=np.int64)


def _targets(pairs: NDArray[np.uint64]) -> NDArray[np.int64]:
    return (pairs & np.uint64(0xFFFFFFFF)).astype(np.int64)


def summarise(counts: PairCounts, longest: int) -> PairSummaries:
    """Add up the counts of each pair over its alignments, and choose among the alignments.

    Args:
        counts: The rows, sorted and added up.
        longest: The maximum number of words of a phrase, which determines the order of the bits.
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
        # numpy keeps the last assignment: the largest of the pair's most frequent alignments
        chosen[group[order]] = rows[order]
    columns = [np.add.reduceat(counts.orientations[:, i], firsts, dtype=np.int64) for i in range(6)]
    return PairSummaries(
        (pairs >> np.uint64(32)).astype(np.int64),
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

    The partners of a word are the words linked to it. For each word, Moses compares the ascending
    list of its partners. A text has a letter for each word and each possible partner: 1 if the
    partner is in the list, 2 if it is not, and 0 after the last partner in the list, so that a list
    sorts before its continuations.

    Args:
        alignments: The links as bits, see ``PairCounts``.
        longest: The maximum number of words of a phrase.
        by_source: Whether the text lists the partners of source words; otherwise of target words.
    """
    letters = _bits(alignments, longest).reshape(-1, longest, longest)  # target, then source
    if by_source:
        letters = np.ascontiguousarray(letters.swapaxes(1, 2))
    later = np.logical_or.accumulate(letters[:, :, ::-1] == 1, axis=2)[:, :, ::-1]
    letters[later & (letters == 0)] = 2
    size = longest * longest
    return letters.reshape(-1, size).view(f"S{size}").ravel()


def _bits(alignments: NDArray[np.uint64], longest: int) -> NDArray[np.uint8]:
    """Return (rows, longest * longest) uint8: each bit of the alignments, see ``PairCounts``."""
    octets = np.ascontiguousarray(alignments, "<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=longest * longest, bitorder="little")


@compiled
def lexical_weights(
    masks: NDArray[np.uint64],
    scored: Phrases,
    given: Phrases,
    steps: tuple[int, int],
    table: LexicalTable,
) -> NDArray[np.float32]:
    """Return lex(scored | given) of each pair, (pairs,) float32, in Moses's order of operations.

    Args:
        masks: The links of each pair as bits, see ``PairCounts``.
        scored: The phrases of one side.
        given: The phrases of the other side.
        steps: How many bits further the next scored word and the next given word are.
        table: p(scored word | given word) by given word.
    """
    masks, scored, given, steps, table = borrowed((masks, scored, given, steps, table))
    weights = np.empty(len(masks), np.float32)
    for pair in range(len(masks)):
        product = 1.0
        for i in range(scored.lengths[pair]):
            word = scored.ids[scored.positions[pair] + i]
            total, links = 0.0, 0
            for j in range(given.lengths[pair] + 1):
                row = table.null
                if j < given.lengths[pair]:
                    bit = i * steps[0] + j * steps[1]
                    mask = masks[pair, bit // MASK_BITS] >> np.uint64(bit % MASK_BITS)
                    if mask & np.uint64(1) == 0:
                        continue
                    row = np.int64(given.ids[given.positions[pair] + j])
                elif links > 0:
                    break
                total += _look_up(table, row, word)
                links += 1
            product *= total / links
        weights[pair] = product
    return weights


@compiled
def _look_up(table: LexicalTable, row: int, column: int) -> float:
    """Find an entry by binary search; return 1 if it is missing, as in Moses."""
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
    """Return the counts that Moses reads back after printing them with six digits."""
    printed = counts.astype(np.float32)
    for place in np.flatnonzero(counts >= _ROUNDED_COUNT):
        printed[place] = np.float32(f"{counts[place]:.6g}")
    return printed


def orientation_probabilities(orientations: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return p(orientation | pair), (rows, 3) float64.

    Args:
        orientations: (rows, 3), the counts of monotone, swapped and other.

    >>> orientation_probabilities(np.array([[1, 0, 0]])).round(3).tolist()
    [[0.6, 0.2, 0.2]]
    """
    smoothed = orientations + _SMOOTHING
    return smoothed / smoothed.sum(axis=1, keepdims=True)


def distinct_rows(*columns: NDArray[Any]) -> tuple[list[NDArray[Any]], NDArray[np.int64]]:
    """Return the distinct rows of non-negative integer columns, and each row's index among them.

    >>> distinct_rows(np.array([1, 2, 1]), np.array([7, 5, 7]))
    ([array([1, 2]), array([7, 5])], array([0, 1, 0]))
    """
    kept: list[NDArray[Any]] = []
    rows = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, codes = _distinct(column)
        both, rows = _distinct(rows * len(values) + codes)
        before, last = np.divmod(both, max(len(values), 1))
        kept = [*(part[before] for part in kept), values[last]]
    return kept, rows


def _distinct(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct values, ascending, and the index in them of each given value."""
    if int(values.max(initial=0)) > _PLACES_A_ROW * len(values):
        return np.unique(values, return_inverse=True)
    occurs = np.zeros(int(values.max(initial=0)) + 1, np.bool_)
    occurs[values] = True
    return np.flatnonzero(occurs).astype(values.dtype), (np.cumsum(occurs) - 1)[values]


def number_texts(values: NDArray[Any], end: bytes, rows: NDArray[np.int64]) -> ColumnTexts:
    r"""Format numbers as C++ streams do, with six significant digits, without trailing zeros.

    Args:
        values: (texts,) one number per text, or (texts, n) numbers, separated by spaces.
        end: The bytes after the last number.
        rows: For each row, the index of its text.

    >>> texts = number_texts(np.array([[0.5, 8.42632e-07]]), b" |", np.zeros(9, np.int64))
    >>> bytes(texts.characters)
    b'0.5 8.42632e-07 |\x00'
    """
    numbers = values if values.ndim > 1 else values[:, None]
    layout = b" ".join([b"%.6g"] * numbers.shape[1]) + end + _END
    parts = (numbers[first : first + _AT_ONCE] for first in range(0, len(values), _AT_ONCE))
    texts = (layout * len(part) % tuple(part.ravel().tolist()) for part in parts)
    return _ended(b"".join(texts), rows)


def link_texts(alignments: NDArray[np.uint64], longest: int, end: bytes) -> ColumnTexts:
    """Format alignments as ``0-0 1-2 ``, source position first, in the order of target words.

    Args:
        alignments: The links as bits, see ``PairCounts``.
        longest: The maximum number of words of a phrase, which determines the order of the bits.
        end: The bytes after each alignment.
    """
    masks, rows = distinct_rows(*alignments.T)
    bits = _bits(np.stack(masks, axis=1), longest)
    parts = np.pad(bits, ((0, 0), (0, 1)), constant_values=1)  # the last column is ``end``
    spelt = [b"%d-%d " % (bit % longest, bit // longest) for bit in range(longest * longest)]
    chosen = map([*spelt, end + _END].__getitem__, np.nonzero(parts)[1].tolist())
    return _ended(b"".join(chosen), rows)


def _ended(texts: bytes, rows: NDArray[np.int64]) -> ColumnTexts:
    """Find the bounds of concatenated texts that each end with an end mark."""
    characters = as_array(texts)
    ends = np.flatnonzero(characters == _END[0])
    return ColumnTexts(characters, np.append(0, ends + 1)[:-1], ends, rows)


def phrase_table_lines(
    sides: tuple[Phrases, Phrases],
    counts: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    lexical: tuple[NDArray[np.float32], NDArray[np.float32]],
    links: ColumnTexts,
) -> Iterator[memoryview]:
    """Yield blocks of ``source ||| target ||| four scores ||| links ||| three counts`` lines.

    Args:
        sides: The source phrase and the target phrase of each line.
        counts: The counts of each pair, of its source phrase, and of its target phrase.
        lexical: lex(source | target) and lex(target | source) of each pair.
        links: The column of links.
    """
    joint, source, target = counts
    lines = np.arange(len(joint))
    columns = (
        _frequencies(joint, target),
        number_texts(lexical[0], _SPACE, lines),
        _frequencies(joint, source),
        number_texts(lexical[1], SEPARATOR, lines),
        links,
        _counts(target, _SPACE),
        _counts(source, _SPACE),
        _counts(joint, _PHRASE_TABLE_END),
    )
    return assembled_lines(sides, SEPARATOR, columns)


def _frequencies(counts: NDArray[np.int64], totals: NDArray[np.int64]) -> ColumnTexts:
    (few_counts, few_totals), rows = distinct_rows(counts, totals)
    return number_texts(printed_counts(few_counts) / printed_counts(few_totals), _SPACE, rows)


def _counts(counts: NDArray[np.int64], end: bytes) -> ColumnTexts:
    (few,), rows = distinct_rows(counts)
    return number_texts(printed_counts(few), end, rows)


def reordering_table_lines(
    sides: tuple[Phrases, Phrases], orientations: NDArray[np.int64]
) -> Iterator[memoryview]:
    """Yield blocks of ``source ||| target ||| six probabilities`` lines.

    Args:
        sides: The source phrase and the target phrase of each line.
        orientations: (lines, 6), the counts of monotone, swapped and other, first towards the
            previous phrase, then towards the next phrase.
    """
    columns = []
    for first, end in ((0, _SPACE), (3, b"\n")):
        few, rows = distinct_rows(*orientations.T[first : first + 3])
        columns.append(number_texts(orientation_probabilities(np.stack(few, axis=1)), end, rows))
    return assembled_lines(sides, SEPARATOR, columns)


def write_tables(
    sides: _Sides,
    lexical: tuple[LexicalTable, LexicalTable],
    runs: Sequence[SortedRun],
    outputs: Sequence[Path],
    *,
    threads: int,
    memory: int,
) -> dict[str, int]:
    """Score all pairs; write the phrase table and, if requested, the reordering table.

    The lines of both tables are in byte order.

    Args:
        sides: The source and the target side, and the numbers of their phrases.
        lexical: p(target word | source word), and p(source word | target word).
        runs: The runs with all counts.
        outputs: The phrase table, and the reordering table if one is needed.
        threads: The number of threads.
        memory: The number of bytes for sorting.

    Returns:
        How many distinct pairs the tables have, and how often these pairs occurred in all.
    """
    longest = sides[0][1].longest
    totals = count_targets(runs, len(sides[1][1]))
    waiting = threads + 1
    rows = rows_within(memory // (_SCORING_COPIES * waiting), longest)
    pairs = 0
    with (
        ExitStack() as stack,
        Progress("scoring phrase pairs", sum(map(len, runs)), "records") as progress,
        ThreadPoolExecutor(threads) as executor,
    ):
        tables = [stack.enter_context(open_output(output)) for output in outputs]
        slices = merged_slices(runs, rows)
        submitted = (
            executor.submit(_score_slice, sides, lexical, totals, pieces) for pieces in slices
        )
        for lines, reordering_lines, scored, records in in_order(submitted, waiting):
            for table, written in zip(tables, (lines, reordering_lines), strict=False):
                table.writelines(written)
            pairs += scored
            progress.advance(records)
    return {"phrase_pairs": pairs, "occurrences": int(totals.sum(dtype=np.int64))}


def _score_slice(
    sides: _Sides,
    lexical: tuple[LexicalTable, LexicalTable],
    totals: NDArray[np.uint32],
    pieces: Sequence[PairCounts],
) -> _Scored:
    """Score the pairs of one slice; all other arguments are shared by threads and only read."""
    counts = together(pieces)
    (source_text, sources), (target_text, targets) = sides
    longest = sources.longest
    pairs = summarise(counts, longest)
    phrases = sources.chosen(source_text, pairs.sources), targets.chosen(target_text, pairs.targets)
    source, target = phrases
    by_source, by_target = lexical
    links, inverse_links = counts.alignments[pairs.best], counts.alignments[pairs.inverse_best]
    weights = (
        lexical_weights(inverse_links, source, target, (1, longest), by_target),
        lexical_weights(links, target, source, (longest, 1), by_source),
    )
    occurrences = pairs.counts, source_counts(pairs), totals[pairs.targets].astype(np.int64)
    shown = link_texts(links, longest, SEPARATOR.lstrip())
    return (
        [*phrase_table_lines(phrases, occurrences, weights, shown)],
        [*reordering_table_lines(phrases, pairs.orientations)],
        len(pairs.sources),
        sum(len(piece.pairs) for piece in pieces),
    )
