"""The check whether bfloat16 is precise enough."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch

from phrasescore.model.folder import save_model
from phrasescore.model.kinds import EncoderDecoderSettings
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.scoring.block_scoring import ComputeSettings, compare, load_models
from phrasescore.table.block import TableBlock, checked_block
from phrasescore.table.phrase_table import TableFormat
from phrasescore.words.token_sequences import from_lists
from phrasescore.words.vocabulary import Vocabulary

WORDS = [b"w%d" % number for number in range(8)]


def block() -> TableBlock:
    lines = [b"w%d w%d ||| w%d ||| 1" % (i // 10, i % 3, i % 7) for i in range(70)]
    return checked_block(b"\n".join(lines), 70, 1, "t", TableFormat(1, hierarchical=False))


def saved_model(folder: Path, loudness: float) -> str:
    """Save a random model whose logits, and rounding errors, are ``loudness`` times as large."""
    vocabulary = Vocabulary.from_words(WORDS)
    model = EncoderDecoder(
        EncoderDecoderSettings(
            source_vocabulary=10, target_vocabulary=10, hidden=24, embedding=8, maxout=12, rank=6
        )
    )
    model.initialise(torch.Generator().manual_seed(3), "scaled")
    with torch.no_grad():
        model.output_words *= loudness
    save_model(folder, model, (vocabulary, vocabulary), {})
    return str(folder)


@pytest.mark.parametrize(
    ("near", "is_within_bounds"),
    [([-1.0, -2.0], True), ([-1.01, -2.02], True), ([-1.0, -2.11], False), ([np.nan, -2.0], False)],
)
def test_bounds(near: list[float], is_within_bounds: bool) -> None:
    """Differences are per word, including </s>; NaN is out of bounds."""
    targets = from_lists([[4], [5]])
    check = compare(np.array([-1.0, -2.0]), np.array(near), targets)
    assert check.is_within_bounds == is_within_bounds
    difference = max(abs(near[0] + 1.0), abs(near[1] + 2.0))
    assert check.largest_per_word == pytest.approx(difference / 2, nan_ok=True)


@pytest.mark.parametrize(
    ("precision", "is_fast", "loudness", "used", "verdict"),
    [
        ("bf16", False, 1.0, "bf16", "bf16 is used"),
        ("bf16", False, 100.0, "bf16", "but used because it was asked for"),
        ("fp32", True, 1.0, "fp32", None),
        ("auto", True, 1.0, "bf16", "bf16 is used"),
        ("auto", True, 100.0, "fp32", "above the bound, so fp32 is used"),
        ("auto", False, 1.0, "fp32", None),
    ],
)
def test_which_precision_is_used(
    precision: Literal["auto", "fp32", "bf16"],
    is_fast: bool,
    loudness: float,
    used: str,
    verdict: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """--precision is obeyed; auto is bfloat16 if it is fast and within the bounds."""
    monkeypatch.setattr("phrasescore.scoring.block_scoring.has_fast_bf16", lambda device: is_fast)
    folder = saved_model(tmp_path / "model", loudness)
    _, ready = load_models([folder], ComputeSettings("cpu", precision), None, block())
    assert ready.numerics["precision"] == [used]
    assert len(ready.checks) == len(ready.notes) == (verdict is not None)
    assert all(note.endswith(verdict or "") for note in ready.notes)
