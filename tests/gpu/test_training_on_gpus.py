"""Training on a GPU: recorded work, regularisation, and runs that go on."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from phrasescore.model.kinds import read_settings
from phrasescore.model.sequence_model import SequenceModel, build
from phrasescore.training.batches import bucket_plan, uniform_plan
from phrasescore.training.encoding import encode
from phrasescore.training.optimization.flat_weights import FlatWeights
from phrasescore.training.optimization.updates import ShareGradient
from phrasescore.training.pairs import EncodedPairs
from phrasescore.training.settings import TrainingSettings
from tests.conftest import Phrasescore
from tests.support.builders import write_phrase_table

GPU, CPU = torch.device("cuda"), torch.device("cpu")
SETTINGS = TrainingSettings(max_epochs=1)


@pytest.fixture
def pairs(tmp_path: Path) -> EncodedPairs:
    table = write_phrase_table(tmp_path / "table", 1500)
    return encode(TrainingSettings(inputs=(table,)), tmp_path / "pairs")


def model_of(pairs: EncodedPairs, kind: str, unit: str) -> SequenceModel:
    sizes = {
        "source_vocabulary": len(pairs.source.vocabulary),
        "target_vocabulary": len(pairs.target.vocabulary),
        **{"kind": kind, "hidden": 24, "embedding": 12, "rank": 10},
    }
    if kind == "rnn-encoder-decoder":
        sizes |= {"unit": unit, "maxout": 12}
    model = build(read_settings(sizes, where="a test"))
    model.initialise(torch.Generator().manual_seed(2), "scaled")
    return model


@pytest.mark.parametrize(
    ("kind", "unit"),
    [
        ("rnn-encoder-decoder", "gated"),
        ("rnn-encoder-decoder", "tanh"),
        ("rnn-encoder-decoder", "lstm"),
        ("feed-forward-phrase", ""),
    ],
)
@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
def test_recorded_work_gives_the_gradient_of_the_cpu(
    pairs: EncodedPairs, kind: str, unit: str, dtype: torch.dtype | None
) -> None:
    """At first, when it is recorded, and when it is played again, for the shapes of a table."""
    models = {device: model_of(pairs, kind, unit).to(device) for device in (CPU, GPU)}
    weights = {device: FlatWeights(model, 1) for device, model in models.items()}
    differentiate = {
        device: ShareGradient(model, pairs, dtype, SETTINGS) for device, model in models.items()
    }
    rng = np.random.default_rng(3)
    plan = uniform_plan(*pairs.lengths(np.arange(len(pairs))), 32, rng)
    bound = 1e-4 if dtype is None else 0.06
    for rows in plan[:60] * 2:
        losses = {
            device: each(rows, 0, 0, weights[device].gradient_views(0))
            for device, each in differentiate.items()
        }
        assert losses[GPU] == pytest.approx(losses[CPU], rel=bound)
        gradients = [each.gradient.cpu() for each in weights.values()]
        difference = torch.linalg.vector_norm(gradients[1] - gradients[0])
        assert difference <= bound * torch.linalg.vector_norm(gradients[0])


@pytest.mark.parametrize("kind", ["rnn-search", "rnn-encdec"])
@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
def test_padding_does_not_change_the_gradient(
    pairs: EncodedPairs, kind: str, dtype: torch.dtype | None
) -> None:
    """The GPU pads batches of sentences further; their gradient is that of the CPU."""
    models = [model_of(pairs, kind, "").to(device) for device in (CPU, GPU)]
    bound = 0.06
    if dtype is None:  # in float32, rounding sometimes decides which maxout unit is the larger
        models, bound = [model.double() for model in models], 1e-9
    both = [ShareGradient(model, pairs, dtype, SETTINGS) for model in models]
    plan = bucket_plan(*pairs.lengths(np.arange(len(pairs))), 32, np.random.default_rng(3))
    for rows in plan[:30] * 3:
        losses, found = [], []
        for model, differentiate in zip(models, both, strict=True):
            into = [torch.empty_like(each) for each in model.parameters()]
            losses.append(differentiate(rows, 0, 0, into))
            found.append(torch.cat([each.flatten().cpu() for each in into]))
        assert losses[1] == pytest.approx(losses[0], rel=max(bound, 1e-6))
        norms = [torch.linalg.vector_norm(each) for each in (found[1] - found[0], found[0])]
        assert norms[0] <= bound * norms[1]


def test_dropout_on_the_gpu_repeats(pairs: EncodedPairs) -> None:
    """What is dropped depends on the update, and on nothing that came before it."""
    settings = dataclasses.replace(SETTINGS, dropout=0.3, label_smoothing=0.1)
    model = model_of(pairs, "rnn-search", "").to(GPU)
    rows = np.arange(40)
    into = FlatWeights(model, 1).gradient_views(0)
    found = []
    for updates in ((0, 1, 2), (2,)):
        gradient = ShareGradient(model, pairs, None, settings)
        found.append([gradient(rows, update, 0, into) for update in updates])
    assert found[0][2] == found[1][0]
    assert len(set(found[0])) == 3


def test_two_runs_give_one_model(phrasescore: Phrasescore, tmp_path: Path) -> None:
    """A run on a GPU repeats to the bit, and its model scores on any device."""
    write_phrase_table(tmp_path / "table", 1500)
    options = ["--hidden", "24", "--max-epochs", "2", "--evaluations", "2", "--device", "cuda"]
    for model in ("first", "second"):
        phrasescore("train", "table", model, *options).well()
    weights = [tmp_path / model / "model.safetensors" for model in ("first", "second")]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    for device in ("cpu", "cuda:0"):
        asked = ["--model", "first", "-o", f"scored.{device}", "--device", device]
        phrasescore("score", "table", *asked, "--precision", "fp32").well()


def test_a_gpu_that_is_not_there(phrasescore: Phrasescore, tmp_path: Path) -> None:
    """One sentence, and the status of a wrong setting."""
    write_phrase_table(tmp_path / "table", 50)
    phrasescore("train", "table", "model", "--device", "cuda:77").refused(
        2, "there is no device cuda:77: the last device is cuda:"
    )
