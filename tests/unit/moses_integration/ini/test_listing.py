"""The listing of `ini show`, and the problems that it finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from moses_integration.ini.listing import Listing, problems
from moses_integration.ini.moses_ini import MosesIni

INI = b"""\
[distortion-limit]
6
[mapping]
0 T 0
1 T 1
[feature]
UnknownWordPenalty
PhraseDictionaryMemory name=TM0 num-features=2 path=pt tuneable-components=0,1
KENLM name=LM0 path=lm.arpa
PhraseDictionaryCompact name=CT0 num-features=1 path=cpt
LexicalReordering name=LR0 type=msd-backward-fe path=reo
[weight]
TM0= 0.2 0.3
LM0= 0.5
CT0= 1
"""

LISTING = """\
x.ini: 5 features, 8 weights, 6 of them tuned; in the order of n-best lists
feature              class                    file     weights
LM0                  KENLM                    lm.arpa  0.5
LR0                  LexicalReordering        reo      1 1 1
UnknownWordPenalty0  UnknownWordPenalty                (1)
TM0                  PhraseDictionaryMemory   pt       (0.2) 0.3
CT0                  PhraseDictionaryCompact  cpt      1

problems
  x.ini:8: pt: no such file, with or without .gz. """


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current directory, with some of the files."""
    for name in ("lm.arpa.gz", "cpt.minphr", "reo.gz"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(data: bytes) -> list[str]:
    """Return the problems of an ini called x.ini."""
    return [str(problem) for _, problem in problems(MosesIni.parse(data, "x.ini"))]


def test_listing_shows_features_and_problems(folder: Path) -> None:
    """Features are in the order of n-best lists; weights that are not tuned are in brackets."""
    assert str(Listing.from_ini(MosesIni.parse(INI, "x.ini"))) == (
        f"{LISTING}Relative paths resolve against the current directory, "
        f"which is {folder}.\n"
        "  x.ini:9: lm.arpa does not exist; lm.arpa.gz does, but Moses would not look for it. "
        "Write path=lm.arpa.gz, or unzip it."
    )


def test_a_sound_ini_has_no_problems() -> None:
    """Moses finds reordering tables with .gz and compact tables with their ending."""
    data = b"[feature]\nLexicalReordering type=msd-backward-fe path=reo\nDistortion\n"
    assert found(data) == []
    assert "problems" not in str(Listing.from_ini(MosesIni.parse(data)))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"[dl]\n6\n", "x.ini:4: Moses ignores [dl], which is the short name of a switch. "
         "Write [distortion-limit]."),
        (b"[distortionlimit]\n6\n", "x.ini:4: Moses refuses the unknown section [distortionlimit] "
         "(did you mean distortion-limit?). Correct or delete it."),
        (b"[weight]\nNope0= 1\n", "x.ini:4: weights for Nope0, but there is no such feature"),
        (b"[weight]\nDistortion0= 1 2\n", "x.ini:4: 2 weights for Distortion0, which has 1"),
        (b"[feature]\nMyOwn\n", "x.ini:4: unknown feature class MyOwn"),
        (b"[feature]\nWordPenalty name=WP_0\n", "x.ini:4: mert-moses.pl does not tune a feature "
         "called WP_0"),
    ],
)  # fmt: skip
def test_problems_name_their_line(data: bytes, problem: str) -> None:
    """Each problem is one sentence with its line."""
    (sentence,) = found(b"[feature]\nDistortion\n" + data)
    assert sentence.startswith(problem)


def test_faulty_features_are_not_listed() -> None:
    """Faulty features are left out, because their place in n-best lists is unknown."""
    data = b"[feature]\nMyOwn\nDistortion\n[weight]\nMyOwn0= 3\n"
    listing = Listing.from_ini(MosesIni.parse(data, "x.ini"))
    assert listing.features == []
    assert "x.ini:2: unknown feature class MyOwn" in str(listing)
