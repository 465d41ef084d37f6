"""Kneser-Ney estimation: formulas, small data, errors, and a comparison with lmplz."""

from __future__ import annotations

import itertools
import math
import random
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moses_integration.language_model.back_off import read_language_model
from moses_integration.language_model.kneser_ney import FALLBACK, Discounts, write_arpa
from phrasescore.errors import CorpusError
from tests.support.language_models import AskedModel
from tests.support.plain_back_off import PlainLanguageModel

NGram = tuple[str, ...]


def write_corpus(folder: Path, sentences: list[list[str]]) -> Path:
    path = folder / "corpus"
    path.write_text("".join(" ".join(sentence) + "\n" for sentence in sentences))
    return path


def adjusted_counts(sentences: list[list[str]], order: int) -> list[Counter[NGram]]:
    """Compute Chen and Goodman's adjusted counts with sets of left neighbours, order 1 first."""
    raw: list[Counter[NGram]] = [Counter() for _ in range(order + 1)]
    left: dict[NGram, set[str]] = {}
    for sentence in sentences:
        words = ["<s>", *sentence, "</s>"]
        for end in range(2, len(words) + 1):
            for length in range(1, min(order, end) + 1):
                ngram = tuple(words[end - length : end])
                raw[length][ngram] += 1
                if end > length:
                    left.setdefault(ngram, set()).add(words[end - length - 1])
    for length in range(1, order):
        for ngram in raw[length]:
            if ngram[0] != "<s>":
                raw[length][ngram] = len(left[ngram])
    return raw[1:]


def probability(
    ngram: NGram, counts: list[Counter[NGram]], discounts: tuple[Discounts, ...]
) -> float:
    """Compute p(last word | other words) by the textbook recursion, in double precision."""
    words = {word for (word,) in counts[0]}
    if not ngram:
        return 1 / (len(words) + 1)  # the words and <unk>
    followers = {
        other: count for other, count in counts[len(ngram) - 1].items() if other[:-1] == ngram[:-1]
    }
    amounts = (0.0, *discounts[len(ngram) - 1])
    total = sum(followers.values())
    if not total:
        return probability(ngram[1:], counts, discounts)
    count = followers.get(ngram, 0)
    left_over = sum(amounts[min(other, 3)] for other in followers.values())
    own = count - amounts[min(count, 3)]
    return (own + left_over * probability(ngram[1:], counts, discounts)) / total


CORPORA = st.lists(st.lists(st.sampled_from("abcd"), max_size=6), min_size=1, max_size=12).filter(
    lambda sentences: any(sentences)
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CORPORA, st.integers(1, 6))
def test_probabilities_follow_the_formula(
    tmp_path: Path, sentences: list[list[str]], order: int
) -> None:
    """All probabilities equal those of the recursion with sets and dictionaries."""
    types, discounts = write_arpa(write_corpus(tmp_path, sentences), order, tmp_path / "arpa")
    model = PlainLanguageModel(tmp_path / "arpa")
    counts = adjusted_counts(sentences, order)
    # <unk> and <s> are 1-grams too
    assert types == (len(counts[0]) + 2, *(len(ngrams) for ngrams in counts[1:]))
    for ngram in itertools.chain.from_iterable(counts):
        state = 0
        for word in ngram[:-1]:
            following = model.score(state, model.word_id(word.encode()))[1]
            state = model.begin_state if word == "<s>" else following
        log10, _ = model.score(state, model.word_id(ngram[-1].encode()))
        expected = math.log10(probability(ngram, counts, discounts))
        assert log10 == pytest.approx(expected, abs=2e-6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CORPORA, st.integers(1, 4), st.lists(st.sampled_from("abcdx"), max_size=5))
def test_probabilities_sum_to_one(
    tmp_path: Path, sentences: list[list[str]], order: int, history: list[str]
) -> None:
    """After every history, seen or unseen, the probabilities of all words sum to 1."""
    write_arpa(write_corpus(tmp_path, sentences), order, tmp_path / "arpa")
    model = AskedModel(tmp_path / "arpa")
    state = model.begin_state
    for word in history:
        state = model.score(state, model.word_id(word.encode()))[1]
    words = set(range(len(model.arrays.words))) - {model.word_id(b"<s>")}
    assert sum(10 ** model.score(state, word)[0] for word in words) == pytest.approx(1, abs=2e-6)


