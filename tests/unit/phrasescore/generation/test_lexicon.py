"""The most probable translations of a lexical table."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from phrasescore.errors import CorpusError
from phrasescore.generation.translator import read_lexicon

ENGLISH, FRENCH = frozenset([b"the", b"dog", b"six"]), frozenset([b"le", b"la", b"chien", b"six"])
TABLE = b"""le the 0.5
la the 0.4
NULL the 0.9
chien dog 0.25
bete dog 0.25
six six 1.0
le NULL 0.7
"""


def test_the_most_probable_translation(tmp_path: Path) -> None:
    """Ties go to the first by bytes, NULL is left out, and the order of lines does not matter."""
    expected = {b"the": b"le", b"dog": b"bete", b"six": b"six"}
    (tmp_path / "lex").write_bytes(TABLE)
    assert read_lexicon(tmp_path / "lex", ENGLISH, FRENCH, "source-target") == expected
    turned = b"".join(reversed(TABLE.splitlines(keepends=True)))
    (tmp_path / "lex.gz").write_bytes(gzip.compress(turned))
    assert read_lexicon(tmp_path / "lex.gz", ENGLISH, FRENCH, "source-target") == expected


def test_tables_of_moses(bundled_golden: Path) -> None:
    """Models that read the source need lex.f2e; lex.e2f is refused by name."""
    folder = bundled_golden / "extraction"
    with gzip.open(folder / "lex.f2e.gz") as stream:
        lines = [line.split() for line in stream]
    english, french = frozenset(line[1] for line in lines), frozenset(line[0] for line in lines)
    best = read_lexicon(folder / "lex.f2e.gz", english, french, "source-target")
    for word in sorted(english - {b"NULL"})[:50]:
        own = [(-float(p), f) for f, e, p in lines if e == word and f != b"NULL"]
        assert best.get(word) == (min(own)[1] if own else None)
    with pytest.raises(CorpusError, match=r"wrong order.*lex\.f2e"):
        read_lexicon(folder / "lex.e2f.gz", english, french, "source-target")
    with pytest.raises(CorpusError, match=r"wrong order.*lex\.e2f"):
        read_lexicon(folder / "lex.f2e.gz", french, english, "target-source")


@pytest.mark.parametrize(
    "line",
    [b"le the", b"le the x", b"le the 0.5 1", b"", b"le the nan", b"le the 1_0", b"le the -1"],
)
def test_a_line_that_is_none(tmp_path: Path, line: bytes) -> None:
    """Wrong lines are errors with file and line."""
    (tmp_path / "lex").write_bytes(b"le the 0.5\n" + line + b"\n")
    with pytest.raises(CorpusError, match="lex:2: not a line of a lexical table"):
        read_lexicon(tmp_path / "lex", ENGLISH, FRENCH, "source-target")
