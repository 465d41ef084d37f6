"""The text of a phrase table: columns, scores, tokens and all errors."""

from __future__ import annotations

import bz2
import re
from pathlib import Path

import pytest
from hypothesis import strategies as st

from phrasescore.errors import InputError, PhraseTableError
from phrasescore.table.block import read_blocks
from phrasescore.table.phrase_table import (
    Entry,
    TableFormat,
    parse_entry,
    parse_scores,
    phrase_tokens,
    scored_tokens,
)

SEVEN = (
    b"la maison ||| the house ||| 0.5 0.25 1 2.718 ||| 0-0 1-1 ||| 3 4 2 ||| dom 1 ||| {{Counts 1}}"
)

RULES = b"e [X] ||| f [X] ||| 1\n" * 1200

# (file content, the line in the message or None, a piece of the problem, a piece of the remedy)
BROKEN = [
    (b"a ||| b ||| 1\nc ||| d\n", 2, "2 columns, expected at least 3", "repair or delete"),
    (b"a ||| b ||| 1\nc\n", 2, "1 column, expected at least 3", "repair or delete"),
    (b"a ||| b ||| 1\n\nc ||| d ||| 1\n", 2, "a blank line", "delete the line"),
    (b"a ||| b ||| 1\n \t\r\n", 2, "a blank line", "delete the line"),
    (b"\na ||| b ||| 1\n", 1, "a blank line", "delete the line"),
    (b"a ||| b ||| 1\nc ||| d ||| x\n", 2, "score 1 is 'x', expected a finite number", "digits"),
    (b"a ||| b ||| 1 0x1\n", 1, "score 2 is '0x1', expected a finite number", "digits"),
    (b"a ||| b ||| 1,5\n", 1, "score 1 is '1,5', expected a finite number", "digits"),
    (b"a ||| b ||| 1_0\n", 1, "score 1 is '1_0', expected a finite number", "digits"),
    (b"a ||| b ||| 1\nc ||| d ||| -0.5\n", 2, "score 1 is negative (-0.5)", "exp(x)"),
    (b"a ||| b ||| 1 nan\n", 1, "score 2 is 'nan'", "repair or delete"),
    (b"a ||| b ||| inf\n", 1, "score 1 is 'inf'", "repair or delete"),
    (b"a ||| b ||| 1e999\n", 1, "score 1 is '1e999'", "repair or delete"),
    (b"a ||| b ||| \n", 1, "no score in column 3", "repair or delete"),
    (
        b"a ||| b ||| 1 2\nc ||| d ||| 1 2 3\n",
        2,
        "3 scores, where the lines before have 2",
        "the same number of scores",
    ),
    (b"a ||| b ||| 1\n ||| d ||| 1\n", 2, "the source phrase is empty", "delete the line"),
    (b"", None, "the file is empty", ""),
    (b"a [X] ||| b [X] ||| 1\nc ||| d [X] ||| 1\n" + RULES, None, None, None),
    (
        RULES + b"a [X] ||| b ||| 1\n",
        1201,
        "the target phrase does not end in a label such as [X]",
        "separate tables",
    ),
    (RULES + b"[X] ||| b [X] ||| 1\n", 1201, "the source side of the rule is empty", "delete the"),
]


@pytest.mark.parametrize(("content", "line", "problem", "remedy"), BROKEN)
def test_error(
    content: bytes, line: int | None, problem: str | None, remedy: str | None, tmp_path: Path
) -> None:
    """Every violation of the format is an error with file, line, problem and remedy.

    The errors are the same for all block sizes.
    """
    path = tmp_path / "table"
    path.write_bytes(content)
    if problem is None:
        # the label is missing in the first lines, so this is a plain table with odd words
        assert sum(map(len, read_blocks(path))) == content.count(b"\n")
        return
    place = f"{path}:{line}: " if line else f"{path}: "
    for lines in (1000, 65_536):
        with pytest.raises(PhraseTableError) as caught:
            list(read_blocks(path, lines))
        assert str(caught.value).startswith(place + problem)
        assert (remedy or "") in str(caught.value).lower()


NO_TABLES = {
    "1 column, expected at least 3": [
        bz2.compress(b"a ||| b ||| 1\n" * 50).replace(b"\0", b"x"),
        b"\\data\\\nngram 1=3\n\n\\1-grams:\n",
        b"house maison 0.2500000\nNULL la 0.1\n",
    ],
    "a zero byte after 1 bytes": [b"\x03\x00\x00\x00PHRASES\x00\n\x01\x02 ||| \n"],
    "score 1 is 'LM0='": [b"0 ||| the house ||| LM0= -3.1 ||| -1.5\n"],
    "score 1 is '0-0'": [b"la maison ||| the house ||| 0-0 1-1\n"],
    "the lines end in carriage returns alone": [b"a ||| b ||| 1\rc ||| d ||| 1\r"],
}


@pytest.mark.parametrize(
    ("problem", "content"),
    [(problem, each) for problem in NO_TABLES for each in NO_TABLES[problem]],
)
def test_other_files_are_refused(problem: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(problem)):
        list(read_blocks(path))


