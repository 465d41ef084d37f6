"""``phrasescore decode`` and ``force-score`` as a user runs them."""

from __future__ import annotations

import dataclasses
import gzip
import re
from pathlib import Path

import pytest

from moses_integration.decoder.force_scoring import ListComparison
from moses_integration.nbest.format import NBestEntry, read_nbest_lists
from tests.conftest import Phrasescore
from tests.support.random_system import write_random_system

TEXT = b"s0 s1 s2 s3\n\ns2 s4 s1 s0 s3\ns3\n"  # no table has s4


@pytest.fixture
def ini(tmp_path: Path) -> Path:
    """Make a small system of words s0 to s4, and a text to translate."""
    folder = tmp_path / "system"
    folder.mkdir()
    (tmp_path / "text").write_bytes(TEXT)
    return write_random_system(folder, 3, limit=3)


def replaced(ini: Path, pattern: str, replacement: str) -> Path:
    """Write a copy of the ini with a change."""
    text, count = re.subn(pattern, replacement, ini.read_text(), flags=re.MULTILINE)
    assert count
    copy = ini.with_name("changed.ini")
    copy.write_text(text)
    return copy


def test_streams(phrasescore: Phrasescore, ini: Path, tmp_path: Path) -> None:
    """Standard streams give the same translations as files, one line for every line."""
    piped = phrasescore("decode", ini, stdin=TEXT).well()
    lines = piped.stdout.split(b"\n")
    assert len(lines) == 5
    assert lines[1] == b""
    assert b"s4" in lines[2].split(b" ")
    phrasescore("decode", ini, "-i", "text", "-o", "out.gz")
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()) == piped.stdout


def test_threads_do_not_matter(phrasescore: Phrasescore, ini: Path) -> None:
    """Several threads write equal output in equal order."""
    text = TEXT * 20
    one = phrasescore("decode", ini, stdin=text)
    assert phrasescore("decode", ini, "--threads", "3", stdin=text).stdout == one.stdout
    setting = ini.with_name("all.ini")
    setting.write_bytes(ini.read_bytes() + b"\n[threads]\nall\n")
    assert phrasescore("decode", setting, stdin=text).stdout == one.stdout


def test_a_killed_run_is_gone_on_with(phrasescore: Phrasescore, ini: Path, tmp_path: Path) -> None:
    """After a kill, translations, lists and unknown words have the bytes of an undisturbed run."""
    (tmp_path / "long").write_bytes(TEXT * 500)
    kept = ["--nbest", "list.gz", "--nbest-size", "3", "--output-unknowns", "unknown"]
    command = ["decode", str(ini), "-i", "long", "-o", "out.gz", *kept]
    phrasescore(*command).well()
    names = ("out.gz", "list.gz", "unknown")
    expected = {name: (tmp_path / name).read_bytes() for name in names}
    assert gzip.decompress(expected["out.gz"]).count(b"\n") == 2000
    for name in names:
        (tmp_path / name).unlink()
    before = set(tmp_path.iterdir())
    phrasescore.killed_after_a_block("out.gz", *command)
    again = phrasescore(*command)
    assert b"out.gz: continuing after line" in again.stderr
    assert {name: (tmp_path / name).read_bytes() for name in names} == expected
    assert set(tmp_path.iterdir()) - before == {tmp_path / name for name in names}


def test_another_weight_begins_anew(phrasescore: Phrasescore, ini: Path, tmp_path: Path) -> None:
    """Translations that were decoded with other weights are discarded, with a message."""
    (tmp_path / "long").write_bytes(TEXT * 500)
    command = ["decode", str(ini), "-i", "long", "-o", "out"]
    phrasescore.killed_after_a_block("out", *command)
    changed = phrasescore(*command, "--weight", "Distortion0= 0.5")
    assert b"is discarded" in changed.stderr
    phrasescore(*command[:-1], "fresh", "--weight", "Distortion0= 0.5")
    assert (tmp_path / "out").read_bytes() == (tmp_path / "fresh").read_bytes()


