"""Compares alignments of many pairs at once with those of each pair alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from phrasescore.generation import soft_alignments
from phrasescore.generation.soft_alignments import SoftAlignments
from phrasescore.model.networks.attention_model import AttentionModel
from phrasescore.model.sequence_model import Batch
from phrasescore.words.token_sequences import from_lists
from tests.unit.phrasescore.generation.tiny_models import tiny_sentence_model

SOURCES = [[2, 3], [4], [5, 6, 2, 3, 3], [3], [6, 6], [2] * 40]
TARGETS = [[2], [], [4, 1, 3], [2, 2, 2, 2], [3], [4] * 30]


def models() -> list[AttentionModel]:
    found = [tiny_sentence_model(), tiny_sentence_model(formulation="paper", seed=4)]
    return [model for model in found if isinstance(model, AttentionModel)]


def alone(model: AttentionModel, source: list[int], target: list[int]) -> np.ndarray:
    sides = torch.tensor([source]), torch.tensor([target], dtype=torch.int64)
    with torch.no_grad():
        return model.alignments(Batch(*sides, None, len(target) + 1))[0].numpy()


@pytest.mark.parametrize("area", [1, 60, 1 << 16])
def test_each_pair_is_aligned_as_alone(area: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alignments are equal for all batch sizes, in order; several models give the mean."""
    monkeypatch.setattr(soft_alignments, "_AREA", area)
    sides = from_lists(SOURCES), from_lists(TARGETS)
    one, both = SoftAlignments(models()[:1], "cpu").align(*sides), SoftAlignments(models(), "cpu")
    for number, mean in enumerate(both.align(*sides)):
        source, target = SOURCES[number], TARGETS[number]
        first, second = (alone(model, source, target) for model in models())
        assert one[number].shape == mean.shape == (len(target) + 1, len(source) + 1)
        np.testing.assert_allclose(one[number], first, rtol=0, atol=1e-6)
        np.testing.assert_allclose(mean, (first + second) / 2, rtol=0, atol=1e-6)
        np.testing.assert_allclose(mean.sum(axis=1), 1.0, rtol=0, atol=1e-5)
