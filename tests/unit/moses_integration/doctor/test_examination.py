"""A healthy system has no errors, and each planted fault is found."""

from __future__ import annotations

import bz2
import gzip
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from moses_integration.doctor.examination import examine
from moses_integration.doctor.findings import Diagnosis
from tests.support.language_models import arpa_of, kenlm_binary

TABLE, REORDERING, LM = "phrase-table.gz", "reordering-table.gz", "lm.arpa"


def examine_copy(
    ini: str = "system/moses.ini",
    references: Sequence[str] = ("dev.fr",),
    moses: Path | None = None,
) -> Diagnosis:
    """Examine a system in the current directory with its development set."""
    return examine(ini, "dev.en", references, moses=moses)


@pytest.fixture(scope="module")
def healthy(bundled_golden: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the golden system with an unzipped language model, and a development set."""
    folder = tmp_path_factory.mktemp("healthy")
    shutil.copytree(bundled_golden / "system", folder / "system", copy_function=shutil.copyfile)
    (folder / "system").chmod(0o755)
    (folder / "system" / LM).write_bytes(unzipped(folder / "system" / "lm.arpa.gz"))
    for side in ("en", "fr"):
        shutil.copyfile(bundled_golden / "decode" / f"input.{side}", folder / f"dev.{side}")
    return folder


@pytest.fixture(scope="module")
def said_of_healthy(healthy: Path) -> set[tuple[str, str]]:
    """Return the findings in the healthy system, with their places."""
    here = Path.cwd()
    os.chdir(healthy)
    try:
        return {(finding.what, finding.where) for finding in examine_copy().findings}
    finally:
        os.chdir(here)


@pytest.fixture
def system(healthy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Copy the healthy system to the current directory."""
    shutil.copytree(healthy, tmp_path / "copy", copy_function=os.link)
    monkeypatch.chdir(tmp_path / "copy")
    yield Path()


def unzipped(path: Path) -> bytes:
    with gzip.open(path) as stream:
        return stream.read()


def write(path: Path, data: bytes) -> None:
    # make a new file, because the old one is a link to the healthy system
    path.unlink(missing_ok=True)
    path.write_bytes(gzip.compress(data, 1) if path.suffix == ".gz" else data)


def edit(name: str, change: Callable[[bytes], bytes]) -> Callable[[], None]:
    """Plant a fault in a whole file of the system or the development set."""

    def plant() -> None:
        path = Path("system", name) if not name.startswith("dev") else Path(name)
        write(path, change(unzipped(path) if path.suffix == ".gz" else path.read_bytes()))

    return plant


def replaced(name: str, old: bytes, new: bytes) -> Callable[[], None]:
    def change(data: bytes) -> bytes:
        assert old in data
        return data.replace(old, new)

    return edit(name, change)


def line(name: str, number: int, change: Callable[[bytes], bytes]) -> Callable[[], None]:
    """Plant a fault in one line, counted from 1."""

    def changed(data: bytes) -> bytes:
        lines = data.split(b"\n")
        lines[number - 1] = change(lines[number - 1])
        return b"\n".join(lines)

    return edit(name, changed)


def score(value: bytes) -> Callable[[bytes], bytes]:
    """Replace the first score of a line."""

    def change(text: bytes) -> bytes:
        columns = text.split(b" ||| ")
        columns[2] = b" ".join([value, *columns[2].split(b" ")[1:]])
        return b" ||| ".join(columns)

    return change


def column(number: int, value: bytes) -> Callable[[bytes], bytes]:
    def change(text: bytes) -> bytes:
        columns = text.split(b" ||| ")
        columns[number] = value
        return b" ||| ".join(columns)

    return change


def every_line(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda data: b"".join(change(text) + b"\n" for text in data.split(b"\n")[:-1])


def cut(name: str) -> Callable[[], None]:
    """Cut a file in the middle, as if the disk was full."""

    def plant() -> None:
        path = Path("system", name)
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(data[: len(data) // 2])

    return plant


WEIGHTS = b"0.0964898082720017 0.114643013358085 0.0387269165332793 -0.0329637835735919"


def all_zero(data: bytes) -> bytes:
    head, _, tail = data.partition(b"[weight]\n")
    lines = [
        b" ".join([words[0], *[b"0"] * (len(words) - 1)])
        for words in (text.split(b" ") for text in tail.split(b"\n"))
    ]
    return head + b"[weight]\n" + b"\n".join(lines)


row = partial(line, TABLE)
in_ini = partial(replaced, "moses.ini")
E, W, MOSES, EMBEDDED = "error", "warning", "moses error", "embedded error"
T, R, INI = f"system/{TABLE}", f"system/{REORDERING}", "system/moses.ini"
# planted fault, severity, part of the message, place
FAULTS: dict[str, tuple[Callable[[], None], str, str, str]] = {
    "log-probability": (row(7, score(b"-3.5")), E, "score 1 is negative (-3.5), and", T + ":7"),
    "zeros": (row(9, score(b"0")), W, "score 1 is floored at -100 by Moses in 1 of 10,613", T),
    "infinite": (row(9, score(b"1e39")), E, "Moses reads score 1 as infinite in 1 lines", T),
    "a score too few": (row(10613, column(2, b"0.5 0.5 0.5")),
        E, "3 scores, where the lines before have 4", T + ":10613"),
    "a constant score": (edit(TABLE, every_line(score(b"2.718"))), W, "score 1 is 2.718 in", T),
    "no final line feed": (edit(TABLE, lambda data: data[:-1]),
        W, "the last line has no line feed", T + ":10613"),
    "bar in a source": (row(30, column(0, b"a|b")), E, "a '|' in a word; Moses keeps", T + ":30"),
    "bracket in a target": (row(30, column(1, b"un [chat]")), E, "a word in brackets", T + ":30"),
    "not sorted": (row(30, column(0, b"zebra")), W, "a line that sorts before the", T + ":31"),
    "a language model that is no file": (in_ini(b"system/lm.arpa", b"/dev/null"),
        E, "/dev/null is a pipe or a device, where KENLM needs a", INI + ":14"),
    "gzip cut short": (cut(TABLE), E, "the gzip data are cut short", T),
    "gzip not named .gz": (
        lambda: (Path("system", REORDERING).rename("system/hidden"),
                 in_ini(b"system/reordering-table.gz", b"system/hidden")())[0],
        MOSES, "Moses reads nothing from such a reordering table", "system/hidden"),
    "another kind of file": (in_ini(b"system/phrase-table.gz", b"system/lm.arpa"),
        E, "1 column, expected at least 3", "system/lm.arpa:1"),
    "num-features": (in_ini(b"num-features=4", b"num-features=5"),
        E, "the table has 4 scores, but the ini says num-features=5", T),
    "weights all zero": (edit("moses.ini", all_zero), E, "at most one weight is above 0", INI),
    "a feature without effect": (in_ini(b"LM0= 0.17623068916659", b"LM0= 0"),
        W, "the weights of LM0 are all zero", INI + ":19"),
    "no weights": (in_ini(b"LM0= 0.17623068916659\n", b""), W, "no weights for LM0, so", INI),
    "no distortion limit": (in_ini(b"[distortion-limit]\n6\n", b""), W, "no distortion limit", INI),
    "unknown section": (in_ini(b"[distortion-limit]", b"[distortion-limits]"), E,
        "Moses refuses the unknown section [distortion-limits] (did you mean distortion-limit?)",
        INI + ":6"),
    "a mapping without its table": (in_ini(b"0 T 0", b"0 T 1"),
        E, "[mapping] has '0 T 1', expected 'path T table' with one of the 1 phr", INI + ":4"),
    "a mapping with commas": (in_ini(b"0 T 0", b"0,T,0"), E, "[mapping] has '0,T,0'", INI + ":4"),
    "a mapping with two steps": (in_ini(b"0 T 0", b"0 T 0\n0 T 0"),
        EMBEDDED, "[mapping] has 2 tables on 1 decoding paths", INI),
    "an unknown search": (in_ini(b"[weight]", b"[search-algorithm]\n2\n[weight]"),
        MOSES, "with [search-algorithm] 2 Moses cannot translate", INI + ":16"),
    "a search of moses_chart": (in_ini(b"[weight]", b"[search-algorithm]\n3\n[weight]"),
        EMBEDDED, "search_algorithm is 3", INI),
    "an unknown type of input": (in_ini(b"[weight]", b"[inputtype]\n4\n[weight]"),
        MOSES, "with [inputtype] 4 Moses cannot translate", INI + ":16"),
    "another factor": (in_ini(b"[input-factors]\n0", b"[input-factors]\n1"),
        E, "TranslationModel0 reads factor 0, which [input-factors] lacks", INI + ":11"),
    "a section for lists": (in_ini(b"[weight]", b"[n-best-list]\nout\n100\n[weight]"),
        EMBEDDED, "does not know the section [n-best-list]", INI + ":16"),
    "a binary class with a text table": (
        in_ini(b"PhraseDictionaryMemory", b"PhraseDictionaryCompact"),
        E, "PhraseDictionaryCompact finds no binary table at system/phrase-table.gz", INI + ":11"),
    "SRILM": (in_ini(b"KENLM", b"SRILM"), W, "real Moses has SRILM only if it", INI + ":14"),
    "SRILM in the embedded decoder": (in_ini(b"KENLM", b"SRILM"),
        EMBEDDED, "the embedded decoder has no feature class SRILM", INI + ":14"),
    "sparse features": (row(30, lambda text: text.replace(b" ||| |||", b" ||| x 1 |||")),
        EMBEDDED, "the entry has sparse features in column 6", T + ":30"),
    "a link beyond the target phrase": (row(30, column(3, b"0-9")),
        E, "the word alignment is not a list of links", T + ":30"),
    "a language model with blanks": (edit(LM, lambda data: data.replace(b"\t", b" ")),
        MOSES, "a blank where KenLM, and so real Moses, needs a tab", "system/lm.arpa:"),
    "a language model packed by bzip2": (edit(LM, bz2.compress),
        EMBEDDED, "packed by bzip2 or xz, which only real Moses reads", "system/lm.arpa"),
    "a language model with rest costs": (
        edit(LM, lambda _: kenlm_binary("probing")[:96] + b"\1" + kenlm_binary("probing")[97:]),
        EMBEDDED, "the binary has rest costs, so only real Moses reads it", "system/lm.arpa"),
    "a language model of words": (
        edit(LM, lambda _: arpa_of([dict.fromkeys(("<s>", "</s>"), (-1, 0))]).encode()),
        MOSES, "a model of order 1; KenLM, and so", "system/lm.arpa"),
    "an ini that cannot be read": (in_ini(b"LM0= 0.17", b"LM0=0.17"),
        E, "is not of the form 'Name= 0.3'", INI + ":19"),
    "old style": (edit("moses.ini", lambda _: b"[ttable-file]\n0 0 0 4 phrase-table.gz\n"),
        EMBEDDED, "an old-style moses.ini", INI + ":2"),
    "no language model": (edit("moses.ini", lambda data: b"\n".join(
            text for text in data.split(b"\n") if b"LM0" not in text)),
        W, "no language model", INI),
    "a file that is not there": (Path("system", REORDERING).unlink,
        E, f"system/{REORDERING}: no such file", INI + ":12"),
    "a model not unzipped": (
        Path("system", LM).unlink, MOSES, "system/lm.arpa does not", INI + ":14"),
    "language model cut off": (cut(LM), E, "the header promises 3,099", "system/lm.arpa:"),
    "language model of another text in binary form": (
        edit(LM, lambda data: kenlm_binary("probing")),
        E, "the language model LM0 does not", "dev.fr"),
    "reordering of another table": (
        edit(REORDERING, lambda data: data[: data.index(b"\n", len(data) // 4) + 1]),
        E, "phrase pairs of system/phrase-table.gz", R),
    "no final line feed (reordering)": (edit(REORDERING, lambda data: data[:-1]),
        E, "the last line has no line", R + ":10613"),
    "reordering scores": (line(REORDERING, 5, column(2, b"0.5 0.25 0.25")),
        E, "3 scores, where the lines before have 6", R + ":5"),
    "empty reference line": (line("dev.fr", 3, lambda _: b""), W, "an empty line", "dev.fr:3"),
    "empty source line": (line("dev.en", 3, lambda _: b" "), W, "an empty line", "dev.en:3"),
    "empty development set": (edit("dev.en", lambda _: b""), E, "is empty", "dev.en"),
    "blank reference": (edit("dev.fr", lambda _: 40 * b"\n"), E, "is empty", "dev.fr"),
    "uneven": (edit("dev.fr", lambda data: data + b"un chat .\n"),
        E, "41 lines, but dev.en has 40", "dev.fr"),
    "no final line feed (source)": (edit("dev.en", lambda data: data[:-1]),
        E, "the last line has no line feed, and Moses does not translate it", "dev.en:40"),
    "bracket in the source": (line("dev.en", 2, lambda text: text + b" [laughs]"),
        E, "a word in brackets, at which Moses stops or", "dev.en:2"),
    "bar in the source": (line("dev.en", 2, lambda text: text + b" |"),
        E, "a '|', which Moses takes for the separator of factors", "dev.en:2"),
    "carriage returns": (edit("dev.fr", lambda data: data.replace(b"\n", b"\r\n")),
        E, "a carriage return at the", "dev.fr:1"),
    "rules": (edit("phrase-table.gz", lambda data: b"".join(
            b" [X] |||".join(line.split(b" |||", 2)) + b"\n" for line in data.splitlines()[:40])),
        E, "a table of hierarchical rules, which a search by phrases cannot use", ""),
    "another case": (edit("dev.en", lambda data: data.decode().title().encode()),
        E, "tokens it does not know if they were in lower case", "dev.en"),
    "another escaping": (edit("dev.fr", lambda data: data.replace(b"&apos;", b"'")),
        W, "tokens it does not know if they were", "dev.fr"),
    "not tokenised": (edit("dev.en", lambda data: data.replace(b" .", b".").replace(b" ,", b",")),
        E, "tokens it does not know if they were without the", "dev.en"),
}  # fmt: skip


@pytest.mark.parametrize("name", ["phrase-table.gz", REORDERING])
def test_blanks_in_a_table_do_not_matter(system: Path, name: str) -> None:
    """Moses finds the same pairs whether columns and words have no, one or two blanks around."""
    edit(name, lambda data: data.replace(b" ||| ", b"|||", 1).replace(b" ||| ", b"  ||| "))()
    assert not [each for each in examine_copy().findings if "phrase pairs of" in each.what]


@pytest.mark.parametrize("fault", FAULTS)
def test_each_planted_fault_is_found(
    system: Path, said_of_healthy: set[tuple[str, str]], fault: str
) -> None:
    """Each fault is reported with its severity, place and a remedy."""
    plant, severity, what, where = FAULTS[fault]
    plant()
    diagnosis = examine_copy()
    new = [each for each in diagnosis.findings if (each.what, each.where) not in said_of_healthy]
    found = [each for each in new if what in each.what and each.where.startswith(where)]
    assert found, str(diagnosis)
    assert found[0].severity == severity
    assert found[0].remedy
    if severity in (W, E):
        assert bool(diagnosis.count("error")) is (severity == E)
    else:
        assert diagnosis.usable[severity.split(" ")[0]] is False


@pytest.mark.parametrize("ini", ["moses.ini", "moses.5col.ini"])
def test_the_healthy_system_has_no_errors(system: Path, ini: str) -> None:
    """Relative paths and floored scores are warnings."""
    diagnosis = examine_copy(f"system/{ini}")
    assert not diagnosis.count("error"), str(diagnosis)
    warnings = [each.what for each in diagnosis.findings if each.severity == "warning"]
    expected = ["relative paths, which work only in the current directory"]
    expected += ["score 5 is floored at -100"] if ini == "moses.5col.ini" else []
    assert len(warnings) == len(expected)
    assert all(map(str.startswith, warnings, expected))


@pytest.mark.slow
@pytest.mark.parametrize("ini", ["moses.ini", "moses.tuned.ini"])
def test_the_real_system_has_no_errors(
    multi30k: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ini: str
) -> None:
    """The Multi30k system with an unzipped language model has no errors."""
    for path in multi30k.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "lm.5gram.arpa").write_bytes(unzipped(multi30k / "lm.5gram.arpa.gz"))
    monkeypatch.chdir(tmp_path)
    diagnosis = examine(ini, "val.en.gz", ("val.fr.gz",))
    assert diagnosis.count("error") == 0, str(diagnosis)
    assert diagnosis.count("warning") == 1


def test_swapped_texts(system: Path) -> None:
    """If source and reference are exchanged, the errors of both say so."""
    swapped = examine("system/moses.ini", "dev.fr", ["dev.en"])
    told = [each.where for each in swapped.findings if "look swapped" in each.remedy]
    assert told == ["dev.fr", "dev.en"]


def test_without_a_development_set(system: Path) -> None:
    """Without a development set the rest is examined, and a note lists the skipped checks."""
    diagnosis: Diagnosis = examine("system/moses.ini")
    assert not diagnosis.count("error")
    assert diagnosis.findings[-1].what == "none was given (--source), so no text was checked"


@pytest.mark.moses
def test_moses_itself_is_asked(system: Path, moses_bin: Path) -> None:
    """Moses confirms features and their order; if it refuses an ini, its last line is reported."""
    moses = moses_bin / "moses"
    said = [each.what for each in examine_copy(moses=moses).findings if each.severity == "note"]
    assert "Moses reads the file and has the expected features" in said
    replaced("moses.ini", b"0 T 0", b"0 T 0\n[weights]\nLM0= 1")()
    said = [each.what for each in examine_copy(moses=moses).findings if each.severity == MOSES]
    assert said[-1].startswith("Moses ended with status ")
    assert "weights" in said[-1]
