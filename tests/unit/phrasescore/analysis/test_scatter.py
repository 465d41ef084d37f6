"""Pairs drawn from a table, their ln p by table and model, the figures, and the picture."""

from __future__ import annotations

import gzip
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from phrasescore.analysis import scatter
from phrasescore.analysis.scatter import (
    DrawnPairs,
    ScatterRecord,
    described,
    draw_pairs,
    draw_scatter,
    scatter_record,
    score_drawn,
)
from phrasescore.errors import PhraseTableError
from phrasescore.model.folder import load_model
from phrasescore.scoring.block_scoring import ComputeSettings, ScoringModel, load_models
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
def test_draw(tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn lines are in table order and equally probable, for all block sizes."""
    table = write_phrase_table(tmp_path / "table.gz", 200)
    drawn = draw_pairs(table, most, 3)
    for size in (7, 64):
        monkeypatch.setattr(scatter, "read_blocks", partial(read_blocks, lines=size))
        assert draw_pairs(table, most, 3) == drawn
    assert drawn.among == 200
    numbers = drawn.numbers
    assert numbers == tuple(sorted(set(numbers)))
    assert len(numbers) == min(most, 200)
    lines = gzip.decompress(table.read_bytes()).split(b"\n")
    assert list(drawn.lines) == [lines[number - 1] for number in numbers]
    often = np.bincount(np.concatenate([draw_pairs(table, most, s).numbers for s in range(200)]))
    expected = 200 * len(numbers) / 200
    assert abs(often[1:].mean() - expected) < 0.01
    assert abs(often[1:] - expected).max() <= 6 * math.sqrt(expected)


@pytest.mark.parametrize("direction", ["source-target", "target-source"])
def test_scores(tmp_path: Path, direction: Any) -> None:
    """Pairs get the logarithm of a table score, and the plain scorer's ln p."""
    (tmp_path / "table").write_bytes(b"\n".join(LINES))
    folder = save_random_model(tmp_path / "m", b"a b".split(), b"A B".split(), direction)
    (model,), _ = load_models([str(folder)], ComputeSettings("cpu", "fp32"))
    loaded = load_model(folder)
    plain = ScoringModel("plain", loaded, UnsharedScorer(loaded.model, "cpu"))
    drawn = draw_pairs(tmp_path / "table", 3, 1)
    assert len(drawn.lines) == 3
    table, by_model = score_drawn(drawn, 2, model)
    p = [float(line.split(b" ||| ")[2].split()[1]) for line in drawn.lines]
    np.testing.assert_allclose(table, [math.log(x) if x else -100.0 for x in p])
    np.testing.assert_allclose(by_model, score_drawn(drawn, 2, plain)[1], atol=1e-4)


def test_an_error_names_the_line_of_the_table(tmp_path: Path) -> None:
    """An error names the line in the table, not among the drawn pairs."""
    lines = [*[b"a ||| A ||| 0.5 0.5"] * 50, b"a ||| B ||| 0.5 7"]
    (tmp_path / "table").write_bytes(b"\n".join(lines) + b"\n")
    draws = (draw_pairs(tmp_path / "table", 10, seed) for seed in range(99))
    drawn = next(draw for draw in draws if 51 in draw.numbers)
    folder = save_random_model(tmp_path / "m", [b"a"], [b"A", b"B"])
    (model,), _ = load_models([str(folder)], ComputeSettings("cpu", "fp32"))
    with pytest.raises(PhraseTableError, match="score 2 is 7, which is not a prob") as caught:
        score_drawn(drawn, 2, model)
    assert caught.value.line == 51


def record_of(folder: Path, ln_p: NDArray[np.float64]) -> ScatterRecord:
    return scatter_record(pairs_of(folder, ln_p.shape[1]), ln_p, {})


def pairs_of(folder: Path, count: int) -> DrawnPairs:
    """Draw all pairs of a table of this size."""
    (folder / "table").write_bytes(b"a ||| A ||| 1\n" * count)
    return draw_pairs(folder / "table", count, 1)


def test_figures(tmp_path: Path) -> None:
    """Figures equal those computed by hand for five pairs; ties share their ranks."""
    ln_p = np.array([[0.0, 0.0, -1.0, -3.0, -9.0], [-1.0, -0.5, -7.0, -2.0, -4.0]])
    found = record_of(tmp_path, ln_p)
    assert found.pearson == pytest.approx(np.corrcoef(ln_p)[0, 1])
    ranks = [[4.5, 4.5, 3, 2, 1], [4, 5, 1, 3, 2]]
    assert found.spearman == pytest.approx(np.corrcoef(ranks)[0, 1])
    assert (found.near, found.far) == pytest.approx((0.6, 0.2))
    assert "60.0% of the pairs differ by at most 1 nat, 20.0% by more than 5" in described(found)


def test_no_correlation_of_a_constant(tmp_path: Path) -> None:
    """The correlation of a constant is reported as undefined."""
    found = record_of(tmp_path, np.array([[0.0, 0, 0], [-3, -2, -1]]))
    assert found.pearson is found.spearman is None
    assert "undefined" in described(found)


def test_the_picture(tmp_path: Path, rng: np.random.Generator) -> None:
    """The picture has one image and a scale, is small, and contains nearly all points."""
    ln_p = -rng.exponential([[2.0], [8.0]], (2, 50_000))
    drawn = pairs_of(tmp_path, 50_000)
    draw_scatter(tmp_path / "a.svg", drawn, ln_p, 3, "target")
    text = (tmp_path / "a.svg").read_text("utf-8")
    assert text.count("<image ") == 2
    assert len(text) < 200_000
    outside = int(text.split(" of them outside")[0].rsplit(", ", 1)[1])
    assert 0 < outside <= 0.01 * 50_000
