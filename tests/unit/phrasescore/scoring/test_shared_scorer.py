"""Compares scores of many pairs that share work with scores of pairs that do not."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.model import kernels
from phrasescore.model.kinds import ContextName, EncoderDecoderSettings, Formulation, UnitName
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.model.sequence_model import Batch
from phrasescore.scoring.gated_steps import GatedSteps
from phrasescore.scoring.prefix_trie import PrefixTrie
from phrasescore.scoring.shared_scorer import Precision, SharedScorer
from phrasescore.words.token_sequences import TokenSequences, from_lists
from tests.support.unshared_scorer import UnsharedScorer


def model_of(
    formulation: Formulation = "code",
    unit: UnitName = "gated",
    context: ContextName = "every-step",
    hidden: int = 24,
) -> EncoderDecoder:
    """Return a small model with large weights, so that mistakes are visible."""
    settings = EncoderDecoderSettings(
        source_vocabulary=31,
        target_vocabulary=37,
        hidden=hidden,
        embedding=7,
        maxout=11,
        rank=5,
        formulation=formulation,
        unit=unit,
        context=context,
    )
    model = EncoderDecoder(settings)
    model.initialise(torch.Generator().manual_seed(5), "scaled")
    return model


def phrases(rng: np.random.Generator, count: int, words: int) -> list[list[int]]:
    """Return phrases of 0 to 6 words; every third repeats the one before."""
    made: list[list[int]] = []
    for at in range(count):
        fresh = rng.integers(1, words, rng.integers(0, 7)).tolist()
        made.append(list(made[-1]) if at % 3 == 2 else fresh)
    return made


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[int]], list[list[int]]]:
    """Draw pairs in any order, with repetitions and common prefixes."""
    phrase = st.lists(st.integers(1, 3), max_size=4)
    pairs = draw(st.lists(st.tuples(phrase, phrase), min_size=1, max_size=40))
    again = draw(st.lists(st.sampled_from(pairs), max_size=10))
    shuffled = draw(st.permutations(pairs + again))
    return [source for source, _ in shuffled], [target for _, target in shuffled]


@pytest.mark.parametrize("context", ["every-step", "once"])
@pytest.mark.parametrize("unit", ["gated", "tanh", "lstm"])
@pytest.mark.parametrize("formulation", ["code", "appendix"])
def test_any_batch_size_gives_the_exact_score(
    context: ContextName, unit: UnitName, formulation: Formulation, rng: np.random.Generator
) -> None:
    """Each score is within 1e-4 of the unshared one in float64, also for empty phrases."""
    model = model_of(formulation, unit, context)
    pairs = from_lists(phrases(rng, 90, 31)), from_lists(phrases(rng, 90, 37))
    expected = UnsharedScorer(model.double(), "cpu").score(*pairs)
    for batch_size in (1, 7, 512):
        found = SharedScorer(model.float(), "cpu", "fp32", batch_size).score(*pairs)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("formulation", ["code", "appendix"])
@pytest.mark.parametrize(
    ("unit", "compiled", "context"),
    [
        ("gated", True, "every-step"),
        ("gated", True, "once"),
        ("gated", False, "every-step"),
        ("tanh", True, "every-step"),
        ("lstm", True, "once"),
    ],
)
def test_sharing_changes_no_score(
    formulation: Formulation,
    unit: UnitName,
    compiled: bool,
    context: ContextName,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Shared and unshared ln p agree within 1e-4 for all tables and orders."""
    model = model_of(formulation, unit, context)
    unshared = UnsharedScorer(model, "cpu")
    with monkeypatch.context() as patched:
        if not compiled:
            patched.setattr(kernels, "can_compile", lambda _: False)
        scorers = [SharedScorer(model, "cpu", "fp32", group) for group in (1, 5, 2048)]

    @given(tables())
    def agree(table: tuple[list[list[int]], list[list[int]]]) -> None:
        sources, targets = map(from_lists, table)
        expected = unshared.score(sources, targets)
        for scorer in scorers:
            found = scorer.score(sources, targets)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)

    agree()


