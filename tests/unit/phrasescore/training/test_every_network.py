"""Every kind of network learns, stops, resumes to the same bits, and scores."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from phrasescore.errors import InterruptedWorkError
from phrasescore.model.folder import load_model
from phrasescore.model.kinds import kind_named
from phrasescore.scoring.shared_scorer import SharedScorer
from phrasescore.table.block import read_blocks
from phrasescore.table.input_files import read_lines
from phrasescore.training.session import train_model
from phrasescore.training.settings import TrainingSettings
from phrasescore.words.token_sequences import TokenSequences
from tests.support.builders import write_phrase_table
from tests.support.killed import wait_for
from tests.support.unshared_scorer import UnsharedScorer

SMALL = {"hidden": 16, "embedding": 8, "rank": 8}
QUICK = [("tanh", "every-step"), ("lstm", "once")]
NETWORKS = [
    *(
        pytest.param(
            "phrase",
            {"unit": unit, "context": context},
            id=f"{unit}-{context}",
            marks=[] if (unit, context) in QUICK else [pytest.mark.slow],
        )
        for unit in ("gated", "tanh", "lstm")
        for context in ("every-step", "once")
    ),
    pytest.param("feed-forward-phrase", {"phrase_length": 9}, id="feed-forward-phrase"),
    pytest.param("search", {"formulation": "code", "alignment": 8}, id="search"),
    pytest.param("search", {"formulation": "paper"}, id="search-paper", marks=pytest.mark.slow),
    pytest.param("encdec", {"formulation": "paper"}, id="encdec"),
    pytest.param("feed-forward-lm", {"order": 4, "second_hidden": 12}, id="feed-forward-lm"),
    pytest.param("rnn-lm", {"unit": "gated"}, id="rnn-lm"),
    pytest.param("rnn-lm", {"unit": "lstm"}, id="rnn-lm-lstm", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a table of 600 pairs."""
    return write_phrase_table(tmp_path_factory.mktemp("table") / "table", 600)


def inputs_of(kind: str, table: Path) -> tuple[Path, ...]:
    """Return the inputs of a kind: the table, its columns as texts, or the target text."""
    if kind_named(kind).learns_from == "phrases":
        return (table,)
    columns = zip(*(line.split(b" ||| ")[:2] for line in read_lines(table)), strict=True)
    paths = table.with_name("text.en"), table.with_name("text.fr")
    for path, column in zip(paths, columns, strict=True):
        path.write_bytes(b"".join(text + b"\n" for text in column))
    return paths[-len(kind_named(kind).inputs) :]


def train(table: Path, model: Path, kind: str, sizes: dict[str, str | int]) -> None:
    options = {each.name for each in dataclasses.fields(kind_named(kind).settings)}
    train_model(
        TrainingSettings(
            kind,
            inputs_of(kind, table),
            model,
            **{**{name: size for name, size in SMALL.items() if name in options}, **sizes},
            max_epochs=4,
            evaluations=2,
            patience=0,
            batch_size=16,
            learning_rate=0.02,
            threads=1,
            checkpoint_every=0.05,
        )
    )


def interrupt_when(path: Path) -> threading.Thread:
    """Send Ctrl-C once a file exists."""

    def watch() -> None:
        wait_for(path.exists)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


@pytest.mark.parametrize(("kind", "sizes"), NETWORKS)
def test_a_network_is_trained_stopped_continued_and_scores(
    kind: str, sizes: dict[str, str | int], table: Path, tmp_path: Path
) -> None:
    """Weights are equal with and without an interruption; shared and unshared ln p agree."""
    train(table, tmp_path / "whole", kind, sizes)
    watching = interrupt_when(tmp_path / "stopped.training" / "checkpoint.pt")
    with pytest.raises(InterruptedWorkError):
        train(table, tmp_path / "stopped", kind, sizes)
    watching.join()
    train(table, tmp_path / "stopped", kind, sizes)
    weights = [
        (tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "stopped")
    ]
    assert weights[0] == weights[1]
    record = json.loads((tmp_path / "whole" / "provenance.json").read_text("utf-8"))
    # with 54 target words and </s>, chance is ln 55 = 4
    held_out = record["held_out"]
    assert held_out.get("held_out_pairs", held_out["held_out_sources"])["nll"] < 3.5
    loaded = load_model(tmp_path / "whole")
    config = json.loads((tmp_path / "whole" / "config.json").read_text("utf-8"))
    assert {name: config[name] for name in sizes} == sizes
    (block,) = read_blocks(table)
    source = loaded.source_vocabulary.encode_spans(block.token_spans("source"))
    if not kind_named(kind).reads_source:
        source = TokenSequences(source.tokens[:0], np.zeros_like(source.offsets))
    target = loaded.target_vocabulary.encode_spans(block.token_spans("target"))
    shared = SharedScorer(loaded.model, "cpu", "fp32").score(source, target)
    alone = UnsharedScorer(loaded.model, "cpu").score(source, target)
    np.testing.assert_allclose(shared, alone, rtol=0, atol=1e-4)
    near = SharedScorer(loaded.model, "cpu", "bf16").score(source, target)
    per_word = np.abs(near - alone) / (target.lengths + 1)
    assert 0 < per_word.mean() < 0.05
