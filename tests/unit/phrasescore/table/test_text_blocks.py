"""Compares texts read in blocks with the plain line-by-line rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.errors import CorpusError, PhraseTableError
from phrasescore.table.phrase_table import scored_tokens
from phrasescore.table.text_blocks import Texts

PIECES = st.sampled_from([b"a", b"b|x", b"|", b" ", b"\t", b"\r", "\u00a0".encode(), b"\xff", b"["])
LINES = st.lists(st.lists(PIECES, max_size=9).map(b"".join), max_size=12)


def write(folder: Path, name: str, lines: list[bytes], *, ended: bool = True) -> Path:
    path = folder / name
    text = b"\n".join(lines)
    path.write_bytes(text + b"\n" if ended and lines else text)
    return path


def plainly(line: bytes, columns: int, factor: int) -> list[list[bytes]] | None:
    """Return the tokens of a line's texts by the rules; ``None`` for a faulty line."""
    texts = [text.strip(b" \t\r") for text in line.split(b"\t")[:columns]]
    if len(texts) < columns or (columns > 1 and not texts[0]):
        return None
    try:
        return [scored_tokens(text, "source", factor) for text in texts]
    except PhraseTableError:
        return None


def read(texts: Texts) -> list[list[list[bytes]] | None]:
    """Return the tokens of each line, as read in blocks."""
    return [
        None if block.faulty[row] else [spans.tokens(row) for spans in block.tokens]
        for block in texts.blocks()
        for row in range(len(block))
    ]


@given(LINES, st.integers(1, 2), st.integers(0, 1), st.booleans())
def test_columns_by_the_rules(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[bytes],
    columns: int,
    factor: int,
    ended: bool,
) -> None:
    """Texts, tokens and faulty lines agree with the plain rules, for all block sizes."""
    path = write(tmp_path_factory.mktemp("t"), "t", [*lines, b"a\tb"], ended=ended)
    expected = [plainly(line, columns, factor) for line in [*lines, b"a\tb"]]
    for lines_per_block, bytes_per_block in ((1000, 1 << 20), (3, 1 << 20), (1000, 20)):
        sizes = {"lines_per_block": lines_per_block, "bytes_per_block": bytes_per_block}
        texts = Texts((path,), columns, factor, True, **sizes)
        assert read(texts) == expected
        blocks = list(texts.blocks())
        assert [line for block in blocks for line in block.lines] == [*lines, b"a\tb"]
        numbers = [block.first_line for block in blocks]
        assert [block.first_line for block in texts.blocks(skip=1)] == numbers[1:]
        assert all(len(block) <= lines_per_block for block in blocks)


@given(LINES, LINES)
def test_side_by_side(
    tmp_path_factory: pytest.TempPathFactory, left: list[bytes], right: list[bytes]
) -> None:
    """Lines of two files are texts; tabs separate tokens; a line without a partner is faulty."""
    folder = tmp_path_factory.mktemp("t")
    paths = write(folder, "l", [*left, b"a"]), write(folder, "r", [*right, b"b"])
    left, right = [*left, b"a"], [*right, b"b"]
    pairs = list(zip(left, right, strict=False))
    stripped = [[text.strip(b" \t\r") for text in pair] for pair in pairs]
    expected = [
        [scored_tokens(text, "source") for text in pair] if pair[0] else None for pair in stripped
    ]
    alone = abs(len(left) - len(right))
    assert read(Texts(paths, skips=True, lines_per_block=3)) == [*expected, *[None] * alone]


def test_new_columns_stand_before_a_carriage_return(tmp_path: Path) -> None:
    """New columns precede a carriage return; all other bytes are kept; the last line is ended."""
    path = write(tmp_path, "t", [b" a \tb\tc\r", b"", b"\r", b"a\tb"], ended=False)
    (block,) = Texts((path,), skips=True, bytes_per_block=1 << 24).blocks()
    columns = [[b"1", b"", b"", b"4"], [b"5", b"", b"", b"8"]]
    expected = b" a \tb\tc\t1\t5\r\n\t\t\n\t\t\r\na\tb\t4\t8\n"
    assert block.with_columns(columns) == expected


def test_both_forms_are_cut_alike(tmp_path: Path) -> None:
    """Equal texts make equal blocks, in two files or in columns, so scores have equal digits."""
    sides = [[b"a" * (i % 7 + 1) for i in range(200)], [b"b" * (i % 5) for i in range(200)]]
    left, right = (write(tmp_path, name, side) for name, side in zip("lr", sides, strict=True))
    pairs = write(tmp_path, "p", [b"\t".join(pair) for pair in zip(*sides, strict=True)])
    one, two = (
        [block.lines for block in Texts(paths, bytes_per_block=160).blocks()]
        for paths in ((pairs,), (left, right))
    )
    assert one == two and len(one) > 9


@pytest.mark.parametrize(
    ("lines", "line", "problem"),
    [
        ([b"a\tb", b"a b"], 2, "no tab, where a source, a tab and a target were expected"),
        ([b"a\tb", b" \r\tb", b"a"], 2, "the source is empty"),
        ([b"a|x\tb|y", b"a|x\tb"], 2, "the target token b has 1 factor, so there is no factor 1"),
        ([b"a|x\tb|y", b"a\tb|y"], 2, "the source token a has 1 factor, so there is no factor 1"),
    ],
)
def test_a_faulty_line_is_named(
    tmp_path: Path, lines: list[bytes], line: int, problem: str
) -> None:
    """The first faulty line is an error with file, line and reason."""
    path = write(tmp_path, "t", lines)
    factor = 1 if b"|" in lines[0] else 0
    with pytest.raises(CorpusError) as caught:
        list(Texts((path,), factor=factor).blocks())
    assert (caught.value.path, caught.value.line) == (path, line)
    assert problem in caught.value.problem


def test_whole_lines_are_texts(tmp_path: Path) -> None:
    """Whole lines are texts; tabs separate tokens; an empty line is a text without tokens."""
    path = write(tmp_path, "t", [b"a\tb c\r", b"", b" \t"])
    texts = Texts((path,), columns=1, whole_lines=True)
    assert read(texts) == [[[b"a", b"b", b"c"]], [[]], [[]]]
    with pytest.raises(CorpusError, match="t:1: the source token a has 1 factor"):
        list(Texts((path,), columns=1, factor=1, whole_lines=True).blocks())


@pytest.mark.parametrize("longer", [0, 1])
def test_files_of_different_lengths(tmp_path: Path, longer: int) -> None:
    """The error names the longer file, and its first extra line."""
    lengths = [4, 2] if longer == 0 else [2, 4]
    paths = tuple(
        write(tmp_path, name, [b"a"] * count)
        for name, count in zip(("left", "right"), lengths, strict=True)
    )
    with pytest.raises(CorpusError) as caught:
        list(Texts(paths).blocks())
    assert (caught.value.path, caught.value.line) == (paths[longer], 3)
    assert f"{paths[1 - longer]} ends before it" in str(caught.value)


def test_an_error_side_by_side_names_the_file_of_the_text(tmp_path: Path) -> None:
    """A missing factor in the target is an error in the target's file."""
    paths = write(tmp_path, "left", [b"a|x", b"a|x"]), write(tmp_path, "right", [b"b|y", b"b"])
    with pytest.raises(CorpusError, match="right:2: the target token b has 1 factor"):
        list(Texts(paths, factor=1).blocks())
