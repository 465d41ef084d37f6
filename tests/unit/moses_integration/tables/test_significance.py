"""Fisher's exact test agrees with exact arithmetic; impossible counts are refused."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moses_integration.tables.pair_significance import SignificanceLevel, minus_ln_p, pair_counts
from phrasescore.errors import PhraseTableError, SettingsError
from phrasescore.table.block import TableBlock, checked_block
from phrasescore.table.phrase_table import TableFormat


def exact(pair: int, source: int, target: int, total: int) -> float:
    """Return -ln of the upper tail, summed as integers."""
    term = comb(source, pair) * comb(total - source, target - pair)
    cases = 0
    for n in range(pair, min(source, target) + 1):
        cases += term
        term = term * (source - n) * (target - n)
        term //= (n + 1) * (total - source - target + n + 1)
    p = Fraction(cases, comb(total, target))
    # both sides may overflow as floats, but their logarithms do not
    return math.log(p.denominator) - math.log(p.numerator) if p < 1 else 0.0


def tolerance(total: int) -> float:
    """Return the tolerance, relative to the size of the rounded logarithms of factorials."""
    return 1e-14 * (1 + total * math.log(total + 1))


def test_small_tables() -> None:
    """All tables of up to eleven sentences agree, including zeros."""
    for total in range(1, 12):
        for source in range(total + 1):
            for target in range(total + 1):
                for pair in range(max(0, source + target - total), min(source, target) + 1):
                    found = minus_ln_p(pair, source, target, total)
                    assert found == pytest.approx(exact(pair, source, target, total), abs=1e-12)


@given(st.data())
def test_large_tables(data: st.DataObject) -> None:
    """Large tables agree above and below expectation, and far out in the tail."""
    total = data.draw(st.integers(2, 3000))
    source = data.draw(st.integers(1, total))
    target = data.draw(st.integers(1, total))
    pair = data.draw(st.integers(max(0, source + target - total), min(source, target)))
    expected = exact(pair, source, target, total)
    found = minus_ln_p(pair, source, target, total)
    # if p is nearly 1, the exact side has the larger error, a difference of huge logarithms
    assert found == pytest.approx(expected, rel=1e-9, abs=tolerance(total))


def test_corpora_of_real_size() -> None:
    """Values agree for pairs of 29,000 sentences, and 1-1-1 pairs of a hundred million."""
    for counts in [(27_000, 28_000, 27_500), (1, 20_000, 3), (5, 5, 7), (9_000, 20_000, 15_000)]:
        assert minus_ln_p(*counts, 29_000) == pytest.approx(exact(*counts, 29_000), abs=1e-8)
    assert minus_ln_p(1, 1, 1, 10**8) == pytest.approx(math.log(10**8), abs=1e-5)


def block_of(*counts: bytes) -> TableBlock:
    lines = [b"a ||| x ||| 0.5 ||| 0-0 ||| %b ||| |||" % column for column in counts]
    return checked_block(
        b"\n".join(lines), len(lines), 7, "table", TableFormat(1, hierarchical=False)
    )


def test_named_levels() -> None:
    """1-1-1 pairs are between the two named levels, and other pairs are far from both."""
    block = block_of(b"1 1 1", b"2 1 1", b"2 2 2", b"1e+00 1.0 1")
    found, cramped = SignificanceLevel.parse("a+e", 29_000).find(block)
    assert found.tolist() == [False, False, True, False]
    assert cramped == 0
    found, _ = SignificanceLevel.parse("a-e", 29_000).find(block)
    assert found.tolist() == [True, False, True, True]


def test_more_pairs_than_sentences() -> None:
    """With too few sentences, frequent pairs are significant and rare partners are not."""
    block = block_of(b"30190 46515 27687", b"30190 3 3", b"9 9 9")
    found, cramped = SignificanceLevel(1.0, 29_000).find(block)
    assert found.tolist() == [True, False, True]
    assert cramped == 2


@pytest.mark.parametrize(
    "column", [b"", b"3 2", b"3 2 1 1", b"3 x 1", b"3 2 -1", b"1 0.5 0.25", b"3 2 0", b"3 2 3"]
)
def test_bad_counts(column: bytes) -> None:
    """Wrong counts are refused with their line."""
    with pytest.raises(PhraseTableError) as caught:
        pair_counts(block_of(b"1 1 1", column))
    assert str(caught.value).startswith(f"table:8: column 5 is {column.decode()!r}, but the ")


@pytest.mark.parametrize("text", ["a*e", "-1", "nan", "inf", ""])
def test_bad_levels(text: str) -> None:
    """A level must be a number of at least 0, or a name."""
    with pytest.raises(SettingsError, match="significance level"):
        SignificanceLevel.parse(text, 10)
