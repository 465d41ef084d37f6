"""README.md and docs/results.md say of the kept experiment what its statistics say."""

from __future__ import annotations

import json
import re
from functools import partial

import numpy as np
import pytest

from benchmarks.spelling import table
from tests.conftest import PROJECT
from tuning.experiment.results import KeptResults
from tuning.metrics.metric_scores import metric_scores
from tuning.metrics.metric_settings import TEST_SEED, TRIALS
from tuning.metrics.score_tables import points
from tuning.metrics.significance import bootstrap

RESULTS = (PROJECT / "docs" / "results.md").read_text("utf-8")
README = re.sub(r"\s+", " ", (PROJECT / "README.md").read_text("utf-8"))
BLEU = partial(metric_scores, "bleu")


def statistics_of(file: str) -> dict[str, np.ndarray]:
    """The statistics of every row's runs on the test set."""
    kept = KeptResults.read(PROJECT / "docs" / "results" / file)
    return {
        name: np.stack([kept.statistics(run, "test2016") for run in row.runs])
        for name, row in kept.rows.items()
    }


@pytest.fixture(scope="module")
def statistics() -> dict[str, np.ndarray]:
    """Those of the table of the paper."""
    return statistics_of("multi30k.json")


def gain(first: np.ndarray, second: np.ndarray) -> tuple[str, str, str]:
    """Return a gain, the ends of its interval, as documents write them."""
    found = bootstrap(first, second, BLEU, TRIALS, TEST_SEED)
    means = [BLEU(runs.sum(1)).mean() for runs in (first, second)]
    values = (means[1] - means[0], found.low, found.high)
    return tuple(points(float(each), sign=True) for each in values)  # type: ignore[return-value]


@pytest.mark.parametrize("file", ["multi30k.json", "search.json"])
def test_every_gain_over_the_baseline(file: str) -> None:
    """Mean, gain and interval of each row stand in its line of a table."""
    statistics = statistics_of(file)
    baseline = statistics["Baseline"]
    for name, runs in statistics.items():
        if name != "Baseline":
            mean, (moved, low, high) = points(BLEU(runs.sum(1)).mean()), gain(baseline, runs)
            begins = [each for each in RESULTS.split("\n") if each.startswith(f"| {name} | ")]
            (line,) = (each for each in begins if f"| {mean}" in each)
            assert f"| {moved} | {low} to {high} |" in line, name


def test_what_parts_add_to_others(statistics: dict[str, np.ndarray]) -> None:
    """The gains over other rows than the baseline, in both documents."""
    with_search = "RNN (all words) + search n-best"
    for first, second in (
        ("CSLM", "CSLM + RNN"), ("RNN", "CSLM + RNN"), ("RNN (all words)", with_search),
    ):  # fmt: skip
        moved, low, high = gain(statistics[first], statistics[second])
        assert f"| {first} | {moved} | {low} to {high} |" in RESULTS
        assert f"{moved} ({low} to {high})" in README
    for second in ("RNN", "CSLM"):
        moved, low, high = gain(statistics["Baseline"], statistics[second])
        assert f"{moved} ({low} to {high})" in README
    for second in ("CSLM + RNN", with_search):
        assert "({}, {} to {}".format(*gain(statistics["Baseline"], statistics[second])) in README


def test_rnnsearch_in_readme() -> None:
    """What it gains on n-best lists, and its score alone."""
    statistics = statistics_of("search.json")
    moved, low, high = gain(statistics["Baseline"], statistics["search on lists"])
    assert f"{moved} ({low} to {high})" in README
    alone = points(BLEU(statistics["search alone"].sum(1)).mean())
    assert f"as well as the Moses system ({alone} BLEU)" in README


def test_the_table_of_spelling_is_that_of_its_statistics() -> None:
    """Every row is the mean over the stored results."""
    lines = (PROJECT / "docs" / "results" / "spelling.jsonl").read_text().splitlines()
    assert "\n".join(table([json.loads(line) for line in lines])) in RESULTS
