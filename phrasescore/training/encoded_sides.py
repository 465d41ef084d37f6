"""From streams of words to arrays of ids: what encoding a table and encoding texts share.

A first pass streams what is read to raw files of word numbers, lengths and digests, with no object
for a line; a second writes the kept lines as ids of the shortlists.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import InputError
from phrasescore.runs.json_files import read_object, write_json
from phrasescore.runs.progress import Progress
from phrasescore.table.block import TokenSpans
from phrasescore.table.phrase_table import Side
from phrasescore.training.disk_arrays import ROWS_AT_ONCE, DiskArray, write_npy
from phrasescore.training.phrase_pairs import MANIFEST, EncodedPairs, load_pairs
from phrasescore.words.distinct_phrases import phrase_digests
from phrasescore.words.outside_words import OutsideWords
from phrasescore.words.vocabulary import UNK_ID, Coverage, shortlist
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
