"""Scores and states of the automaton agree with the plain language model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moses_integration.language_model.automaton import EMPTY_STATE, UNKNOWN_WORD
from moses_integration.language_model.back_off import read_language_model
from phrasescore.errors import LanguageModelError
from tests.conftest import BUNDLED_GOLDEN, PROJECT
from tests.support.language_models import (
    LETTERS,
    TRIGRAMS,
    AskedModel,
    LanguageModel,
    assert_same_model,
    follow,
    models,
    sentence_log10,
)
from tests.support.plain_back_off import PlainLanguageModel


def write(folder: Path, text: str) -> Path:
    path = folder / "model.arpa"
    path.write_text(text)
    return path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(models(), st.lists(st.lists(st.sampled_from([*LETTERS, "x", "</s>"]), max_size=7)))
def test_automaton_agrees_with_the_definition(
    tmp_path: Path, text: str, sentences: list[list[str]]
) -> None:
    """Arrays and dictionaries give equal scores and equal classes of histories."""
    path = write(tmp_path, text)
    one, other = AskedModel(path), PlainLanguageModel(path)
    words = [[word.encode() for word in sentence] for sentence in sentences]
    assert_same_model(one, other, words)


@pytest.mark.parametrize("kind", [AskedModel, PlainLanguageModel])
@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("a b c", [-0.25, -0.03125, -0.0625, -1]),
        # "a a" is missing: p(a) with the back-offs of "<s> a" and "a"
        ("a a", [-0.25, -0.0625 - 0.25 - 0.5, -0.25 - 1]),
        # "b c" is missing: p(c) with the back-off of b; p(b) after <s> with that of <s>
        ("b c", [-0.5 - 0.75, -0.125 - 1, -1]),
        ("c b c", [-0.5 - 1, -0.125, -1 - 0.125 - 1, -1]),
        # an unknown word resets the history
        ("a x b", [-0.25, -0.0625 - 0.25 - 2, -0.75, -0.75]),
    ],
)
def test_backing_off_by_hand(
    tmp_path: Path, kind: type, sentence: str, expected: list[float]
) -> None:
    """Scores of a model with twelve n-grams equal sums computed by hand."""
    model: LanguageModel = kind(write(tmp_path, TRIGRAMS))
    assert sentence_log10(model, sentence.encode().split()) == pytest.approx(expected)


def test_states_forget_what_cannot_matter(tmp_path: Path) -> None:
    """A state keeps only the part of the history that n-grams or back-offs can still use."""
    model = AskedModel(write(tmp_path, TRIGRAMS))

    def state(text: str) -> int:
        return follow(model, text.encode().split())[1][-1]

    assert state("a b") == state("c a b")  # because of the n-gram "a b c"
    assert state("c b") != state("b")  # "c b" has a back-off weight
    assert state("a b c") == state("c")  # no n-gram continues "b c"
    assert state("a </s>") == EMPTY_STATE  # "</s>" has no continuation and no weight
    assert state("x") == EMPTY_STATE
    assert state("a") != state("x a")  # because of the n-gram "<s> a b"


def test_file_without_unknown_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """If the ARPA file has no <unk>, unknown words get -100, with a warning."""
    text = TRIGRAMS.replace("-2\t<unk>\t0\n", "").replace("ngram 1=6", "ngram 1=5")
    model = AskedModel(write(tmp_path, text))
    assert model.score(EMPTY_STATE, UNKNOWN_WORD)[0] == -100
    assert "has no <unk>: unknown words get log10 probability -100" in caplog.text


@pytest.mark.parametrize(
    ("line", "repeated", "kept"),
    [
        ("-0.5\ta\t-0.25\n", "-3\ta\t-3\n", 0),
        ("-0.5\ta b\t-0.375\n", "-3\ta b\t-3\n", 0),
        ("-0.0625\ta b c\n", "-3\ta b c\n", 0),
        ("-2\t<unk>\t0\n", "-3\t<UNK>\t-0.5\n", 1),
    ],
)
def test_repeated_ngrams(tmp_path: Path, line: str, repeated: str, kept: int) -> None:
    """As in KenLM, the first of equal n-grams counts, but the last of <unk> and <UNK>."""
    order = len(line.split("\t")[1].split())
    before = f"ngram {order}={TRIGRAMS.split(f'ngram {order}=')[1][0]}"
    more = TRIGRAMS.replace(before, f"ngram {order}={int(before[-1]) + 1}")
    path = write(tmp_path, TRIGRAMS.replace(line, (line, repeated)[kept]))
    plain = PlainLanguageModel(path)
    model = AskedModel(write(tmp_path, more.replace(line, line + repeated)))
    assert_same_model(model, plain, [[b"a", b"b", b"c"], [b"a", b"a"], [b"x", b"b"], [b"b", b"x"]])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "a b c",
            "a c b",
            ":21: the 3-gram 'a c b' cannot be used: the model has no 2-gram of its first 2 words. "
            "Make the file again with the tool that wrote it.",
        ),
        ("<s>", "<S>", "the 1-grams lack <s>. Estimate the model with sentence boundaries."),
        ("</s>", "end", "the 1-grams lack </s>."),
    ],
)
def test_models_that_do_not_fit_together(tmp_path: Path, old: str, new: str, message: str) -> None:
    """n-grams without context, and missing sentence marks, are refused."""
    path = write(tmp_path, TRIGRAMS.replace(old, new))
    with pytest.raises(LanguageModelError) as caught:
        read_language_model(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


@pytest.mark.parametrize("history", [[], [b"un"], [b"un", b"homme"], [b"xyzzy"], [b"la", b"le"]])
def test_probabilities_sum_to_one(golden: Path, history: list[bytes]) -> None:
    """After any history the probabilities of all words, without <s>, sum to 1."""
    model = AskedModel(golden / "system" / "lm.arpa.gz")
    state = follow(model, history)[1][-1] if history else model.begin_state
    words = set(range(len(model.arrays.words))) - {model.word_id(b"<s>")}
    total = sum(10 ** model.score(state, word)[0] for word in words)
    assert total == pytest.approx(1, abs=2e-5)  # 3,000 words with float32 probabilities


def assert_totals(path: Path, expected: Mapping[bytes, float]) -> None:
    """Compare with the output of KenLM's `query` (mosesdecoder 34452895f); a word is odd."""
    model = AskedModel(path)
    sentences = [line.split() for line in expected]
    totals = [sum(sentence_log10(model, words)) for words in sentences]
    assert totals == pytest.approx(list(expected.values()), rel=1e-6)
    unknown = [sum(model.word_id(word) == UNKNOWN_WORD for word in words) for words in sentences]
    assert unknown == [0, 1, 0]


