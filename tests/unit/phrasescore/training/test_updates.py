"""Updates: equal weights and bits with several processes and types, and lost processes."""

from __future__ import annotations

import copy
import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from phrasescore.errors import StorageError
from phrasescore.model.kinds import EncoderDecoderSettings, read_settings
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.model.sequence_model import build
from phrasescore.training.batches import uniform_plan
from phrasescore.training.encoding import encode
from phrasescore.training.optimization.flat_weights import FlatWeights
from phrasescore.training.optimization.processes import Crew
from phrasescore.training.optimization.updates import ShareGradient, Updates
from phrasescore.training.pairs import EncodedPairs
from phrasescore.training.recipes import RECIPES
from phrasescore.training.settings import TrainingSettings
from tests.support.builders import write_phrase_table

SETTINGS = TrainingSettings(max_epochs=1)
KIND = torch.bfloat16
RECIPE = dataclasses.replace(RECIPES["phrases", "fast"], min_share=4)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> EncodedPairs:
    folder = tmp_path_factory.mktemp("pairs")
    return encode(
        TrainingSettings(inputs=(write_phrase_table(folder / "table", 600),)), folder / "pairs"
    )


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def model_of(pairs: EncodedPairs, **settings: Any) -> EncoderDecoder:
    model = EncoderDecoder(
        EncoderDecoderSettings(
            source_vocabulary=len(pairs.source.vocabulary),
            target_vocabulary=len(pairs.target.vocabulary),
            **{"hidden": 20, "maxout": 10, "embedding": 12, "rank": 10, **settings},
        )
    )
    model.initialise(torch.Generator().manual_seed(2), "scaled")
    return model


def batches_of(pairs: EncodedPairs) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    rows = np.arange(len(pairs))
    return uniform_plan(*pairs.lengths(rows), 24, np.random.default_rng(1))


def trained(pairs: EncodedPairs, threads: int) -> tuple[torch.Tensor, float, float]:
    """Return the weights after some updates, the last loss, and the held-out loss."""
    model = model_of(pairs)
    settings = TrainingSettings(threads=threads, precision="fp32")
    updates = Updates(model, pairs, settings, RECIPE)
    loss = 0.0
    for number, batch in enumerate(batches_of(pairs)[:15]):
        loss = updates(batch, number, 0.01, 1 / 100)
    figure = updates.evaluate(np.arange(200))
    updates.close()
    assert figure is not None
    return torch.cat([p.detach().flatten() for p in model.parameters()]), loss, figure.nll


def test_several_processes_learn_what_one_learns(pairs: EncodedPairs) -> None:
    """Dividing batch and weights among processes only changes the order of sums."""
    one, three = trained(pairs, 1), trained(pairs, 3)
    torch.testing.assert_close(three[0], one[0], rtol=0, atol=1e-3)
    assert three[1:] == pytest.approx(one[1:], rel=1e-3)


def test_as_many_processes_give_the_same_bits_again(pairs: EncodedPairs) -> None:
    """Results do not depend on the order in which processes finish."""
    first, second = trained(pairs, 3), trained(pairs, 3)
    assert torch.equal(first[0], second[0])
    assert first[1:] == second[1:]


