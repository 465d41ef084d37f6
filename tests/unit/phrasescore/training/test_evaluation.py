"""The report on a trained model, and on a model that diverged."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path

import pytest
import torch

from phrasescore.errors import ModelError
from phrasescore.model.kinds import EncoderDecoderSettings
from phrasescore.model.sequence_model import build
from phrasescore.training.evaluation import HeldOutFigure, refuse_divergence

SETTINGS = EncoderDecoderSettings(
    source_vocabulary=3, target_vocabulary=3, hidden=2, embedding=2, maxout=1, rank=1
)


@pytest.mark.parametrize(
    ("weight", "nll", "fails"),
    [(1.0, 2.0, False), (math.nan, 2.0, True), (math.inf, 2.0, True), (1.0, 1e4, True)],
)
def test_a_model_that_gives_no_numbers(weight: float, nll: float, fails: bool) -> None:
    """A model that gives NaN is not written, and the error has a remedy."""
    model = build(SETTINGS)
    model.initialise(torch.Generator().manual_seed(1), "paper")
    with torch.no_grad():
        next(model.parameters())[0, 0] = weight
    figures = [None, HeldOutFigure(3, 9, nll)]
    problem = r"^model: the training diverged: some numbers are not finite"
    with pytest.raises(ModelError, match=problem) if fails else contextlib.nullcontext():
        refuse_divergence(Path("model"), model, figures)
