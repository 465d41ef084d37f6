"""``phrasescore experiment`` with neural language models, on a small system."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_experiment import DATA, write_experiment
from tests.conftest import Phrasescore

SYSTEMS = """
[models.cslm]
kind = "feed-forward-lm"
per_seed = true
train = ["--hidden", "8", "--embedding", "4", "--order", "3", "--max-epochs", "0", "--threads", "1"]
[[systems]]
name = "Baseline"
[[systems]]
name = "CSLM"
language_models = ["cslm"]
[[systems]]
name = "Reranked"
rerank = ["cslm"]
"""


@pytest.fixture
def experiment(bundled_golden: Path, tmp_path: Path) -> Path:
    """Write an experiment with two seeds."""
    text = DATA.replace("seeds = [1]", "seeds = [1, 2]")
    return write_experiment(bundled_golden, tmp_path, text + SYSTEMS)


def test_each_seed_asks_its_own_model(
    phrasescore: Phrasescore, experiment: Path, tmp_path: Path
) -> None:
    """Each seed trains its own model, whose weight is tuned with the others."""
    phrasescore("experiment", experiment.name, "-o", "results", "--only", "CSLM").well()
    record = json.loads((tmp_path / "results" / "result.json").read_text("utf-8"))
    assert [system["seeds"] for system in record["systems"][:2]] == [[1, 2], [1, 2]]
    assert all(0.02 < system["mean"] < 0.9 for system in record["texts"]["test"]["metrics"]["bleu"])
    kept = json.loads((tmp_path / "results" / "results.json").read_text("utf-8"))["rows"]
    assert all("NeuralLM0" in run["weights"] for run in kept["CSLM"]["runs"])
    models = tmp_path / "results" / "models" / "cslm"
    weights = [(models / f"seed{n}" / "model.safetensors").read_bytes() for n in (1, 2)]
    assert weights[0] != weights[1]
    ini = (tmp_path / "results/systems/cslm/seed2/moses.ini").read_text("utf-8")
    assert f"FeedForwardLM name=NeuralLM0 path={models}/seed2\n" in ini


@pytest.mark.moses
def test_lists_of_real_moses(
    phrasescore: Phrasescore, experiment: Path, tmp_path: Path, moses_bin: Path
) -> None:
    """Real Moses cannot decode with the model, so its row is not run; lists can be rescored."""
    done = phrasescore("experiment", experiment.name, "-o", "results", "--decoder", "moses").well()
    said = done.stdout.decode()
    assert "CSLM: not run; real Moses cannot use a neural language model while it decodes;" in said
    record = json.loads((tmp_path / "results" / "result.json").read_text("utf-8"))
    kept = json.loads((tmp_path / "results" / "results.json").read_text("utf-8"))["rows"]
    assert all("NeuralLM0" in run["weights"] for run in kept["Reranked"]["runs"])
    assert [system["seeds"] for system in record["systems"]] == [[1, 2], [], [1, 2]]
