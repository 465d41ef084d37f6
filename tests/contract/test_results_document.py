"""README.md and the pages of results agree with the statistics of the stored experiments."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from benchmarks import bench_field, field_table
from benchmarks.spelling import table
from tests.conftest import PROJECT
from tuning.experiment.experiment_settings import read_experiment
from tuning.experiment.results import KeptResults
from tuning.metrics.metric_scores import metric_scores
from tuning.metrics.metric_settings import TEST_SEED, TRIALS, points, shown_p
from tuning.metrics.significance import bootstrap

DETAIL = (PROJECT / "docs" / "results-detail.md").read_text("utf-8")
RESULTS = (PROJECT / "docs" / "results.md").read_text("utf-8")
README = re.sub(r"\s+", " ", (PROJECT / "README.md").read_text("utf-8"))
BLEU = partial(metric_scores, "bleu")
FIELD = PROJECT / "docs" / "results" / "field.json"
# a stored file -> its section of the page, its experiment, and the experiment's test sets
STORED = {
    "multi30k.json": ("Multi30k", "multi30k.toml", ("test2016", "held-out")),
    "german.json": ("English–German", "multi30k.toml", ("test2016", "test2017", "held-out")),
    "gpu.json": ("With a phrase model from a GPU", "multi30k-gpu.toml", ("test2016", "held-out")),
    "search.json": (
        "With a system that Moses's own tools made",
        "multi30k-search.toml",
        ("test2016",),
    ),
}

# the rows of Multi30k that the page of detail must have
QUOTED = (
    "RNN",
    "CSLM",
    "CSLM + RNN",
    "search on lists",
    "CSLM + RNN + search on lists",
    "CSLM + RNN + search on lists, both directions",
)

# a row of the page of results -> the rows of the experiments, without and with the part
POOLED = {
    "phrase score | baseline": ("Baseline", "RNN"),
    "language model | baseline": ("Baseline", "CSLM"),
    "phrase score and language model | baseline": ("Baseline", "CSLM + RNN"),
    "phrase score | language model": ("CSLM", "CSLM + RNN"),
    "RNNsearch on lists | baseline": ("Baseline", "search on lists"),
    "all three | baseline": ("Baseline", "CSLM + RNN + search on lists"),
    "RNNsearch instead of the phrase-based system | baseline": ("Baseline", "search alone"),
}
README_PARTS = {
    "phrase score | baseline",
    "language model | baseline",
    "phrase score and language model | baseline",
    "RNNsearch on lists | baseline",
    "all three | baseline",
}


class Rows:
    """The rows of a stored experiment."""

    def __init__(self, file: str) -> None:
        self._kept = KeptResults.read(PROJECT / "docs" / "results" / file)
        self.names = list(self._kept.rows)

    def seeds(self, name: str) -> list[int | None]:
        """Return the tuning seeds of a row."""
        return [run.seed for run in self._kept.rows[name].runs]

    def statistics(self, name: str, text: str, like: str = "") -> np.ndarray:
        """Return the statistics of a row's runs, shape (runs, sentences, statistics).

        Args:
            name: The row.
            text: The text.
            like: Another row; if the rows have seeds in common, only these runs count.
        """
        runs = self._kept.rows[name].runs
        if like and (common := set(self.seeds(like)) & set(self.seeds(name))):
            runs = tuple(run for run in runs if run.seed in common)
        return np.stack([self._kept.statistics(run, text) for run in runs])

    def score(self, name: str, text: str) -> str:
        """Return the mean, with the deviation if there are several runs, in the page's format."""
        scores = BLEU(self.statistics(name, text).sum(1))
        several = f" ± {points(float(scores.std(ddof=1)))}" if len(scores) > 1 else ""
        return points(float(scores.mean())) + several

    def gain(self, over: str, name: str, *texts: str) -> tuple[str, str]:
        """Return a gain on texts as one, with its interval, and p, in the page's format."""
        first = np.concatenate([self.statistics(over, text, like=name) for text in texts], 1)
        second = np.concatenate([self.statistics(name, text, like=over) for text in texts], 1)
        found = bootstrap(first, second, BLEU, TRIALS, TEST_SEED)
        moved = float(BLEU(second.sum(1)).mean() - BLEU(first.sum(1)).mean())
        gain, low, high = (points(each, sign=True) for each in (moved, found.low, found.high))
        return f"{gain} ({low} to {high})", shown_p(found.p_value)


