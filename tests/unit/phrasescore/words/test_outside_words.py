"""Words outside a shortlist: storage, and shares of p(<unk>)."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.errors import ModelError
from phrasescore.table.block import TokenSpans
from phrasescore.words.vocabulary import OutsideWords, Vocabulary

KNOWN = Vocabulary.from_words([b"the", b"a"])
words = st.sampled_from([b"the", b"a", b"cat", b"dog", b"owl", b"<unk>", b"never"])


def plain_ln_share(phrase: list[bytes], counts: dict[bytes, int]) -> float:
    """Compute ln of the shares by the definition, word by word."""
    whole = sum(counts.values()) + len(counts) + 1
    outside = [word for word in phrase if KNOWN.encode([word]) == [1]]
    return sum(math.log((counts.get(word, 0) + 1) / whole) for word in outside)


@given(
    st.lists(st.lists(words, max_size=5), min_size=1, max_size=9),
    st.dictionaries(st.sampled_from([b"cat", b"dog", b"owl", b"<unk>"]), st.integers(1, 9)),
)
def test_shares_by_their_definition(phrases: list[list[bytes]], counts: dict[bytes, int]) -> None:
    """Each unknown token of a phrase adds ln q; known tokens add nothing."""
    spans, _ = TokenSpans.find_in_texts([b" ".join(phrase) for phrase in phrases], 0)
    outside = OutsideWords(tuple(counts), tuple(counts.values()))
    found = outside.ln_shares(spans, KNOWN.encode_spans(spans).tokens)
    assert found.tolist() == pytest.approx([plain_ln_share(phrase, counts) for phrase in phrases])


def test_what_is_kept() -> None:
    """Only seen words outside the shortlist are kept, the most frequent first."""
    seen = [b"the", b"owl", b"dog", b"held", b"cat"]
    counts, ids = np.array([9, 1, 2, 0, 2]), np.array(KNOWN.encode(seen))
    outside = OutsideWords.from_counts(seen, counts, ids)
    assert (outside.words, outside.counts) == ((b"dog", b"cat", b"owl"), (2, 2, 1))
    assert len(outside) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\t2\nb\n", ":2: 'b' is not a word, a tab and its count. Restore the file"),
        (b"\t2\n", ":1: '\\t2' is not a word"),
        (b"a b\t2\n", ":1: 'a b\\t2' is not a word"),
        (b"a\t0\n", "is not a word"),
        (b"a\t-1\n", "is not a word"),
        (b"a\t1\t1\n", "is not a word"),
        (b"a\t1234567890123456789\n", "is not a word"),
        (b"a\t2\nb\t1\na\t1\n", ":3: the word a occurs twice. Restore the file"),
    ],
)
def test_damaged_file(content: bytes, message: str, tmp_path: Path) -> None:
    """An invalid line is refused with its number."""
    path = tmp_path / "outside.txt"
    path.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        OutsideWords.read(path)
    assert f"{path}" in str(caught.value) and message in str(caught.value)