def test_tables_filtered_to_another_text_get_a_warning(
    phrasescore: Phrasescore, ini: Path, tmp_path: Path
) -> None:
    """Such tables lack phrases of the input: the translations are worse, and nothing fails."""
    (tmp_path / "dev").write_bytes(b"s0 s1\n")
    phrasescore("filter", ini, "--input", "dev", "-o", "filtered").well()
    part = phrasescore("decode", "filtered", stdin=b"s1 s0\n").well()
    assert b"was filtered to" not in part.stderr
    other = phrasescore("decode", "filtered", "-i", "text").well()
    assert b"was filtered to another text, without 3 words of this one" in other.stderr


def test_text_in_another_encoding_gets_a_warning(phrasescore: Phrasescore, ini: Path) -> None:
    """Its words are unknown and copied, so the output would mix two encodings."""
    done = phrasescore("decode", ini, stdin=b"s0 s1\ns0 \xe9t\xe9\n").well()
    assert done.stderr.count(b"warning: line 2 of the input is not UTF-8") == 1


def test_nothing_to_decode_is_whole_files(
    phrasescore: Phrasescore, ini: Path, tmp_path: Path
) -> None:
    phrasescore("decode", ini, "-o", "out.gz", stdin=b"").well()
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()) == b""


def test_side_files(phrasescore: Phrasescore, ini: Path, tmp_path: Path) -> None:
    """Side outputs are unknown words per line, source spans, links and scores."""
    done = phrasescore(
        "decode", ini, "-i", "text", "--output-unknowns", "unknown",
        "-t", "--print-alignment-info", "--output-hypo-score",
    ).well()  # fmt: skip
    assert (tmp_path / "unknown").read_bytes() == b"\n\ns4 \n\n"
    score, _, rest = done.stdout.split(b"\n")[0].partition(b" ")
    assert float(score) < 0
    spans = re.findall(rb"\|([0-9]+)-([0-9]+)\|", rest)
    covered = sorted(word for first, last in spans for word in range(int(first), int(last) + 1))
    assert covered == [0, 1, 2, 3]
    assert b" ||| " in rest


def test_lists(phrasescore: Phrasescore, ini: Path, tmp_path: Path) -> None:
    """Lists are sorted, distinct on demand, and begin with the translation."""
    phrasescore("decode", ini, "-i", "text", "-o", "a", "--nbest", "list", "--nbest-size", "9")
    options = ["--nbest", "all", "--nbest-size", "9", "--no-distinct"]
    phrasescore("decode", ini, "-i", "text", "-o", "b", *options).well()
    distinct = dict(read_nbest_lists(tmp_path / "list"))
    best = (tmp_path / "b").read_bytes().split(b"\n")
    for sentence, entries in read_nbest_lists(tmp_path / "all"):
        totals = [entry.total for entry in entries]
        assert totals == sorted(totals, reverse=True)
        words = [entry.words for entry in distinct[sentence]]
        assert len(words) == len(set(words))
        assert best[sentence].rstrip(b" ") == entries[0].words


def test_list_on_standard_output(phrasescore: Phrasescore, ini: Path) -> None:
    """As in Moses, a list on standard output replaces the translations."""
    done = phrasescore("decode", ini, "-i", "text", "--nbest", "-", "--nbest-size", "2")
    lines = done.stdout.split(b"\n")[:-1]
    assert lines
    assert all(line.count(b" ||| ") == 3 for line in lines)


def test_options_reach_the_search(phrasescore: Phrasescore, ini: Path) -> None:
    """A narrow search finds lower scores, a monotone search does not jump, weights are used."""

    def score(*options: str) -> float:
        done = phrasescore("decode", ini, "-i", "text", "--output-hypo-score", *options)
        return sum(float(line.split()[0]) for line in done.stdout.split(b"\n") if line)

    best = score("--stack", "0", "--beam-threshold", "0")
    assert score("--stack", "1") == score("--set", "stack=1") < best
    assert score("--table-limit", "1") < best
    assert score("--search-algorithm", "1", "--cube-pruning-pop-limit", "1") < best
    done = phrasescore("decode", ini, "-i", "text", "-t", "--distortion-limit", "0")
    begins = [int(first) for first in re.findall(rb"\|([0-9]+)-", done.stdout.split(b"\n")[2])]
    assert begins == sorted(begins)
    short = phrasescore("decode", ini, "-i", "text", "--weight", "WordPenalty0= 9").stdout
    long = phrasescore("decode", ini, "-i", "text", "--weight", "WordPenalty0= -9").stdout
    assert len(short.split()) < len(long.split())