def test_seven_columns() -> None:
    """All seven columns of a line are found, without outer blanks."""
    assert parse_entry(SEVEN) == Entry(*SEVEN.split(b" ||| "))
    # all text after the sixth separator is one column
    assert parse_entry(SEVEN + b" ||| x").properties == b"{{Counts 1}} ||| x"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"a|||b|||1", Entry(b"a", b"b", b"1")),
        (b"a ||| b ||| 1\r", Entry(b"a", b"b", b"1")),
        (b"\ta  b ||| \t||| 1 2 |||", Entry(b"a  b", b"", b"1 2")),
        (b"a\xc2\xa0b ||| \xc2\x85 ||| 1", Entry(b"a\xc2\xa0b", b"\xc2\x85", b"1")),
        (b"\xe2\x80\xa8 ||| b ||| 1", Entry(b"\xe2\x80\xa8", b"b", b"1")),
    ],
)
def test_spacing(line: bytes, expected: Entry) -> None:
    """Separators need no spaces; CRLF and empty targets are accepted; blanks are ASCII only."""
    assert parse_entry(line) == expected


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (b"0.5", [0.5]),
        (b".5 5. +0.5 1E-3 1e3", [0.5, 5.0, 0.5, 1e-3, 1e3]),
        (b" 0\t1e-320  2.718 ", [0.0, 1e-320, 2.718]),
        (b"-0 -0.0", [0.0, 0.0]),
    ],
)
def test_scores_as_moses_reads_them(text: bytes, values: list[float]) -> None:
    """All spellings of numbers that Moses reads are accepted, including negative zero."""
    assert parse_scores(text) == values


@pytest.mark.parametrize(
    ("phrase", "factor", "hierarchical", "tokens"),
    [
        (b"la maison", 0, False, [b"la", b"maison"]),
        (b"la|D|x maison|N|y", 0, False, [b"la", b"maison"]),
        (b"la|D|x maison|N|y", 2, False, [b"x", b"y"]),
        (b"a | |b", 0, False, [b"a", b"|", b"|b"]),
        (b"[X] la [X][X]", 0, False, [b"[X]", b"la", b"[X][X]"]),
        (b"le [X][X] de [NP][VP] [X]", 0, True, [b"le", b"[X]", b"de", b"[X]"]),
        (b"[laugh] [X]", 0, True, [b"[laugh]"]),
        (b"[X]", 0, True, []),
        (b"la|D [X][X] maison|N [X]", 1, True, [b"D", b"[X]", b"N"]),
    ],
)
def test_scored_tokens(phrase: bytes, factor: int, hierarchical: bool, tokens: list[bytes]) -> None:
    """One factor is used; rules lose their left-hand side, and gaps become one token."""
    assert scored_tokens(phrase, "source", factor, hierarchical=hierarchical) == tokens


def test_missing_factor() -> None:
    """A token without the wanted factor is an error with the token."""
    with pytest.raises(
        PhraseTableError, match=r"the target token la\|D has 2 factors, so there is no factor 2"
    ):
        scored_tokens(b"la|D", "target", 2)


def test_hierarchical_by_table_not_by_token() -> None:
    """A table is hierarchical only if all its first lines have both left-hand sides."""
    rule, plain = b"le [X] ||| the [X] ||| 1", b"la ||| the ||| 1"
    assert TableFormat.from_lines([rule, rule], "t").hierarchical
    assert not TableFormat.from_lines([rule, plain], "t").hierarchical
    assert not TableFormat.from_lines([b"le [X] ||| the ||| 1"], "t").hierarchical


def test_a_reordering_table_is_no_phrase_table() -> None:
    """Six scores of which each half sums to 1 are orientations, unless other columns follow."""
    line = b"le ||| the ||| 0.846154 0.0769231 0.0769231 0.6 0.2 0.2"
    with pytest.raises(PhraseTableError, match="t:1: orientation probabilities"):
        TableFormat.from_lines([line], "t")
    for other in (line + b" ||| 0-0 ||| 1 1 1", line + b" 0.5", line + b"5"):
        assert TableFormat.from_lines([other], "t").scores >= 6


blanks = st.sampled_from([b"", b" ", b"  ", b"\t", b" \t "])
token = st.sampled_from(
    [*b"a maison | x|N [X] [X][X] \xff 0".split(), "\u00a0\u2028".encode(), b"a\rb"]
)
number = st.sampled_from([b"0.5", b"1", b"1e-05", b".25", b"5.", b"2.718", b"+1", b"3E2", b"0"])


@st.composite
def joined(draw: st.DrawFn, words: st.SearchStrategy[bytes], smallest: int) -> bytes:
    chosen = draw(st.lists(words, min_size=smallest, max_size=4))
    gap = draw(st.sampled_from([b" ", b"  ", b"\t"]))
    return draw(blanks) + gap.join(chosen) + draw(blanks)


@st.composite
def table_lines(draw: st.DrawFn, scores: int = 2) -> bytes:
    """Draw a table line with odd spacing, possibly without trailing columns."""
    source = draw(joined(token, 1))
    target = draw(joined(token, 0))
    numbers = draw(st.lists(number, min_size=scores, max_size=scores))
    columns = [source, target, draw(blanks) + b" ".join(numbers) + draw(blanks)]
    rest = [b" 0-0 ", b"3 4 2", b"", b" {{X a ||| b}}"]
    columns += rest[: draw(st.integers(0, 4))]
    # a | next to the separator would be part of the separator
    spaced = [c if not c.startswith(b"|") else b" " + c for c in columns]
    spaced = [c if not c.endswith(b"|") else c + b" " for c in spaced]
    return b"|||".join(spaced) + draw(st.sampled_from([b"", b" ", b"\r"]))


def test_phrase_tokens_split_at_space_and_tab_only() -> None:
    """No-break spaces, line separators and carriage returns are part of tokens."""
    tokens = ["a\u00a0b".encode(), "c\u2028".encode(), b"\x0bd\r"]
    assert phrase_tokens("a\u00a0b\tc\u2028 \x0bd\r".encode()) == tokens
