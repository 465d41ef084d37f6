"""BLEU statistics of real n-best lists equal the output of Moses's extractor, byte for byte."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from moses_integration.bleu import References
from moses_integration.nbest.arrays import NBestReader

Row = tuple[float, ...]


def without_duplicates(rows: list[Row]) -> Iterator[int]:
    """Yield the indices of the rows that Moses's extractor keeps, in its order.

    A row that equals an earlier row is replaced by the last remaining row.
    """
    left = list(range(len(rows)))
    known: set[Row] = set()
    place = 0
    while place < len(left):
        row = rows[left[place]]
        if row in known:
            left[place] = left[-1]
            left.pop()
            continue
        known.add(row)
        place += 1
    yield from left


def as_extractor_writes(
    sentences: NDArray[np.int32], features: NDArray[np.float32], statistics: NDArray[np.int32]
) -> bytes:
    """Return the content of a scores file."""
    pieces = []
    numbered = zip(sentences.tolist(), features.tolist(), statistics.tolist(), strict=True)
    for sentence, group in itertools.groupby(numbered, key=lambda row: row[0]):
        rows = [(tuple(values), counts) for _, values, counts in group]
        kept = list(without_duplicates([(*values, *counts) for values, counts in rows]))
        pieces.append(f"SCORES_TXT_BEGIN_0 {sentence} {len(kept)} 9 BLEU\n")
        pieces += ["".join(f"{count} " for count in rows[i][1]) + "\n" for i in kept]
        pieces.append("SCORES_TXT_END_0\n")
    return "".join(pieces).encode()


@pytest.mark.parametrize("number", [1, 2, 3])
def test_statistics_are_those_of_the_extractor(golden: Path, number: int) -> None:
    """All rows of a round and their order agree."""
    folder = golden / "tuning"
    references = References.read([folder / "refs.fr"])
    found = NBestReader(next(folder.glob(f"run{number}.best*.gz")), references.vocabulary).read()
    counted = references.score_tokens(found.sentences, found.tokens, found.offsets)
    ours = as_extractor_writes(found.sentences, found.features, counted)
    theirs = gzip.decompress((folder / f"run{number}.scores.dat.gz").read_bytes())
    assert ours == theirs