def test_second_start_reads_the_cache(phrasescore: Phrasescore, ini: Path, tmp_path: Path) -> None:
    """Parsed tables are cached by digest; output is equal, and changed tables are read again."""
    first = phrasescore("decode", ini, "-i", "text", "--cache-folder", "cache").stdout
    files = sorted(path.name for path in (tmp_path / "cache").iterdir())
    assert files
    assert phrasescore("decode", ini, "-i", "text", "--cache-folder", "cache").stdout == first
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == files
    table = tmp_path / "system" / "table"
    lines = table.read_text().split("\n")
    table.write_text("\n".join(re.sub(r"\|\|\| t[0-9 t]+ \|\|\|", "||| new |||", x) for x in lines))
    again = phrasescore("decode", ini, "-i", "text", "--cache-folder", "cache").stdout
    assert b"new" in again


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        (b"s0\ns1 | s2\n", 3, "standard input:2: the word '|' has an unescaped bar"),
        (b"s0 " * 1001, 3, "standard input:1: 1001 words in one line"),
        (b"s0 [X]\n", 3, "unescaped brackets"),
        (b'<x translation="a">s0</x>\n', 3, "XML markup"),
        (b"((('s0',1.0,1),),)\n", 3, "lattice"),
        (b"s0 \0\n", 3, "binary data"),
    ],
)
def test_text_that_is_refused(
    phrasescore: Phrasescore, ini: Path, tmp_path: Path, text: bytes, status: int, said: str
) -> None:
    """A refused text prints one sentence and sets the status, and leaves no output."""
    done = phrasescore("decode", ini, "-o", "out", "--nbest", "list", stdin=text).refused(
        status, said
    )
    assert done.stderr.count(b"\n") == 1
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "list").exists()


@pytest.mark.parametrize(
    ("pattern", "replacement", "status", "said"),
    [
        (r"num-features=2", "num-features=3", 3, "weights for TranslationModel0"),
        (r"lm\.arpa", "none.arpa", 3, "no such file"),
        (r"^LM0= .*", "LM0= nan", 3, "expected a finite number"),
        (r"^Distortion$", "Distortion\nGlobalLexicalModel path=x", 3, "no feature class"),
        (r"^Distortion$", "Distortion speed=3", 3, "does not support the option speed"),
        (r"^\[mapping\]", "[stack-size]\n3\n[mapping]", 3, "unknown section"),
        (r"path=\S*/table", "path=/dev/null", 3, "/dev/null"),
    ],
)
def test_systems_that_are_refused(
    phrasescore: Phrasescore,
    ini: Path,
    tmp_path: Path,
    pattern: str,
    replacement: str,
    status: int,
    said: str,
) -> None:
    """An ini that cannot be read, or that disagrees with its files, gets one sentence."""
    changed = replaced(ini, pattern, replacement)
    phrasescore("decode", changed, "-i", "text", "-o", "out").refused(status, said)
    assert not (tmp_path / "out").exists()


def test_sections_with_short_names(phrasescore: Phrasescore, ini: Path) -> None:
    """Moses passes over them, so one note names each, and decoding goes on."""
    expected = phrasescore("decode", ini, "-i", "text").stdout
    changed = replaced(ini, r"^\[mapping\]", "[v]\n0\n[mapping]")
    done = phrasescore("decode", changed, "-i", "text")
    assert (done.returncode, done.stdout) == (0, expected)
    assert done.stderr.decode().count("Moses never reads [v], the short name of verbose") == 1


def test_force_score_finds_a_changed_number(
    phrasescore: Phrasescore, ini: Path, tmp_path: Path
) -> None:
    """Our own list passes; after a change of one number, the status is 1 and the line is named."""
    options = ["--nbest", "list", "--nbest-size", "5", "--include-segmentation-in-n-best"]
    phrasescore("decode", ini, "-i", "text", "-o", "best", *options)
    check = ["force-score", ini, "-i", "text", "--nbest", "list", "--check", "1e-3"]
    phrasescore(*check, "-o", "again").well()
    assert (tmp_path / "again").read_bytes() == (tmp_path / "list").read_bytes()
    lines = (tmp_path / "list").read_text().split("\n")
    lines[2] = re.sub("Distortion0= ", "Distortion0= 1", lines[2], count=1)
    (tmp_path / "list").write_text("\n".join(lines))
    phrasescore(*check).refused(1, "Distortion0: differs by up to 1")


