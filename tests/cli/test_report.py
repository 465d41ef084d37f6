"""``phrasescore report`` as a user runs it, and its page in a browser."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Phrasescore
from tests.support.browser import Pages
from tests.support.result_folders import (
    HOSTILE,
    write_comparison,
    write_model,
    write_scoring,
    write_tuning,
)
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
    call = ("report", results, "-o", results / "report.html", "--source", results / "test.src")
    done = phrasescore(*call)
    assert done.returncode == 0, done.stderr.decode()
    said = done.stdout.decode()
    assert "1 model, 1 scored table, 1 tuned system, 1 comparison" in said
    assert not done.stderr
    first = (results / "report.html").read_bytes()
    assert phrasescore(*call).returncode == 0
    assert (results / "report.html").read_bytes() == first
    piped = phrasescore(*call[:3], "-", *call[4:])
    assert piped.stdout == first
    outside = phrasescore("report", results, "-o", "page.html")
    assert outside.returncode == 0, outside.stderr.decode()
    assert (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (("empty", "-o", "page.html"), 3, "empty: the folder is empty. Name a folder"),
        (("other", "-o", "page.html"), 3, "other: the folder has no results of phrasescore"),
        (("none", "-o", "page.html"), 3, "none: no such"),
        (("results", "-o", "results/comparison.json"), 2, "End the name in .html"),
        (("results", "-o", "page.html", "--source", "none"), 3, "none: no such file"),
        (("results", "-o", "results/test.src", "--source", "results/test.src"), 2, "test.src"),
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
    done = phrasescore("report", *arguments)
    said = done.stderr.decode()
    assert done.returncode == status, said
    assert said.count("\n") == 1 and sentence in said
    assert not (tmp_path / "page.html").exists()
    assert (results / "comparison.json").read_bytes() == before


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of all results, next to the results."""
    folder = tmp_path_factory.mktemp("page")
    results = write_results(folder / "results")
    write_report(folder / "page.html", read_results(results, (results / "test.src",)))
    return folder / "page.html"


def shown(page: Any) -> list[float]:
    """Return the gains of the visible rows, in order."""
    rows = page.locator("#sentences li[data-gain]:visible")
    found = rows.evaluate_all("rows => rows.map(row => Number(row.dataset.gain))")
    return [float(gain) for gain in found]


@pytest.mark.browser
def test_the_page_in_a_browser(page: Path, pages: Pages) -> None:
    """Numbers equal those in the files, hostile texts are inert, phones need no side scrolling."""
    content = json.loads((page.parent / "results" / "comparison.json").read_bytes())
    opened = pages.open(page)
    cells = opened.locator("#scores tbody tr").nth(1).locator("td[data-value]")
    values = [float(value) for value in cells.evaluate_all("all => all.map(x => x.dataset.value)")]
    second = content["metrics"]["bleu"][1]
    assert values[1:6] == [second[key] for key in ("mean", "deviation", "gain", "low", "high")]
    texts = cells.all_inner_texts()
    assert texts[1] == f"{100 * second['mean']:.2f}"
    assert texts[3] == f"{100 * second['gain']:+.2f}"
    opened.get_by_label("Search").fill("script")
    row = opened.locator("#sentences li[data-gain]:visible")
    assert row.count() == 1
    assert HOSTILE in row.inner_text()
    assert opened.evaluate("document.querySelectorAll('script').length") == 1
    for width, scheme in ((390, "light"), (390, "dark"), (1280, "dark")):
        narrow = pages.open(page, width=width, scheme=scheme)
        assert narrow.evaluate("document.documentElement.scrollWidth") == width
        dark = narrow.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (dark == "rgb(255, 255, 255)") == (scheme == "light")


@pytest.mark.browser
@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_the_first_screen_is_the_verdict(page: Path, pages: Pages, width: int, height: int) -> None:
    """The first screen has a title, one number and one sentence."""
    content = json.loads((page.parent / "results" / "comparison.json").read_bytes())
    second = content["metrics"]["bleu"][1]
    opened = pages.open(page, width=width, height=height)
    title = "Comparison of a <b>system</b> with baseline on test.ref (comparison.json)"
    assert opened.locator("h1").inner_text() == title
    assert opened.title().startswith(title)
    number = opened.locator(".verdict strong")
    assert number.inner_text() == f"{100 * second['gain']:+.2f}"
    assert float(number.get_attribute("data-value") or "") == second["gain"]
    box = opened.locator(".verdict").bounding_box()
    assert box is not None and box["y"] + box["height"] < height
    said = opened.locator(".verdict").inner_text()
    assert "a <b>system</b>: better than baseline, hardly by chance" in said
    assert f"interval {100 * second['low']:+.2f} to {100 * second['high']:+.2f}" in said


