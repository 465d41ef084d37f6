"""Byte pairs: splitting and joining words, unknown words, and wrong files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.errors import CorpusError, ModelError
from phrasescore.table.block import TokenSpans
from phrasescore.words.byte_pairs import BytePairs, joined
from phrasescore.words.token_sequences import from_lists
from phrasescore.words.vocabulary import UNK_ID, Vocabulary

pytest.importorskip("subword_nmt", reason="needs the extra byte-pairs")

COUNTS = {b"low": 5, b"lower": 2, b"newest": 6, b"widest": 3, b"\xffx": 1, b"</s>": 1}


@pytest.fixture(scope="module")
def pairs() -> BytePairs:
    return BytePairs.learn(COUNTS, 10)


@pytest.fixture(scope="module")
def vocabulary(pairs: BytePairs) -> Vocabulary:
    """Return a vocabulary with all pieces of the training words, and some letters."""
    cut = pairs.cutter()
    pieces = sorted({piece for word in COUNTS for piece in cut(word)} | {b"n@@", b"w@@", b"est"})
    return Vocabulary(Vocabulary.from_words(pieces).words, pairs)


@given(st.lists(st.binary(min_size=1).filter(lambda word: word.split() == [word])))
def test_the_pieces_of_any_words_join_to_the_words(words: list[bytes]) -> None:
    """Pieces of any words without the mark join to the words, also for invalid UTF-8."""
    cut = BytePairs("#version: 0.2\na b\nb c</w>\n").cutter()
    words = [word for word in words if b"@" not in word and word.decode("utf-8", "ignore").strip()]
    assert list(joined([piece for word in words for piece in cut(word)])) == words


def test_words_become_ids_and_come_back(vocabulary: Vocabulary) -> None:
    """Words become ids and are restored, also new words; a new character makes one <unk>."""
    words = [b"newer", b"low", b"zoo", b"lowest", b"\xffx"]
    ids = vocabulary.encode(words)
    assert len(ids) > len(words)
    assert ids.count(UNK_ID) == 1
    assert vocabulary.decode(np.array(ids, np.int32)) == [*words[:2], b"<unk>", *words[3:]]
    assert vocabulary.count_words(np.array(ids, np.int32)) == len(words)
    assert [vocabulary.knows(word) for word in words] == [True, True, False, True, True]
    spans, _ = TokenSpans.find_in_texts([b"newer low", b"", b"zoo lowest \xffx"], 0)
    found = vocabulary.encode_spans(spans)
    lines = [vocabulary.decode(found[line]) for line in range(3)]
    assert lines == [[b"newer", b"low"], [], [b"<unk>", b"lowest", b"\xffx"]]


@pytest.mark.parametrize("word", [b"</s>", b"<unk>", b"low@@"])
def test_words_that_would_be_read_as_something_else_are_unknown(
    vocabulary: Vocabulary, word: bytes
) -> None:
    assert vocabulary.encode([word]) == [UNK_ID]


def test_what_a_search_writes_is_read_as_words(vocabulary: Vocabulary) -> None:
    """Search output is read as words, even if it ends inside a word or has unknown pieces."""
    inside = next(n for n, piece in enumerate(vocabulary.words) if piece.endswith(b"@@"))
    text = vocabulary.words[inside].removesuffix(b"@@")
    assert vocabulary.decode(np.array([inside, UNK_ID, inside])) == [b"<unk>", text]
    assert vocabulary.word_ends(np.array([inside, UNK_ID, inside])).tolist() == [False, True, True]


def test_a_word_has_the_sum_over_its_pieces(vocabulary: Vocabulary) -> None:
    """A word's ln p is the sum over its pieces; </s> has its own; empty phrases have only </s>."""
    lines: list[list[bytes]] = [[b"lower", b"low"], [], [b"widest"], []]
    phrases = from_lists([vocabulary.encode(line) for line in lines])
    values = np.arange(len(phrases.tokens) + 4, dtype=float)
    sums, counts = vocabulary.sums_of_words(values, phrases)
    assert counts.tolist() == [3, 1, 2, 1]
    lengths = [
        size for line in lines for size in (*(len(vocabulary.encode([word])) for word in line), 1)
    ]
    parts = np.split(values, np.cumsum(lengths)[:-1])
    assert sums.tolist() == [part.sum() for part in parts]
    nothing, none = vocabulary.sums_of_words(np.empty(0), from_lists([]))
    assert not len(nothing) and not len(none)


def test_pieces_outside_the_vocabulary_are_cut_further(pairs: BytePairs) -> None:
    """Pieces that only the other language has are split, so that the word is not unknown."""
    characters = Vocabulary.from_words([b"l@@", b"o@@", b"w"])
    assert pairs.cutter()(b"low") == [b"low"]
    assert Vocabulary(characters.words, pairs).encode([b"low"]) == [2, 3, 4]


def test_a_word_of_a_million_letters_stays_whole(vocabulary: Vocabulary) -> None:
    """Cutting or learning from it would take minutes; such a word is unknown."""
    word = b"lower" * 200_000
    assert vocabulary.encode([word, b"low"]) == [UNK_ID, *vocabulary.encode([b"low"])]
    assert BytePairs.learn({**COUNTS, word: 9}, 10) == BytePairs.learn(COUNTS, 10)


def test_merges_come_back_from_their_file(pairs: BytePairs, tmp_path: Path) -> None:
    pairs.write(tmp_path / "merges")
    assert BytePairs.read(tmp_path / "merges") == pairs


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("a b\n", 1),
        ("#version: 0.2\na b\nabc\n", 3),
        ("#version: 0.2\na b c\n", 2),
        ("#version: 0.2\na </w>\n", 2),
        ("#version: 0.2\na</w> b\n", 2),
        ("#version: 0.2\n< /w>\n", 2),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str, line: int) -> None:
    (tmp_path / "merges").write_text(text)
    with pytest.raises(ModelError) as caught:
        BytePairs.read(tmp_path / "merges")
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("counts", "problem"), [({b"a": 3}, "one character"), ({b"in@@": 1, b"to": 1}, "ends with @@")]
)
def test_words_without_pairs_and_words_in_pieces_are_refused(
    counts: dict[bytes, int], problem: str
) -> None:
    with pytest.raises(CorpusError, match=problem):
        BytePairs.learn(counts, 10)