def section(title: str) -> list[str]:
    """Return the lines of a section of the page."""
    return DETAIL.split(f"## {title}\n")[1].split("\n## ")[0].split("\n")


def table_lines(file: str) -> Iterator[str]:
    """Yield the Markdown lines of all rows, and of the gains of all parts."""
    _, experiment, texts = STORED[file]
    rows = Rows(file)
    systems = read_experiment(PROJECT / "experiments" / experiment).systems
    for name in [system.name for system in systems if system.name in rows.names]:
        cells = [name, rows.score(name, "dev")]
        for text in texts:
            gain = ("–", "–") if name == "Baseline" else rows.gain("Baseline", name, text)
            cells += [rows.score(name, text), *gain]
        yield f"| {' | '.join(cells)} |"
    for system in systems:
        for part, without in system.parts.items():
            if {system.name, without} <= set(rows.names):
                cells = [part, without]
                for text in texts:
                    cells += rows.gain(without, system.name, text)
                yield f"| {' | '.join(cells)} |"


@pytest.mark.parametrize("file", STORED)
def test_tables_of_the_page(file: str) -> None:
    """Every row of the section follows from the statistics, and the main rows are there."""
    lines = section(STORED[file][0])
    shown = [line for line in lines if line.startswith("| ") and re.search(" ± | to [+-]", line)]
    assert set(shown) <= set(table_lines(file))
    main = QUOTED if file == "multi30k.json" else Rows(file).names
    assert {"Baseline", *main} <= {line[2:].split(" | ")[0] for line in shown}


def test_pooled_gains() -> None:
    """The page of results has these gains over all test sets, and README those of five rows."""
    files = "multi30k.json", "german.json"
    rows = {file: Rows(file) for file in files}
    gains = set()
    for part, (over, name) in POOLED.items():
        cells = [
            rows[file].gain(over, name, *STORED[file][2])[0] if name in rows[file].names else "–"
            for file in files
        ]
        assert f"| {part} | {' | '.join(cells)} |" in RESULTS
        if part in README_PARTS:
            gains |= set(cells) - {"–"}
    larger = Rows("gpu.json").gain("Baseline", "RNN", *STORED["gpu.json"][2])[0]
    assert larger in RESULTS.replace("\n", " ")
    number = r"[+-]\d+\.\d\d"
    assert set(re.findall(rf"{number} \({number} to {number}\)", README)) == gains
    for file, page in (("multi30k.json", README), ("german.json", RESULTS)):
        assert rows[file].score("Baseline", "test2016").split(" ")[0] in page


def test_the_table_of_spelling_is_that_of_its_statistics() -> None:
    """Every row of the section is the mean over stored results; both alphabets are there."""
    stored = (PROJECT / "docs" / "results" / "spelling.jsonl").read_text().splitlines()
    shown = [line for line in section("Spelling") if line.startswith("|")]
    assert set(shown) <= set(table([json.loads(line) for line in stored]))
    assert sum(line.startswith(("| SLB", "| SLG")) for line in shown) > 10


def test_the_table_of_tuning_is_that_of_its_runs() -> None:
    """The page of tuning has the mean of the stored runs for each pair, alignment and optimiser."""
    runs = bench_field.read_runs(PROJECT / "docs" / "results" / "field-tuning.json")
    page = (PROJECT / "docs" / "tuning.md").read_text("utf-8")
    assert "\n".join(bench_field.table(runs)) in page


