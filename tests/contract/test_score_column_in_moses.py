"""Real Moses reads a written score as the value that was meant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from phrasescore.scoring.probability_column import count_texts, probability_texts
from tests.support.fresh_process import output_of

INI = """[input-factors]
0
[mapping]
0 T 0
[feature]
PhraseDictionaryMemory name=TranslationModel0 num-features=1 path={table} \
input-factor=0 output-factor=0
Distortion
WordPenalty
[weight]
TranslationModel0= 1
Distortion0= 0
WordPenalty0= 0
[n-best-list]
-
1
"""


def read_by_moses(texts: list[bytes], folder: Path, moses_bin: Path) -> list[float]:
    table = folder / "table"
    table.write_bytes(b"".join(b"w%d ||| v ||| %s\n" % (i, text) for i, text in enumerate(texts)))
    (folder / "moses.ini").write_text(INI.format(table=table))
    moses = moses_bin / "moses", "-f", folder / "moses.ini", "-n-best-list", "-", "1", "-v", "0"
    words = b"".join(b"w%d\n" % i for i in range(len(texts)))
    scores = {}
    for line in output_of(*moses, input=words).split(b"\n"):
        columns = line.split(b" ||| ")
        if len(columns) == 4:
            tokens = columns[2].split(b" ")
            scores[int(columns[0])] = float(tokens[tokens.index(b"TranslationModel0=") + 1])
    return [scores[i] for i in range(len(texts))]


@pytest.mark.moses
def test_logarithms(tmp_path: Path, moses_bin: Path) -> None:
    """Moses's feature value equals ln p to six digits, and is exactly -100 at the floor."""
    ln_p = np.array([0.0, -1e-6, -0.5, -17.25, -60.0, -86.9, -99.5, -100.0, -250.0])
    values = read_by_moses(probability_texts(ln_p), tmp_path, moses_bin)
    assert values[:6] == pytest.approx(ln_p[:6], rel=1e-5, abs=1e-6)
    assert values[6] == pytest.approx(-99.5, abs=0.02)
    assert values[7:] == [-100.0, -100.0]


@pytest.mark.moses
def test_counts(tmp_path: Path, moses_bin: Path) -> None:
    """Moses's feature value of a written count is the count."""
    values = read_by_moses(count_texts(np.array([0, 1, 7, 14])), tmp_path, moses_bin)
    assert values == pytest.approx([0, 1, 7, 14], abs=1e-4)