BUNDLED_TOTALS = {
    b"elle a oubli\xc3\xa9 le mot .": -9.039854,
    b"il a xyzzy le mot .": -11.143095,
    b"": -3.6906242,
}
SEATED, EATING = b"un homme est assis sur un banc .", b"le xyzzy mange ."
SHARED_TOTALS = {SEATED: -4.8596926, EATING: -11.471932, b"": -3.616673}
MULTI30K_TOTALS = {SEATED: -4.099897, EATING: -12.287915, b"": -4.2340565}


def test_totals_of_kenlm(golden: Path) -> None:
    """Sentence scores equal the output of KenLM's own program."""
    totals = BUNDLED_TOTALS if golden == BUNDLED_GOLDEN else SHARED_TOTALS
    assert_totals(golden / "system" / "lm.arpa.gz", totals)


def test_totals_of_kenlm_for_five_grams(multi30k: Path) -> None:
    """Sentence scores of a five-gram model with 778,376 n-grams equal KenLM's."""
    assert_totals(multi30k / "lm.5gram.arpa.gz", MULTI30K_TOTALS)


@pytest.mark.parametrize("form", ["arpa", "probing", "trie"])
def test_totals_of_kenlm_with_two_unknown_words(tmp_path: Path, form: str) -> None:
    """KenLM takes <unk> and <UNK> for one word, and loads p(<s>) = 0; `query` gave the totals."""
    path = PROJECT / "tests" / "data" / "kenlm" / "unknown-twice.arpa"
    if form != "arpa":
        data = bytes.fromhex(path.with_name(f"unknown-twice-{form}.hex").read_text("ascii"))
        path = tmp_path / "model"
        path.write_bytes(data)
    model = AskedModel(path)
    sentences = [b"a b", b"x b <UNK>", b"", b"c <unk> a"]
    totals = [sum(sentence_log10(model, words.split())) for words in sentences]
    assert totals == pytest.approx([-1.9386077, -2.3447533, -0.895583, -3.2427983], rel=1e-6)
