"""BLEU statistics agree with sacrebleu, except for the rules in which Moses differs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from moses_integration.bleu import References, bleu_of_sums
from phrasescore.errors import CorpusError

# few words, so that n-grams repeat and are clipped
SENTENCE = st.lists(st.sampled_from(["a", "b", "c", "dd"]), max_size=9).map(" ".join)
TEXT = st.lists(st.tuples(SENTENCE, SENTENCE, SENTENCE), min_size=1, max_size=5)


def encoded(lines: list[str]) -> list[bytes]:
    return [line.encode() for line in lines]


@given(TEXT, st.integers(1, 2))
def test_statistics_are_those_of_sacrebleu(rows: list[tuple[str, str, str]], count: int) -> None:
    """Matches, totals and closest lengths agree for one or two references, and empty lines."""
    found, *wanted = (list(column) for column in zip(*rows, strict=True))
    wanted = wanted[:count]
    metric = BLEU(tokenize="none", force=True, smooth_method="none")
    theirs = np.array(metric._extract_corpus_statistics(found, wanted))
    references = References([encoded(lines) for lines in wanted])
    ours = references.score(np.arange(len(rows)), encoded(found))
    assert ours[:, 8].tolist() == theirs[:, 1].tolist()
    assert ours[:, 0:8:2].tolist() == theirs[:, 2:6].tolist()
    assert ours[:, 1:8:2].tolist() == theirs[:, 6:].tolist()
    score = metric.corpus_score(found, wanted).score
    assert 100 * float(bleu_of_sums(ours.sum(0))) == pytest.approx(score, abs=1e-9)


def test_which_reference_length_counts() -> None:
    """The closest of the references counts, and of two equally close ones the shorter."""
    references = References([[b"a b c d"], [b"a b c d e f"], [b"a b c d e f g"]])
    candidates = [b"a b c d", b"a b c d e f", b"a b c d e"]
    found = references.score([0, 0, 0], candidates)
    assert found[:, 8].tolist() == [4, 6, 4]


def test_words_end_at_spaces_only() -> None:
    """No-break spaces, tabs and line separators are part of words, as in Moses."""
    line = "10\u00a0000 a\u2028b c\td".encode()
    statistics = References([[line]]).score([0], [line])
    assert statistics[0, 1:8:2].tolist() == [3, 2, 1, 0]
    other = References([[line]]).score([0], [b"10 000 a b c d"])
    assert other[0, 0] == 0


def test_sentence_bleu_is_smoothed_as_asked() -> None:
    """Smoothing equals Moses's: PRO adds 1 to all orders, MBR to all but the first."""
    references = References([[b"a b c d e"]])
    statistics = references.score([0, 0, 0], [b"a b c", b"", b"x y"])
    from_one = bleu_of_sums(statistics, added=1)
    from_two = bleu_of_sums(statistics, added=1, first_order=2)
    brevity = np.exp(1 - 5 / 3)
    assert from_one[0] == pytest.approx(brevity)
    assert from_two[0] == pytest.approx(brevity)
    assert from_one[1] == from_two[1] == 0
    assert from_one[2] == pytest.approx(np.exp(np.log([1 / 3, 1 / 2, 1, 1]).mean() + 1 - 5 / 2))
    assert from_two[2] == 0


def test_references_out_of_step(tmp_path: Path) -> None:
    """Uneven or missing references, and candidates of further sentences, are refused."""
    for name, text in (("one", "a\nb\n"), ("two", "a\n")):
        (tmp_path / name).write_text(text)
    with pytest.raises(CorpusError, match=r"two: 1 line, where .*one has 2"):
        References.read([tmp_path / "one", tmp_path / "two"])
    with pytest.raises(CorpusError, match="reference 2: 1 line, where reference 1 has 2"):
        References([[b"a", b"b"], [b"a"]])
    with pytest.raises(CorpusError, match="no reference translation is given"):
        References([])
    with pytest.raises(CorpusError, match="a candidate of sentence 2"):
        References([[b"a", b"b"]]).score([2], [b"a"])
