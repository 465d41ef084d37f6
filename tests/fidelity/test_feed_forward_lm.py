"""Compares the feed-forward language model with an independent transcription of its equations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from phrasescore.model.kinds import FeedForwardLmSettings
from phrasescore.model.networks.feed_forward_lm import FeedForwardLm
from phrasescore.model.sequence_model import END, Batch, Regularisation
from phrasescore.scoring.shared_scorer import SharedScorer
from phrasescore.words.token_sequences import as_matrix, from_lists

PRECISIONS = [(torch.float64, 1e-9), (torch.float32, 1e-4)]


def golden_model(golden: Path, dtype: torch.dtype) -> tuple[FeedForwardLm, list[dict[str, Any]]]:
    """Return the model with the golden weights, and the golden sentences."""
    expected = json.loads((golden / "neural_lm" / "expected.json").read_text("utf-8"))
    weights = np.load(golden / "neural_lm" / "weights.npz")
    sizes = expected["sizes"]
    model = FeedForwardLm(
        FeedForwardLmSettings(
            target_vocabulary=sizes["vocabulary"],
            order=sizes["order"],
            embedding=sizes["embedding"],
            hidden=sizes["hidden1"],
            second_hidden=sizes["hidden2"],
        )
    )
    # in the reference, the start mark is a word of the vocabulary; here it is an extra last row
    start = weights["embedding"][expected["start"]]
    values = {
        "embedding": np.vstack([weights["embedding"], start]),
        "input_weight": weights["hidden1_W"],
        "input_bias": weights["hidden1_b"],
        "hidden_weight": weights["hidden2_W"],
        "hidden_bias": weights["hidden2_b"],
        "output_words": weights["output_W"].T,
        "output_bias": weights["output_b"],
    }
    model.double().load_state_dict({name: torch.from_numpy(v) for name, v in values.items()})
    return model.to(dtype), expected["sentences"]


def as_batch(sentences: list[dict[str, Any]]) -> Batch:
    """Return sentences as one batch, the shorter ones padded."""
    ids, lengths = as_matrix(from_lists([each["words"] for each in sentences]))
    nothing = torch.empty(len(ids), 0, dtype=torch.int64)
    both = torch.zeros(len(ids), dtype=torch.int64), torch.from_numpy(lengths)
    return Batch(nothing, torch.from_numpy(ids), both)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
def test_loss_and_scores(golden: Path, dtype: torch.dtype, tolerance: float) -> None:
    """Loss and scores agree for all sentences in one padded batch, and for each alone."""
    model, sentences = golden_model(golden, dtype)
    batch = as_batch(sentences)
    with torch.no_grad():
        found = model.score(batch)
        total = sum(sum(each["ln_p"]) for each in sentences)
        predicted = sum(len(each["ln_p"]) for each in sentences)
        assert model.loss(batch, None, Regularisation.NONE).item() == pytest.approx(
            -total, abs=tolerance * predicted
        )
        for row, each in zip(found, sentences, strict=True):
            words = len(each["ln_p"])
            np.testing.assert_allclose(row[:words], each["ln_p"], rtol=0, atol=tolerance)
            assert not row[words:].any()
            alone = model.score(Batch(batch.source[:1], torch.tensor([each["words"]]), None))
            np.testing.assert_allclose(alone[0], each["ln_p"], rtol=0, atol=tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
def test_steps(golden: Path, dtype: torch.dtype, tolerance: float) -> None:
    """Each word's probability after the preceding words agrees."""
    model, sentences = golden_model(golden, dtype)
    with torch.no_grad():
        for each in sentences:
            nothing = torch.empty(1, 0, dtype=torch.int64), torch.tensor([0])
            state, ln_p = model.start(*nothing, dtype)
            for word, expected in zip([*each["words"], END], each["ln_p"], strict=True):
                assert ln_p[0, word].item() == pytest.approx(expected, abs=tolerance)
                assert ln_p.exp().sum().item() == pytest.approx(1, abs=tolerance)
                state, ln_p = model.step(state, torch.tensor([word]))


def test_many_sentences_with_shared_histories(golden: Path) -> None:
    """The scorer for n-best lists and texts agrees."""
    model, sentences = golden_model(golden, torch.float32)
    again = [each for each in sentences for _ in range(3)]
    targets = from_lists([each["words"] for each in again])
    nothing = from_lists([[] for _ in again])
    scorer = SharedScorer(model, "cpu")
    found = scorer.score_words(nothing, targets)
    expected = [value for each in again for value in each["ln_p"]]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