@pytest.mark.parametrize("formulation", ["code", "appendix"])
@pytest.mark.parametrize("unit", ["gated", "tanh"])
@pytest.mark.parametrize("group", [1, 7, 512])
def test_words_of_long_and_short_pairs(
    formulation: Formulation, unit: UnitName, group: int, rng: np.random.Generator
) -> None:
    """Each word's ln p equals that of the pair alone, and the sum equals the score."""
    model = model_of(formulation, unit)
    sources, targets = phrases(rng, 40, 31), phrases(rng, 40, 37)
    for at, (source, target) in enumerate([(65, 3), (300, 2), (0, 80), (64, 64), (300, 300)]):
        sources[9 * at] = rng.integers(1, 31, source).tolist()
        targets[9 * at] = rng.integers(1, 37, target).tolist()
    scorer = SharedScorer(model, "cpu", "fp32", group)
    found = scorer.score_words(from_lists(sources), from_lists(targets))
    expected: list[float] = []
    for source, target in zip(sources, targets, strict=True):
        ids = [torch.tensor([side], dtype=torch.long) for side in (source, target)]
        with torch.no_grad():
            expected += model.score(Batch(ids[0], ids[1], None))[0].tolist()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    offsets = np.cumsum([0, *(len(target) + 1 for target in targets[:-1])])
    totals = scorer.score(from_lists(sources), from_lists(targets))
    np.testing.assert_allclose(np.add.reduceat(found, offsets), totals, rtol=1e-12)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("unit", ["gated", "lstm"])
def test_cores_change_no_bit(
    unit: UnitName, precision: Precision, rng: np.random.Generator
) -> None:
    """Scores of pairs and words have equal bits with one and with several cores.

    With 8 units, products on an AMD Zen 5 are rounded differently if more cores share them.
    """
    model = model_of("code", unit, hidden=8)
    sources, targets = from_lists(phrases(rng, 90, 31)), from_lists(phrases(rng, 90, 37))
    found: list[tuple[bytes, bytes]] = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3, 5):
            torch.set_num_threads(threads)
            scorer = SharedScorer(model, "cpu", precision, 20)
            both = scorer.score(sources, targets), scorer.score_words(sources, targets)
            found.append((both[0].tobytes(), both[1].tobytes()))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert len(set(found)) == 1


@pytest.mark.parametrize("unit", ["gated", "tanh"])
def test_many_sources_with_the_empty_target(unit: UnitName, rng: np.random.Generator) -> None:
    """Roots without children between others are handled."""
    model = model_of(unit=unit)
    sources = [[1 + i // 900, 1 + i // 30 % 30, 1 + i % 30] for i in range(1200)]
    targets: list[list[int]] = [[5] if i % 400 == 0 else [] for i in range(1200)]
    found = SharedScorer(model, "cpu", "fp32").score(from_lists(sources), from_lists(targets))
    expected = UnsharedScorer(model, "cpu").score(from_lists(sources), from_lists(targets))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("unit", ["gated", "tanh", "lstm"])
def test_bf16_stays_near(unit: UnitName, rng: np.random.Generator) -> None:
    """bfloat16 products change ln p of words a little, but not by 0, so they are in use."""
    model = model_of(unit=unit)
    lists = phrases(rng, 60, 31), phrases(rng, 60, 37)
    sources, targets = from_lists(lists[0]), from_lists(lists[1])
    exact = SharedScorer(model, "cpu", "fp32").score(sources, targets)
    near = SharedScorer(model, "cpu", "bf16").score(sources, targets)
    per_word = np.abs(near - exact) / (targets.lengths + 1)
    assert 0 < per_word.mean() < 0.05


def test_a_group_that_does_not_fit_is_halved(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores are unchanged, and later groups are small from the start."""
    model = model_of()
    sources, targets = map(from_lists, (phrases(rng, 64, 31), phrases(rng, 64, 37)))
    expected = SharedScorer(model, "cpu", group=64)
    scorer = SharedScorer(model, "cpu", group=64)
    decode, asked = GatedSteps.decode, []

    def decode_few(steps: GatedSteps, sources: TokenSequences, trie: PrefixTrie) -> object:
        asked.append(len(trie.ends))
        if len(trie.ends) > 20:  # like a GPU with little memory
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return decode(steps, sources, trie)

    whole = expected.score(sources, targets)
    monkeypatch.setattr(GatedSteps, "decode", decode_few)
    np.testing.assert_allclose(scorer.score(sources, targets), whole, rtol=0, atol=1e-5)
    assert asked == [64, 32, 16, 16, 32, 16, 16]
    asked.clear()
    np.testing.assert_allclose(scorer.score(sources, targets), whole, rtol=0, atol=1e-5)
    assert max(asked) <= 16