def test_order_one_by_hand(tmp_path: Path) -> None:
    """A unigram model equals one computed by hand, in the layout and order of lmplz."""
    corpus = write_corpus(tmp_path, [["a", "a", "b"], ["a"]])
    types, discounts = write_arpa(corpus, 1, tmp_path / "arpa")
    assert types == (5,)
    # counts: b 1, </s> 2, a 3, so n1 = n2 = n3 = 1, n4 = 0 and Y = n1 / (n1 + 2 n2) = 1/3
    amounts = (1 - 2 / 3, 2 - 3 / 3, 3.0)
    assert discounts[0] == pytest.approx(amounts)
    share = sum(amounts) / 6 / 4  # for a, b, </s> and <unk>
    expected = {
        "<unk>": share,
        "<s>": 1.0,
        "</s>": 1 / 6 + share,
        "a": share,
        "b": (1 - 1 / 3) / 6 + share,
    }
    lines = (tmp_path / "arpa").read_text().split("\n")
    assert lines[:4] == ["\\data\\", "ngram 1=5", "", "\\1-grams:"]
    assert lines[9:] == ["", "\\end\\", ""]
    found = {line.split("\t")[1]: 10 ** float(line.split("\t")[0]) for line in lines[4:9]}
    assert found == pytest.approx(expected)
    assert list(found) == list(expected)


@pytest.mark.parametrize(
    ("sentences", "order"),
    [
        # no word occurs three times
        ([["a", "a", "a", "b"], ["a"]], 1),
        # 4 bigrams occur once, 1 twice, 1 three times: D2 = 2 - 3 * 4 / (4 + 2 * 1) * 1 / 1 = 0
        ([["a"], ["a", "c"], ["a", "b", "c"]], 2),
    ],
)
def test_fallback_where_no_estimate_is_possible(
    tmp_path: Path, sentences: list[list[str]], order: int
) -> None:
    """The discounts are those of --discount_fallback, so that no word becomes impossible."""
    corpus = write_corpus(tmp_path, sentences)
    assert write_arpa(corpus, order, tmp_path / "arpa")[1][-1] == FALLBACK
    assert b"inf" not in (tmp_path / "arpa").read_bytes()


def test_spaces_as_lmplz_has_them(tmp_path: Path) -> None:
    """Tabs, carriage returns and NUL separate words; U+00A0 and U+2028 do not."""
    path = tmp_path / "corpus"
    path.write_bytes("a\tb\r\nc\0d  e\u00a0f\u2028g".encode())
    write_arpa(path, 2, tmp_path / "arpa")
    words = read_language_model(tmp_path / "arpa").words
    found = [words.word(number).decode() for number in range(len(words))]
    assert found == ["<unk>", "<s>", "</s>", "a", "b", "c", "d", "e\u00a0f\u2028g"]


@pytest.mark.parametrize("text", [b"", b"\n \n\t\n"])
def test_unusable_corpora(tmp_path: Path, text: bytes) -> None:
    """A corpus without words is refused, and nothing is written."""
    path = tmp_path / "corpus"
    path.write_bytes(text)
    expected = r"corpus: the corpus contains no words, so no model can be estimated\."
    with pytest.raises(CorpusError, match=expected):
        write_arpa(path, 3, tmp_path / "arpa")
    assert [file.name for file in tmp_path.iterdir()] == ["corpus"]


def random_corpora() -> list[tuple[int, bytes]]:
    """Draw corpora for all orders, including too small corpora and odd spaces."""
    source = random.Random(2013)
    corpora = []
    for case in range(24):
        vocabulary = [f"w{number}".encode() for number in range(source.choice([2, 6, 30]))]
        vocabulary.append("\u00e9t\u00e9\u00a0".encode())
        lines = [
            source.choice([b" ", b"\t", b"  "]).join(
                source.choice(vocabulary) for _ in range(source.randrange(9))
            )
            + source.choice([b"", b"\r", b" "])
            for _ in range(source.choice([1, 20, 400]))
        ]
        corpora.append((case % 6 + 1, b"w0\n" + b"\n".join(lines)))
    return corpora


@pytest.mark.moses
@pytest.mark.parametrize(("order", "text"), random_corpora(), ids=itertools.count())
def test_bytes_of_lmplz(tmp_path: Path, moses_bin: Path, order: int, text: bytes) -> None:
    """On any corpus, our estimator writes the same bytes as lmplz --discount_fallback."""
    corpus = tmp_path / "corpus"
    corpus.write_bytes(text)
    write_arpa(corpus, order, tmp_path / "own")
    with corpus.open("rb") as stream, (tmp_path / "lmplz").open("wb") as output:
        command = [moses_bin / "lmplz", "-o", str(order), "-S", "100M", "--discount_fallback"]
        subprocess.run(command, stdin=stream, stdout=output, stderr=subprocess.DEVNULL, check=True)
    assert (tmp_path / "own").read_bytes() == (tmp_path / "lmplz").read_bytes()
