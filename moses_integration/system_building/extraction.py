"""Extraction of phrase pairs from word-aligned sentences into sorted files of counts.

A source span and a target span are extracted as a pair if at least one link is inside, no link
leads out of the pair, and neither span is longer than the maximum phrase length. Spans may also
extend over unlinked words (Koehn, Och and Marcu 2003, as in Moses). The orientation towards the
previous (or next) phrase is word-based (wbe-msd), and read from the alignment matrix: monotone if
the cell diagonally before (or after) both spans is linked, swapped if the cell on the other
diagonal is linked, and other if neither or both cells are linked.

A row consists of a pair, the links inside the pair, and six counts of orientations. To count, rows
are sorted by pair, and the counts of rows with equal pairs and equal links are added up.

If the rows do not fit in memory, they are written to runs: files of fixed-size records, sorted by
pair. To merge the runs, the range of pairs is cut into slices whose records, from all runs, fit in
memory together. Each slice is read, sorted and added up; no heap is needed.

The compiled loops release Python's lock, so threads work in parallel on the same corpus, each on
its own sentences.
"""

from __future__ import annotations

import bisect
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from moses_integration.system_building.phrase_numbers import NumberedText, PhraseNumbers, remapped
from moses_integration.system_building.word_alignment import Links
from phrasescore.compiled import borrowed, compiled
from phrasescore.runs.final_names import open_output
from phrasescore.runs.progress import Progress

MASK_BITS = 64
# how many records to read at a time when a whole run is read
_RECORDS_AT_ONCE = 1 << 18
# memory to sort a record (itself, its index, its copy in the result), as a multiple of its size
_COPIES = 3
MONOTONE, SWAP, OTHER = 0, 1, 2
# orientation columns 0 to 2 are towards the previous phrase; from here on, towards the next
_BEHIND = 3


class PairCounts(NamedTuple):
    """Rows of counts.

    Args:
        pairs: (rows,) uint64, the index of the source phrase in the upper half, and the index of
            the target phrase in the lower half.
        alignments: (rows, `mask_words`) uint64, the links inside the pair as bits. The link between
            source position s and target position t, counted within the phrases, is bit
            ``t * longest + s``; ``longest`` is the maximum number of words of a phrase.
        orientations: (rows, 6) uint32, the counts of monotone, swapped and other, first towards the
            previous phrase, then towards the next phrase. Each group of three adds up to the number
            of occurrences.
    """

    pairs: NDArray[np.uint64]
    alignments: NDArray[np.uint64]
    orientations: NDArray[np.uint32]


