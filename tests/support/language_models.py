"""Small back-off models as ARPA text, and the comparison of two language models."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import strategies as st

from moses_integration.language_model.automaton import UNKNOWN_WORD, score
from moses_integration.language_model.back_off import ArrayLanguageModel, read_language_model
from tests.conftest import PROJECT
from tests.support.plain_back_off import PlainLanguageModel

LETTERS = ["a", "b", "c"]
# a handwritten trigram model: "b c" is missing although "a b c" exists, and no trigram begins with
# "c b" although it has a back-off weight
TRIGRAMS = """\\data\\
ngram 1=6
ngram 2=4
ngram 3=2

\\1-grams:
-2\t<unk>\t0
-99\t<s>\t-0.5
-1\t</s>
-0.5\ta\t-0.25
-0.75\tb\t-0.125
-1\tc\t0

\\2-grams:
-0.25\t<s> a\t-0.0625
-0.5\ta b\t-0.375
-0.125\tc b\t-1
-0.75\tb </s>

\\3-grams:
-0.0625\ta b c
-0.03125\t<s> a b

\\end\\
"""


def arpa_of(ngrams: list[dict[str, tuple[float, float]]]) -> str:
    """Return the text of an ARPA file with these n-grams, given by order and text."""
    counts = "".join(f"ngram {n}={len(grams)}\n" for n, grams in enumerate(ngrams, 1))
    sections = ""
    for n, grams in enumerate(ngrams, 1):
        lines = (
            f"{log10}\t{text}" + (f"\t{backoff}" if n < len(ngrams) else "") + "\n"
            for text, (log10, backoff) in grams.items()
        )
        sections += f"\\{n}-grams:\n{''.join(lines)}\n"
    return f"\\data\\\n{counts}\n{sections}\\end\\\n"


@st.composite
def models(draw: st.DrawFn, least_order: int = 1) -> str:
    """Draw models with the contexts of all n-grams, as formats demand, but not all suffixes."""
    weight = st.sampled_from([-1.5, -0.75, -0.5, -0.25])
    backoff = st.sampled_from([0.0, -0.0, -0.5, -0.25])
    order = draw(st.integers(least_order, 4))
    specials = ["<s>", "</s>", *draw(st.sampled_from([[], ["<unk>"]]))]
    grams = [{word: (draw(weight), draw(backoff)) for word in [*specials, *LETTERS]}]
    for _ in range(2, order + 1):
        longer = [
            f"{context} {word}"
            for context, word in itertools.product(grams[-1], [*LETTERS, "</s>"])
            if not context.endswith("</s>")
        ]
        kept = draw(st.lists(st.sampled_from(longer), max_size=12, unique=True)) if longer else []
        grams.append({text: (draw(weight), draw(backoff)) for text in kept})
    return arpa_of(grams)


class AskedModel:
    """A model in arrays, queried word by word from Python."""

    def __init__(self, path: str | Path) -> None:
        self.arrays: ArrayLanguageModel = read_language_model(path)
        self.begin_state, self.end_word = self.arrays.begin_state, self.arrays.end_word

    def word_id(self, word: bytes) -> int:
        found = self.arrays.words.id_of(word)
        return UNKNOWN_WORD if found is None else found

    def score(self, state: int, word: int) -> tuple[float, int]:
        log10, following = score(self.arrays.tables, state, word)
        return float(log10), int(following)


# models to compare
LanguageModel = AskedModel | PlainLanguageModel


def sentence_log10(model: LanguageModel, words: Sequence[bytes]) -> list[float]:
    """Score the words of a sentence and its end, beginning after ``<s>``."""
    state, scores = model.begin_state, []
    for word in [*map(model.word_id, words), model.end_word]:
        log10, state = model.score(state, word)
        scores.append(log10)
    return scores


def follow(model: LanguageModel, words: list[bytes]) -> tuple[list[float], list[int]]:
    """Score a sentence; return the score of each word and the state after it."""
    state, scores, states = model.begin_state, [], []
    for word in words:
        log10, state = model.score(state, model.word_id(word))
        scores.append(log10)
        states.append(state)
    return scores, states


def assert_same_model(
    one: LanguageModel, other: LanguageModel, sentences: list[list[bytes]]
) -> None:
    """Check that scores agree, and that the same histories share a state in both models."""
    paired: dict[int, int] = {}
    for words in sentences:
        scores, states = follow(one, words)
        other_scores, other_states = follow(other, words)
        assert scores == pytest.approx(other_scores, abs=1e-6)
        for state, other_state in zip(states, other_states, strict=True):
            assert paired.setdefault(state, other_state) == other_state
    assert len(set(paired.values())) == len(paired)


def kenlm_binary(kind: str) -> bytes:
    """Return the binary that KenLM's build_binary made of ``TRIGRAMS``, from tests/data/kenlm."""
    return bytes.fromhex((PROJECT / "tests" / "data" / "kenlm" / f"{kind}.hex").read_text("ascii"))
