"""Compares ensembles with the mean probability of their members for each word."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from phrasescore.generation.beam_search import BeamSearch
from phrasescore.generation.sentence_models import Ensemble
from phrasescore.generation.targets import BeamSettings, TargetGenerator, TargetSettings
from phrasescore.model.kinds import RnnEncdecSettings
from phrasescore.model.sequence_model import END, SequenceModel
from phrasescore.words.token_sequences import from_lists
from tests.unit.phrasescore.generation.tiny_models import (
    SOURCES,
    WORDS,
    all_targets,
    tiny_model,
    tiny_sentence_model,
)


def members() -> list[SequenceModel]:
    """Return models of several kinds, one of them with attention in the other formulation."""
    return [
        tiny_sentence_model(),
        tiny_sentence_model(formulation="paper", seed=4),
        tiny_sentence_model(RnnEncdecSettings, seed=5),
        tiny_model(),
    ]


def ln_p_by_definition(source: list[int], target: list[int]) -> float:
    """Sum ln of the mean probability of each word, recomputing every prefix with every member."""
    total = 0.0
    for at, word in enumerate([*target, END]):
        p = np.zeros(WORDS)
        for model in members():
            with torch.no_grad():
                state, ln_p = model.start(
                    torch.tensor([source]), torch.tensor([len(source)]), torch.float32
                )
                for before in target[:at]:
                    state, ln_p = model.step(state, torch.tensor([before]))
            p += np.exp(ln_p[0].double().numpy())
        total += float(np.log(p[word] / len(members())))
    return total


def test_a_wide_beam_is_exhaustive() -> None:
    """A beam with room for every target finds all, sorted by the ln of the mean p."""
    targets = all_targets(2)
    method = partial(BeamSearch, BeamSettings(len(targets), len(targets)), TargetSettings(2))
    generator = TargetGenerator(Ensemble(members()), method, "cpu", group=2)
    found = generator.targets(from_lists(SOURCES))
    for number, source in enumerate(SOURCES):
        rows = range(found.offsets[number], found.offsets[number + 1])
        ours = [found.words[row].tolist() for row in rows]
        assert sorted(ours) == sorted(targets)
        expected = [ln_p_by_definition(source, target) for target in ours]
        np.testing.assert_allclose(found.ln_p[rows], expected, rtol=0, atol=1e-4)
        assert (np.diff(found.ln_p[rows]) <= 0).all()
