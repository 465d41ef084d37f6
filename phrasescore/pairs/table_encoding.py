"""Encode a phrase table once: stream it to word numbers, drop repeated pairs, apply shortlists.

Three passes, none with an object per pair. The first streams the table's lines to files of word
numbers and digests; the second finds the pairs and phrases that occur again; the third writes the
distinct pairs as ids of the shortlists. Apart from the lists of words, memory grows by some 20
bytes per line.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import InputError
from phrasescore.files import sha256_of
from phrasescore.pairs.distinct_phrases import (
    Digests,
    first_rows,
    groups_of,
    is_first,
    pair_digests,
    phrase_digests,
)
from phrasescore.pairs.phrase_pairs import MANIFEST, EncodedPairs, PairSettings, load_pairs
from phrasescore.progress import Progress
from phrasescore.provenance import write_json
from phrasescore.table.block import can_be_read_again, read_blocks
from phrasescore.table.phrase_table import Side
from phrasescore.words.vocabulary import UNK_ID, Coverage, Vocabulary, shortlist
from phrasescore.words.word_table import WordTable

# a change of the files' meaning must change this number
_FORMAT = 1
_ROWS_AT_ONCE = 1 << 20
_SIDES: tuple[Side, Side] = ("source", "target")
# ids fit into two bytes up to here
_SMALL_VOCABULARY = 1 << 16


def encode_table(path: str | Path, folder: str | Path, settings: PairSettings) -> EncodedPairs:
    """Read a table into a work folder, or find it there from an earlier run.

    Args:
        path: A plain or gzip phrase table; ``-`` or another pipe is always encoded again.
        folder: Where the arrays go; made if need be.
        settings: Sizes of the shortlists, and the factor.

    Raises:
        InputError: The table cannot be read or breaks its format.
    """
    folder = Path(folder)
    digest = sha256_of(path) if can_be_read_again(path) else None
    identity = {
        "format": _FORMAT,
        "table_sha256": digest,
        "settings": dataclasses.asdict(settings),
    }
    if digest is not None and _is_encoded(folder, identity):
        return load_pairs(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    scratch = folder / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        sides = _stream(path, scratch, settings.factor)
        report = _write_distinct(folder, scratch, sides, settings)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    # written last: a folder without it is not whole
    write_json(folder / MANIFEST, {**identity, **report})
    return load_pairs(folder)


def _is_encoded(folder: Path, identity: dict[str, Any]) -> bool:
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        load_pairs(folder)
    except (OSError, ValueError, InputError):
        return False
    return bool(all(manifest.get(key) == value for key, value in identity.items()))


@dataclass(frozen=True)
class _Streamed:
    """One side of all lines of a table, in word numbers."""

    words: WordTable
    numbers: NDArray[np.int32]
    lengths: NDArray[np.int32]
    digests: Digests

    def chunks(self, kept: NDArray[np.bool_]) -> Iterator[tuple[Any, Any]]:
        """Yield lengths and word numbers of the kept lines, a million lines at a time."""
        position = 0
        for begin in range(0, len(self.lengths), _ROWS_AT_ONCE):
            lengths = self.lengths[begin : begin + _ROWS_AT_ONCE]
            chosen = kept[begin : begin + _ROWS_AT_ONCE]
            end = position + int(lengths.sum(dtype=np.int64))
            numbers = self.numbers[position:end]
            yield lengths[chosen], numbers[np.repeat(chosen, lengths)]
            position = end

    def counts(self, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
        """(words,) int64, how often each word occurs in the kept lines."""
        total = np.zeros(len(self.words), np.int64)
        for _, numbers in self.chunks(kept):
            total += np.bincount(numbers, minlength=len(total))
        return total


def _stream(path: str | Path, scratch: Path, factor: int) -> list[_Streamed]:
    """Read the table once, into raw files of word numbers, lengths and digests."""
    words = {side: WordTable() for side in _SIDES}
    with ExitStack() as stack, Progress("reading the phrase table", unit="lines") as progress:
        files: dict[tuple[Side, str], BinaryIO] = {
            (side, name): stack.enter_context((scratch / f"{side}.{name}").open("wb"))
            for side in _SIDES
            for name in ("numbers", "lengths", "digests")
        }
        for block in read_blocks(path):
            for side in _SIDES:
                spans = block.token_spans(side, factor)
                numbers = words[side].add_spans(spans.data, spans.begins, spans.ends)
                files[side, "numbers"].write(numbers.data)
                files[side, "lengths"].write(np.diff(spans.offsets).astype(np.int32).data)
                files[side, "digests"].write(phrase_digests(numbers, spans.offsets).data)
            progress.advance(len(block))
    return [
        _Streamed(
            words[side],
            _mapped(scratch / f"{side}.numbers", np.int32),
            _mapped(scratch / f"{side}.lengths", np.int32),
            _mapped(scratch / f"{side}.digests", np.uint64).reshape(-1, 2),
        )
        for side in _SIDES
    ]


def _mapped(path: Path, kind: Any) -> NDArray[Any]:
    # an empty file, the targets of a table without any, cannot be mapped
    return np.memmap(path, kind, mode="r") if path.stat().st_size else np.empty(0, kind)


def _write_distinct(
    folder: Path, scratch: Path, sides: list[_Streamed], settings: PairSettings
) -> dict[str, Any]:
    distinct = is_first(first_rows(_pair_digests(scratch, *sides)))
    report: dict[str, Any] = {"lines": len(distinct), "pairs": int(distinct.sum())}
    sizes = (settings.source_words, settings.target_words)
    for side, streamed, size in zip(_SIDES, sides, sizes, strict=True):
        first = first_rows(streamed.digests)
        # the first line with a phrase is also the first line with its pair, hence kept
        coverage, vocabulary, ids = _shortlist(streamed, is_first(first), distinct, size)
        vocabulary.write(folder / f"{side}.vocabulary.txt")
        np.save(folder / f"{side}.groups.npy", groups_of(first)[distinct])
        _write_ids(folder, side, streamed, distinct, ids)
        report[side] = dataclasses.asdict(coverage)
    return report


def _pair_digests(scratch: Path, source: _Streamed, target: _Streamed) -> Digests:
    with (scratch / "pair.digests").open("wb") as stream:
        for begin in range(0, len(source.lengths), _ROWS_AT_ONCE):
            rows = slice(begin, begin + _ROWS_AT_ONCE)
            digests: Digests = pair_digests(source.digests[rows], target.digests[rows])
            stream.write(digests.data)
    return _mapped(scratch / "pair.digests", np.uint64).reshape(-1, 2)


def _shortlist(
    side: _Streamed, phrases: NDArray[np.bool_], pairs: NDArray[np.bool_], size: int
) -> tuple[Coverage, Vocabulary, NDArray[np.int32]]:
    """The coverage, the vocabulary, and the id of every word number."""
    words = side.words.words()
    in_phrases, in_pairs = side.counts(phrases), side.counts(pairs)
    vocabulary = shortlist(words, in_phrases, size)
    ids = np.array(vocabulary.encode(words), np.int32)
    known = ids != UNK_ID
    coverage = Coverage(
        words=len(vocabulary) - 2,
        types=len(words),
        phrases=float(in_phrases[known].sum() / max(1, in_phrases.sum())),
        pairs=float(in_pairs[known].sum() / max(1, in_pairs.sum())),
    )
    return coverage, vocabulary, ids


def _write_ids(
    folder: Path, name: str, side: _Streamed, distinct: NDArray[np.bool_], ids: NDArray[np.int32]
) -> None:
    kind = np.uint16 if int(ids.max(initial=0)) < _SMALL_VOCABULARY else np.int32
    offsets = np.zeros(int(distinct.sum()) + 1, np.int64)
    np.cumsum(side.lengths[distinct], dtype=np.int64, out=offsets[1:])
    np.save(folder / f"{name}.offsets.npy", offsets)
    tokens = np.lib.format.open_memmap(
        folder / f"{name}.tokens.npy", mode="w+", dtype=kind, shape=(int(offsets[-1]),)
    )
    position = 0
    for _, numbers in side.chunks(distinct):
        tokens[position : position + len(numbers)] = ids[numbers]
        position += len(numbers)
    tokens.flush()