@pytest.mark.browser
def test_the_keyboard_is_enough(page: Path, pages: Pages) -> None:
    """Filter, order, search and the button for more rows work without a mouse."""
    opened = pages.open(page)
    first = shown(opened)
    assert len(first) == 20 and first == sorted(first, reverse=True)
    opened.keyboard.press("Tab")
    assert opened.evaluate("document.activeElement.textContent") == "Skip to the content"
    opened.get_by_label("Systems").focus()
    opened.keyboard.press("Tab")
    opened.keyboard.type("losses")
    assert all(gain < 0 for gain in shown(opened))
    opened.keyboard.press("Tab")
    opened.keyboard.type("greatest loss")
    losses = shown(opened)
    assert losses == sorted(losses) and losses[0] < 0
    opened.keyboard.press("Tab")
    opened.keyboard.type("faux ROUGE")
    found = opened.locator("#sentences li[data-gain]:visible")
    said = found.all_inner_texts()
    assert said and all("faux" in text and "rouge" in text for text in said)
    assert opened.locator("output").inner_text().startswith(f"{len(said)} of ")
    opened.keyboard.press("Control+a")
    opened.keyboard.press("Delete")
    opened.get_by_label("Show").select_option("all")
    more = opened.get_by_role("button", name="more")
    more.press("Enter")
    assert len(shown(opened)) == 40
    # the first new row
    new = opened.locator("#sentences li[data-gain]:visible").nth(20)
    assert new.evaluate("row => row === document.activeElement")


@pytest.mark.browser
def test_without_scripts_all_is_there(page: Path, pages: Pages) -> None:
    """Without scripts, all rows and no controls are shown."""
    opened = pages.open(page, scripts=False)
    assert opened.locator("#sentences li[data-gain]:visible").count() > 40
    assert not opened.get_by_label("Search").is_visible()


def foreign_results(folder: Path, secret: Path) -> None:
    """Write a forged comparison of a file with itself, in a file that is named like results."""
    folder.mkdir()
    content = write_comparison(folder.parent / "made", count=12)
    made = folder.parent / "made"
    texts = [str(secret)]
    perfect = {"runs": [1.0], "mean": 1.0, "deviation": None}
    content.update(references=texts, files={"a": texts, "b": texts})
    gain = {"gain": 0.0, "low": 0.0, "high": 0.0, "p_randomization": 1.0, "p_bootstrap": 1.0}
    content["metrics"]["bleu"] = [{"system": "a", **perfect}, {"system": "b", **perfect, **gain}]
    secret.write_bytes((made / "test.ref").read_bytes())
    (folder / "comparison.json").write_text(json.dumps(content))


@pytest.mark.parametrize("by", ["name", "relative name", "link to the text", "link to the folder"])
def test_a_strangers_results_show_no_file_of_the_user(
    phrasescore: Phrasescore, tmp_path: Path, by: str
) -> None:
    """Whatever the results name or link, only files in RESULTS/ and --data are read."""
    (tmp_path / "home").mkdir()
    secret = tmp_path / "home" / "secret.txt"
    folder = tmp_path / "results"
    foreign_results(folder, secret)
    if by == "relative name":
        path = folder / "comparison.json"
        path.write_text(path.read_text().replace(str(secret), "../home/secret.txt"))
    elif by == "link to the text":
        (folder / "secret.txt").symlink_to(secret)
    elif by == "link to the folder":
        (folder / "home").symlink_to(tmp_path / "home")
    word = secret.read_text("utf-8").split("\n")[3]
    done = phrasescore("report", folder, "-o", "page.html")
    assert done.returncode == 0, done.stderr
    assert word not in (tmp_path / "page.html").read_text("utf-8")
    assert "--data" in done.stderr.decode()
    named = phrasescore("report", folder, "-o", "page.html", "--data", "home")
    assert named.returncode == 0, named.stderr
    assert b"cannot be shown" not in named.stderr


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
        done = phrasescore("report", folder, "-o", "page.html")
        assert done.returncode == 0, done.stderr
        if file == "result.json":
            assert b"result.json" in done.stderr
        text = (tmp_path / "page.html").read_text("utf-8")
        assert ("no new candidates" in text) == (file != "result.json")
        assert ("a &lt;b&gt;system" in text) == (file == "result.json")
