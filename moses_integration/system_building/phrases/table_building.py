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
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True)
class PhraseModel:
    """All that scoring needs beside the runs.

    Args:
        source: The source phrases.
        target: The target phrases.
        by_source: p(target word | source word).
        by_target: p(source word | target word).
    """

    source: PhraseTexts
    target: PhraseTexts
    by_source: LexicalTable
    by_target: LexicalTable


def write_tables(
    model: PhraseModel,
    runs: Sequence[SortedRun],
    outputs: tuple[Path, Path],
    *,
    threads: int,
    memory: int,
) -> dict[str, int]:
    """Score all pairs and write the phrase table and the reordering table, in byte order.

    Args:
        model: What scores are made from.
        runs: All counts.
        outputs: The two tables.
        threads: How many work at the same time.
        memory: Bytes for sorting.

    Returns:
        How many distinct pairs the tables hold, and how many places these were extracted from.
    """
    longest = model.source.phrases.longest
    totals = count_phrases(runs, len(model.source.phrases), len(model.target.phrases))
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
        submitted = (executor.submit(_score_slice, model, totals, pieces) for pieces in slices)
        for scored in _in_order(submitted, waiting):
            phrase_table.write(scored.phrase_table)
            reordering_table.write(scored.reordering_table)
            pairs += scored.pairs
            progress.advance(scored.records)
    return {"phrase_pairs": pairs, "occurrences": int(totals[0].sum())}


def _in_order(submitted: Iterator[Future[_ScoredSlice]], most: int) -> Iterator[_ScoredSlice]:
    """Yield results in the order of submission, with at most this many under way."""
    waiting: deque[Future[_ScoredSlice]] = deque()
    for future in submitted:
        waiting.append(future)
        if len(waiting) >= most:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


@dataclass(frozen=True)
class _ScoredSlice:
    phrase_table: memoryview
    reordering_table: memoryview
    pairs: int
    records: int


def _score_slice(
    model: PhraseModel, totals: Sequence[NDArray[np.int64]], pieces: Sequence[PairCounts]
) -> _ScoredSlice:
    """Score the pairs of one slice; threads share the model and the totals, which are only read."""
    source_totals, target_totals = totals
    counts = together(pieces)
    longest = model.source.phrases.longest
    pairs = summarise(counts, longest)
    phrases = model.source.chosen(pairs.sources), model.target.chosen(pairs.targets)
    tables = model.by_source, model.by_target
    lexical = lexical_weights(counts, pairs, phrases, tables, longest)
    totals_of_pairs = source_totals[pairs.sources], target_totals[pairs.targets]
    alignments = counts.alignments[pairs.best]
    return _ScoredSlice(
        phrase_table_lines(phrases, (pairs.counts, *totals_of_pairs), lexical, alignments, longest),
        reordering_table_lines(phrases, pairs.orientations),
        len(pairs.sources),
        sum(len(piece.pairs) for piece in pieces),
    )
