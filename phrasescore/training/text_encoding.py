"""Encode a text, or two that are line by line translations, once: words become ids on disk.

Unlike the pairs of a phrase table, a pair of sentences counts as often as it stands there. Pairs
with an empty side or with too many words are left out, and counted. A text alone is the targets of
pairs without a source.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import CorpusError, counted
from phrasescore.runs.file_kinds import can_be_read_again
from phrasescore.runs.final_names import own_file
from phrasescore.runs.identity import sha256_of
from phrasescore.table.block import TokenSpans
from phrasescore.table.phrase_table import Side
from phrasescore.table.text_blocks import TextBlock, Texts
from phrasescore.training.encoded_sides import SIDES, StreamedSide, encode_once, stream_sides
from phrasescore.training.phrase_pairs import EncodedPairs, PairSettings
from phrasescore.training.repeated_rows import RepeatedRows

# a change of the files' meaning must change this number
_FORMAT = 2
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
        "format": _FORMAT,
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