@pytest.mark.parametrize(("listed", "beyond"), [(-1119.72, 0), (-1119.73, 1), (-111.972, 1)])
def test_what_six_digits_leave_out_is_no_difference(listed: float, beyond: int) -> None:
    """A total is printed with six digits, so one beyond 1,000 has two after the point."""
    found = NBestEntry(0, b"a", {"LM0": (-9.0,)}, listed)
    comparison = ListComparison(0.002)
    right = dataclasses.replace(found, total=-1119.715 if listed < -1000 else -111.968)
    comparison.add(1, found, right)
    assert comparison.beyond == beyond


def test_force_score_prefers_entries_within_the_table_limit(
    phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """The search lacks the best entry of a pair if its table's limit removes it, as in Moses."""
    (tmp_path / "text").write_bytes(b"a\n")
    (tmp_path / "first").write_bytes(b"a ||| x ||| 0.5\na ||| y ||| 0.9\n")
    (tmp_path / "second").write_bytes(b"a ||| x ||| 0.2\n")
    (tmp_path / "moses.ini").write_text(
        "[mapping]\n0 T 0\n1 T 1\n[feature]\n"
        "PhraseDictionaryMemory name=First num-features=1 input-factor=0 output-factor=0 "
        "path=first table-limit=1\n"
        "PhraseDictionaryMemory name=Second num-features=1 input-factor=0 output-factor=0 "
        "path=second\n"
        "[weight]\nFirst= 1\nSecond= 1\n"
    )
    options = ["--nbest", "list", "--include-segmentation-in-n-best"]
    phrasescore("decode", "moses.ini", "-i", "text", "-o", "best", *options).well()
    check = ["force-score", "moses.ini", "-i", "text", "--nbest", "list", "--check", "1e-3"]
    phrasescore(*check, "-o", "again").well()
    assert (tmp_path / "again").read_bytes() == (tmp_path / "list").read_bytes()
    # with this weight the limit removes y, but the list has it
    phrasescore(*check[:-2], "-o", "again", "--weight", "First= -1").well()
    before, after = ((tmp_path / name).read_bytes().split(b"|||") for name in ("list", "again"))
    assert before[:3] == after[:3]
    assert before[1].strip() == b"y"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda line: re.sub(r" \|\|\| [0-9=\- ]+$", "", line), "-include-segmentation-in-n-best"),
        (lambda line: re.sub("t[0-9]+", "t999", line, count=1), "no phrase table has"),
        (lambda line: line.replace("WordPenalty0", "Other0"), "the list has the features"),
        (lambda line: "99" + line[1:], "sentence 99"),
        (lambda line: line[: len(line) // 3], "expected"),
        (
            lambda line: re.sub(r"(\|\|\| \S+).*?(\|\|\| .*) \|\|\| .*", r"\1 |0-0| \2", line),
            "marks do not say where source words without translation were used",
        ),
    ],
)
def test_lists_that_are_refused(
    phrasescore: Phrasescore, ini: Path, tmp_path: Path, change: object, said: str
) -> None:
    """Lists without segmentation, of another system or text, or with damage get one sentence."""
    options = ["--nbest", "list", "--nbest-size", "5", "--include-segmentation-in-n-best"]
    phrasescore("decode", ini, "-i", "text", "-o", "best", *options)
    line = (tmp_path / "list").read_text().split("\n")[0]
    (tmp_path / "list").write_text(change(line) + "\n")  # type: ignore[operator]
    done = phrasescore(
        "force-score", ini, "-i", "text", "--nbest", "list", "-o", "x", "--check", "1"
    ).refused(3, "list:1: ")
    assert said in done.stderr.decode()
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("content", [b"", b"\n", b"\0"])
def test_a_reordering_table_of_nothing_is_not_taken(
    phrasescore: Phrasescore, ini: Path, tmp_path: Path, content: bytes
) -> None:
    """An empty reordering table is refused, because it would silently have no effect."""
    named = re.search(r"LexicalReordering.* path=(\S+)", ini.read_text())
    assert named is not None
    table = next(tmp_path.rglob(f"{Path(named[1]).name}*"))
    table.write_bytes(content)
    phrasescore("decode", ini, "-i", "text", "-o", "out").refused(3, table.name)
    assert not (tmp_path / "out").exists()
