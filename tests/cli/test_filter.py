"""``phrasescore filter`` as a user runs it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from moses_integration.ini.moses_ini import MosesIni
from tests.conftest import Phrasescore
from tests.support.killed import kill_when

TABLE = """\
a ||| x ||| 0.5 0.25 ||| 0-0
a b ||| x y ||| 0.5 0.25 ||| 0-0 1-1
c ||| z ||| 0.5 0.25 ||| 0-0
d ||| w ||| 0.5 0.25 ||| 0-0
"""
INI = """\
[distortion-limit]
6
[feature]
UnknownWordPenalty
PhraseDictionaryMemory name=TranslationModel0 num-features=2 path=table.gz \
input-factor=0 output-factor=0
KENLM name=LM0 path=lm.arpa order=2
[weight]
TranslationModel0= 0.2 0.2
LM0= 0.5
"""


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """Make an ini whose language model exists only compressed."""
    (tmp_path / "table.gz").write_bytes(gzip.compress(TABLE.encode()))
    (tmp_path / "lm.arpa.gz").write_bytes(gzip.compress(b"\\data\\\n"))
    (tmp_path / "moses.ini").write_text(INI)
    (tmp_path / "dev").write_text("a b\n")
    (tmp_path / "test").write_text("x d\n")
    return tmp_path / "moses.ini"


def test_raw_text_gets_a_warning(phrasescore: Phrasescore, system: Path, tmp_path: Path) -> None:
    """If the system has settings of text, the input should be prepared as they say."""
    (tmp_path / "raw").write_text("A b.\nX d?\n")
    (tmp_path / "text.json").write_text("{}")
    for text, warns in {"raw": True, "dev": False}.items():
        done = phrasescore("filter", system.name, "--input", text, "-o", f"{text}.filtered").well()
        assert (b"looks like raw text" in done.stderr) == warns


def test_tables_are_cut_down_to_all_texts(
    phrasescore: Phrasescore, system: Path, tmp_path: Path
) -> None:
    """Lines for phrases of any text are kept byte for byte; the ini works from any folder."""
    done = phrasescore(
        "filter", system.name, "--input", "dev", "--input", "test", "-o", "filtered",
        "--set", "search-algorithm=1", "--set", "distortion-limit=4",
    ).well()  # fmt: skip
    assert "TranslationModel0: 3 of 4 lines" in done.stderr.decode()
    table = tmp_path / "filtered" / "TranslationModel0.gz"
    kept = [line for line in TABLE.splitlines(True) if not line.startswith("c")]
    assert gzip.decompress(table.read_bytes()).decode() == "".join(kept)
    ini = MosesIni.read(tmp_path / "filtered" / "moses.ini")
    assert ini.feature("TranslationModel0").options["path"] == str(table)
    assert ini.feature("LM0").options["path"] == str(tmp_path / "lm.arpa.gz")
    assert ini.values("search-algorithm") == ("1",)
    assert ini.values("distortion-limit") == ("4",)


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["-o", "new", "--set", "stack"], 2, "is not SECTION=VALUE"),
        (["-o", "new", "--set", "stak=5"], 2, "did you mean stack?"),
    ],
)
def test_wrong_calls(
    phrasescore: Phrasescore,
    system: Path,
    arguments: list[str],
    status: int,
    sentence: str,
    tmp_path: Path,
) -> None:
    """Each wrong call prints the problem and leaves no file."""
    phrasescore("filter", system.name, "--input", "dev", *arguments).refused(status, sentence)
    assert not (tmp_path / "new").exists()


def test_a_killed_filter_starts_again(
    phrasescore: Phrasescore, system: Path, tmp_path: Path
) -> None:
    """The folder gets its name only when complete; a repeated call makes it and cleans up."""
    (tmp_path / "table.gz").write_bytes(gzip.compress(TABLE.encode() * 400_000, 1))
    command = ["filter", system.name, "--input", "dev", "-o", "out"]
    kill_when(lambda: any(tmp_path.glob(".out.*.part/.*.part")), phrasescore.start(*command))
    assert not (tmp_path / "out").exists()
    assert b"TranslationModel0: 800,000 of 1,600,000 lines" in phrasescore(*command).stderr
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_the_same_call_again_finds_its_folder(phrasescore: Phrasescore, system: Path) -> None:
    """A call after a kill at the very end has nothing to do; other texts are refused."""
    command = ["filter", system.name, "--input", "dev", "-o", "out"]
    phrasescore(*command).well()
    again = phrasescore(*command).well()
    assert b"filtered already to the same texts" in again.stderr
    assert phrasescore("filter", system.name, "--input", "test", "-o", "out").returncode == 6
