"""Neural language models in the search, compared with definitions and exhaustive enumeration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from moses_integration.decoder.settings import CUBE_PRUNING, NBestSettings
from tests.support.neural_language_models import END, PlainNeuralModel, save_random_language_model
from tests.support.plain_cube_pruning import PlainCubePruning
from tests.support.plain_search import Hypothesis, PlainSearch, State
from tests.support.random_system import random_sentences, write_random_system
from tests.unit.moses_integration.decoder.test_search_against_enumeration import (
    WIDE,
    check_agreement,
    check_best_of_all,
    decoder_of,
)

WORDS = 5
TARGETS = [b"t%d" % number for number in range(2 * WORDS)]


def with_line(ini: Path, line: str, weight: float) -> Path:
    """Add a feature and its weight to an ini, under another name."""
    name = line.partition("name=")[2].split()[0]
    text = ini.read_text().replace("[weight]\n", f"{line}\n[weight]\n{name}= {weight}\n")
    path = ini.with_name(f"{ini.stem}.{name}.ini")
    path.write_text(text)
    return path


def with_model(ini: Path, model: Path, weight: float, name: str = "NeuralLM0") -> Path:
    """Add a neural language model to an ini."""
    return with_line(ini, f"FeedForwardLM name={name} path={model}", weight)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("limit", [-1, 2])
@pytest.mark.parametrize("algorithm", [0, CUBE_PRUNING])
def test_without_pruning_the_best_of_all_derivations_is_found(
    tmp_path: Path, seed: int, limit: int, algorithm: int
) -> None:
    """The search is exact with two different models, one of them with a negative weight."""
    ini = write_random_system(tmp_path, seed, limit=limit, top=2)
    weights = (0.4, 0.3) if seed % 2 else (0.5, -0.2)
    folders = [
        save_random_language_model(tmp_path / "one", TARGETS, 4, seed),
        save_random_language_model(tmp_path / "two", TARGETS[:6], 2, seed + 1),
    ]
    for name, folder, weight in zip(("one", "two"), folders, weights, strict=True):
        ini = with_model(ini, folder, weight, name)
    decoder = decoder_of(ini, search_algorithm=algorithm, cube_pruning_pop_limit=100_000, **WIDE)
    plain = [PlainNeuralModel(folder) for folder in folders]

    def neural(words: list[bytes]) -> float:
        return float(np.dot(weights, [model.sentence(words) for model in plain]))

    check_best_of_all(decoder.load(random_sentences(seed, 3, 3, 5)), decoder, limit, neural)


class PlainNeuralSearch(PlainSearch):
    """Plain stack decoding with a neural language model, whose scores are never deferred."""

    model: PlainNeuralModel
    weight = 0.5

    def _language_models(self, states: State, entry: int, *, last: bool) -> tuple[float, State]:
        ngrams = len(self._loaded.tables.models.order)
        total, after = super()._language_models(states[:ngrams], entry, last=last)
        score, history = self._neural(states[ngrams:], entry, last=last)
        return total + self.weight * score, (*after, *history)

    def _neural(self, history: State, entry: int, *, last: bool) -> tuple[float, State]:
        total = 0.0
        words = self.model.ids(self._loaded.target_words(entry))
        for word in [*words, END] if last and words else words:
            total += self.model.word(list(history), word)
            history = (*history, word)[1 - self.model.order :]
        return total, history


class PlainNeuralCubePruning(PlainNeuralSearch, PlainCubePruning):
    """Plain cube pruning, which pops cells by the n-gram score in place of the neural score."""

    def _expected_total(self, hypothesis: Hypothesis) -> float:
        assert hypothesis.previous is not None
        state, *history = hypothesis.previous.states
        phrase, last = hypothesis.entry, hypothesis.covered.bit_count() == self._length
        neural, _ = self._neural(tuple(history), phrase, last=last)
        ngram, _ = PlainSearch._language_models(self, (state,), phrase, last=last)
        (component,) = self._loaded.tables.lm_components
        ngram /= float(self._weights[component])
        return hypothesis.total + self.weight * (ngram - neural)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("stack", [1, 3, 10])
@pytest.mark.parametrize(
    ("algorithm", "kind"), [(0, PlainNeuralSearch), (CUBE_PRUNING, PlainNeuralCubePruning)]
)
def test_prunes_as_the_plain_search_does(
    tmp_path: Path, seed: int, stack: int, algorithm: int, kind: type[PlainNeuralSearch]
) -> None:
    """With small stacks, deferring hypotheses changes no result."""
    folder = save_random_language_model(tmp_path / "lm", TARGETS, 3, seed)
    ini = with_model(write_random_system(tmp_path, seed, limit=2, words=8, top=6), folder, 0.5)
    # no beam: which hypotheses it drops depends on the order in which they arrive
    limits = {"stack": stack, "beam_threshold": 0.0, "cube_pruning_pop_limit": 8 * stack}
    decoder = decoder_of(ini, search_algorithm=algorithm, **limits)
    loaded = decoder.load(random_sentences(seed, 4, 4, 8, words=8, repeats=False))
    PlainNeuralSearch.model = PlainNeuralModel(folder)
    check_agreement(loaded, decoder, kind)


@pytest.mark.parametrize("algorithm", [0, CUBE_PRUNING])
def test_weight_0_changes_no_translation(tmp_path: Path, algorithm: int) -> None:
    """With weight 0, search and lists are unchanged, but the lists contain the values."""
    ini = write_random_system(tmp_path, 1, words=8, limit=3, top=6)
    folder = save_random_language_model(tmp_path / "lm", TARGETS)
    sentences = random_sentences(1, 5, 4, 9, words=8)
    found = []
    for path in (ini, with_model(ini, folder, 0.0)):
        decoder = decoder_of(path, search_algorithm=algorithm, stack=20, cube_pruning_pop_limit=30)
        for decoded in decoder.decode(decoder.load(sentences), nbest=NBestSettings(20)):
            lines = [decoded.words(number) for number in range(len(decoded))]
            found.append((lines, decoded.totals.tolist()))
    assert found[:5] == found[5:]
    plain = PlainNeuralModel(folder)
    values = decoded.features[:, decoder.layout.slices["NeuralLM0"]][:, 0]
    expected = [plain.sentence(decoded.words(number)) for number in range(len(decoded))]
    assert values == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("algorithm", [0, CUBE_PRUNING])
def test_hypotheses_scored_in_small_groups_are_the_same(
    tmp_path: Path, algorithm: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Group size, initial memory and threads change nothing, also with small stacks."""
    ini = write_random_system(tmp_path, 2, words=8, limit=3, top=6)
    ini = with_model(ini, save_random_language_model(tmp_path / "lm", TARGETS), 0.5)
    decoder = decoder_of(ini, search_algorithm=algorithm, stack=50, cube_pruning_pop_limit=200)
    loaded = decoder.load(random_sentences(2, 6, 5, 9, words=8))
    expected = [(d.words(), d.totals.tolist()) for d in decoder.decode(loaded)]
    assert expected == [(d.words(), d.totals.tolist()) for d in decoder.decode(loaded, threads=2)]
    monkeypatch.setattr("moses_integration.decoder.search.neural_search._FIRST_WAITING", 1)
    monkeypatch.setattr("moses_integration.decoder.features.neural._FIRST_EDGES", 1)
    monkeypatch.setattr("moses_integration.decoder.features.neural._KEPT_BYTES", 0)
    found = list(decoder.decode(loaded))
    if algorithm == CUBE_PRUNING:  # stack decoding finds hopeless hypotheses per group
        assert [d.words() for d in found] == [words for words, _ in expected]
        for decoded, (_, totals) in zip(found, expected, strict=True):
            assert decoded.totals == pytest.approx(totals, abs=1e-4)
    for decoded in found:
        total = decoded.features @ decoder.system.weights
        assert decoded.totals == pytest.approx(total, abs=1e-4)


