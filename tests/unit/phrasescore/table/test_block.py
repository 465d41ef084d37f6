"""The compiled block reader agrees with the line-by-line rules."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.errors import PhraseTableError
from phrasescore.table.block import MAX_PHRASE, TableBlock, checked_block, read_blocks
from phrasescore.table.phrase_table import TableFormat, check_line, parse_entry, scored_tokens
from tests.support.table_lines import with_appended_scores, with_replaced_score
from tests.unit.phrasescore.table.test_phrase_table import table_lines


def block_of(lines: list[bytes], expected: TableFormat) -> TableBlock:
    return checked_block(b"\n".join(lines), len(lines), 1, "table", expected)


@given(st.lists(table_lines(), min_size=1, max_size=6))
def test_plain_tokens(lines: list[bytes]) -> None:
    """A block's tokens equal those of its lines, on both sides."""
    block = block_of(lines, TableFormat(2, hierarchical=False))
    for side in ("source", "target"):
        spans = block.token_spans(side)
        for row, line in enumerate(lines):
            assert spans.tokens(row) == scored_tokens(getattr(parse_entry(line), side), side)


words = st.sampled_from([b"le", b"[X][X]", b"[NP][VP]", b"x|N", b"[", b"]", b"[]", b"[a]", b"de|D"])


@given(
    st.lists(st.tuples(st.lists(words, min_size=1), st.lists(words)), min_size=1), st.integers(0, 1)
)
def test_rule_tokens(rules: list[tuple[list[bytes], list[bytes]]], factor: int) -> None:
    """A block of hierarchical rules has the gaps and factors of the line-by-line rules."""
    lines = [
        b" ".join([*s, b"[X]"]) + b" ||| " + b" ".join([*t, b"[X]"]) + b" ||| 1" for s, t in rules
    ]
    block = block_of(lines, TableFormat(1, hierarchical=True))
    for side in ("source", "target"):
        try:
            expected = [
                scored_tokens(getattr(parse_entry(line), side), side, factor, hierarchical=True)
                for line in lines
            ]
        except PhraseTableError as error:
            with pytest.raises(PhraseTableError) as caught:
                block.token_spans(side, factor)
            assert caught.value.problem == error.problem
        else:
            spans = block.token_spans(side, factor)
            assert [spans.tokens(row) for row in range(len(lines))] == expected


pieces = st.sampled_from([*b"a ||| 0.5 -1 nan | 1e5 e- . 1.".split(), b" ", b"\t", b"\r"])
raw_lines = st.one_of(table_lines(), st.lists(pieces, max_size=10).map(b"".join))


@given(st.lists(raw_lines, min_size=1, max_size=5), st.booleans())
def test_same_verdict(lines: list[bytes], hierarchical: bool) -> None:
    """A block is refused exactly if a line is, with this line's error."""
    expected = TableFormat(2, hierarchical)
    verdicts = []
    for line in lines:
        try:
            check_line(line, expected)
        except PhraseTableError as error:
            verdicts.append(error)
        else:
            verdicts.append(None)
    wrong = [row for row, error in enumerate(verdicts) if error]
    text = b"".join(line + b"\n" for line in lines)
    if wrong:
        with pytest.raises(PhraseTableError) as caught:
            checked_block(text, len(lines), 101, "table", expected)
        assert caught.value.problem == verdicts[wrong[0]].problem  # type: ignore[union-attr]
        assert caught.value.line == 101 + wrong[0]
    else:
        assert len(checked_block(text, len(lines), 101, "table", expected)) == len(lines)


@given(st.lists(table_lines(3), min_size=1, max_size=5), st.booleans(), st.integers(1, 3))
def test_splicing(lines: list[bytes], final_newline: bool, number: int) -> None:
    """Appending and replacing in a block gives the bytes of the line-by-line edits."""
    end = b"\n" if final_newline else b""
    text = b"\n".join(lines) + end
    block = checked_block(text, len(lines), 1, "table", TableFormat(3, hierarchical=False))
    first = [b"0.%d" % row for row in range(len(lines))]
    second = [b"1e-%d" % row for row in range(len(lines))]
    both = [first, second]
    appended = [
        with_appended_scores(line, scores)
        for line, scores in zip(lines, zip(*both, strict=True), strict=True)
    ]
    assert block.with_appended_scores(both) == b"\n".join(appended) + end
    replaced = [with_replaced_score(line, number, first[i]) for i, line in enumerate(lines)]
    assert block.with_replaced_scores(number, [first]) == b"\n".join(replaced) + end
    twice = [
        with_replaced_score(with_replaced_score(line, 2, a), 3, b)
        for line, a, b in zip(lines, first, second, strict=True)
    ]
    assert block.with_replaced_scores(2, both) == b"\n".join(twice) + end


def test_phrases_that_no_model_reads(tmp_path: Path) -> None:
    """Phrases of many thousand words are refused with their line, instead of taking hours."""
    path = tmp_path / "table"
    path.write_bytes(b"a ||| b ||| 1\na ||| " + b"b " * (MAX_PHRASE + 1) + b"||| 1\n")
    (block,) = read_blocks(path)
    assert len(block.token_spans("source").begins) == 2
    with pytest.raises(PhraseTableError, match=r"table:2: the target phrase has 10,001 words, bu"):
        block.token_spans("target")


def test_blocks_and_skipping(tmp_path: Path) -> None:
    """Blocks have the requested number of lines, the last block fewer; the first are skipped."""
    path = tmp_path / "table.gz"
    lines = [b"s%d ||| t ||| 1" % i for i in range(10)]
    # two gzip members, the second without a final line feed
    members = b"\n".join(lines[:5]) + b"\n", b"\n".join(lines[5:])
    path.write_bytes(b"".join(map(gzip.compress, members)))
    blocks = list(read_blocks(path, 4))
    assert [(len(b), b.first_line) for b in blocks] == [(4, 1), (4, 5), (2, 9)]
    assert b"".join(b.text for b in blocks) == b"\n".join(lines)
    assert [b.first_line for b in read_blocks(path, 4, skip=2)] == [9]
    assert list(read_blocks(path, 4, skip=3)) == []


def test_positive_exponent_and_long_numbers() -> None:
    """Scores that the fast path cannot read are read correctly."""
    line = b"a ||| b ||| 1e2 0." + b"0" * 400 + b"1 -0 ||| 0-0"
    block = block_of([line, b"c ||| d ||| 1 2 3"], TableFormat(3, hierarchical=False))
    expected = line.replace(b"-0 |||", b"7 |||") + b"\nc ||| d ||| 1 2 8"
    assert block.with_replaced_scores(3, [[b"7", b"8"]]) == expected
    assert np.array_equal(block.token_spans("source").offsets, [0, 1, 2])
