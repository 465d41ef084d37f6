"""The lines of the phrase table and the reordering table, from slices of the extracted pairs.

Slices are scored on several threads and written in order. The tables do not depend on the number of
threads, the memory or the runs.

A compiled loop assembles the lines. Millions of lines share few different counts, relative
frequencies, orientations and alignments, so each distinct value is formatted once. Lexical weights
hardly repeat, and are formatted line by line.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from moses_integration.system_building.phrases.extraction import (
    MASK_BITS,
    PairCounts,
    SortedRun,
    merged_slices,
    rows_within,
    together,
)
from moses_integration.system_building.phrases.phrase_numbers import Phrases, PhraseTexts
from moses_integration.system_building.phrases.phrase_scoring import (
    LexicalTable,
    count_targets,
    lexical_weights,
    orientation_probabilities,
    printed_counts,
    source_counts,
    summarise,
)
from phrasescore.compiled import borrowed, compiled, inlined
from phrasescore.runs.final_names import open_output
from phrasescore.runs.progress import Progress
from phrasescore.table.phrase_table import SEPARATOR
from phrasescore.words.word_table import as_array

_END = b"\0"
# up to this many times as many places as rows, a lookup table is faster than sorting
_PLACES_A_ROW = 8
_AT_ONCE = 1 << 14
_SPACE = b" "
# empty columns for sparse features and properties, as Moses writes them
_PHRASE_TABLE_END = b" ||| |||\n"
# memory of a row while it is scored, as a multiple of its record: the lines take most of it
_SCORING_COPIES = 5

# the lines of both tables for a slice of pairs, how many pairs, and of how many records
_Scored: TypeAlias = tuple[memoryview, memoryview, int, int]


class ColumnTexts(NamedTuple):
    """One column of a table, or several beside each other.

    Args:
        characters: uint8, all texts, with one byte between two.
        begins: (texts,) int64, where each begins.
        ends: (texts,) int64, the byte after its last.
        rows: (rows,) int64, which of them each row has.
    """

    characters: NDArray[np.uint8]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    rows: NDArray[np.int64]


def distinct_rows(*columns: NDArray[Any]) -> tuple[list[NDArray[Any]], NDArray[np.int64]]:
    """Return the distinct rows of columns of whole numbers from 0, and the number of each row.

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
    """Return the distinct values, ascending, and which one each is."""
    if int(values.max(initial=0)) > _PLACES_A_ROW * len(values):
        distinct, codes = np.unique(values, return_inverse=True)
        return distinct, codes
    occurs = np.zeros(int(values.max(initial=0)) + 1, np.bool_)
    occurs[values] = True
    return np.flatnonzero(occurs).astype(values.dtype), (np.cumsum(occurs) - 1)[values]


