"""The report page of a folder: exact numbers, inert texts, valid HTML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from moses_integration.system_building.build_settings import BuildRecord
from phrasescore.model.folder import TrainingRecord
from phrasescore.runs.json_files import write_json
from tests.support.result_folders import write_comparison, write_model, write_tuning
from tuning.loop.tuning_settings import Optimized, TunedRound, TuningRecord
from tuning.metrics.metric_settings import MetricName, shown_p
from tuning.metrics.significance import ComparedSystem
from tuning.report import figures
from tuning.report.figures import ScoreSet
from tuning.report.report_page import read_results, write_report


class Page(HTMLParser):
    """The content of a page as a browser sees it.

    Attributes:
        numbers: The texts of the cells with numbers.
        elements: Each element's name and attributes, in order.
        text: All text outside scripts and styles.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.numbers: set[str] = set()
        self._silent = self._is_number = False
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the element."""
        found = dict(attrs)
        self.elements.append((tag, found))
        self._silent = tag in ("script", "style")
        self._is_number = tag == "td"

    def handle_endtag(self, tag: str) -> None:
        """Resume recording text after a script or style."""
        self._silent = self._is_number = False

    def handle_data(self, data: str) -> None:
        """Record visible text."""
        self.text += "" if self._silent else data
        if self._is_number:
            self.numbers.add(data)

    def all(self, tag: str) -> Iterator[dict[str, str | None]]:
        """Return the attributes of all elements with a name."""
        return (found for name, found in self.elements if name == tag)


def page_of(folder: Path) -> Page:
    """Write a report and parse it."""
    write_report(folder / "page.html", read_results(folder))
    return Page(folder / "page.html")


def test_numbers_are_those_of_the_files(tmp_path: Path) -> None:
    """Scores and weights are those in the files."""
    compared = write_comparison(tmp_path, runs=2, metrics=["bleu", "ter"])
    curve = write_tuning(tmp_path / "tuned")
    page = page_of(tmp_path)
    wanted = {f"{weight:.4f}" for weight in (*curve[0]["weights"].values(), 0.25, 0.3, -0.4)}
    for metric in ("bleu", "ter"):
        for system in compared["metrics"][metric]:
            wanted |= {f"{100 * system[key]:.2f}" for key in ("mean", "deviation")}
        second = compared["metrics"][metric][1]
        gain, low, high = (f"{100 * second[key]:+.2f}" for key in ("gain", "low", "high"))
        wanted |= {gain, f"{low} to {high}", shown_p(second["p_bootstrap"])}
    assert wanted <= page.numbers


def test_benefits_of_scores_are_said(tmp_path: Path) -> None:
    """The page says of each score that is ln p of a model whether it helps."""
    write_tuning(tmp_path / "tuned")
    record = json.loads((tmp_path / "tuned/result.json").read_text())
    benefit = {"name": "NeuralLM0", "weight": -0.1, "gain": 0.001, "low": -0.002, "high": 0.004}
    write_json(tmp_path / "tuned/result.json", record | {"benefits": [benefit]})
    wanted = "NeuralLM0 is not shown to help: +0.10 bleu (95 % interval -0.20 to +0.40)"
    assert wanted in page_of(tmp_path).text
    write_json(tmp_path / "tuned/result.json", record | {"benefits": [benefit | {"weight": 0.0}]})
    assert "its weight is 0, so the search does not use it" in page_of(tmp_path).text
    second = {"score": 0.3, "start_score": 0.3, "weights": {"NeuralLM0": [0.1], "NMT0": [0.0]}}
    of_second = benefit | {"name": "NMT0", "weight": 0.0}
    both = {"benefits": [benefit | {"weight": 0.0}, of_second], "rescoring": second}
    both["weights"] = record["weights"] | {"NeuralLM0": [0.0]}
    write_json(tmp_path / "tuned/result.json", record | both)
    text = page_of(tmp_path).text
    assert text.count("so the search does not use it") == 1
    assert text.count("so rescoring does not use it") == 1


def test_settings_of_a_tuning_are_said(tmp_path: Path) -> None:
    """The page says with which settings weights were tuned, those of the search among them."""
    write_tuning(tmp_path / "tuned")
    path = tmp_path / "tuned/result.json"
    settings = {"optimizer": "mert", "sections": {"search-algorithm": "1"}, "freeze": []}
    write_json(path, json.loads(path.read_text()) | {"provenance": {"settings": settings}})
    said = re.sub(r"\s+", " ", page_of(tmp_path).text)
    assert "Settings: optimizer mert, sections search-algorithm 1." in said


def test_a_score_of_zero_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A best score of 0 has a point in the figure, like every other score."""
    canvas = Figure()
    monkeypatch.setattr(figures, "svg_image", lambda draw, *_: draw(canvas))
    scores = [Optimized(score) for score in (0.0, 0.25, None)]
    curve = tuple(TunedRound(1, {}, 0.0, 0.0, 1.0, 5, 5, each) for each in scores)
    figures.tuning_figure("toy", {"run": TuningRecord(objective="bleu", curve=curve, weights={})})
    _, best = canvas.axes[0].lines
    assert list(best.get_ydata()) == [0.0, 25.0]


def test_texts_are_texts(tmp_path: Path) -> None:
    """Markup in names is shown as text; the page has no scripts."""
    write_comparison(tmp_path)
    page = page_of(tmp_path)
    assert "a <b>system</b>" in page.text
    assert not [*page.all("script")]
    assert not [*page.all("b")]
    assert not any(name.startswith("on") for _, found in page.elements for name in found)


