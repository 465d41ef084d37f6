"""A healthy system has no errors; each fault that is planted in it is found."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from moses_integration.doctor.examination import examine
from moses_integration.doctor.findings import Diagnosis
from phrasescore.errors import InputError
from tests.support.language_models import kenlm_binary

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
    """The golden system with its language model unzipped, and a development set beside it."""
    folder = tmp_path_factory.mktemp("healthy")
    shutil.copytree(bundled_golden / "system", folder / "system", copy_function=shutil.copyfile)
    (folder / "system").chmod(0o755)
    (folder / "system" / LM).write_bytes(unzipped(folder / "system" / "lm.arpa.gz"))
    for side in ("en", "fr"):
        shutil.copyfile(bundled_golden / "decode" / f"input.{side}", folder / f"dev.{side}")
    return folder


@pytest.fixture(scope="module")
def said_of_healthy(healthy: Path) -> set[tuple[str, str]]:
    """What is found in the healthy system, and where."""
    here = Path.cwd()
    os.chdir(healthy)
    try:
        return {(finding.what, finding.where) for finding in examine_copy().findings}
    finally:
        os.chdir(here)


@pytest.fixture
def system(healthy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of it, in the current directory."""
    shutil.copytree(healthy, tmp_path / "copy", copy_function=os.link)
    monkeypatch.chdir(tmp_path / "copy")
    yield Path()


def unzipped(path: Path) -> bytes:
    with gzip.open(path) as stream:
        return stream.read()