@pytest.mark.parametrize(
    ("kind", "unit"),
    [
        ("rnn-encoder-decoder", "gated"),
        ("rnn-encoder-decoder", "tanh"),
        ("rnn-encoder-decoder", "lstm"),
        ("feed-forward-phrase", None),
        ("rnn-search", None),
        ("rnn-encdec", None),
    ],
)
def test_empty_targets_have_a_gradient(tmp_path: Path, kind: str, unit: str | None) -> None:
    """A batch without a target word teaches </s>; the decoder's steps have no part in it."""
    lines = [f"w{n} w{n // 2} ||| {'x y' if n % 2 else ''} ||| 0.5\n" for n in range(40)]
    (tmp_path / "table").write_text("".join(lines))
    pairs = encode(TrainingSettings(inputs=(tmp_path / "table",)), tmp_path / "pairs")
    words = len(pairs.source.vocabulary), len(pairs.target.vocabulary)
    sizes = {"source_vocabulary": words[0], "target_vocabulary": words[1], "kind": kind}
    sizes |= {"hidden": 8, "embedding": 6, "rank": 4} | ({"unit": unit} if unit else {})
    model = build(read_settings(sizes, where="a test"))
    model.initialise(torch.Generator().manual_seed(2), "scaled")
    gradient = [torch.full_like(each, torch.nan) for each in model.parameters()]
    empty = np.flatnonzero(pairs.target.lengths(np.arange(len(pairs))) == 0)
    assert len(empty) == 20
    loss = ShareGradient(model, pairs, None, TrainingSettings())(empty, 0, 0, gradient)
    assert 0 < loss < 20 * 10
    norms = {
        name: torch.linalg.vector_norm(part)
        for (name, _), part in zip(model.named_parameters(), gradient, strict=True)
    }
    assert all(torch.isfinite(norm) for norm in norms.values())
    assert norms["output_bias"] > 0


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"unit": "lstm"},
        {"unit": "tanh"},
        {"formulation": "appendix"},
        {"formulation": "appendix", "unit": "lstm"},
        {"context": "once"},
    ],
    ids=str,
)
def test_narrow_weights_have_the_gradient_of_wide_ones(
    pairs: EncodedPairs, settings: dict[str, Any]
) -> None:
    wide_model = model_of(pairs, **settings)
    narrow = FlatWeights(copy.deepcopy(wide_model), 1, KIND)
    wide = FlatWeights(wide_model, 1)
    assert wide.working is wide_model
    assert {each.dtype for each in narrow.working.parameters()} == {torch.float32, KIND}
    losses = []
    for weights in (narrow, wide):
        gradient = ShareGradient(weights.working, pairs, KIND, SETTINGS)
        losses.append(gradient(batches_of(pairs)[0], 0, 0, weights.gradient_views(0)))
        weights.add_up(1, slice(0, len(weights.values)))
    assert losses[0] == losses[1]
    assert torch.equal(narrow.gradient, wide.gradient)
    assert narrow.gradient.any()


@pytest.mark.parametrize("threads", [1, 2])
def test_weights_that_are_taken_up_go_on_as_if_nothing_had_been(
    pairs: EncodedPairs, threads: int
) -> None:
    """Restored weights, including converted ones, continue with equal bits in a new trainer."""

    def updates_of(model: EncoderDecoder) -> Updates:
        settings = TrainingSettings(threads=threads, precision="bf16")
        return Updates(model, pairs, settings, RECIPE)

    batches = batches_of(pairs)[:8]
    first, second = model_of(pairs), model_of(pairs)
    through = updates_of(first)
    for number, rows in enumerate(batches[:4]):
        through(rows, number, 0.01, 0.01)
    weights = {name: value.clone() for name, value in first.state_dict().items()}
    moments = through.moments.clone()
    for number, rows in enumerate(batches[4:], 4):
        through(rows, number, 0.01, 0.01)
    through.close()
    after = updates_of(second)
    after.restore(weights, moments)
    for number, rows in enumerate(batches[4:], 4):
        after(rows, number, 0.01, 0.01)
    after.close()
    for name, value in first.state_dict().items():
        assert torch.equal(value, second.state_dict()[name]), name


def test_a_lost_process_is_told() -> None:
    """A killed process ends training with an error, and the other processes end too."""
    before = _children()
    crew = Crew(3, [_sum, _die])
    assert crew.do(_sum, 5) == [5, 6, 7]
    with pytest.raises(StorageError, match="which shared the training, has ended"):
        crew.do(_die, 2)
    crew.close()
    assert _children() == before


def test_members_of_a_killed_process_end_in_silence() -> None:
    """Helpers of a killed process end silently, even with unread replies or pending orders."""
    program = (
        "import os, signal, time\n"
        "from phrasescore.training.optimization.processes import Crew\n"
        "def die(member, mortal):\n"
        "    if member == 0 and mortal:\n"
        "        time.sleep(0.3)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "crew = Crew(3, [die])\n"
        "crew.do(die, False)\n"
        "crew.do(die, True)\n"
    )
    # the pipe ends when the last of the processes has ended
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert done.stderr == b""


def _children() -> set[str]:
    listed = Path("/proc/self/task").glob("*/children")
    return {number for path in listed for number in path.read_text().split()}


def _sum(member: int, number: int) -> int:
    return member + number


def _die(member: int, mortal: int) -> None:
    if member == mortal:
        os.kill(os.getpid(), signal.SIGKILL)