def mask_words(longest: int) -> int:
    """Return how many 64-bit integers hold the links of a pair of phrases as bits."""
    return -(-longest * longest // MASK_BITS)


def sorted_and_added(counts: PairCounts) -> PairCounts:
    """Return the rows sorted by pair, with one row for each alignment of a pair."""
    order = np.argsort(counts.pairs)
    pairs = counts.pairs[order]
    alignments = np.take(counts.alignments, order, axis=0)
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = pairs[1:] != pairs[:-1]
    firsts = np.flatnonzero(is_first)
    group = np.cumsum(is_first) - 1
    mixed = np.unique(group[(alignments != alignments[firsts[group]]).any(axis=1)])
    if len(mixed):
        # most pairs have one alignment: only rows of the other pairs need sorting by alignment
        rows = np.flatnonzero(np.isin(group, mixed))
        within = np.lexsort((*alignments[rows].T, group[rows]))
        order[rows] = order[rows][within]
        alignments[rows] = alignments[rows][within]
        is_first[1:] |= (alignments[1:] != alignments[:-1]).any(axis=1)
        firsts = np.flatnonzero(is_first)
    sums = np.empty((len(firsts), 6), np.uint32)
    for column in range(6):
        ordered = counts.orientations[:, column][order]
        if len(firsts):
            sums[:, column] = np.add.reduceat(ordered, firsts)
    return PairCounts(pairs[firsts], alignments[firsts], sums)


@dataclass(frozen=True)
class SortedRun:
    """One sorted file of counts.

    Args:
        path: The path of the file.
        longest: The maximum number of words of a phrase.
    """

    path: Path
    longest: int

    def __len__(self) -> int:
        return self.path.stat().st_size // _record(self.longest).itemsize

    def __getitem__(self, row: int) -> int:
        """Return the pair of one record."""
        # not memory-mapped, because the system might keep whole files in memory for a few values
        return int(self.read(row, row + 1).pairs[0])

    def read(self, begin: int, end: int) -> PairCounts:
        """Read some records."""
        record = _record(self.longest)
        records = np.fromfile(self.path, record, end - begin, offset=begin * record.itemsize)
        return PairCounts._make(records[name] for name in record.names or ())

    def blocks(self) -> Iterator[PairCounts]:
        """Read all records in order, a block at a time."""
        for begin in range(0, len(self), _RECORDS_AT_ONCE):
            yield self.read(begin, min(begin + _RECORDS_AT_ONCE, len(self)))


def _record(longest: int) -> np.dtype[np.void]:
    return np.dtype(
        [
            ("pair", np.uint64),
            ("alignment", np.uint64, (mask_words(longest),)),
            ("orientations", np.uint32, (6,)),
        ]
    )


def rows_within(memory: int, longest: int) -> int:
    """Return the number of records that can be sorted at once in this many bytes."""
    return max(memory // (_COPIES * _record(longest).itemsize), 1)


def write_run(path: Path, longest: int, counts: PairCounts) -> SortedRun:
    """Write sorted rows as a run."""
    records = np.empty(len(counts.pairs), _record(longest))
    for name, array in zip(("pair", "alignment", "orientations"), counts, strict=True):
        records[name] = array
    with open_output(path) as stream:
        stream.write(records.view(np.uint8).data)
    return SortedRun(path, longest)


def merged_slices(runs: Sequence[SortedRun], rows: int) -> Iterator[list[PairCounts]]:
    """Cut sorted runs into slices, in ascending order of pairs.

    Args:
        runs: The runs.
        rows: The maximum number of records of a slice. A slice may exceed it by the records of one
            source phrase, because a source phrase is never split.

    Yields:
        The records of one slice: a piece from each run with records in the slice. ``together``
        joins the pieces into one sorted sequence.
    """
    cuts = _cuts(runs, rows)
    begins = [0] * len(runs)
    for cut in [*cuts, None]:
        ends = [
            len(run) if cut is None else bisect.bisect_left(run, cut, begin)
            for run, begin in zip(runs, begins, strict=True)
        ]
        places = zip(runs, begins, ends, strict=True)
        pieces = [run.read(begin, end) for run, begin, end in places if end > begin]
        if pieces:
            yield pieces
        begins = ends


def together(pieces: Sequence[PairCounts]) -> PairCounts:
    """Sort and add up the pieces of one slice."""
    columns = zip(*pieces, strict=True)
    return sorted_and_added(PairCounts._make(np.concatenate(column) for column in columns))


def _cuts(runs: Sequence[SortedRun], rows: int) -> list[int]:
    """Choose each slice's first source phrase from pairs sampled evenly in each run."""
    step = max(rows // (2 * len(runs) + 2), 1)
    samples = sorted(run[row] for run in runs for row in range(step, len(run), step))
    # two cuts with m samples between them enclose fewer than (m + runs) * step records
    every = max(rows // step - len(runs), 1)
    return sorted({pair >> 32 << 32 for pair in samples[every::every]})


# for the source side and the target side
_Starts: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
_Numbers: TypeAlias = tuple[NDArray[np.uint32], NDArray[np.uint32]]


class _SentenceLinks(NamedTuple):
    """A sentence pair during extraction.

    Attributes:
        linked: Whether target word t and source word s are linked, at [t, s], counted from 1.
            The cell before the first words and the cell after the last words of both sentences are
            True, as if linked; the rest of the border is False.
        degree: The number of links of each source word.
        inside: Scratch memory: the number of links of each source word into the target span.
    """

    linked: NDArray[np.bool_]
    degree: NDArray[np.int64]
    inside: NDArray[np.int64]


def extract_phrase_pairs(
    corpus: tuple[NumberedText, NumberedText],
    links: Links,
    phrases: tuple[PhraseNumbers, PhraseNumbers],
    sentences: tuple[int, int],
    rows: int,
) -> Iterator[tuple[int, PairCounts]]:
    """Extract pairs from a range of sentences, in buffers of about ``rows`` rows.

    For the other arguments, see ``extract_runs``.

    Yields:
        How many sentences have been read, and their unsorted rows: one for each occurrence of a
        pair. The rows are views of a buffer that is reused for the next rows, so copy rows that
        you want to keep.
    """
    longest = phrases[0].longest
    source, target = (int(side.lengths.max(initial=0)) for side in corpus)
    room = max(rows, target * longest * min(longest, source) ** 2)
    buffer = PairCounts(
        np.empty(room, np.uint64),
        np.empty((room, mask_words(longest)), np.uint64),
        np.empty((room, 6), np.uint32),
    )
    sentence, end = sentences
    while sentence < end:
        first = sentence
        sentence, used = _extract(
            (corpus[0].starts, corpus[1].starts),
            links,
            (remapped(phrases[0].at), remapped(phrases[1].at)),
            (sentence, end),
            buffer,
        )
        yield sentence - first, PairCounts._make(array[:used] for array in buffer)


@compiled
def _extract(
    starts: _Starts, links: Links, numbers: _Numbers, sentences: tuple[int, int], out: PairCounts
) -> tuple[int, int]:
    """Fill the buffer; return the first sentence that did not fit, and how many rows are in use."""
    starts, links, numbers, sentences, out = borrowed((starts, links, numbers, sentences, out))
    longest = numbers[0].shape[1]
    # a literal 0 has another type, for which the callees would be compiled a second time
    sentence, used = sentences[0], np.int64(0)
    while sentence < sentences[1]:
        source_start, target_start = starts[0][sentence], starts[1][sentence]
        source_length = starts[0][sentence + 1] - source_start - 1
        target_length = starts[1][sentence + 1] - target_start - 1
        # check an upper bound of the pairs of this sentence here, so that inner loops need no check
        bound = target_length * longest * min(longest, source_length) ** 2
        if used + bound > len(out.pairs):
            break
        linked = np.zeros((target_length + 2, source_length + 2), np.bool_)
        degree, inside = np.zeros(source_length, np.int64), np.empty(source_length, np.int64)
        linked[0, 0] = linked[target_length + 1, source_length + 1] = True
        for link in range(links.offsets[sentence], links.offsets[sentence + 1]):
            s, t = links.sources[link], links.targets[link]
            degree[s] += not linked[t + 1, s + 1]
            linked[t + 1, s + 1] = True
        places = source_start, target_start
        here = _SentenceLinks(linked, degree, inside)
        used = _extract_sentence(here, places, numbers, out, used)
        sentence += 1
    return sentence, used


@compiled
def _extract_sentence(
    here: _SentenceLinks, places: tuple[int, int], numbers: _Numbers, out: PairCounts, used: int
) -> int:
    """Write the rows of one sentence; return how many rows are in use."""
    linked, degree, inside = borrowed(here)
    source_start, target_start = places
    source_length, target_length = degree.size, linked.shape[0] - 2
    longest = numbers[0].shape[1]
    for t1 in range(target_length):
        inside[:] = 0
        low, high = source_length, np.int64(-1)
        for t2 in range(t1, min(t1 + longest, target_length)):
            for s in range(source_length):
                if linked[t2 + 1, s + 1]:
                    inside[s] += 1
                    low, high = min(low, s), max(high, s)
            if high < low or high - low >= longest or _leaves(inside, degree, low, high):
                continue
            # write the pair with the shortest source span, and the pairs whose source span also
            # covers unlinked words next to that span
            target = np.uint64(numbers[1][target_start + t1, t2 - t1])
            s1 = low
            while s1 >= 0 and s1 > high - longest and (s1 == low or degree[s1] == 0):
                s2 = high
                while s2 < source_length and s2 < s1 + longest and (s2 == high or degree[s2] == 0):
                    source = np.uint64(numbers[0][source_start + s1, s2 - s1])
                    out.pairs[used] = (source << np.uint64(32)) | target
                    _write_links(linked, (s1, s2, t1, t2), longest, out, used)
                    used += 1
                    s2 += 1
                s1 -= 1
    return used


@compiled
def _leaves(inside: NDArray[np.int64], degree: NDArray[np.int64], low: int, high: int) -> bool:
    """Return whether a source word of the span is linked to a word outside the target span."""
    for s in range(low, high + 1):  # noqa: SIM110 - numba cannot compile any(...)
        if inside[s] < degree[s]:
            return True
    return False


@compiled
def _write_links(
    linked: NDArray[np.bool_],
    span: tuple[int, int, int, int],
    longest: int,
    out: PairCounts,
    row: int,
) -> None:
    """Write the alignment inside the spans, and the orientation from the links around them."""
    s1, s2, t1, t2 = span
    out.alignments[row, :] = 0
    for t in range(t1, t2 + 1):
        for s in range(s1, s2 + 1):
            if linked[t + 1, s + 1]:
                bit = (t - t1) * longest + s - s1
                out.alignments[row, bit // MASK_BITS] |= np.uint64(1) << np.uint64(bit % MASK_BITS)
    out.orientations[row, :] = 0
    for side in range(2):  # towards the previous phrase, then towards the next
        t = t2 + 2 if side else t1
        diagonal, crossed = linked[t, s1], linked[t, s2 + 2]
        if side:
            diagonal, crossed = crossed, diagonal
        kind = OTHER if diagonal == crossed else (SWAP if crossed else MONOTONE)
        out.orientations[row, _BEHIND * side + kind] = 1


def extract_runs(
    corpus: tuple[NumberedText, NumberedText],
    links: Links,
    phrases: tuple[PhraseNumbers, PhraseNumbers],
    folder: Path,
    *,
    threads: int,
    memory: int,
) -> list[SortedRun]:
    """Extract all phrase pairs into sorted runs.

    Args:
        corpus: The source and the target sentences.
        links: Their word alignment.
        phrases: The numbers of the source phrases and of the target phrases.
        folder: An empty folder for the runs.
        threads: The number of threads.
        memory: The number of bytes for sorting, in addition to the memory of the corpus.
    """
    longest = phrases[0].longest
    rows = rows_within(memory // threads, longest)
    bounds = np.linspace(0, links.sentences, threads + 1).astype(int).tolist()
    stop = threading.Event()
    lock = threading.Lock()

    def extract(part: int) -> list[SortedRun]:
        runs: list[SortedRun] = []
        sentences = bounds[part], bounds[part + 1]
        for done, counts in extract_phrase_pairs(corpus, links, phrases, sentences, rows):
            if stop.is_set():
                break
            path = folder / f"run-{part}-{len(runs)}"
            runs.append(write_run(path, longest, sorted_and_added(counts)))
            with lock:
                progress.advance(done)
        return runs

    with (
        Progress("extracting phrase pairs", links.sentences, "sentence pairs") as progress,
        ThreadPoolExecutor(threads) as executor,
    ):
        try:
            parts = list(executor.map(extract, range(threads)))
        except BaseException:
            stop.set()
            raise
    return [run for part in parts for run in part if len(run) > 0]