def test_the_table_of_little_text_is_that_of_its_statistics() -> None:
    """The page has our scores and the best published ones, and the gain over the Transformer."""
    results = field_table.Results.read(FIELD)
    one_seed = results.of_one_seed()
    page = (PROJECT / "docs" / "little-text.md").read_text("utf-8")

    def best(pair: str, kind: str) -> field_table.Row:
        rows = [row for row in results.rows if (row.pair, row.variant) == (pair, "raw")]
        return max(
            (row for row in rows if row.name.startswith(kind)), key=lambda row: row.bleu.bleu
        )

    def shown(row: field_table.Row) -> str:
        return f"{points(row.bleu.bleu)} ({points(row.chrf)})"

    for pair, name in (("en-hau", "Hausa"), ("en-yor", "Yoruba")):
        ours, other = results.row(pair, field_table.TUNED, "raw"), best(pair, "transformer")
        gain = _gain(results, pair, other.name, ours.name)
        cells = [shown(ours), shown(other), gain, shown(best(pair, "m2m"))]
        assert re.search(rf"\| English–{name} \| [\d,]+ \| {re.escape(' | '.join(cells))} \|", page)
    assert f"| {shown(results.row('en-id', field_table.TUNED, 'raw'))} | – |" in page
    words = " ".join(page.split())
    for pair, name in (("en-hau", "Hausa"), ("en-id", "Indonesian")):
        record = results.records[pair]
        row = f"| {name} | {record['time'] / 60:.0f}m | {', '.join(record['kept'])} | "
        moved, first = (_gain(each, pair, "baseline", "improved") for each in (results, one_seed))
        assert f"{row}{first} | {moved} |" in words
    assert not results.records["en-yor"].get("kept")
    yoruba = _gain(results, "en-yor", "baseline", "improved")
    assert f"| Yoruba | 30m | nothing | 0.00 | {yoruba} |" in words
    means = [field_table.pooled(each, "raw") for each in (one_seed, results)]
    first, last = (
        f"{field_table.in_words(each)}, p {'<' if each.p_value < 0.001 else '='} "
        f"{max(0.001, each.p_value):.3f}"
        for each in means
    )
    assert f"| {first} | {last} |" in words
    shown = " ".join((PROJECT / "docs" / "results.md").read_text("utf-8").split())
    assert field_table.in_words(means[-1]) in shown
    as_planned = [
        dataclasses.replace(results.row("en-id", "baseline", "raw"), name="improved")
        if (row.pair, row.name, row.variant, row.seed) == ("en-id", "improved", "raw", 1)
        else row
        for row in results.rows
    ]
    planned = dataclasses.replace(results, rows=tuple(as_planned))
    assert f"three seeds, {field_table.in_words(field_table.pooled(planned, 'raw'))}" in words
    together = results.records["en-hau"]["benefits"]["all parts"]
    numbers = (points(together[name], sign=True) for name in ("gain", "low", "high"))
    assert "{} over lists of dev ({} to {})".format(*numbers) in words
    for each in (one_seed, results):
        second = _gain(each, "en-hau", "transformer_en_hau_rel_news_newsft", "improved")
        assert second in words
    named = {"en-hau": "BLEU for Hausa", "en-yor": "for Yoruba", "en-id": "for Indonesian"}
    for pair, name in named.items():
        peer = results.row(pair, field_table.TRANSFORMER, "raw").bleu.bleu
        minutes = results.trainings[pair]["cpu"] / 60
        assert f"{points(peer)} {name} ({minutes:.0f} minutes, " in words
        assert _gain(one_seed, pair, field_table.TRANSFORMER, "improved").replace("+", "") in words
    mean = field_table.pooled(one_seed, "raw", field_table.TRANSFORMER)
    assert f"on average by {field_table.in_words(mean).replace('+', '')}" in words
    readme = (PROJECT / "README.md").read_text("utf-8")
    assert f"gained {moved.replace('+', '').replace(' (', ' BLEU (')}" in readme


def test_bleu_by_length() -> None:
    """Each row follows from the statistics; a group of few sentences has no score."""
    lines = [line for line in section("By length of the sentence") if line.startswith("| ")][1:]
    field, captions = field_table.Results.read(FIELD), Rows("multi30k.json")
    expected = {}
    for name in ("Baseline", "CSLM + RNN", "CSLM + RNN + search on lists", "search alone"):
        texts = [captions.statistics(name, text) for text in ("test2016", "held-out")]
        expected["Multi30k", name] = np.concatenate(texts, 1)
    for pair, title in {"en-hau": "Hausa", "en-yor": "Yoruba", "en-id": "Indonesian"}.items():
        names = {"baseline": "baseline", "improved": "improved"}
        for kind, ending in (("Transformer", "rel_news_newsft"), ("M2M-100", "news")):
            names[kind] = f"{kind.lower().replace('-', '')}_{pair.replace('-', '_')}_{ending}"
        for shown, name in names.items():
            if any((row.pair, row.name) == (pair, name) for row in field.rows):
                expected[title, shown] = field.statistics(field.runs(pair, name, "raw"))
    found = []
    for (title, name), statistics in expected.items():
        cells = field_table.bleu_by_length(statistics)
        found.append(f"| {title}, {name} | {' | '.join(cells)} |")
    assert set(lines) <= set(found)
    assert {line.split(",")[0] for line in lines} == {f"| {title}" for title, _ in expected}


def _gain(results: field_table.Results, pair: str, first: str, second: str) -> str:
    """Return the difference of two systems of a pair in raw BLEU, with its interval."""
    return field_table.in_words(field_table.compared(results, pair, first, second, "raw"))
