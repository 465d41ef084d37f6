"""Compares beam search with lists of all targets, and with a plain search of one source."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch

from phrasescore.errors import ModelError
from phrasescore.generation.beam_search import BeamSearch
from phrasescore.generation.targets import BeamSettings, TargetGenerator, TargetSettings
from phrasescore.model.kinds import RnnEncdecSettings
from phrasescore.model.sequence_model import END, UNKNOWN, SequenceModel
from phrasescore.words.token_sequences import from_lists
from tests.unit.phrasescore.generation.tiny_models import (
    SOURCES,
    WORDS,
    all_targets,
    ln_p_of,
    tiny_model,
    tiny_sentence_model,
)

SENTENCE_MODELS: dict[str, Callable[[], SequenceModel]] = {
    "search": tiny_sentence_model,
    "search-paper": lambda: tiny_sentence_model(formulation="paper"),
    "encdec": lambda: tiny_sentence_model(RnnEncdecSettings),
}
MODELS: dict[str, Callable[[], SequenceModel]] = {
    **{
        f"{unit}-{context}": functools.partial(tiny_model, unit, context)
        for unit in ("gated", "tanh", "lstm")
        for context in ("every-step", "once")
    },
    **SENTENCE_MODELS,
}


def searched(
    model: SequenceModel,
    sources: list[list[int]],
    beam: BeamSettings,
    allowed: TargetSettings,
    group: int = 100,
) -> list[list[tuple[list[int], float]]]:
    """Return targets and ln p of each source."""
    method = partial(BeamSearch, beam, allowed)
    found = TargetGenerator(model, method, "cpu", group).targets(from_lists(sources))
    return [
        [(found.words[row].tolist(), float(found.ln_p[row])) for row in range(a, b)]
        for a, b in itertools.pairwise(found.offsets.tolist())
    ]


def assert_same(
    found: list[tuple[list[int], float]], expected: list[tuple[list[int], float]], atol: float
) -> None:
    """Compare the targets of a source and their ln p."""
    assert [target for target, _ in found] == [target for target, _ in expected]
    ln_p = [[value for _, value in pairs] for pairs in (found, expected)]
    np.testing.assert_allclose(*ln_p, rtol=0, atol=atol)


def plain_beam(
    model: SequenceModel, source: list[int], size: int, limit: int
) -> list[tuple[list[int], float]]:
    """Search as documented, one source and one prefix at a time."""
    beam: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[tuple[float, list[int]]] = []
    while beam:
        options = []
        for ln_p, prefix in beam:
            with torch.no_grad():
                state, gains = model.start(
                    torch.tensor([source]), torch.tensor([len(source)]), torch.float32
                )
                for word in prefix:
                    state, gains = model.step(state, torch.tensor([word]))
            words = [END] if len(prefix) == limit else range(WORDS)
            options += [(ln_p + gains[0, word].item(), [*prefix, word]) for word in words]
        options.sort(key=lambda option: -option[0])
        chosen = options[: size - len(finished)]
        finished += [(ln_p, target[:-1]) for ln_p, target in chosen if target[-1] == END]
        beam = [(ln_p, target) for ln_p, target in chosen if target[-1] != END]
    return [(target, ln_p) for ln_p, target in sorted(finished, key=lambda each: -each[0])]


@pytest.mark.parametrize("name", MODELS)
def test_a_wide_beam_is_exhaustive(name: str) -> None:
    """A beam with room for every target finds all, sorted by ln p, which equals that of score."""
    model, targets = MODELS[name](), all_targets(3)
    size = len(targets)
    found = searched(model, SOURCES, BeamSettings(size, size), TargetSettings(3), group=2)
    for source, pairs in zip(SOURCES, found, strict=True):
        exact = ln_p_of(model, source, targets)
        assert sorted(target for target, _ in pairs) == sorted(targets)
        at = {tuple(target): value for target, value in zip(targets, exact, strict=True)}
        expected = [at[tuple(target)] for target, _ in pairs]
        np.testing.assert_allclose([ln_p for _, ln_p in pairs], expected, rtol=0, atol=1e-4)
        assert (np.diff([ln_p for _, ln_p in pairs]) <= 0).all()


@pytest.mark.parametrize(
    ("name", "size"),
    [*(("gated-every-step", size) for size in (1, 2, 3, 7)), *((m, 3) for m in SENTENCE_MODELS)],
)
def test_many_sources_at_once_are_each_searched_as_alone(name: str, size: int) -> None:
    """A narrow beam equals a plain search of each source, for all batch sizes."""
    model = MODELS[name]()
    expected = [plain_beam(model, source, size, 4) for source in SOURCES]
    for group in (1, 2, 100):
        found = searched(model, SOURCES, BeamSettings(size, size), TargetSettings(4), group)
        for ours, theirs in zip(found, expected, strict=True):
            assert_same(ours, theirs, atol=1e-5)


def test_length_normalisation_changes_the_order_alone() -> None:
    """Targets are ranked by ln p divided by the words with </s>; ln p is unchanged."""
    model, targets = tiny_model(), all_targets(3)
    settings = BeamSettings(len(targets), len(targets), length_normalisation=True)
    found = searched(model, SOURCES, settings, TargetSettings(3))
    for source, pairs in zip(SOURCES, found, strict=True):
        ratios = [ln_p / (len(target) + 1) for target, ln_p in pairs]
        assert (np.diff(ratios) <= 1e-6).all()
        exact = ln_p_of(model, source, [target for target, _ in pairs])
        np.testing.assert_allclose([ln_p for _, ln_p in pairs], exact, rtol=0, atol=1e-4)
        assert ratios != sorted([ln_p for _, ln_p in pairs], reverse=True)


def test_unknown_words_can_be_forbidden() -> None:
    """Without <unk> the other targets keep their ln p and their order."""
    model = tiny_model()
    size = len(all_targets(3))
    free = searched(model, SOURCES, BeamSettings(size, size), TargetSettings(3))
    known = searched(model, SOURCES, BeamSettings(size, size), TargetSettings(3, unknown=False))
    for every, some in zip(free, known, strict=True):
        assert_same(some, [pair for pair in every if UNKNOWN not in pair[0]], atol=1e-6)


def test_length_bounds_hold() -> None:
    """Targets have at least half the source's words, and at most three times its length with </s>.

    The search takes 3 (S + 1) steps, the last of which writes </s>. Targets that are too short do
    not take room in the beam, so all others are found as without bounds.
    """
    model = tiny_sentence_model()
    bounds = TargetSettings(length_bounds=True)
    assert bounds.limits(np.array([1, 4, 20])).tolist() == [5, 14, 62]
    assert bounds.minimums(np.array([1, 4, 5])).tolist() == [1, 2, 3]
    # a shorter limit set by the user has priority
    narrow = TargetSettings(2, length_bounds=True)
    assert narrow.minimums(np.array([1, 9])).tolist() == [1, 2]
    size = len(all_targets(4))
    sources = [[2, 3, 4, 5, 6], [4]]
    free = searched(model, sources, BeamSettings(size, size), TargetSettings(4))
    allowed = TargetSettings(4, length_bounds=True)
    bound = searched(model, sources, BeamSettings(size, size), allowed)
    for least, every, some in zip((3, 1), free, bound, strict=True):
        expected = [pair for pair in every if len(pair[0]) >= least]
        assert 0 < len(expected) < len(every)
        assert_same(some, expected, atol=1e-5)


def test_a_broken_model_is_named() -> None:
    """NaN parameters give an error instead of an empty line."""
    model = tiny_model()
    with torch.no_grad():
        next(iter(model.parameters())).fill_(float("nan"))
    with pytest.raises(ModelError, match="are not finite"):
        searched(model, SOURCES, BeamSettings(2, 2), TargetSettings())