def test_nothing_is_loaded_from_anywhere(tmp_path: Path) -> None:
    """The page has only internal links, and a policy that forbids other addresses."""
    write_comparison(tmp_path)
    page = page_of(tmp_path)
    for _, found in page.elements:
        assert (found.get("src") or "data:image/svg+xml;").startswith("data:image/svg+xml;")
        assert (found.get("href") or "#").startswith("#")
    policies = [found for found in page.all("meta") if "http-equiv" in found]
    assert policies[0]["content"] is not None
    assert policies[0]["content"].startswith("default-src 'none'")


def test_links_and_figures_for_everybody(tmp_path: Path) -> None:
    """Links have targets, figures have names, headers have scopes, and ids are unique."""
    write_comparison(tmp_path, runs=2)
    write_tuning(tmp_path / "tuned")
    page = page_of(tmp_path)
    ids = [found["id"] for _, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))
    links = {found["href"] for found in page.all("a")}
    assert links <= {f"#{each}" for each in ids} and len(links) > 3
    pictures = [*page.all("img")]
    assert len(pictures) == len([*page.all("figure")]) >= 1
    assert all(found["alt"] for found in pictures)
    assert all(found.get("scope") in ("row", "col") for found in page.all("th"))
    tables = [found for found in page.all("div") if found.get("role") == "region"]
    assert all(found["tabindex"] == "0" and found["aria-label"] for found in tables)


def test_a_run_that_goes_on(tmp_path: Path) -> None:
    """The results of an unfinished run are shown as unfinished."""
    write_tuning(tmp_path / "tuned", rounds=2, finished=False)
    work = tmp_path / "model.training"
    write_model(work)
    TrainingRecord().write(work / "result.json")
    with (work / "curves.jsonl").open("a") as stream:
        stream.write('{"updates": 12')
    page = page_of(tmp_path)
    said = re.sub(r"\s+", " ", page.text)
    assert "Not finished." in said
    assert "The tuning tuned is not finished: 2 rounds done." in said
    assert "The training of model is not finished." in said
    assert "or, if tuning is not finished, in the last round" in said
    # the weights of the second round
    assert {"0.1667", "0.3000"} <= page.numbers


def test_a_tuning_before_its_first_round(tmp_path: Path) -> None:
    """A tuning before its first round has no figure."""
    write_tuning(tmp_path / "tuned", rounds=0, finished=False)
    page = page_of(tmp_path)
    assert "0 rounds done" in page.text
    assert not [*page.all("figure")]


def test_damaged_files_are_named(tmp_path: Path) -> None:
    """Damaged files are named, and the rest of the folder is shown."""
    write_tuning(tmp_path / "good")
    write_tuning(tmp_path / "bad")
    (tmp_path / "bad" / "result.json").write_text('{"kind": "tune", "version": 1}\n')
    write_model(tmp_path / "model")
    (tmp_path / "model" / "curves.jsonl").write_text("[]\n")
    results = read_results(tmp_path)
    assert [*results.tunings] == ["good"]
    assert [note.partition(": not a record of phrasescore")[0] for note in results.notes] == [
        str(tmp_path / "model" / "curves.jsonl"), str(tmp_path / "bad" / "result.json"),
    ]  # fmt: skip


def test_runs_with_several_seeds(tmp_path: Path) -> None:
    """Several seeds share a figure with one line each, and a table with their weights."""
    for seed, rounds in ((2, 3), (10, 2)):
        write_tuning(tmp_path / "tuned" / f"seed{seed}", rounds)
    record = TuningRecord(objective="bleu", weights={}, seeds=[])
    record.write(tmp_path / "tuned" / "result.json")
    for seed in (1, 2):
        write_model(tmp_path / "rnn" / f"seed{seed}")
    results = read_results(tmp_path)
    assert [*results.tunings["tuned"]] == ["seed2", "seed10"]
    assert results.holds == "1 model, 1 tuned system"
    alone = read_results(tmp_path / "tuned")
    assert [*alone.tunings["tuned"]] == ["seed2", "seed10"]
    assert alone.holds == "1 tuned system"
    page = page_of(tmp_path)
    assert len([*page.all("figure")]) == 2
    assert "seed10" in page.text


def test_names_that_are_no_unicode(tmp_path: Path) -> None:
    """File names may be any bytes; control characters are not drawn in pictures."""
    folder = tmp_path / "caf\udce9 \x01"
    write_tuning(folder)
    write_report(tmp_path / "page.html", read_results(tmp_path))
    text = (tmp_path / "page.html").read_bytes().decode("utf-8")
    assert "caf\\udce9" in text


def test_aligners_of_a_system(tmp_path: Path) -> None:
    """The page names the word aligners of a system, with their seed and version."""
    aligners = {"fast_align": {"sil-thot": "3.5.3"}, "eflomal": {"sil-thot": "3.5.3", "seed": 7}}
    (tmp_path / "system").mkdir()
    BuildRecord({}, {"aligners": aligners}).write(tmp_path / "system" / "result.json")
    named = "aligners eflomal seed 7, sil-thot 3.5.3, fast_align sil-thot 3.5.3"
    assert named in page_of(tmp_path).text


@pytest.mark.parametrize(
    ("metric", "is_dev", "said"),
    [
        ("bleu", False, "BLEU times 100, higher is better"),
        ("ter", False, "TER times 100, lower is better"),
        ("bleu", True, "every system looks better than it is"),
    ],
)
def test_the_direction_of_a_score(metric: MetricName, is_dev: bool, said: str) -> None:
    """The note below a table says which direction is better, and warns of the dev set."""
    systems = (ComparedSystem("A", (0.3,), 0.3, None),)
    assert said in figures.about_scores(ScoreSet("text", metric, systems, 100, is_dev=is_dev))
