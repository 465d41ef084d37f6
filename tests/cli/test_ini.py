"""`phrasescore ini` as a user runs it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import Phrasescore

INI = b"""\
[feature]
PhraseDictionaryMemory name=TranslationModel0 input-factor=0 output-factor=0 \
num-features=1 path=old # table
Distortion
[weight]
TranslationModel0= 0.3
Distortion0= 0.1
"""
TABLE = b"la ||| the ||| 0.5 1e-50\nles ||| the ||| 0.25 0.5\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the current directory of the commands, with an ini and its tables."""
    (tmp_path / "moses.ini").write_bytes(INI)
    (tmp_path / "old").write_bytes(b"la ||| the ||| 0.5\n")
    (tmp_path / "new").write_bytes(TABLE)
    return tmp_path


def test_add_column_writes_the_ini_and_says_what_it_did(
    phrasescore: Phrasescore, folder: Path
) -> None:
    """The new ini is written and the change reported; floored scores cause a warning."""
    done = phrasescore("ini", "add-column", "moses.ini", "--table", "new", "-o", "out.ini").well()
    assert (folder / "out.ini").read_bytes() == INI.replace(
        b"num-features=1 path=old", b"num-features=2 path=new"
    ).replace(b"0.3", b"0.3 0.2")
    assert done.stderr.decode().splitlines() == [
        "new: 2 phrase pairs with 2 scores",
        "TranslationModel0: path=new, num-features=2 (before: 1), with the weight 0.2",
        "now tune all weights of out.ini together (phrasescore tune): the new weight is a guess",
        "warning: score 2 is floored at -100 by Moses in 1 of 2 lines (50.0%)",
    ]
    assert (folder / "moses.ini").read_bytes() == INI
    (folder / "new").write_bytes(TABLE.replace(b"0.5 1e-50", b"0.4 0.3"))
    other = phrasescore("ini", "add-column", "moses.ini", "--table", "new", "-o", "out.ini").well()
    assert (
        b"warning: only 0 of 1 phrase pairs have the same first score in new and old"
        in other.stderr
    )
    (folder / "old").write_bytes(b"la ||| the ||| 0.5\n" * 4)
    fewer = phrasescore("ini", "add-column", "moses.ini", "--table", "new", "-o", "out.ini").well()
    assert b"warning: new has only 2 of the 4 phrase pairs of old" in fewer.stderr


@pytest.mark.parametrize(
    "call",
    [
        "ini add-column moses.ini --table new -o",
        "ini add-language-model moses.ini --model new -o",
        "ini remove-feature moses.ini Distortion0 -o",
        "ini absolute-paths moses.ini -o",
        "doctor moses.ini --json-file",
        "tune moses.ini --source new --reference new -o tuned --json-file",
        "decode moses.ini -o",
    ],
)
def test_no_output_replaces_a_table_of_the_ini(
    phrasescore: Phrasescore, folder: Path, call: str
) -> None:
    """Every command that reads an ini protects the files that the ini names."""
    before = sorted(folder.iterdir())
    phrasescore(*call.split(), "old").refused(2, "would replace an input: TranslationModel0")
    assert (folder / "old").read_bytes() == b"la ||| the ||| 0.5\n"
    assert sorted(folder.iterdir()) == before


def test_add_column_options(phrasescore: Phrasescore, folder: Path) -> None:
    """Options set absolute paths and standard output; the given ini stays as it is."""
    arguments = ("ini", "add-column", "moses.ini", "--table", "new")
    done = phrasescore(*arguments, "--absolute-paths", "-o", "-")
    expected = INI.replace(
        b"num-features=1 path=old", b"num-features=2 path=%b/new" % bytes(folder)
    )
    assert done.stdout == expected.replace(b"0.3", b"0.3 0.2")
    phrasescore(*arguments, "-o", "moses.ini").refused(2, "would replace an input: SYSTEM")
    assert (folder / "moses.ini").read_bytes() == INI


