"""The program of the reranking tutorial scores lists and a table with a model of CTranslate2."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.contract.test_documented_commands import TUTORIALS
from tests.support.fresh_process import run_script
from tests.support.toy_system import write_toy_system
from tests.support.warm_process import WarmProcesses

PAGE = (TUTORIALS / "rerank.md").read_text("utf-8")
SIZE, INNER = 8, 16


def blocks(kind: str) -> str:
    """Return the page's blocks of a kind."""
    return "\n".join(re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.M | re.S))


def write_tiny_transformer(folder: Path, words: list[str]) -> None:
    """Write a Transformer of one layer with random weights, which knows the words."""
    specs = pytest.importorskip("ctranslate2.specs")
    rng = np.random.default_rng(1)
    spec = specs.TransformerSpec.from_config((1, 1), 2)

    def fill(layer: Any, rows: int, columns: int) -> None:
        layer.weight = rng.normal(size=(rows, columns)).astype(np.float32)
        layer.bias = np.zeros(rows, np.float32)

    def start(*norms: Any) -> None:
        for norm in norms:
            norm.gamma, norm.beta = np.ones(SIZE, np.float32), np.zeros(SIZE, np.float32)

    vocabulary = ["<blank>", "<s>", "</s>", "<unk>", *words]
    for side in (spec.encoder, spec.decoder):
        layer = side.layer[0]
        fill(layer.self_attention.linear[0], 3 * SIZE, SIZE)
        fill(layer.self_attention.linear[1], SIZE, SIZE)
        fill(layer.ffn.linear_0, INNER, SIZE)
        fill(layer.ffn.linear_1, SIZE, INNER)
        start(layer.self_attention.layer_norm, layer.ffn.layer_norm, side.layer_norm)
    attention = spec.decoder.layer[0].attention
    for linear, times in zip(attention.linear, (1, 2, 1), strict=True):
        fill(linear, times * SIZE, SIZE)
    start(attention.layer_norm)
    for embeddings in (spec.encoder.embeddings[0], spec.decoder.embeddings):
        embeddings.weight = rng.normal(size=(len(vocabulary), SIZE)).astype(np.float32)
    fill(spec.decoder.projection, len(vocabulary), SIZE)
    spec.register_source_vocabulary(vocabulary)
    spec.register_target_vocabulary(vocabulary)
    spec.validate()
    folder.mkdir()
    spec.save(str(folder))


def test_the_program_of_the_tutorial(tmp_path: Path, warm_processes: WarmProcesses) -> None:
    """Its commands run as printed; the weight counts, and so does each line of the table."""
    toy = write_toy_system(tmp_path / "tuned.old", sentences=12)
    words = [f"{kind}{number}" for kind in "srw" for number in range(6)]
    write_tiny_transformer(tmp_path / "ct2", words)
    (tmp_path / "ct2.py").write_text(blocks("py"))
    for name in ("dev", "test"):
        shutil.copy(toy.source, tmp_path / f"{name}.en")
        shutil.copy(toy.reference, tmp_path / f"{name}.fr")
    (tmp_path / "system").mkdir()
    table = (toy.ini.parent / "phrase-table").read_bytes()
    (tmp_path / "system" / "phrase-table.gz").write_bytes(gzip.compress(table))
    run_script(blocks("console"), tmp_path, warm_processes).well()
    weights = json.loads((tmp_path / "tuned.ct2" / "rescoring.json").read_text())["weights"]
    assert weights["CT2"] != [0.0]
    assert (tmp_path / "test.ct2.fr").read_bytes().count(b"\n") == 12
    numbers = [float(line) for line in (tmp_path / "numbers.txt").read_text().split()]
    assert len(set(numbers)) > 1
    assert max(numbers) < 0
