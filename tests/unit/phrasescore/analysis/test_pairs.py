"""Pairs drawn from a table, and both their ln p."""

from __future__ import annotations

import gzip
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from phrasescore.analysis.scatter import Scores, draw_pairs, score_drawn
from phrasescore.analysis.table_lines import random_numbers
from phrasescore.errors import ModelError, PhraseTableError
from phrasescore.model.folder import load_model
from phrasescore.scoring.model_loading import ComputeSettings, load_models, scoring_model
from phrasescore.scoring.shared_scorer import SharedScorer
from phrasescore.table.block import read_blocks
from tests.support.builders import write_phrase_table
from tests.support.random_models import save_random_model
from tests.support.unshared_scorer import UnsharedScorer

LINES = [
    b"b a ||| A ||| 0.5 0.25 ||| ||| 1 1 1",
    b"a ||| B A A ||| 0.125 0.5",
    b"a <script> ||| \xff ||| 1 0",
    b"b ||| A B ||| 0.0625 1",
]


@pytest.mark.parametrize("most", [1, 30, 200, 500])
def test_draw(tmp_path: Path, most: int) -> None:
    """The lines of the least random numbers, in the order of the table, whatever the blocks."""
    table = write_phrase_table(tmp_path / "table.gz", 200)
    drawn = [draw_pairs(table, most, 3, size) for size in (7, 64, 1000)]
    assert drawn[0] == drawn[1] == drawn[2]
    assert drawn[0].among == 200
    keys = random_numbers(np.arange(1, 201), 3)
    numbers = sorted((np.argsort(keys)[:most] + 1).tolist())
    assert list(drawn[0].numbers) == numbers
    lines = gzip.decompress(table.read_bytes()).split(b"\n")
    assert list(drawn[0].lines) == [lines[number - 1] for number in numbers]


@pytest.mark.parametrize("direction", ["source-target", "target-source"])
def test_scores(tmp_path: Path, direction: Any) -> None:
    """By the table, the logarithm of a score; by the model, what the plain scorer gives."""
    (tmp_path / "table").write_bytes(b"\n".join(LINES))
    folder = save_random_model(tmp_path / "m", b"a b".split(), b"A B".split(), direction)
    (model,), _ = load_models([str(folder)], ComputeSettings("cpu", "fp32"))
    loaded = load_model(folder)
    plain = scoring_model("plain", loaded, UnsharedScorer(loaded.model, "cpu"))
    drawn = draw_pairs(tmp_path / "table", 3, 1)
    assert len(drawn.lines) == 3
    entries = [line.split(b" ||| ") for line in drawn.lines]
    scores = Scores(2, model)
    ((_, found),) = score_drawn(drawn, scores)
    p = [float(entry[2].split()[1]) for entry in entries]
    np.testing.assert_allclose(found.table, [math.log(x) if x else -100.0 for x in p])
    predicted = 1 if direction == "source-target" else 0
    assert found.words.tolist() == [len(entry[predicted].split()) + 1 for entry in entries]
    exact = Scores(2, plain).score(next(iter(drawn.blocks()))).model
    np.testing.assert_allclose(found.model, exact, atol=1e-4)
    blocks = read_blocks(tmp_path / "table", 3)
    together = np.concatenate([scores.score(block).model for block in blocks])
    np.testing.assert_allclose(together[np.array(drawn.numbers) - 1], found.model, atol=1e-4)


def test_another_score_in_place_of_a_model(tmp_path: Path) -> None:
    """It is read as the other is; blocks have the drawn pairs in order."""
    (tmp_path / "table").write_bytes(b"\n".join(LINES))
    drawn = draw_pairs(tmp_path / "table", 10, 1)
    found = [Scores(1, 2).score(block) for block in drawn.blocks(pairs=3)]
    assert [len(each.table) for each in found] == [3, 1]
    np.testing.assert_allclose(found[0].model, [math.log(0.25), math.log(0.5), -100.0])
    assert found[1].words.tolist() == [3]


def test_faults_name_the_line_of_the_table(tmp_path: Path) -> None:
    """Not the place among the pairs that were drawn."""
    lines = [*[b"a ||| A ||| 0.5 0.5"] * 50, b"a ||| B ||| 0.5 7"]
    (tmp_path / "table").write_bytes(b"\n".join(lines) + b"\n")
    draws = (draw_pairs(tmp_path / "table", 10, seed) for seed in range(99))
    drawn = next(draw for draw in draws if 51 in draw.numbers)
    with pytest.raises(PhraseTableError, match="score 2 is 7, which is no probability") as caught:
        score_drawn(drawn, Scores(1, 2))
    assert caught.value.line == 51


def test_a_model_without_numbers(tmp_path: Path) -> None:
    """Its name, and the line of the first pair."""
    (tmp_path / "table").write_bytes(b"\n".join(LINES))
    broken = load_model(save_random_model(tmp_path / "m", b"a b".split(), b"A B".split()))
    with torch.no_grad():
        for parameter in broken.model.parameters():
            parameter.fill_(float("nan"))
    model = scoring_model("broken", broken, SharedScorer(broken.model, "cpu"))
    drawn = draw_pairs(tmp_path / "table", 2, 1)
    with pytest.raises(ModelError, match="the model broken gives no number for this pair") as e:
        score_drawn(drawn, Scores(1, model))
    assert e.value.line == drawn.numbers[0]
