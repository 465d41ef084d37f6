"""``prune --weights`` keeps the same pairs as Moses's prunePhraseTable."""

from __future__ import annotations

import gzip
import math
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from tests.conftest import Phrasescore
from tests.support.plain_pruning import scores_of

pytestmark = [pytest.mark.moses, pytest.mark.slow]
WEIGHTS = (0.0632, 0.0286, 0.0876, 0.0311)
INI = f"""\
[input-factors]
0
[mapping]
0 T 0
[feature]
UnknownWordPenalty
WordPenalty
PhrasePenalty
PhraseDictionaryMemory name=T num-features=4 path=small input-factor=0 output-factor=0
Distortion
[weight]
Distortion0= 0.1
WordPenalty0= -0.1
PhrasePenalty0= 0.1
T= {" ".join(map(str, WEIGHTS))}
UnknownWordPenalty0= 1
"""


def values(lines: list[bytes]) -> dict[bytes, list[float]]:
    """Return the sorted weighted sums of each source, because tied pairs are interchangeable."""
    found = defaultdict(list)
    for line in lines:
        value = sum(w * math.log(p) for w, p in zip(WEIGHTS, scores_of(line), strict=True))
        found[line.split(b" ||| ")[0]].append(value)
    return {source: sorted(sums) for source, sums in found.items()}


@pytest.mark.parametrize("top", [1, 3, 8])
def test_best_by_weights(
    top: int, bundled_golden: Path, moses_bin: Path, phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """Both keep the same sources, with pairs of equal values."""
    program = moses_bin / "prunePhraseTable"
    if not program.exists():
        pytest.skip("this build of Moses has no prunePhraseTable")
    table = gzip.decompress((bundled_golden / "system" / "phrase-table.gz").read_bytes())
    lines = table.splitlines(keepends=True)
    (tmp_path / "table").write_bytes(table)
    (tmp_path / "small").write_bytes(b"".join(lines[:50]))  # the table of the ini
    (tmp_path / "moses.ini").write_text(INI)
    theirs = subprocess.run(
        [program, "-i", "table", "-f", "moses.ini", "-n", str(top)],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    ).stdout.splitlines(keepends=True)
    done = phrasescore(
        *("prune", "table", "-o", "-", "--top", str(top), "--weights", "moses.ini"),
    )
    assert done.returncode == 0, done.stderr.decode()
    ours = done.stdout.splitlines(keepends=True)
    assert len(ours) < len(lines)
    assert set(ours) <= set(lines)
    found, expected = values(ours), values(theirs)
    assert found.keys() == expected.keys()
    for source, sums in found.items():
        # Moses sums in float32
        assert sums == pytest.approx(expected[source], abs=1e-5)