def number_texts(values: NDArray[Any], end: bytes, rows: NDArray[np.int64]) -> ColumnTexts:
    r"""Format numbers as C++ streams do, with six significant digits, without trailing zeros.

    Args:
        values: (texts,) one number each, or (texts, n) numbers with a space between two.
        end: What follows the last number.
        rows: Which text each row has.

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
    """Spell alignments as ``0-0 1-2 ``, source position first, in the order of target words.

    Args:
        alignments: (rows, words) the links as bits, see ``PairCounts``.
        longest: The most words of a phrase, which the bits are laid out by.
        end: What follows each alignment.
    """
    masks, rows = distinct_rows(*alignments.T)
    bits = longest * longest
    parts = np.ones((len(masks[0]), bits + 1), np.bool_)  # the last one is the end
    for bit in range(bits):
        mask = masks[bit // MASK_BITS] >> np.uint64(bit % MASK_BITS)
        parts[:, bit] = mask & np.uint64(1)
    spelt = [b"%d-%d " % (bit % longest, bit // longest) for bit in range(bits)] + [end + _END]
    return _ended(b"".join(map(spelt.__getitem__, np.nonzero(parts)[1].tolist())), rows)


def _ended(texts: bytes, rows: NDArray[np.int64]) -> ColumnTexts:
    """Find the bounds of concatenated texts, each with its end mark."""
    characters = as_array(texts)
    ends = np.flatnonzero(characters == _END[0])
    begins = np.zeros(len(ends), np.int64)
    begins[1:] = ends[:-1] + 1
    return ColumnTexts(characters, begins, ends, rows)


def phrase_table_lines(
    sides: tuple[Phrases, Phrases],
    counts: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    lexical: tuple[NDArray[np.float32], NDArray[np.float32]],
    alignments: NDArray[np.uint64],
    longest: int,
) -> memoryview:
    """Write ``source ||| target ||| four scores ||| links ||| three counts ||| |||`` lines.

    Args:
        sides: The source and the target phrases, one per line.
        counts: How often each pair was extracted, its source phrase, and its target phrase.
        lexical: lex(source | target) and lex(target | source) of each pair.
        alignments: (lines, words) the links as bits, see ``PairCounts``.
        longest: The most words of a phrase, which the bits are laid out by.
    """
    joint, source, target = counts
    lines = np.arange(len(joint))
    columns = (
        _frequencies(joint, target),
        number_texts(lexical[0], _SPACE, lines),
        _frequencies(joint, source),
        number_texts(lexical[1], SEPARATOR, lines),
        link_texts(alignments, longest, SEPARATOR.lstrip()),
        _counts(target, _SPACE),
        _counts(source, _SPACE),
        _counts(joint, _PHRASE_TABLE_END),
    )
    return _lines(sides, columns)


def _frequencies(counts: NDArray[np.int64], totals: NDArray[np.int64]) -> ColumnTexts:
    (few_counts, few_totals), rows = distinct_rows(counts, totals)
    return number_texts(printed_counts(few_counts) / printed_counts(few_totals), _SPACE, rows)


def _counts(counts: NDArray[np.int64], end: bytes) -> ColumnTexts:
    (few,), rows = distinct_rows(counts)
    return number_texts(printed_counts(few), end, rows)


def reordering_table_lines(
    sides: tuple[Phrases, Phrases], orientations: NDArray[np.int64]
) -> memoryview:
    """Write ``source ||| target ||| six probabilities`` lines.

    Args:
        sides: The source and the target phrases, one per line.
        orientations: (lines, 6), how often monotone, swapped and other, towards the phrase before
            and then towards the phrase behind.
    """
    columns = []
    for first, end in ((0, _SPACE), (3, b"\n")):
        few, rows = distinct_rows(*orientations.T[first : first + 3])
        columns.append(number_texts(orientation_probabilities(np.stack(few, axis=1)), end, rows))
    return _lines(sides, columns)


def _lines(sides: tuple[Phrases, Phrases], columns: Sequence[ColumnTexts]) -> memoryview:
    """Write a line of two phrases and the texts of all columns for each row."""
    pieces = np.empty((len(sides[0].begins), len(columns)), np.int32)
    size, texts, characters = 0, 0, 0
    begins, ends = [], []
    for place, column in enumerate(columns):
        pieces[:, place] = column.rows + texts
        size += int((column.ends - column.begins)[column.rows].sum())
        begins.append(column.begins + characters)
        ends.append(column.ends + characters)
        texts += len(column.begins)
        characters += len(column.characters)
    for side in sides:
        size += int((side.ends - side.begins + len(SEPARATOR)).sum())
    out = np.empty(size, np.uint8)
    phrases = tuple((side.characters, side.begins, side.ends) for side in sides)
    together = np.concatenate([column.characters for column in columns])
    spans = together, np.concatenate(begins), np.concatenate(ends)
    _write_lines(phrases, as_array(SEPARATOR), spans, pieces, out)
    return out.data


@compiled
def _write_lines(sides: Any, separator: Any, texts: Any, pieces: Any, out: Any) -> None:
    """Fill ``out`` with, for each row, its two phrases and its pieces."""
    sides, separator, texts, pieces, out = borrowed((sides, separator, texts, pieces, out))
    at = np.int64(0)  # a literal has another type, for which numba would compile `_copy` again
    begin = np.int64(0)
    for row in range(pieces.shape[0]):
        for side in sides:
            at = _copy(side[0], side[1][row], side[2][row], out, at)
            at = _copy(separator, begin, separator.size, out, at)
        for column in range(pieces.shape[1]):
            piece = pieces[row, column]
            at = _copy(texts[0], texts[1][piece], texts[2][piece], out, at)


@inlined
def _copy(source: Any, begin: int, end: int, out: Any, at: int) -> int:
    for i in range(begin, end):
        out[at] = source[i]
        at += 1
    return at


def write_tables(
    phrases: tuple[PhraseTexts, PhraseTexts],
    lexical: tuple[LexicalTable, LexicalTable],
    runs: Sequence[SortedRun],
    outputs: Sequence[Path],
    *,
    threads: int,
    memory: int,
) -> dict[str, int]:
    """Score all pairs and write the phrase table, and a reordering table, in byte order.

    Args:
        phrases: The source and the target phrases.
        lexical: p(target word | source word), and p(source word | target word).
        runs: All counts.
        outputs: The phrase table, and the reordering table if one is needed.
        threads: How many work at the same time.
        memory: Bytes for sorting.

    Returns:
        How many distinct pairs the tables hold, and how many places these were extracted from.
    """
    longest = phrases[0].phrases.longest
    totals = count_targets(runs, len(phrases[1].phrases))
    waiting = threads + 1
    rows = rows_within(memory // (_SCORING_COPIES * waiting), longest)
    pairs = 0
    with (
        ExitStack() as stack,
        Progress("scoring", sum(map(len, runs)), "records") as progress,
        ThreadPoolExecutor(threads) as executor,
    ):
        tables = [stack.enter_context(open_output(output)) for output in outputs]
        slices = merged_slices(runs, rows)
        submitted = (
            executor.submit(_score_slice, phrases, lexical, totals, pieces) for pieces in slices
        )
        for lines, reordering_lines, scored, records in _in_order(submitted, waiting):
            for table, written in zip(tables, (lines, reordering_lines), strict=False):
                table.write(written)
            pairs += scored
            progress.advance(records)
    return {"phrase_pairs": pairs, "occurrences": int(totals.sum(dtype=np.int64))}


def _in_order(submitted: Iterator[Future[_Scored]], limit: int) -> Iterator[_Scored]:
    """Yield results in the order of submission, with at most ``limit`` pending."""
    pending: deque[Future[_Scored]] = deque()
    for future in submitted:
        pending.append(future)
        if len(pending) >= limit:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


def _score_slice(
    phrases: tuple[PhraseTexts, PhraseTexts],
    lexical: tuple[LexicalTable, LexicalTable],
    totals: NDArray[np.uint32],
    pieces: Sequence[PairCounts],
) -> _Scored:
    """Score the pairs of one slice; threads share all but the pieces, which are only read."""
    counts = together(pieces)
    longest = phrases[0].phrases.longest
    pairs = summarise(counts, longest)
    sides = phrases[0].chosen(pairs.sources), phrases[1].chosen(pairs.targets)
    weights = lexical_weights(counts, pairs, sides, lexical, longest)
    target_counts = totals[pairs.targets].astype(np.int64)
    occurrences = pairs.counts, source_counts(pairs), target_counts
    return (
        phrase_table_lines(sides, occurrences, weights, counts.alignments[pairs.best], longest),
        reordering_table_lines(sides, pairs.orientations),
        len(pairs.sources),
        sum(len(piece.pairs) for piece in pieces),
    )
