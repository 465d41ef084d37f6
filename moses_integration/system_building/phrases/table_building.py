"""From aligned text to phrase table and reordering table, in bounded memory, on several threads.

The compiled loops release Python's lock, so threads share the corpus and work side by side. Each
extracts from its own sentences and writes sorted runs; then slices of the merged runs are scored,
and written in order. The tables do not depend on the threads, the memory or the runs.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from moses_integration.system_building.phrases.extraction import AlignedText, extract_phrase_pairs
from moses_integration.system_building.phrases.lexical_weights import LexicalTable
from moses_integration.system_building.phrases.pair_counts import (
    PairCounts,
    SortedRun,
    merged_slices,
    rows_within,
    sorted_and_added,
    together,
    write_run,
)
from moses_integration.system_building.phrases.phrase_numbers import PhraseTexts
from moses_integration.system_building.phrases.phrase_scoring import (
    count_phrases,
    lexical_weights,
    summarise,
)
from moses_integration.system_building.phrases.table_lines import (
    phrase_table_lines,
    reordering_table_lines,
)
from phrasescore.errors import CorpusError
from phrasescore.runs.final_names import open_output
from phrasescore.runs.progress import Progress

# a row of a slice while it is scored: its record and its lines, about seven times a record
_SCORING_COPIES = 5

# the lines of both tables for a slice of pairs, how many pairs, and of how many records
_Scored: TypeAlias = tuple[memoryview, memoryview, int, int]


def extract_runs(text: AlignedText, folder: Path, *, threads: int, memory: int) -> list[SortedRun]:
    """Extract all phrase pairs into sorted runs.

    Args:
        text: The aligned corpus.
        folder: An empty folder for the runs.
        threads: How many work at the same time.
        memory: Bytes for sorting; the corpus itself comes on top.

    Raises:
        CorpusError: No phrase pair could be extracted.
    """
    longest = text.source_phrases.longest
    rows = rows_within(memory // threads, longest)
    bounds = np.linspace(0, len(text.links), threads + 1).astype(int).tolist()
    stop = threading.Event()
    lock = threading.Lock()

    def extract(part: int) -> list[SortedRun]:
        runs: list[SortedRun] = []
        reported = 0
        for done, counts in extract_phrase_pairs(text, (bounds[part], bounds[part + 1]), rows):
            if stop.is_set():
                break
            path = folder / f"run-{part}-{len(runs)}"
            runs.append(write_run(path, longest, sorted_and_added(counts)))
            with lock:
                progress.advance(done - reported)
            reported = done
        return runs

    with (
        Progress("extracting", len(text.links), "sentence pairs") as progress,
        ThreadPoolExecutor(threads) as executor,
    ):
        try:
            parts = list(executor.map(extract, range(threads)))
        except BaseException:
            stop.set()
            raise
    runs = [run for part in parts for run in part if len(run) > 0]
    if not runs:
        raise CorpusError(
            "no phrase pair could be extracted: no sentence pair has a usable link",
            remedy="check the word alignment",
        )
    return runs


def write_tables(
    phrases: tuple[PhraseTexts, PhraseTexts],
    lexical: tuple[LexicalTable, LexicalTable],
    runs: Sequence[SortedRun],
    outputs: tuple[Path, Path],
    *,
    threads: int,
    memory: int,
) -> dict[str, int]:
    """Score all pairs and write the phrase table and the reordering table, in byte order.

    Args:
        phrases: The source and the target phrases.
        lexical: p(target word | source word), and p(source word | target word).
        runs: All counts.
        outputs: The two tables.
        threads: How many work at the same time.
        memory: Bytes for sorting.

    Returns:
        How many distinct pairs the tables hold, and how many places these were extracted from.
    """
    longest = phrases[0].phrases.longest
    totals = count_phrases(runs, *(len(side.phrases) for side in phrases))
    waiting = threads + 1
    rows = rows_within(memory // (_SCORING_COPIES * waiting), longest)
    pairs = 0
    with (
        open_output(outputs[0]) as phrase_table,
        open_output(outputs[1]) as reordering_table,
        Progress("scoring", sum(map(len, runs)), "records") as progress,
        ThreadPoolExecutor(threads) as executor,
    ):
        slices = merged_slices(runs, rows)
        submitted = (
            executor.submit(_score_slice, phrases, lexical, totals, pieces) for pieces in slices
        )
        for lines, reordering_lines, scored, records in _in_order(submitted, waiting):
            phrase_table.write(lines)
            reordering_table.write(reordering_lines)
            pairs += scored
            progress.advance(records)
    return {"phrase_pairs": pairs, "occurrences": int(totals[0].sum())}


def _in_order(submitted: Iterator[Future[_Scored]], most: int) -> Iterator[_Scored]:
    """Yield results in the order of submission, with at most this many under way."""
    waiting: deque[Future[_Scored]] = deque()
    for future in submitted:
        waiting.append(future)
        if len(waiting) >= most:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _score_slice(
    phrases: tuple[PhraseTexts, PhraseTexts],
    lexical: tuple[LexicalTable, LexicalTable],
    totals: Sequence[NDArray[np.int64]],
    pieces: Sequence[PairCounts],
) -> _Scored:
    """Score the pairs of one slice; threads share all but the pieces, which are only read."""
    counts = together(pieces)
    longest = phrases[0].phrases.longest
    pairs = summarise(counts, longest)
    sides = phrases[0].chosen(pairs.sources), phrases[1].chosen(pairs.targets)
    weights = lexical_weights(counts, pairs, sides, lexical, longest)
    occurrences = pairs.counts, totals[0][pairs.sources], totals[1][pairs.targets]
    return (
        phrase_table_lines(sides, occurrences, weights, counts.alignments[pairs.best], longest),
        reordering_table_lines(sides, pairs.orientations),
        len(pairs.sources),
        sum(len(piece.pairs) for piece in pieces),
    )