def write(path: Path, data: bytes) -> None:
    # a new file: the old one is a link to the healthy system's
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
    """Put a value in the place of the first score of a line."""

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
    """Cut a file in the middle, as a full disk does."""

    def plant() -> None:
        path = Path("system", name)
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(data[: len(data) // 2])

    return plant


def stale_work_folder() -> None:
    Path("mert-work").mkdir()
    Path("mert-work/features.list").write_text("LM0= 0.5\nTranslationModel0= 0.2 0.2 0.2\n")


def used_work_folder() -> None:
    Path("mert-work/filtered").mkdir(parents=True)
    ini = Path("system/moses.ini").read_text()
    old = ini.replace("num-features=4", "num-features=3").replace("TranslationModel0= 0.09", "#")
    Path("mert-work/filtered/moses.ini").write_text(old)


WEIGHTS = b"0.0964898082720017 0.114643013358085 0.0387269165332793 -0.0329637835735919"


def all_zero(data: bytes) -> bytes:
    head, _, tail = data.partition(b"[weight]\n")
    lines = [
        b" ".join([words[0], *[b"0"] * (len(words) - 1)])
        for words in (text.split(b" ") for text in tail.split(b"\n"))
    ]
    return head + b"[weight]\n" + b"\n".join(lines)


# what is planted, how bad it is, what is said, where
FAULTS: dict[str, tuple[Callable[[], None], str, str, str]] = {
    "log-probability": (
        line(TABLE, 7, score(b"-3.5")),
        "error",
        "score 1 is negative (-3.5), and Moses",
        f"system/{TABLE}:7",
    ),
    "all log-probabilities": (
        edit(TABLE, every_line(score(b"-1"))),
        "error",
        "10,612 more lines are like this",
        f"system/{TABLE}:1",
    ),
    "nan": (line(TABLE, 9, score(b"nan")), "error", "score 1 is 'nan'", f"system/{TABLE}:9"),
    "zeros": (
        line(TABLE, 9, score(b"0")),
        "warning",
        "score 1 is floored at -100 by Moses in 1 of 10,613 lines (0.0%), 1 of them zero",
        f"system/{TABLE}",
    ),
    "infinite": (
        line(TABLE, 9, score(b"1e39")),
        "error",
        "score 1 is infinite for Moses in 1 lines",
        f"system/{TABLE}",
    ),
    "a score too few": (
        line(TABLE, 10613, column(2, b"0.5 0.5 0.5")),
        "error",
        "3 scores, where the lines before have 4",
        f"system/{TABLE}:10613",
    ),
    "a broken line": (
        line(TABLE, 20, lambda text: text[:9]),
        "error",
        "expected at least 3",
        f"system/{TABLE}:20",
    ),
    "a constant score": (
        edit(TABLE, every_line(score(b"2.718"))),
        "warning",
        "score 1 is 2.718 in every line",
        f"system/{TABLE}",
    ),
    "no final line feed": (
        edit(TABLE, lambda data: data[:-1]),
        "warning",
        "the last line has no line feed",
        f"system/{TABLE}:10613",
    ),
    "no final line feed (reordering)": (
        edit(REORDERING, lambda data: data[:-1]),
        "error",
        "the last line has no line feed, and Moses ignores it",
        f"system/{REORDERING}:10613",
    ),
    "bar in a source": (
        line(TABLE, 30, column(0, b"a|b")),
        "error",
        "a '|' in a word, of which Moses keeps",
        f"system/{TABLE}:30",
    ),
    "bracket in a target": (
        line(TABLE, 30, column(1, b"un [chat]")),
        "error",
        "a word in brackets",
        f"system/{TABLE}:30",
    ),
    "not sorted": (
        line(TABLE, 30, column(0, b"zebra")),
        "warning",
        "a line that sorts before the previous one",
        f"system/{TABLE}:31",
    ),
    "a mapping to a number that is none": (
        replaced("moses.ini", b"0 T 0", b"0 T \xc2\xb2"),
        "error",
        "[mapping] uses the phrase table \u00b2, but there are 1 (from 0)",
        "system/moses.ini",
    ),
    "a mapping to a long number": (
        replaced("moses.ini", b"0 T 0", b"0 T " + b"9" * 5000),
        "error",
        "[mapping] uses the phrase table 999",
        "system/moses.ini",
    ),
    "a language model that is no file": (
        replaced("moses.ini", b"system/lm.arpa", b"/dev/null"),
        "error",
        "/dev/null is a pipe or a device, where KENLM needs a file",
        "system/moses.ini:14",
    ),
    "gzip cut short": (cut(TABLE), "error", "the gzip data end in the middle", f"system/{TABLE}"),
    "gzip cut short (reordering)": (
        cut(REORDERING),
        "error",
        "the gzip data end in the middle",
        f"system/{REORDERING}",
    ),
    "plain text named .gz": (
        lambda: (
            Path("system", TABLE).unlink(),
            Path("system", TABLE).write_bytes(b"a ||| b ||| 1 1 1 1 ||| 0-0\n"),
        )[0],
        "error",
        "plain text in a file whose name ends in .gz",
        f"system/{TABLE}",
    ),
    "another kind of file": (
        replaced("moses.ini", b"system/phrase-table.gz", b"system/lm.arpa"),
        "error",
        "so this is not a phrase table",
        "system/lm.arpa",
    ),
    "num-features": (
        replaced("moses.ini", b"num-features=4", b"num-features=5"),
        "error",
        "the table has 4 scores, but the ini says num-features=5",
        f"system/{TABLE}",
    ),
    "weights": (
        replaced("moses.ini", WEIGHTS, WEIGHTS + b" 0.2"),
        "error",
        "5 weights for TranslationModel0, which has 4 components",
        "system/moses.ini:22",
    ),
    "weights all zero": (
        edit("moses.ini", all_zero),
        "error",
        "no weight but one is above 0",
        "system/moses.ini",
    ),
    "weights that ran away": (
        edit(
            "moses.ini",
            lambda data: (
                all_zero(data)
                .replace(b"Distortion0= 0", b"Distortion0= 1")
                .replace(b"LM0= 0", b"LM0= 1e-38")
            ),
        ),
        "error",
        "no weight but one is above 1e-38",
        "system/moses.ini",
    ),
    "a feature without effect": (
        replaced("moses.ini", b"LM0= 0.17623068916659", b"LM0= 0"),
        "warning",
        "the weights of LM0 are all zero",
        "system/moses.ini:19",
    ),
    "no weights": (
        replaced("moses.ini", b"LM0= 0.17623068916659\n", b""),
        "warning",
        "no weights for LM0, so Moses takes 1 for each",
        "system/moses.ini",
    ),
    "a name that is not tuned": (
        edit("moses.ini", lambda data: data.replace(b"TranslationModel0", b"Translation_Model")),
        "error",
        "mert-moses.pl does not tune a feature called Translation_Model",
        "system/moses.ini:11",
    ),
    "no distortion limit": (
        replaced("moses.ini", b"[distortion-limit]\n6\n", b""),
        "warning",
        "no distortion limit",
        "system/moses.ini",
    ),
    "unknown section": (
        replaced("moses.ini", b"[distortion-limit]", b"[distortion-limits]"),
        "error",
        "Moses refuses the unknown section [distortion-limits] (did you mean distortion-limit?)",
        "system/moses.ini:6",
    ),
    "short name": (
        replaced("moses.ini", b"[distortion-limit]", b"[dl]"),
        "warning",
        "Moses ignores [dl]",
        "system/moses.ini:6",
    ),
    "an ini that cannot be read": (
        replaced("moses.ini", b"LM0= 0.17", b"LM0=0.17"),
        "error",
        "is not of the form 'Name= 0.3'",
        "system/moses.ini:19",
    ),
    "old style": (
        edit("moses.ini", lambda _: b"[ttable-file]\n0 0 0 4 phrase-table.gz\n"),
        "error",
        "an old-style moses.ini",
        "system/moses.ini:2",
    ),
    "a mapping to nothing": (
        replaced("moses.ini", b"0 T 0", b"0 T 1"),
        "error",
        "[mapping] uses the phrase table 1, but there are 1 (from 0)",
        "system/moses.ini",
    ),
    "no language model": (
        edit(
            "moses.ini",
            lambda data: b"\n".join(text for text in data.split(b"\n") if b"LM0" not in text),
        ),
        "warning",
        "no language model",
        "system/moses.ini",
    ),
    "a file that is not there": (
        Path("system", REORDERING).unlink,
        "error",
        f"system/{REORDERING}: no such file",
        "system/moses.ini:12",
    ),
    "a model not unzipped": (
        Path("system", LM).unlink,
        "error",
        "system/lm.arpa does not exist; system/lm.arpa.gz does, but Moses would not look for it",
        "system/moses.ini:14",
    ),
    "language model cut off": (
        cut(LM),
        "error",
        "the header promises 3,099 2-grams, this section has 2,644",
        "system/lm.arpa:",
    ),
    "language model in binary form cut off": (
        edit(LM, lambda data: kenlm_binary("trie")[:-100]),
        "error",
        "the file ends within its ",
        "system/lm.arpa",
    ),
    "language model of another text in binary form": (
        edit(LM, lambda data: kenlm_binary("probing")),
        "error",
        "the language model LM0 does not know 359 of 373 tokens",
        "dev.fr",
    ),
    "order of the language model": (
        replaced("moses.ini", b"order=3", b"order=5"),
        "warning",
        "order=5, but the model has order 3",
        "system/moses.ini:14",
    ),
    "reordering of another table": (
        edit(REORDERING, lambda data: data[: data.index(b"\n", len(data) // 4) + 1]),
        "error",
        "phrase pairs of system/phrase-table.gz",
        f"system/{REORDERING}",
    ),
    "reordering scores": (
        line(REORDERING, 5, column(2, b"0.5 0.25 0.25")),
        "error",
        "3 scores, where the lines before have 6",
        f"system/{REORDERING}:5",
    ),
    "empty source line": (line("dev.en", 3, lambda _: b" "), "error", "an empty line", "dev.en:3"),
    "empty reference line": (
        line("dev.fr", 3, lambda _: b""),
        "error",
        "an empty line, which no translation can match",
        "dev.fr:3",
    ),
    "empty development set": (edit("dev.en", lambda _: b""), "error", "is empty", "dev.en"),
    "uneven": (
        edit("dev.fr", lambda data: data + b"un chat .\n"),
        "error",
        "41 lines, but dev.en has 40",
        "dev.fr",
    ),
    "no final line feed (source)": (
        edit("dev.en", lambda data: data[:-1]),
        "error",
        "the last line has no line feed, and Moses does not translate it",
        "dev.en:40",
    ),
    "bracket in the source": (
        line("dev.en", 2, lambda text: text + b" [laughs]"),
        "error",
        "a word in brackets, at which Moses stops or crashes",
        "dev.en:2",
    ),
    "bar in the source": (
        line("dev.en", 2, lambda text: text + b" |"),
        "error",
        "a '|', which Moses takes for the separator of factors",
        "dev.en:2",
    ),
    "carriage returns": (
        edit("dev.fr", lambda data: data.replace(b"\n", b"\r\n")),
        "error",
        "a carriage return at the end",
        "dev.fr:1",
    ),
    "another case": (
        edit("dev.en", lambda data: data.decode().title().encode()),
        "error",
        "tokens it does not know if they were in lower case",
        "dev.en",
    ),
    "another escaping": (
        edit("dev.fr", lambda data: data.replace(b"&apos;", b"'")),
        "warning",
        "tokens it does not know if they were escaped",
        "dev.fr",
    ),
    "not tokenised": (
        edit("dev.en", lambda data: data.replace(b" .", b".").replace(b" ,", b",")),
        "error",
        "tokens it does not know if they were without the punctuation at the end",
        "dev.en",
    ),
    "raw text": (
        edit(
            "dev.en",
            lambda data: data.decode().title().replace(" .", ".").replace(" ,", ",").encode(),
        ),
        "error",
        "if they were without the punctuation at the end, in lower case",
        "dev.en",
    ),
    "swapped": (
        lambda: write(Path("dev.en"), Path("dev.fr").read_bytes()),
        "error",
        "source and reference seem to be swapped",
        "dev.en",
    ),
    "another language": (
        lambda: write(Path("dev.en"), Path("dev.fr").read_bytes()),
        "error",
        "the same text as dev.en",
        "dev.fr",
    ),
    "stale features": (
        stale_work_folder,
        "error",
        "would take the features of an earlier tuning from here, which has another ",
        "mert-work/features.list",
    ),
    "stale tables": (
        used_work_folder,
        "error",
        "would take the tables of an earlier tuning from here, which has another TranslationModel0",
        "mert-work/filtered/moses.ini",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_planted_fault_is_found(
    system: Path, said_of_healthy: set[tuple[str, str]], fault: str
) -> None:
    """What is wrong, how bad it is, where it is; and there is something to do about it."""
    plant, severity, what, where = FAULTS[fault]
    plant()
    diagnosis = examine_copy()
    new = [each for each in diagnosis.findings if (each.what, each.where) not in said_of_healthy]
    found = [each for each in new if what in each.what and each.where.startswith(where)]
    assert found, str(diagnosis)
    assert found[0].severity == severity
    assert found[0].remedy
    assert diagnosis.is_healthy() == (diagnosis.count("error") == 0)
    assert diagnosis.is_healthy() is (severity != "error")


@pytest.mark.parametrize("ini", ["moses.ini", "moses.5col.ini"])
def test_the_healthy_system_has_no_errors(system: Path, ini: str) -> None:
    """Relative paths and floored scores are warnings."""
    diagnosis = examine_copy(f"system/{ini}")
    assert diagnosis.is_healthy(), str(diagnosis)
    assert not diagnosis.is_healthy(strict=True)
    warnings = [each.what for each in diagnosis.findings if each.severity == "warning"]
    expected = ["relative paths, which only work in the current directory"]
    expected += ["score 5 is floored at -100"] if ini == "moses.5col.ini" else []
    assert len(warnings) == len(expected)
    assert all(map(str.startswith, warnings, expected))


@pytest.mark.slow
@pytest.mark.parametrize("ini", ["moses.ini", "moses.tuned.ini"])
def test_the_real_system_has_no_errors(
    multi30k: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ini: str
) -> None:
    """Multi30k, once its language model is unzipped."""
    for path in multi30k.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "lm.5gram.arpa").write_bytes(unzipped(multi30k / "lm.5gram.arpa.gz"))
    monkeypatch.chdir(tmp_path)
    diagnosis = examine(ini, "val.en.gz", ("val.fr.gz",))
    assert diagnosis.count("error") == 0, str(diagnosis)
    assert diagnosis.count("warning") == 1


def test_several_references(system: Path) -> None:
    """An identical one is reported."""
    for number in range(2):
        shutil.copyfile("dev.fr", f"ref{number}")
    diagnosis = examine_copy(references=("ref0", "ref1"))
    said = [(each.severity, each.what) for each in diagnosis.findings]
    assert ("warning", "the same text as ref0") in said
    with pytest.raises(InputError, match="rif: no such file"):
        examine_copy(references=("rif",))


def test_without_a_development_set(system: Path) -> None:
    """The rest is examined, and a note says what was not."""
    diagnosis: Diagnosis = examine("system/moses.ini")
    assert diagnosis.is_healthy()
    assert diagnosis.findings[-1].what == "its text was not compared with the system"


@pytest.mark.moses
def test_moses_itself_is_asked(system: Path, moses_bin: Path) -> None:
    """It confirms features and their order; what it refuses is an error with its last words."""
    moses = moses_bin / "moses"
    said = [each.what for each in examine_copy(moses=moses).findings if each.severity == "note"]
    assert "Moses reads the file and has the expected features" in said
    replaced("moses.ini", b"0 T 0", b"0 T 0\n[weights]\nLM0= 1")()
    said = [each.what for each in examine_copy(moses=moses).findings if each.severity == "error"]
    assert said[-1].startswith("Moses ended with status ")
    assert "weights" in said[-1]
