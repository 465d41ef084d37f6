"""Encode a phrase table once: stream it to word numbers, drop repeated pairs, apply shortlists.

Three passes, none with an object per pair. The first streams the table's lines to files of word
numbers and digests; the second finds the pairs and phrases that occur again; the third writes the
distinct pairs as ids of the shortlists. Apart from the lists of words, memory does not grow with
the table; the disk holds some 115 bytes a line meanwhile.
"""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np

from phrasescore.runs.file_kinds import can_be_read_again
from phrasescore.runs.identity import sha256_of
from phrasescore.table.block import read_blocks
from phrasescore.training.disk_arrays import write_npy
from phrasescore.training.encoded_sides import SIDES, StreamedSide, encode_once, stream_sides
from phrasescore.training.phrase_pairs import EncodedPairs, PairSettings
from phrasescore.training.repeated_rows import RepeatedRows
from phrasescore.words.distinct_phrases import pair_digests

# a change of the files' meaning must change this number
_FORMAT = 3


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
        "format": _FORMAT,
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
