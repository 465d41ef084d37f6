"""Whether bfloat16 is good enough."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from phrasescore.errors import SettingsError
from phrasescore.model.folder import save_model
from phrasescore.model.model_settings import EncoderDecoderSettings
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.scoring.model_loading import ComputeSettings, compare, load_models, sample_rows
from phrasescore.table.block import TableBlock, checked_block
from phrasescore.table.phrase_table import TableFormat
from phrasescore.words.token_sequences import from_lists
from phrasescore.words.vocabulary import Vocabulary

WORDS = [b"w%d" % number for number in range(8)]


def block() -> TableBlock:
    lines = [b"w%d w%d ||| w%d ||| 1" % (i // 10, i % 3, i % 7) for i in range(70)]
    return checked_block(b"\n".join(lines), 70, 1, "t", TableFormat(1, hierarchical=False))


def saved_model(folder: Path, loudness: float) -> str:
    """A random model whose logits are ``loudness`` times as large, and as coarsely rounded."""
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


def test_differences_and_order() -> None:
    """Differences count per pair and per word; the order counts within runs of one source."""
    sources = from_lists([[2], [2], [2], [3], [3]])
    targets = from_lists([[4], [5], [4, 5, 6], [4], [5]])
    exact = np.array([-1.0, -2.0, -3.0, -1.0, -1.0])
    near = np.array([-1.0, -3.1, -3.0, -1.2, -1.0])
    check = compare(exact, near, sources, targets)
    assert (check.mean, check.largest) == pytest.approx((1.3 / 5, 1.1))
    assert (check.mean_per_word, check.largest_per_word) == pytest.approx((0.13, 0.55))
    # of the three of source 2 one pair is turned round; source 3's are equal in float32
    assert (check.ranked, check.ranked_alike) == (3, pytest.approx(2 / 3))
    assert not check.is_within_bounds
    assert "66.7% of 3 pairs of targets of one source" in str(check)


def test_no_number_is_not_within_bounds() -> None:
    """NaN in bfloat16 is no reason to use it."""
    one = from_lists([[2]])
    assert not compare(np.array([-1.0]), np.array([np.nan]), one, one).is_within_bounds
    assert compare(np.array([-1.0]), np.array([-1.01]), one, one).is_within_bounds


def test_samples_are_stretches_over_the_whole_block() -> None:
    """A sample of a long block has 640 lines, the first and the last among them."""
    rows = sample_rows(65_536)
    assert len(rows) == 640
    assert (rows[0], rows[-1]) == (0, 65_535)
    assert (np.diff(rows) == 1).sum() == 600


@pytest.mark.parametrize(
    ("precision", "loudness", "used", "verdict"),
    [
        ("bf16", 1.0, "bf16", "bf16 is used"),
        ("bf16", 100.0, "bf16", "but used because it was asked for"),
        ("fp32", 1.0, "fp32", ""),
    ],
)
def test_what_was_asked_for_is_used(
    precision: str, loudness: float, used: str, verdict: str, tmp_path: Path
) -> None:
    """--precision fp32 and bf16 are obeyed, and bfloat16 that is out of bounds is called that."""
    folder = saved_model(tmp_path / "model", loudness)
    settings = ComputeSettings("cpu", precision)  # type: ignore[arg-type]
    (model,), ready = load_models([folder], settings, None, block())
    assert ready.numerics["precision"] == [used]
    assert len(ready.notes) == (precision == "bf16")
    assert verdict in "".join(ready.notes)
    assert model.scorer.work.source_done == 0


@pytest.mark.parametrize(("loudness", "used"), [(1.0, "bf16"), (100.0, "fp32")])
def test_auto_falls_back(
    loudness: float, used: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where bfloat16 is fast, auto uses it if it is within the bounds, and says if it is not."""
    monkeypatch.setattr("phrasescore.scoring.model_loading.has_fast_bf16", lambda device: True)
    folder = saved_model(tmp_path / "model", loudness)
    _, ready = load_models([folder], ComputeSettings("cpu"), None, block())
    assert ready.numerics["precision"] == [used]
    assert ("above the bound, so fp32 is used" in ready.notes[0]) == (used == "fp32")


def test_auto_is_float32_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where bfloat16 is not fast, auto is float32 without a trial."""
    monkeypatch.setattr("phrasescore.scoring.model_loading.has_fast_bf16", lambda device: False)
    _, ready = load_models(
        [saved_model(tmp_path / "model", 1.0)], ComputeSettings("cpu"), None, block()
    )
    assert (ready.numerics["precision"], ready.checks) == (["fp32"], ())


def test_no_bf16_without_sharing() -> None:
    """The unshared way is for comparison and has one precision."""
    with pytest.raises(SettingsError, match="without sharing there is only fp32"):
        ComputeSettings("cpu", "bf16", shared=False)
