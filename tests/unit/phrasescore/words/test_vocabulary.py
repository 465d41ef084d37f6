"""Shortlists: words, ids, and wrong files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.errors import ModelError
from phrasescore.table.block import TokenSpans
from phrasescore.words.vocabulary import UNK_ID, Vocabulary, shortlist


def test_ids() -> None:
    """Id 0 is the sentence end, id 1 is every unknown word, words begin at 2."""
    vocabulary = Vocabulary.from_words([b"the", b"house"])
    assert vocabulary.words == (b"</s>", b"<unk>", b"the", b"house")
    assert vocabulary.encode([b"house", b"x", b"the"]) == [3, 1, 2]
    assert UNK_ID == 1
    # a token </s> in a phrase, as in glue rules, never becomes the end of the sentence
    assert Vocabulary.from_words([b"a"]).encode([b"</s>", b"<unk>"]) == [1, 1]


tokens = st.sampled_from([b"a", b"b", b"</s>", b"<unk>", b"zz"])


@given(st.lists(st.lists(tokens, min_size=1), min_size=1))
def test_bulk_encoding(phrases: list[list[bytes]]) -> None:
    """Encoding a block gives the ids of encoding phrase by phrase."""
    vocabulary = Vocabulary.from_words([b"zz", b"b"])
    spans, _ = TokenSpans.find_in_texts([b" ".join(phrase) for phrase in phrases], 0)
    ids = vocabulary.encode_spans(spans)
    assert [ids[row].tolist() for row in range(len(ids))] == list(map(vocabulary.encode, phrases))


@given(st.lists(st.integers(1, 4), max_size=8), st.integers(1, 6))
def test_shortlist_is_the_head_of_the_whole_order(counts: list[int], size: int) -> None:
    """A shortlist of any size is the beginning of all words in order."""
    words = [b"w%d" % (7 * i % 8) for i in range(len(counts))]
    whole = sorted(words, key=lambda word: (-counts[words.index(word)], word))
    assert shortlist(words, np.array(counts, np.int64), size).words[2:] == tuple(whole[:size])


def test_file_round_trip(tmp_path: Path) -> None:
    r"""Words with odd Unicode are read back from the file, whose lines end only at \n."""
    vocabulary = Vocabulary.from_words(["a\u2028b".encode(), b"c\rd", b"\xff", "\u00a0".encode()])
    path = tmp_path / "vocabulary.txt"
    vocabulary.write(path)
    assert path.read_bytes().count(b"\n") == len(vocabulary)
    assert Vocabulary.read(path) == vocabulary


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "begins with the lines </s> and <unk>"),
        (b"<unk>\n</s>\na\n", "begins with the lines </s> and <unk>"),
        (b"</s>\n<unk>\na\nb\na\n", ":5: the word a occurs twice. Restore the file"),
        (b"</s>\n<unk>\na\n\nb\n", ":4: '' is not one word. Restore the file"),
        (b"</s>\n<unk>\na b\n", ":3: 'a b' is not one word"),
        (b"</s>\n<unk>\n<unk>\n", ":3: the word <unk> occurs twice"),
    ],
)
def test_damaged_file(content: bytes, message: str, tmp_path: Path) -> None:
    """An invalid vocabulary is refused with its line."""
    path = tmp_path / "vocabulary.txt"
    path.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        Vocabulary.read(path)
    assert f"{path}" in str(caught.value) and message in str(caught.value)
