"""What Moses would refuse or ignore in an ini."""

from __future__ import annotations

from pathlib import Path

import pytest

from moses_integration.ini.moses_ini import MosesIni
from moses_integration.ini.problems import problems


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with some of the files."""
    for name in ("lm", "lm.arpa.gz", "cpt.minphr", "reo.gz"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(data: bytes) -> list[str]:
    """Return the problems of an ini called x.ini, without notes."""
    ini = MosesIni.parse(data, "x.ini")
    return [str(problem) for severity, problem in problems(ini) if severity != "note"]


def test_compact_tables_need_a_moses_with_them() -> None:
    """Moses is often built without the library that reads compact tables."""
    data = b"[feature]\nPhraseDictionaryCompact input-factor=0 output-factor=0 path=cpt\n"
    ((severity, problem),) = problems(MosesIni.parse(data))
    assert severity == "note"
    assert problem.problem == (
        "real Moses has PhraseDictionaryCompact only if it was built with it"
    )


def test_files_that_moses_would_not_find(folder: Path) -> None:
    """Either they are missing, or only this project looks for them with .gz."""
    data = b"[feature]\nKENLM name=LM0 path=lm.arpa\nKENLM name=LM1 path=pt\n"
    assert found(data) == [
        "x.ini:2: lm.arpa does not exist; lm.arpa.gz does, but Moses would not look for it. "
        "Write path=lm.arpa.gz, or unzip it.",
        "x.ini:3: pt: no such file, with or without .gz. Relative paths start in the folder of "
        "the system if this folder is named, but if the ini is named, in "
        f"the current directory, which is {folder}.",
    ]


def test_a_sound_ini_has_no_problems() -> None:
    """Moses finds reordering tables with .gz and compact tables with their ending."""
    factors = b"input-factor=0 output-factor=0"
    data = b"[feature]\nLexicalReordering type=msd-backward-fe %b path=reo\n" % factors
    data += b"Distortion\nPhraseDictionaryCompact num-features=1 %b path=cpt\n" % factors
    assert found(data) == []
    # Moses takes words for 0
    assert found(data + b"[input-factors]\nsurface\n[mapping]\n0 T TranslationModel0\n") == []


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"[dl]\n6\n", "x.ini:4: Moses never reads [dl], the short name of distortion-limit. "
         "Write [distortion-limit], or delete it."),
        (b"[tm]\n6\n", "x.ini:4: Moses never reads [tm], the short name of weight-t. Delete it."),
        (b"[tt]\n6\n", "x.ini:4: Moses never reads [tt], the short name of report-segm"),
        (b"[feature]\nPhraseDictionaryCompact name=T num-features=1 input-factor=0 path=cpt\n",
         "x.ini:4: T needs input-factor=0 and output-factor=0. Add them to its line; without them, "
         "Moses stops, or looks up nothing."),
        (b"[feature]\nLexicalReordering name=R type=wbe-msd-bidirectional-fe-allff path=reo\n",
         "x.ini:4: R needs input-factor=0 and output-factor=0."),
        (b"[threads]\n0\n", "x.ini:4: [threads] is '0', expected a number from 1 to 256, or all"),
        (b"[mapping]\n0 T 0\n", "x.ini:4: [mapping] has '0 T 0', expected 'path T table'"),
        (b"[feature]\nPhraseDictionaryCompact name=T num-features=1 input-factor=0 "
         b"output-factor=0 path=cpt\n[mapping]\n-1 T 0\n", "x.ini:6: [mapping] has '-1 T 0'"),
        (b"[distortionlimit]\n6\n", "x.ini:4: Moses refuses the unknown section [distortionlimit] "
         "(did you mean distortion-limit?). Correct or delete it."),
        (b"[weight]\nNope0= 1\n", "x.ini:4: weights for Nope0, but there is no such feature"),
        (b"[weight]\nDistortion0= 1 2\n", "x.ini:4: 2 weights for Distortion0, which has 1"),
        (b"[feature]\nMyOwn\n", "x.ini:4: unknown feature class MyOwn"),
        (b"[feature]\nKENLM name=L path=lm load=foo\n", "x.ini:4: Moses refuses load=foo, expected "
         "lazy, populate_or_lazy"),
        (b"[feature]\nKENLM name=L path=lm lazyken=x\n", "x.ini:4: Moses refuses lazyken=x"),
        (b"[feature]\nKENLM name=L path=lm fctor=0\n", "x.ini:4: Moses refuses the unknown option "
         "fctor of KENLM (did you mean factor?). Delete the option."),
        (b"[feature]\nKENLM\tname=L path=lm\n", "x.ini:4: a tab in the line of L; Moses"),
        (b"[feature]\nKENLM name=L factor=0\n", "x.ini:4: L has no path. Add path=FILE"),
        (b"[feature]\nKENLM name=L path=lm factor=1\nPhraseDictionaryCompact num-features=1 "
         b"input-factor=0 output-factor=0 path=cpt\n", "x.ini:4: L reads factor 1, which no table "
         "makes: Moses crashes. Correct factor=, or the output-factor= of the tables."),
        (b"[feature]\nWordPenalty foo=1\n", "x.ini:4: Moses refuses the unknown option foo of Wo"),
        (b"[feature]\nWordPenalty\nWordPenalty\n", "x.ini:5: real Moses refuses a second WordPen"),
        (b"[feature]\nLexicalReordering type=msd-backward-fe input-factor=0 output-factor=0 "
         b"path=reo tuneable=false\n", "x.ini:4: Moses refuses the unknown option tuneable"),
        (b"[feature]\nWordPenalty name=WP_0\n", "x.ini:4: mert-moses.pl does not tune a feature "
         "called WP_0"),
    ],
)  # fmt: skip
def test_problems_name_their_line(data: bytes, problem: str) -> None:
    """Each is one sentence."""
    (sentence,) = found(b"[feature]\nDistortion\n" + data)
    assert sentence.startswith(problem)
