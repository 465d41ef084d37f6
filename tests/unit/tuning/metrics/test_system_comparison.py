"""Comparisons of systems over tuning runs, and their tables."""

from __future__ import annotations

import statistics
from pathlib import Path

import numpy as np
import pytest

from phrasescore.errors import SettingsError
from tests.support.translations import noisy_translations, references
from tuning.metrics.metric_settings import ScoreTable, TextScoring
from tuning.metrics.system_comparison import SystemComparison, compare_systems


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write references, three runs of a poor system, and two of a good system."""
    path = tmp_path_factory.mktemp("systems")
    rng = np.random.default_rng(5)
    texts = {"ref": references(120)}
    texts |= {f"poor.{run}": noisy_translations(rng, 0.3, 120) for run in (1, 2, 3)}
    texts |= {f"good.{run}": noisy_translations(rng, 0.1, 120) for run in (1, 2)}
    for name, lines in texts.items():
        (path / name).write_text("".join(line + "\n" for line in lines), "utf-8")
    return path


@pytest.fixture(scope="module")
def comparison(folder: Path) -> SystemComparison:
    """Compare the two systems, and the poor system under another name."""
    poor = [folder / f"poor.{run}" for run in (1, 2, 3)]
    systems = {"poor_1": poor, "good & new": [folder / "good.1", folder / "good.2"], "same": poor}
    return compare_systems([folder / "ref"], systems, trials=500)


def test_runs_means_and_deviations(folder: Path, comparison: SystemComparison) -> None:
    """Every run has a score; mean and deviation are over runs, gains over the first system."""
    for metric in ("bleu", "chrf", "ter"):
        poor, good, same = comparison.scores[metric]
        assert len(poor.runs) == 3
        assert poor.mean == pytest.approx(statistics.mean(poor.runs))
        assert poor.deviation == pytest.approx(statistics.stdev(poor.runs))
        assert poor.difference is None
        assert good.difference and same.difference
        assert good.difference.gain == pytest.approx(good.mean - poor.mean)
        assert same.difference.gain == 0
    alone = compare_systems(
        [folder / "ref"], {"a": [folder / "poor.2"], "b": [folder / "good.1"]}, trials=100
    )
    assert alone.scores["bleu"][0].runs == (comparison.scores["bleu"][0].runs[1],)
    assert alone.scores["bleu"][0].deviation is None


def test_what_differs_is_told_from_what_does_not(comparison: SystemComparison) -> None:
    """A third of the errors is a significant gain in every metric; equal translations are not."""
    for metric in ("bleu", "chrf", "ter"):
        _, good, same = comparison.scores[metric]
        assert good.difference and same.difference
        assert good.difference.p_randomization < 0.01
        # two or three runs say less about other runs than 120 sentences about other sentences
        assert good.difference.p_randomization < good.difference.p_bootstrap < 0.05
        assert min(good.difference.low * good.difference.high, 1) > 0, "0 is not within"
        assert same.difference.p_randomization == same.difference.p_bootstrap == 1


def test_a_comparison_is_reproducible(folder: Path, comparison: SystemComparison) -> None:
    """Equal seeds give equal numbers, whatever other systems there are; other seeds do not."""
    systems = {"a": [folder / "poor.1"], "b": [folder / "poor.2"]}
    bleu = TextScoring(("bleu",))
    first, again, other = (
        compare_systems([folder / "ref"], systems, scoring=bleu, trials=300, seed=seed)
        for seed in (1, 1, 2)
    )
    assert first == again
    more = compare_systems(
        [folder / "ref"], {"a": systems["a"], "c": [folder / "good.1"], "b": systems["b"]},
        scoring=bleu, trials=300, seed=1,
    )  # fmt: skip
    assert more.scores["bleu"][2] == first.scores["bleu"][1]
    assert other.scores["bleu"][1].difference != first.scores["bleu"][1].difference


def test_tables(comparison: SystemComparison) -> None:
    """The table has a row for each system and metric."""
    text = comparison.to_text()
    assert f"{100 * comparison.scores['bleu'][0].mean:.2f}" in text
    assert "120 sentences" in text
    assert text.count("same") == 3
    assert "p (AR)" in text
    assert max(map(len, text.split("\n"))) <= 100


def test_cells_cannot_break_a_table() -> None:
    """Special characters of Markdown are escaped."""
    table = ScoreTable(["", "x"], [["a|b_c%{1}", "1"]])
    assert table.to_markdown().split("\n")[2] == r"| a\|b_c%{1} | 1 |"


@pytest.mark.parametrize("systems", [{}, {"a": ["x"]}, {"a": ["x"], "b": []}])
def test_nothing_to_compare(folder: Path, systems: dict[str, list[str]]) -> None:
    """Fewer than two systems, or a system without translations, are refused before reading."""
    with pytest.raises(SettingsError, match=r"nothing to compare with|b has no translation"):
        compare_systems([folder / "ref"], systems)
