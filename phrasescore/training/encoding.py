"""Encode a phrase table or texts once: words become ids on disk.

A first pass streams the input to raw files of word numbers, lengths and digests, with no object
for a line. A second pass over these files finds repeated pairs and phrases, and a third writes the
kept lines as ids of the shortlists. Apart from the lists of words, memory does not grow with a
table; the disk holds some 115 bytes a line meanwhile.

Each distinct pair of a phrase table counts once. A pair of sentences counts as often as it stands
in its texts; pairs with an empty side or with too many words are left out, and counted. A text
alone is the targets of pairs without a source.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import CorpusError, InputError, counted
from phrasescore.runs.file_kinds import can_be_read_again
from phrasescore.runs.final_names import own_file
from phrasescore.runs.identity import sha256_of
from phrasescore.runs.json_files import read_object, write_json
from phrasescore.runs.progress import Progress
from phrasescore.table.block import TokenSpans, read_blocks
from phrasescore.table.phrase_table import Side
from phrasescore.table.text_blocks import TextBlock, Texts
from phrasescore.training.pairs import MANIFEST, EncodedPairs, PairSettings, load_pairs
from phrasescore.training.repeated_rows import ROWS_AT_ONCE, DiskArray, RepeatedRows, write_npy
from phrasescore.words.distinct_phrases import pair_digests, phrase_digests
from phrasescore.words.vocabulary import UNK_ID, Coverage, OutsideWords, shortlist
from phrasescore.words.word_table import WordTable

SIDES: tuple[Side, Side] = ("source", "target")
# a pattern of all that is ever in a folder of pairs, relative to it
FILES_OF_PAIRS = (
    r"pairs\.json|(source|target)\.((tokens|offsets|groups)\.npy|(vocabulary|outside)\.txt)"
    r"|scratch(/((source|target|pair)\.(numbers|lengths|digests|first)"
    r"|dealt\.(digests|order|first|numbers|local)))?"
)
# ids fit into two bytes up to here
_SMALL_VOCABULARY = 1 << 16

Mask = NDArray[np.bool_] | DiskArray


def encode_once(
    folder: Path,
    identity: dict[str, Any],
    write: Callable[[Path], dict[str, Any]],
) -> EncodedPairs:
    """Encode something into a work folder, or find it there from an earlier run.

    Args:
        folder: Where the arrays go; made if need be.
        identity: What they depend on, as JSON values; with a ``None`` among the digests of its
            ``sha256`` nothing that is there counts.
        write: Fills ``folder``, with a scratch folder for what it needs meanwhile; returns what
            the manifest says besides.
    """
    if None not in identity["sha256"] and _is_encoded(folder, identity):
        return load_pairs(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    scratch = folder / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        report = write(scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    # written last: a folder without it is not whole
    write_json(folder / MANIFEST, {**identity, **report})
    return load_pairs(folder)


def _is_encoded(folder: Path, identity: dict[str, Any]) -> bool:
    try:
        manifest = read_object(folder / MANIFEST)
        load_pairs(folder)
    except (OSError, ValueError, InputError):
        return False
    return bool(all(manifest.get(key) == value for key, value in identity.items()))


@dataclass(frozen=True)
class StreamedSide:
    """One side of all lines that were read, in word numbers."""

    words: WordTable
    numbers: DiskArray
    lengths: DiskArray
    digests: DiskArray

    def _chunks(self, kept: Mask) -> Iterator[NDArray[np.int32]]:
        """Yield the word numbers of the kept lines, a million lines at a time."""
        position = 0
        for begin in range(0, len(self.lengths), ROWS_AT_ONCE):
            lengths = self.lengths[begin : begin + ROWS_AT_ONCE]
            chosen = kept[begin : begin + ROWS_AT_ONCE]
            end = position + int(lengths.sum(dtype=np.int64))
            numbers = self.numbers[position:end]
            yield numbers[np.repeat(chosen, lengths)]
            position = end

    def _counts(self, kept: Mask) -> NDArray[np.int64]:
        """(words,) int64, how often each word occurs in the kept lines."""
        total = np.zeros(len(self.words), np.int64)
        for numbers in self._chunks(kept):
            total += np.bincount(numbers, minlength=len(total))
        return total

    def write_words(
        self, folder: Path, name: str, phrases: Mask, pairs: Mask, size: int
    ) -> tuple[Coverage, NDArray[np.int32]]:
        """Write the shortlist, and the words outside it; return coverage and id of every number.

        They go to ``NAME.vocabulary.txt`` and ``NAME.outside.txt``.

        Args:
            folder: Where to.
            name: The side.
            phrases: Lines in which words are counted to find the most frequent.
            pairs: Lines of which the coverage speaks, too.
            size: Of the shortlist.
        """
        words = self.words.words()
        in_phrases, in_pairs = self._counts(phrases), self._counts(pairs)
        vocabulary = shortlist(words, in_phrases, size)
        ids = np.array(vocabulary.encode(words), np.int32)
        known = ids != UNK_ID
        coverage = Coverage(
            words=len(vocabulary) - 2,
            types=int((in_pairs > 0).sum()),
            phrases=float(in_phrases[known].sum() / max(1, in_phrases.sum())),
            pairs=float(in_pairs[known].sum() / max(1, in_pairs.sum())),
        )
        vocabulary.write(folder / f"{name}.vocabulary.txt")
        OutsideWords.of(words, in_phrases, ids).write(folder / f"{name}.outside.txt")
        return coverage, ids

    def write_ids(self, folder: Path, name: str, kept: Mask, ids: NDArray[np.int32]) -> None:
        """Write the kept lines as ids, in ``NAME.tokens.npy`` and ``NAME.offsets.npy``."""
        kind = np.uint16 if int(ids.max(initial=0)) < _SMALL_VOCABULARY else np.int32
        rows, tokens = 0, 0
        for ends in self._ends(kept):
            rows, tokens = rows + len(ends), int(ends[-1])
        write_npy(folder / f"{name}.offsets.npy", np.int64, rows, self._ends(kept))
        encoded = (ids[numbers] for numbers in self._chunks(kept))
        write_npy(folder / f"{name}.tokens.npy", kind, tokens, encoded)

    def _ends(self, kept: Mask) -> Iterator[NDArray[np.int64]]:
        """Yield 0, and then where each kept line ends among their words."""
        ends = np.zeros(1, np.int64)
        yield ends
        for begin in range(0, len(self.lengths), ROWS_AT_ONCE):
            rows = slice(begin, begin + ROWS_AT_ONCE)
            lengths = self.lengths[rows][kept[rows]]
            if lengths.size:
                ends = ends[-1] + np.cumsum(lengths, dtype=np.int64)
                yield ends


def stream_sides(
    blocks: Iterable[Sequence[TokenSpans]],
    scratch: Path,
    title: str,
    sides: Sequence[Side] = SIDES,
) -> list[StreamedSide]:
    """Read blocks of some sides once, into raw files of numbers, lengths and digests."""
    words = {side: WordTable() for side in sides}
    with ExitStack() as stack, Progress(title, unit="lines") as progress:
        files: dict[tuple[Side, str], BinaryIO] = {
            (side, name): stack.enter_context((scratch / f"{side}.{name}").open("wb"))
            for side in sides
            for name in ("numbers", "lengths", "digests")
        }
        for block in blocks:
            for side, spans in zip(sides, block, strict=True):
                numbers = words[side].add_spans(spans.data, spans.begins, spans.ends)
                files[side, "numbers"].write(numbers.data)
                files[side, "lengths"].write(np.diff(spans.offsets).astype(np.int32).data)
                files[side, "digests"].write(phrase_digests(numbers, spans.offsets).data)
            progress.advance(len(block[0].offsets) - 1)
    return [
        StreamedSide(
            words[side],
            DiskArray(scratch / f"{side}.numbers", np.int32),
            DiskArray(scratch / f"{side}.lengths", np.int32),
            DiskArray(scratch / f"{side}.digests", (np.uint64, 2)),
        )
        for side in sides
    ]


# a change of the files' meaning must change this number
_TABLE_FORMAT = 3


def encode_table(path: str | Path, folder: str | Path, settings: PairSettings) -> EncodedPairs:
    """Read a table into a work folder, or find it there from an earlier run.

    Args:
        path: A plain or gzip phrase table; ``-`` or another pipe is always encoded again.
        folder: Where the arrays go; made if need be.
        settings: Sizes of the shortlists, and the factor.

    Raises:
        InputError: The table cannot be read or breaks its format.
    """
    digest = sha256_of(path) if can_be_read_again(path) else None
    identity = {
        "format": _TABLE_FORMAT,
        "sha256": [digest],
        "settings": dataclasses.asdict(settings),
    }

    def write(scratch: Path) -> dict[str, Any]:
        blocks = (
            [block.token_spans(side, settings.factor) for side in SIDES]
            for block in read_blocks(path)
        )
        sides = stream_sides(blocks, scratch, "reading the phrase table")
        return _write_distinct(Path(folder), scratch, sides, settings)

    return encode_once(Path(folder), identity, write)


def _write_distinct(
    folder: Path, scratch: Path, sides: list[StreamedSide], settings: PairSettings
) -> dict[str, Any]:
    source, target = sides
    lines = len(source.lengths)
    both = zip(source.digests.blocks(), target.digests.blocks(), strict=True)
    distinct = RepeatedRows(itertools.starmap(pair_digests, both), lines, scratch, "pair").first
    pairs = sum(int(block.sum()) for block in distinct.blocks())
    summary = f"{lines:,} lines, {pairs:,} distinct pairs"
    report: dict[str, Any] = {"summary": summary, "unit": "phrases", "set_aside": 0}
    sizes = (settings.source_words, settings.target_words)
    for side, streamed, size in zip(SIDES, sides, sizes, strict=True):
        phrases = RepeatedRows(streamed.digests.blocks(), lines, scratch, side)
        # the first line with a phrase is also the first line with its pair, hence kept
        coverage, ids = streamed.write_words(folder, side, phrases.first, distinct, size)
        blocks = zip(phrases.numbers(), distinct.blocks(), strict=True)
        groups = (numbers[kept] for numbers, kept in blocks)
        write_npy(folder / f"{side}.groups.npy", np.int32, pairs, groups)
        streamed.write_ids(folder, side, distinct, ids)
        report[side] = dataclasses.asdict(coverage)
    return report


# a change of the files' meaning must change this number
_TEXT_FORMAT = 2
Paths = tuple[Path, ...]


def encode_texts(
    paths: Paths,
    folder: str | Path,
    settings: PairSettings,
    *,
    max_length: int,
    held_out: Paths | None = None,
) -> EncodedPairs:
    """Read texts into a work folder, or find them there from an earlier run.

    Args:
        paths: Source and target, or a target alone; plain, gzip, or a pipe, which is always
            encoded again.
        folder: Where the arrays go; made if need be.
        settings: Sizes of the shortlists, and the factor.
        max_length: Pairs with more words on a side are not trained on.
        held_out: As many texts to set aside: their pairs come last, and no word list learns from
            them.

    Raises:
        InputError: A text cannot be read.
        CorpusError: Two texts have different numbers of lines, or no pair of theirs is left.
    """
    every = [*paths, *(held_out or ())]
    names = SIDES[-len(paths) :]
    identity = {
        "format": _TEXT_FORMAT,
        "sha256": [sha256_of(path) if can_be_read_again(path) else None for path in every],
        "settings": dataclasses.asdict(settings),
        "max_length": max_length,
    }

    def write(scratch: Path) -> dict[str, Any]:
        lines = _TextsInTurn()
        blocks = lines.read(paths, held_out, settings.factor)
        sides = dict(zip(names, stream_sides(blocks, scratch, "reading texts", names), strict=True))
        return _write(
            Path(folder), scratch, sides, settings, lines.to_learn_from, max_length, every
        )

    return encode_once(Path(folder), identity, write)


class _TextsInTurn:
    """Reads the texts, and then those to set aside."""

    to_learn_from = 0  # lines of the texts that are not set aside

    def read(
        self, paths: Paths, held_out: Paths | None, factor: int
    ) -> Iterator[Sequence[TokenSpans]]:
        """Yield the sides of some lines at a time, those to learn from first."""
        for block in _blocks(paths, factor):
            self.to_learn_from += len(block)
            yield block.tokens
        if held_out:
            for block in _blocks(held_out, factor):
                yield block.tokens


def _blocks(paths: Paths, factor: int) -> Iterator[TextBlock]:
    texts = Texts(paths, columns=len(paths), factor=factor, empties=True, whole_lines=True)
    return texts.blocks()


def _write(
    folder: Path,
    scratch: Path,
    sides: Mapping[Side, StreamedSide],
    settings: PairSettings,
    to_learn_from: int,
    max_length: int,
    paths: Sequence[Path],
) -> dict[str, Any]:
    lengths = np.stack([side.lengths[...] for side in sides.values()])
    empty, long = (lengths == 0).any(axis=0), (lengths > max_length).any(axis=0)
    learned = np.arange(lengths.shape[1]) < to_learn_from
    kept = ~empty & ~(long & learned)
    parts = [(learned, paths[0])]
    if len(paths) > len(sides):
        parts.append((~learned, paths[-len(sides)]))
    for part, path in parts:
        if not (kept & part).any():
            raise _nothing_left(int(part.sum()), len(sides), max_length, path)
    left_out = {"empty": empty & learned, f"over {max_length} words": long & learned}
    report: dict[str, Any] = {
        "summary": _summary(to_learn_from, left_out, len(sides)),
        "unit": "sentences",
        "set_aside": int((kept & ~learned).sum()),
    }
    sizes = {"source": settings.source_words, "target": settings.target_words}
    for side, streamed in sides.items():
        words, size = kept & learned, sizes[side]
        coverage, ids = streamed.write_words(folder, side, words, words, size)
        sentences = RepeatedRows(streamed.digests.blocks(), len(kept), scratch, side)
        groups = np.concatenate(list(sentences.numbers()))
        with own_file(folder / f"{side}.groups.npy", os.O_TRUNC) as stream:
            np.save(stream, groups[kept])
        streamed.write_ids(folder, side, kept, ids)
        report[side] = dataclasses.asdict(coverage)
    return report


def _nothing_left(lines: int, sides: int, max_length: int, path: Path) -> CorpusError:
    if not lines:
        return CorpusError("it has no lines", path=path, remedy="look whether this is the text")
    what, why = ("pair", "a side") if sides > 1 else ("sentence", "each")
    return CorpusError(
        f"no {what} is left of {counted(lines, 'line')}: {why} is empty or has more than "
        f"{max_length} words",
        path=path,
        remedy="look whether these are the texts; --max-length allows longer sentences",
    )


def _summary(lines: int, left_out: dict[str, NDArray[np.bool_]], sides: int) -> str:
    text = f"{lines:,} {'pairs of ' if sides > 1 else ''}sentences"
    named = [f"{int(rows.sum()):,} {why}" for why, rows in left_out.items() if rows.any()]
    return f"{text}; left out: {', '.join(named)}" if named else text
