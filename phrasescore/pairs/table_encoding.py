"""Encode a phrase table once: stream it to word numbers, drop repeated pairs, apply shortlists.

Three passes, none with an object per pair. The first streams the table's lines to files of word
numbers and digests; the second finds the pairs and phrases that occur again; the third writes the
distinct pairs as ids of the shortlists. Apart from the lists of words, memory grows by some 20
bytes per line.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from phrasescore.files.byte_streams import sha256_of
from phrasescore.files.pipes import can_be_read_again
from phrasescore.pairs.distinct_phrases import (
    Digests,
    first_rows,
    groups_of,
    is_first,
    pair_digests,
)
from phrasescore.pairs.encoded_sides import (
    ROWS_AT_ONCE,
    SIDES,
    StreamedSide,
    encode_once,
    mapped,
    stream_sides,
)
from phrasescore.pairs.phrase_pairs import EncodedPairs, PairSettings
from phrasescore.table.block import read_blocks

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
    distinct = is_first(first_rows(_pair_digests(scratch, *sides)))
    summary = f"{len(distinct):,} lines, {int(distinct.sum()):,} distinct pairs"
    report: dict[str, Any] = {"summary": summary, "unit": "phrases", "set_aside": 0}
    sizes = (settings.source_words, settings.target_words)
    for side, streamed, size in zip(SIDES, sides, sizes, strict=True):
        first = first_rows(streamed.digests)
        # the first line with a phrase is also the first line with its pair, hence kept
        coverage, ids = streamed.write_words(folder, side, is_first(first), distinct, size)
        np.save(folder / f"{side}.groups.npy", groups_of(first)[distinct])
        streamed.write_ids(folder, side, distinct, ids)
        report[side] = dataclasses.asdict(coverage)
    return report


def _pair_digests(scratch: Path, source: StreamedSide, target: StreamedSide) -> Digests:
    with (scratch / "pair.digests").open("wb") as stream:
        for begin in range(0, len(source.lengths), ROWS_AT_ONCE):
            rows = slice(begin, begin + ROWS_AT_ONCE)
            digests: Digests = pair_digests(source.digests[rows], target.digests[rows])
            stream.write(digests.data)
    return mapped(scratch / "pair.digests", np.uint64).reshape(-1, 2)
