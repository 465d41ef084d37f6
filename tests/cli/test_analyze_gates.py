"""``phrasescore analyze gates`` as a user runs it, with real models."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from phrasescore.model.folder import load_weights
from tests.conftest import Phrasescore
from tests.support.random_models import save_random_model

WORDS = [b"a", b"b", b"<script>"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of several units and kinds."""
    folder = tmp_path_factory.mktemp("gates")
    targets = [word.upper() for word in WORDS]
    for unit in ("gated", "lstm", "tanh"):
        save_random_model(folder / unit, WORDS, targets, unit=unit)
    save_random_model(folder / "appendix", WORDS, targets, formulation="appendix")
    save_random_model(folder / "search", WORDS, targets, kind="search")
    return folder


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + e^-x)."""
    return 1 / (1 + np.exp(-x))


def gates_by_hand(folder: Path, words: list[bytes]) -> dict[str, np.ndarray]:
    """Run the encoder by equations (5) to (8), in numpy."""
    known = load_weights(folder)
    w = {name: value.astype(float) for name, value in known.weights.items()}
    ids = [*known.source_vocabulary.encode(words), 0]
    H = w["encoder.candidate_weight"].shape[0]
    h = np.zeros(H)
    found: dict[str, list[np.ndarray]] = {"reset": [], "update": []}
    for number in ids:
        x = w["source_embedding"][number] + w["source_embedding_bias"]
        column = x @ w["encoder.input_weight"]
        gates = sigmoid(column[H:] + h @ w["encoder.gate_weight"])
        z, r = gates[:H], gates[H:]
        k = np.tanh(column[:H] + w["encoder.input_bias"] + (r * h) @ w["encoder.candidate_weight"])
        h = z * h + (1 - z) * k
        found["reset"].append(r)
        found["update"].append(z)
    return {name: np.array(values) for name, values in found.items()}


def test_gates_are_those_of_the_equations(
    data: Path, phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """Means, quantiles and shares of each word, as TSV and JSON; a picture with every word."""
    done = phrasescore(
        *("analyze", "gates", "--model", data / "gated", "b <script> zebra", "-o", "g.svg"),
        *("--json-file", "g.json"),
    )
    assert done.returncode == 0, done.stderr
    assert b"warning: the model does not know zebra" in done.stderr
    head, *lines = [line.split("\t") for line in done.stdout.decode().split("\n")[:-1]]
    told = json.loads((tmp_path / "g.json").read_text())
    assert told["unit"] == "gated"
    assert len(lines) == len(told["gates"]) == 8
    expected = gates_by_hand(data / "gated", [b"b", b"<script>", b"zebra"])
    for line, row in zip(lines, told["gates"], strict=True):
        assert line[:4] == [row["side"], row["gate"], str(row["position"]), row["word"]]
        values = expected[row["gate"]][row["position"] - 1]
        assert row["word"] == ["b", "<script>", "zebra", "</s>"][row["position"] - 1]
        assert row["mean"] == pytest.approx(values.mean(), abs=1e-6)
        assert row["median"] == pytest.approx(np.median(values), abs=1e-6)
        assert row["p90"] == pytest.approx(np.quantile(values, 0.9), abs=1e-6)
        assert row["shut"] == (values < 0.1).mean()
        assert row["open"] == (values > 0.9).mean()
        assert float(line[head.index("p10")]) == pytest.approx(row["p10"], abs=1e-4)
    picture = (tmp_path / "g.svg").read_text()
    shown = re.findall(r">([^<>\n]+)</text>", picture)
    for word in ("b", "&lt;script&gt;", "zebra", "&lt;/s&gt;"):
        assert shown.count(word) == 2
    assert "encoder: reset gate" in shown


@pytest.mark.parametrize(
    ("model", "gates", "words"),
    [
        ("gated", ["reset", "update"], ["A", "<unk>"]),
        ("lstm", ["input", "forget", "output"], ["A", "<unk>"]),
        ("appendix", ["reset", "update"], ["", "A", "<unk>"]),
    ],
)
def test_the_decoder_with_a_target(
    model: str, gates: list[str], words: list[str], data: Path, phrasescore: Phrasescore
) -> None:
    """It reads its own words; in the appendix's formulation a step without a word comes first."""
    done = phrasescore(
        "analyze", "gates", "--model", data / model, "a", "--target", "A <unk>", "--json"
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["gates"]
    for side, expected in (("encoder", ["a", "</s>"]), ("decoder", words)):
        for gate in gates:
            mine = [row for row in rows if row["side"] == side and row["gate"] == gate]
            assert [row["word"] for row in mine] == expected
            assert all(0 < row["p10"] <= row["median"] <= row["p90"] < 1 for row in mine)
    assert len(rows) == len(gates) * (2 + len(words))


@pytest.mark.parametrize(
    ("arguments", "message", "status"),
    [
        (["--model", "tanh", "a"], "its tanh unit has no gates", 4),
        (["--model", "search", "a"], "kind search has no encoder of phrases", 4),
        (["--model", "gated", "  "], "the PHRASE has 0 words", 2),
        (["--model", "gated", "a", "-o", "g.jpg"], "End the name in .png, .svg or .pdf", 2),
    ],
)
def test_wrong_calls(
    arguments: list[str],
    message: str,
    status: int,
    data: Path,
    phrasescore: Phrasescore,
    tmp_path: Path,
) -> None:
    """Each gets a sentence."""
    for each in data.iterdir():
        (tmp_path / each.name).symlink_to(each)
    done = phrasescore("analyze", "gates", *arguments)
    assert done.returncode == status, done.stderr
    assert message in done.stderr.decode()