def test_diversity_fills_coverages_beyond_the_pop_limit(tmp_path: Path) -> None:
    """Cube pruning continues for coverages with too few hypotheses, and finds no worse result."""
    ini = write_random_system(tmp_path, 3, words=8, limit=3, top=6)
    ini = with_model(ini, save_random_language_model(tmp_path / "lm", TARGETS), 0.5)
    sentences = random_sentences(3, 6, 5, 9, words=8)
    totals, few = [], {"search_algorithm": CUBE_PRUNING, "cube_pruning_pop_limit": 2}
    for diversity in (0, 4):
        decoder = decoder_of(ini, **few, cube_pruning_diversity=diversity)
        found = list(decoder.decode(decoder.load(sentences)))
        totals.append(sum(decoded.totals[0] for decoded in found if len(decoded)))
    assert totals[1] > totals[0]


def test_a_self_normalised_model_scores_without_its_normaliser(tmp_path: Path) -> None:
    """``normalised=false`` leaves ln Z out."""
    ini = write_random_system(tmp_path, 1, limit=3)
    folder = save_random_language_model(tmp_path / "lm", TARGETS, self_normalise=0.1)
    line = f"FeedForwardLM name=NeuralLM0 path={folder} normalised=false"
    decoder = decoder_of(with_line(ini, line, 0.3))
    plain = PlainNeuralModel(folder)
    for decoded in decoder.decode(decoder.load(random_sentences(1, 4, 3, 6))):
        value = decoded.features[0, decoder.layout.slices["NeuralLM0"]]
        assert value == pytest.approx([plain.sentence(decoded.words(), normalised=False)], abs=1e-4)
