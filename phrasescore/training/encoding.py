"""Encodes a phrase table or texts as ids of words, in arrays on disk.

The first pass streams the input into raw files of lengths, digests and word numbers (equal words
have equal numbers). The second pass finds repeated pairs and phrases in these files, and the third
writes the kept lines as ids of the shortlists. For a phrase table, memory grows only with the
number of distinct words; for texts, also by some bytes per line. The files need about 115 bytes of
disk per line.

Each distinct pair of a phrase table is kept once. Pairs of sentences are kept as often as they
occur. A pair of sentences with an empty side or too many words is left out and counted in the
summary. A single text is encoded as the target side of pairs without a source.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import CorpusError, InputError, counted
from phrasescore.runs.final_names import scratch_folder
from phrasescore.runs.json_files import write_json
from phrasescore.runs.progress import Progress
from phrasescore.table.block import TokenSpans, read_blocks
from phrasescore.table.phrase_table import SIDES, Side
from phrasescore.table.text_blocks import Texts
from phrasescore.training.pairs import MANIFEST, Coverage, EncodedPairs, load_pairs
from phrasescore.training.repeated_rows import ROWS_AT_ONCE, DiskArray, first_of_equals, write_npy
from phrasescore.training.settings import TrainingSettings
from phrasescore.words.byte_pairs import BYTE_PAIRS, BytePairs
from phrasescore.words.hashing import pair_digests, phrase_digests
from phrasescore.words.token_sequences import from_lists, offsets_of
from phrasescore.words.vocabulary import UNK_ID, OutsideWords, shortlist
from phrasescore.words.word_table import WordTable

# ids below this number fit into two bytes
_SMALL_VOCABULARY = 1 << 16

Mask = NDArray[np.bool_] | DiskArray


def encode(settings: TrainingSettings, folder: Path) -> EncodedPairs:
    """Encode the input of a training, unless an earlier run has done so.

    Args:
        settings: The kind of model, the files, and the words to learn.
        folder: Output folder; created if it does not exist. The work folder around it belongs to
            one input and one set of options.

    Raises:
        InputError: A file cannot be read, or the table violates its format.
        CorpusError: Two texts have different numbers of lines, or every pair is left out.
    """
    with contextlib.suppress(InputError):  # a missing folder is made, a damaged one again
        return load_pairs(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in (MANIFEST, BYTE_PAIRS):
        (folder / name).unlink(missing_ok=True)
    write = _write_table if settings.learns_from == "phrases" else _write_texts
    with scratch_folder(folder / "scratch") as scratch:
        manifest = write(settings, folder, scratch)
    # written last: a folder without a manifest is incomplete
    write_json(folder / MANIFEST, manifest)
    return load_pairs(folder)


class StreamedSide:
    """One side of all input lines, as word numbers in files ``SIDE.*`` of a scratch folder."""

    def __init__(self, scratch: Path, side: Side) -> None:
        self._side, self.words = side, WordTable()
        self.numbers = DiskArray(scratch / f"{side}.numbers", np.int32)
        self.lengths = DiskArray(scratch / f"{side}.lengths", np.int32)
        self.digests = DiskArray(scratch / f"{side}.digests", (np.uint64, 2))

    def append(self, spans: TokenSpans) -> None:
        """Add the lines of a block."""
        numbers = self.words.add_spans(spans.data, spans.begins, spans.ends)
        self.numbers.append(numbers)
        self.lengths.append(np.diff(spans.offsets))
        self.digests.append(phrase_digests(numbers, spans.offsets))

    def chunks(self, kept: Mask) -> Iterator[NDArray[np.int32]]:
        """Yield the word numbers of the kept lines, block by block."""
        position = 0
        for begin in range(0, len(self.lengths), ROWS_AT_ONCE):
            lengths = self.lengths[begin : begin + ROWS_AT_ONCE]
            chosen = kept[begin : begin + ROWS_AT_ONCE]
            end = position + int(lengths.sum(dtype=np.int64))
            numbers = self.numbers[position:end]
            yield numbers[np.repeat(chosen, lengths)]
            position = end

    def counts(self, kept: Mask) -> NDArray[np.int64]:
        """Return how often each word occurs in the kept lines, ``(words,)``."""
        total = np.zeros(len(self.words), np.int64)
        for numbers in self.chunks(kept):
            total += np.bincount(numbers, minlength=len(total))
        return total

    def write(self, folder: Path, kept: Mask, counted: Mask, size: int) -> Coverage:
        """Write the shortlist, the words outside it, and the kept lines; return the coverage.

        The files are ``SIDE.vocabulary.txt``, ``SIDE.outside.txt`` and, with the lines' ids,
        offsets and digests, ``SIDE.*.npy``.

        Args:
            folder: Output folder.
            kept: Mask of the lines to write.
            counted: Mask of the lines whose words are counted.
            size: Size of the shortlist.
        """
        words = self.words.words()
        counts = self.counts(counted)
        vocabulary = shortlist(words, counts, size)
        ids = np.array(vocabulary.encode(words), np.int32)
        types, tokens = int((counts > 0).sum()), counts[ids != UNK_ID].sum() / max(1, counts.sum())
        coverage = Coverage(words=len(vocabulary) - 2, types=types, tokens=float(tokens))
        vocabulary.write(folder / f"{self._side}.vocabulary.txt")
        OutsideWords.from_counts(words, counts, ids).write(folder / f"{self._side}.outside.txt")
        kind = np.uint16 if int(ids.max(initial=0)) < _SMALL_VOCABULARY else np.int32
        rows, tokens = 0, 0
        for ends in self._ends(kept):
            rows, tokens = rows + len(ends), int(ends[-1])
        write_npy(folder / f"{self._side}.offsets.npy", np.int64, rows, self._ends(kept))
        encoded = (ids[numbers] for numbers in self.chunks(kept))
        write_npy(folder / f"{self._side}.tokens.npy", kind, tokens, encoded)
        slices = (slice(at, at + ROWS_AT_ONCE) for at in range(0, len(kept), ROWS_AT_ONCE))
        digests = (self.digests[each][kept[each], 0] for each in slices)
        write_npy(folder / f"{self._side}.digests.npy", np.uint64, rows - 1, digests)
        return coverage

    def _ends(self, kept: Mask) -> Iterator[NDArray[np.int64]]:
        """Yield the offsets of the kept lines: 0, and then the end of each line."""
        ends = np.zeros(1, np.int64)
        yield ends
        for begin in range(0, len(self.lengths), ROWS_AT_ONCE):
            rows = slice(begin, begin + ROWS_AT_ONCE)
            lengths = self.lengths[rows][kept[rows]]
            if lengths.size:
                ends = ends[-1] + np.cumsum(lengths, dtype=np.int64)
                yield ends


def _cut_in_pieces(
    sides: Mapping[Side, StreamedSide], learned: Mask, merges: int, folder: Path, scratch: Path
) -> None:
    """Learn byte pairs from the ``learned`` lines, and cut the words of all lines into pieces."""
    counts: Counter[bytes] = Counter()
    for side in sides.values():
        occurrences = side.counts(learned).tolist()
        counts.update(dict(zip(side.words.words(), occurrences, strict=True)))
    byte_pairs = BytePairs.learn(counts, merges)
    byte_pairs.write(folder / BYTE_PAIRS)
    cut = byte_pairs.cutter()
    for name, side in sides.items():
        table = WordTable()
        pieces = from_lists([table.add_all(cut(word)).tolist() for word in side.words.words()])
        numbers = DiskArray(scratch / f"{name}.pieces", np.int32)
        lengths = DiskArray(scratch / f"{name}.pieces_of_lines", np.int32)
        every = np.ones(len(side.lengths), np.bool_)
        for chunk, words in zip(side.chunks(every), side.lengths.blocks(), strict=True):
            in_line = pieces.select(chunk)
            numbers.append(in_line.tokens)
            lengths.append(np.diff(in_line.offsets[offsets_of(words)]))
        side.words, side.numbers, side.lengths = table, numbers, lengths


def _stream_sides(
    blocks: Iterable[Sequence[TokenSpans]], sides: Sequence[Side], scratch: Path, title: str
) -> dict[Side, StreamedSide]:
    """Stream blocks of lines into raw files of numbers, lengths and digests for each side."""
    streamed = {side: StreamedSide(scratch, side) for side in sides}
    with Progress(title, unit="lines") as progress:
        for block in blocks:
            for side, spans in zip(streamed.values(), block, strict=True):
                side.append(spans)
            progress.advance(len(block[0].offsets) - 1)
    return streamed


def _write_table(settings: TrainingSettings, folder: Path, scratch: Path) -> dict[str, object]:
    """Write the arrays of a phrase table into a folder; return the manifest."""
    blocks = (
        [block.token_spans(side, settings.factor or 0) for side in SIDES]
        for block in read_blocks(settings.inputs[0])
    )
    sides = _stream_sides(blocks, SIDES, scratch, "reading the phrase table")
    digests = zip(*(streamed.digests.blocks() for streamed in sides.values()), strict=True)
    lines = len(sides["source"].lengths)
    distinct = first_of_equals(itertools.starmap(pair_digests, digests), lines, scratch, "pair")
    # the first line with a phrase is also the first line with its pair of phrases, so the line
    # is kept and its words are counted
    report = _write_sides(settings, folder, scratch, sides, distinct)
    pairs = sum(int(block.sum()) for block in distinct.blocks())
    return {"summary": f"{lines:,} lines, {pairs:,} distinct pairs", "set_aside": 0, **report}


def _write_texts(settings: TrainingSettings, folder: Path, scratch: Path) -> dict[str, object]:
    """Write the arrays of texts into a folder; return the manifest.

    The pairs of held-out texts come last, and their words are not counted for the shortlists.
    """
    columns, max_length = len(settings.model_kind.inputs), settings.length_limit
    lines: list[int] = []  # how many training lines, and how many held-out lines

    def blocks() -> Iterator[Sequence[TokenSpans]]:
        for paths in (settings.inputs, settings.held_out_text):
            lines.append(0)
            for at in range(0, len(paths), columns):
                part, factor = paths[at : at + columns], settings.factor or 0
                texts = Texts(part, columns=columns, factor=factor, empties=True, whole_lines=True)
                for block in texts.blocks():
                    lines[-1] += len(block)
                    yield block.tokens

    sides = _stream_sides(blocks(), SIDES[-columns:], scratch, "reading texts")
    lengths = np.stack([side.lengths[:] for side in sides.values()])
    empty, long = (lengths == 0).any(axis=0), (lengths > max_length).any(axis=0)
    learned = np.arange(lengths.shape[1]) < lines[0]
    kept = ~empty & ~(long & learned)
    # held-out sentences may be long
    for part, paths, limit in (
        (learned, settings.inputs, max_length),
        (~learned, settings.held_out_text, None),
    ):
        if paths and not (kept & part).any():
            raise _nothing_left(int(part.sum()), columns, limit, paths[0])
    left_out = {"empty": empty & learned, f"over {max_length} words": long & learned}
    if settings.byte_pairs:
        _cut_in_pieces(sides, kept & learned, settings.byte_pairs, folder, scratch)
    report = _write_sides(settings, folder, scratch, sides, kept, kept & learned)
    summary, set_aside = _summary(lines[0], left_out, columns), int((kept & ~learned).sum())
    return {"summary": summary, "set_aside": set_aside, **report}


def _write_sides(
    settings: TrainingSettings,
    folder: Path,
    scratch: Path,
    sides: Mapping[Side, StreamedSide],
    kept: Mask,
    counted: Mask | None = None,
) -> dict[str, object]:
    """Write shortlists and ids; return each side's coverage.

    Args:
        settings: The sizes of the shortlists.
        folder: Output folder.
        scratch: The folder of the streamed sides.
        sides: The streamed sides.
        kept: Mask of the lines that become pairs.
        counted: Mask of the lines whose words are counted; ``None`` for the first line with each
            phrase of a side.
    """
    usual = settings.defaults.shortlist
    sizes = {"source": settings.source_words or usual, "target": settings.target_words or usual}
    report: dict[str, object] = {}
    for side, streamed in sides.items():
        mask = counted
        if mask is None:
            mask = first_of_equals(streamed.digests.blocks(), len(kept), scratch, side)
        size = max(1, len(streamed.words)) if settings.byte_pairs else sizes[side]
        report[side] = dataclasses.asdict(streamed.write(folder, kept, mask, size))
    return report


def _nothing_left(lines: int, sides: int, max_length: int | None, path: Path) -> CorpusError:
    if not lines:
        return CorpusError(
            "the text has no lines", path=path, remedy="check that this is the right text"
        )
    what, why = ("pair", "a side") if sides > 1 else ("sentence", "each")
    problem = f"no {what} is left of {counted(lines, 'line')}: {why} is empty"
    remedy = "check that these are the right texts"
    if max_length is not None:
        problem += f" or has more than {max_length} words"
        remedy += "; --max-length allows longer sentences"
    return CorpusError(problem, path=path, remedy=remedy)


def _summary(lines: int, left_out: dict[str, NDArray[np.bool_]], sides: int) -> str:
    text = f"{lines:,} {'pairs of ' if sides > 1 else ''}sentences"
    named = [f"{int(rows.sum()):,} {why}" for why, rows in left_out.items() if rows.any()]
    return f"{text}; left out: {', '.join(named)}" if named else text