def test_chance_does_not_hide_another_kind_of_table(phrasescore: Phrasescore, folder: Path) -> None:
    """In a reordering table, a few scores equal those of the phrase table."""
    pairs = [b"s%d ||| t%d ||| " % (number, number) for number in range(5)]
    (folder / "old").write_bytes(b"".join(pair + b"0.2\n" for pair in pairs))
    scores = [b"0.2 0.6\n", b"0.2 0.6\n", *[b"0.6 0.2\n"] * 3]
    (folder / "new").write_bytes(b"".join(map(bytes.__add__, pairs, scores)))
    done = phrasescore("ini", "add-column", "moses.ini", "--table", "new", "-o", "out.ini").well()
    assert (
        b"warning: only 2 of 5 phrase pairs have the same first score in new and old" in done.stderr
    )


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["--table", "new", "-o", "out.ini", "--feature", "TM"], 3, "there is no feature TM"),
        (["--table", "new", "-o", "out.ini", "--feature", "Distortion0"], 2, "not a phrase table"),
        (["--table", "-", "-o", "out.ini"], 2, "an ini needs a path"),
        (["--table", ".", "-o", "out.ini"], 3, "a folder, where a text phrase table"),
        (["--table", "bad", "-o", "out.ini"], 3, "bad:2: score 2 is negative"),
        (["--table", "moses.ini", "-o", "out.ini"], 3, "1 column, expected at least 3"),
        (["--table", "a b", "-o", "out.ini"], 3, "values have no blanks"),
        (["--table", "./old", "-o", "out.ini"], 3, "has this table already, with 1 score. First"),
    ],
)
def test_add_column_failures(
    phrasescore: Phrasescore, folder: Path, arguments: list[str], code: int, problem: str
) -> None:
    """Each failure prints one sentence without a traceback, and writes no output."""
    (folder / "bad").write_bytes(b"la ||| the ||| 0.5 1\nles ||| the ||| 0.5 -2.5\n")
    (folder / "a b").write_bytes(TABLE)
    phrasescore("ini", "add-column", "moses.ini", *arguments).refused(code, problem)
    assert not (folder / "out.ini").exists()


def test_the_golden_ini_gains_its_fifth_score(
    phrasescore: Phrasescore, tmp_path: Path, bundled_golden: Path
) -> None:
    """The result equals an ini that was written by hand for the same table."""
    shutil.copytree(bundled_golden / "system", tmp_path / "system")
    phrasescore(
        "ini", "add-column", "system/moses.ini", "--table", "system/phrase-table.5col.gz",
        "-o", "out.ini",
    ).well()  # fmt: skip
    expected = (bundled_golden / "system" / "moses.5col.ini").read_bytes()
    assert (tmp_path / "out.ini").read_bytes() == expected.replace(b" 0.0001\n", b" 0\n")


def test_a_column_beside_tuned_weights_changes_no_translation(
    phrasescore: Phrasescore, folder: Path
) -> None:
    """The new weight is 0; this command and the doctor recommend tuning all weights."""
    (folder / "old").write_bytes(b"la ||| the ||| 0.5 0.25\n")
    (folder / "new").write_bytes(b"la ||| the ||| 0.5 0.25 0.125\n")
    tuned = INI.replace(b"num-features=1", b"num-features=2").replace(b"= 0.3", b"= 0.3 0.07")
    (folder / "moses.ini").write_bytes(tuned)
    done = phrasescore("ini", "add-column", "moses.ini", "--table", "new", "-o", "out.ini").well()
    assert b"TranslationModel0= 0.3 0.07 0\n" in (folder / "out.ini").read_bytes()
    assert b"now tune all weights of out.ini together" in done.stderr
    assert b"until then the new weight is 0" in done.stderr
    for weight in ("0", "0.2"):
        text = (folder / "out.ini").read_text().replace("0.07 0\n", f"0.07 {weight}\n")
        (folder / "out.ini").write_text(text)
        found = phrasescore("doctor", "out.ini").stdout.decode()
        assert f"the last weight of TranslationModel0 is {weight}, a start value, while" in found


def test_paths_alone_are_made_absolute(phrasescore: Phrasescore, folder: Path) -> None:
    """Only paths change; a path without a file is refused."""
    done = phrasescore("ini", "absolute-paths", "moses.ini", "-o", "out.ini").well()
    expected = INI.replace(b"path=old", b"path=%b/old" % bytes(folder))
    assert (folder / "out.ini").read_bytes() == expected
    assert b"1 path made absolute\n" in done.stderr
    (folder / "below").mkdir()
    (folder / "old").rename(folder / "below" / "old")
    (folder / "moses.ini").rename(folder / "below" / "moses.ini")
    here = f"the current directory, which is {folder}"
    phrasescore("ini", "absolute-paths", "below/moses.ini", "-o", "out.ini").refused(3, here)
    (folder / "dev").write_bytes(b"la\n")
    texts = ("--source", "dev", "--reference", "dev", "-o", "tuned")
    phrasescore("tune", "below/moses.ini", *texts).refused(3, here)


def test_the_reordering_table_is_replaced_with_the_phrase_table(
    phrasescore: Phrasescore, folder: Path
) -> None:
    """One command adds both files of `generate --extend`; without a reordering feature it fails."""
    both = ("ini", "add-column", "moses.ini", "--table", "new", "--reordering", "more", "-o", "out")
    (folder / "more").write_bytes(b"la ||| the ||| 0.5 0.25 0.25\n")
    phrasescore(*both).refused(3, "0 LexicalReordering features, but --reordering needs one")
    line = b"LexicalReordering name=LR num-features=3 type=wbe-msd-backward-fe path=%b\n"
    text = INI.replace(b"Distortion\n", line % b"less" + b"Distortion\n")
    (folder / "moses.ini").write_bytes(text)
    phrasescore(*both).well()
    assert line % b"more" in (folder / "out").read_bytes()
    assert b"num-features=2 path=new" in (folder / "out").read_bytes()
