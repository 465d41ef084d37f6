"""``phrasescore report`` as a user runs it, and its page in a browser."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.conftest import Phrasescore
from tests.support.browser import Pages
from tests.support.result_folders import write_comparison, write_model, write_scoring, write_tuning
from tuning.report.report_page import read_results, write_report


def write_results(folder: Path) -> Path:
    """Write a results folder with records of every kind."""
    write_comparison(folder, count=120, runs=2)
    write_tuning(folder / "tuned")
    write_model(folder / "model")
    write_scoring(folder, [0.5, 0.125, 0.25])
    return folder


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Return a results folder."""
    return write_results(tmp_path / "results")


def test_a_page_among_the_results_and_again(
    phrasescore: Phrasescore, results: Path, tmp_path: Path
) -> None:
    """The page may be written into the results folder; a second report is equal."""
    call = ("report", results, "-o", results / "report.html")
    done = phrasescore(*call).well()
    said = done.stdout.decode()
    assert "1 model, 1 scored table, 1 tuned system, 1 comparison" in said
    assert not done.stderr
    first = (results / "report.html").read_bytes()
    phrasescore(*call).well()
    assert (results / "report.html").read_bytes() == first
    piped = phrasescore(*call[:3], "-")
    assert piped.stdout == first
    phrasescore("report", results, "-o", "page.html").well()
    assert (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (("empty", "-o", "page.html"), 3, "empty: the folder is empty. Name a folder"),
        (("other", "-o", "page.html"), 3, "other: the folder has no results of phrasescore"),
        (("results", "-o", "results/comparison.json"), 2, "End the name in .html"),
        (("results/comparison.json", "-o", "page.html"), 3, "a file, where a folder was expected"),
    ],
)
def test_wrong_calls(
    phrasescore: Phrasescore,
    results: Path,
    tmp_path: Path,
    arguments: tuple[str, ...],
    status: int,
    sentence: str,
) -> None:
    """Each wrong call prints one sentence, and writes or replaces nothing."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("a\n")
    before = (results / "comparison.json").read_bytes()
    done = phrasescore("report", *arguments).refused(status, sentence)
    assert done.stderr.count(b"\n") == 1
    assert not (tmp_path / "page.html").exists()
    assert (results / "comparison.json").read_bytes() == before


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of all results, next to the results."""
    folder = tmp_path_factory.mktemp("page")
    results = write_results(folder / "results")
    write_report(folder / "page.html", read_results(results))
    return folder / "page.html"


@pytest.mark.browser
def test_the_page_in_a_browser(page: Path, pages: Pages) -> None:
    """Numbers equal those in the files, and phones need no side scrolling."""
    content = json.loads((page.parent / "results" / "comparison.json").read_bytes())
    opened = pages.open(page)
    texts = opened.locator("#scores tbody tr").nth(1).locator("td").all_inner_texts()
    second = content["metrics"]["bleu"][1]
    assert texts[1:3] == [f"{100 * second[key]:.2f}" for key in ("mean", "deviation")]
    gain, low, high = (f"{100 * second[key]:+.2f}" for key in ("gain", "low", "high"))
    assert texts[3:5] == [gain, f"{low} to {high}"]
    for width, scheme in ((390, "light"), (390, "dark"), (1280, "dark")):
        narrow = pages.open(page, width=width, scheme=scheme)
        assert narrow.evaluate("document.documentElement.scrollWidth") == width
        dark = narrow.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (dark == "rgb(255, 255, 255)") == (scheme == "light")


@pytest.mark.parametrize("file", ["comparison.json", "result.json"])
def test_a_link_in_the_place_of_a_result(
    phrasescore: Phrasescore, tmp_path: Path, file: str
) -> None:
    """A result is not read through a link to another place, and devices or pipes never block."""
    folder = tmp_path / "results"
    write_tuning(folder / "tuned")
    write_comparison(folder, count=12)
    path = next(folder.rglob(file))
    elsewhere = path.rename(tmp_path / file)
    for target in (elsewhere, Path("/dev/zero"), None):
        path.unlink(missing_ok=True)
        if target is None:
            os.mkfifo(path)
        else:
            path.symlink_to(target)
        done = phrasescore("report", folder, "-o", "page.html").well()
        if file == "result.json":
            assert b"result.json" in done.stderr
        text = (tmp_path / "page.html").read_text("utf-8")
        assert ("no new candidates" in text) == (file != "result.json")
        assert ("a &lt;b&gt;system" in text) == (file == "result.json")
