"""The survey of a table: compiled loops agree with plain Python for all block sizes."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from moses_integration.doctor import tables
from moses_integration.doctor.findings import Diagnosis
from moses_integration.doctor.tables import TableSurvey
from moses_integration.doctor.texts import TextWords
from moses_integration.tables.copying import PhraseFilter
from phrasescore.table.phrase_table import phrase_tokens

PHRASES = st.lists(st.sampled_from(["a", "b|c", "[x]", "[", "]", "x]", "|", "é"]), min_size=1)
LINKS = st.sampled_from(["", "0-0", "0-1", "1-0", "0-0 1-1", "9-9", "0", "a-b", "-"])
SCORES = st.sampled_from(["1 1", "0.5 1", "2 0.5", "1.0 1.25", "0.5 1e-3", "10 00.5"])


def odd_kinds(line: bytes, before: bytes) -> set[str]:
    """Return the faults of a line, found in plain Python."""
    source, target, *_ = (part.strip() for part in line.split(b" ||| "))
    found = {"unsorted"} if before > line else set()
    sides = phrase_tokens(source), phrase_tokens(target)
    tokens = [*sides[0], *sides[1]]
    if any(b"|" in token for token in tokens):
        found.add("bar")
    if any(token[:1] == b"[" and token[-1:] == b"]" for token in tokens if len(token) > 1):
        found.add("label")
    return found


@given(st.lists(st.tuples(PHRASES, PHRASES, SCORES, LINKS), min_size=1, max_size=8), st.booleans())
# the last line is a separate block
@example(rows=[(["a"], ["b"], "1 1", "0-0")] * 2, ended=True)
def test_odd_lines(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple], ended: bool
) -> None:
    """Odd lines and constant scores agree with plain Python."""
    lines = [
        f"{' '.join(source)} ||| {' '.join(target)} ||| {scores} ||| {links} |||".encode()
        for source, target, scores, links in rows
    ]
    # bars alone would change the number of columns
    lines = [line.replace(b"| |", b"a").replace(b"| a |||", b"a a |||") for line in lines]
    lines = [line for line in lines if line.count(b"|||") == 4] or [b"a ||| b ||| 1 1 |||  |||"]
    path = tmp_path_factory.mktemp("t") / "table"
    path.write_bytes(b"\n".join(lines) + b"\n" * ended)
    survey = TableSurvey(path).read()
    # the first lines decide whether the file is a phrase table; if rare, hypothesis says so
    assume(survey.broken is None)
    assert survey.format is not None
    assume(not survey.format.hierarchical)
    bare = [line.removesuffix(b" |||") for line in lines]
    found = [odd_kinds(*pair) for pair in zip(bare, [b"", *bare], strict=False)]
    expected = {
        kind: [row for row, kinds in enumerate(found, 1) if kind in kinds]
        for kind in set().union(*found)
    }
    assert survey.odd == {kind: (len(rows), rows[0]) for kind, rows in expected.items()}
    columns = list(zip(*[line.split(b" ||| ")[2].split(b" ") for line in lines], strict=True))
    values = [list(map(float, column)) for column in columns]
    assert survey.scores.lowest.tolist() == list(map(min, values))
    assert survey.scores.highest.tolist() == list(map(max, values))
    assert survey.ends_in_line_feed is ended


def test_blocks_do_not_matter(
    bundled_golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small blocks give the result of one large block, even if lines cross block borders."""
    with gzip.open(bundled_golden / "system" / "phrase-table.5col.gz") as stream:
        lines = stream.read().split(b"\n")[:3000]
    random.Random(1).shuffle(lines)
    lines[1000] = b"broken"
    path = tmp_path / "table"
    path.write_bytes(b"\n".join(lines) + b"\n")
    one = TableSurvey(path).read()
    monkeypatch.setattr(tables, "LINES_PER_BLOCK", 37)
    other = TableSurvey(path).read()
    assert one.lines == 3000
    assert one.odd == other.odd
    assert other.fault is not None
    assert (other.fault.line, other.bad_lines) == (1001, 1)
    for name in ("zeros", "floored", "lowest", "highest"):
        assert np.array_equal(getattr(one.scores, name), getattr(other.scores, name)), name
    assert one.lines == other.lines


@pytest.mark.parametrize(
    ("words", "spelling"),
    [
        ([b"Chat", b"noir"], "in lower case"),
        ([b"paris", b"noir"], "with a capital letter"),
        ([b"l'", b"noir"], "escaped"),
        ([b"&lt;", b"noir"], "unescaped"),
        ([b"chien.", b"Noir"], "without the punctuation at the end, in lower case"),
        ([b"chien.", b"noir,"], "without the punctuation at the end"),
    ],
)
def test_words_in_other_spellings(words: list[bytes], spelling: str) -> None:
    """The table's spelling of most unknown words is reported, with examples."""
    known = {b"chat", b"chien", b"l&apos;", b"noir", b"Paris", b"<"}
    found = Diagnosis()
    text = TextWords(words, "dev.fr")
    text.check(found, known.__contains__, "the table", "so it is")
    unknown = [word.decode() for word in words if word not in known]
    said = [finding.what for finding in found.findings]
    assert (
        f"the table would know at least {len(unknown)} of the {len(unknown)} tokens it does not "
        f"know if they were {spelling}: {', '.join(unknown)}" in said
    )
    assert f"the table does not know {len(unknown)} of 2 tokens" in " ".join(said)
    assert len(said) == 2
    found = Diagnosis()
    text.check(found, lambda word: True, "the table")
    assert [each.what for each in found.findings] == ["the table knows all 2 tokens"]


@pytest.mark.parametrize(
    ("word", "known", "remedy"),
    [
        (b"chien.", b"chien", "tokenise this text"),  # only raw text has such words
        (b"chien", b"Chien", "the case differs"),  # and a text without capitals is not cased
        (b"Chien", b"chien", ""),
    ],
)
def test_a_few_words_can_show_how_a_text_is_written(word: bytes, known: bytes, remedy: str) -> None:
    """Raw text, or text in lower case, is told although this explains few unknown words."""
    text = TextWords([word, *(b"rare%d" % number for number in range(9))], "dev.fr")
    text.check(found := Diagnosis(), {known}.__contains__, "the table")
    told = found.findings[:-1]  # the last one counts the unknown words
    assert len(told) == bool(remedy)
    for each in told:
        assert "would know at least 1 of the 10 tokens" in each.what
        assert each.remedy.startswith(remedy)


def test_words_that_a_text_can_use(tmp_path: Path) -> None:
    """A word of phrases that the text does not have is known to the table, but of no use here."""
    table = tmp_path / "table"
    table.write_bytes(b"a ||| x ||| 1\na b ||| y z ||| 1\nc b ||| w ||| 1\n")
    survey = TableSurvey(table, text=PhraseFilter([b"c a", b"b a b"])).read()
    sides = (*survey.usable, survey.sources, survey.targets)
    found = [sorted(words.words()) for words in sides]
    assert found == [[b"a", b"b"], [b"x", b"y", b"z"], [b"a", b"b", b"c"], [b"w", b"x", b"y", b"z"]]
