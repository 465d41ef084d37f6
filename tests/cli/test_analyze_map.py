"""``phrasescore analyze map`` as a user runs it, and its page in a browser."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Phrasescore
from tests.support.browser import Pages
from tests.support.random_models import save_random_model

HOSTILE = [b"<script>alert(1)</script>", b"</script><img/src=x/onerror=alert(2)>", b"caf\xe9\xff"]
WORDS = [b"%s%d" % (kind, number) for kind in (b"red", b"blue", b"green") for number in range(8)]
SOURCES = [b"%s %s w%d" % (a, b, n % 4) for n, a in enumerate(WORDS) for b in WORDS[n % 3 :: 6]]
SOURCES += [b"%s red0 w1" % word for word in HOSTILE] + [b"na\xc3\xafve &apos;s w2"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models and a table of about a hundred phrases."""
    pytest.importorskip("bokeh")
    pytest.importorskip("sklearn")
    folder = tmp_path_factory.mktemp("map")
    words = {word for source in SOURCES for word in source.split()}
    save_random_model(folder / "model", words, words)
    save_random_model(folder / "lm", words, words, kind="feed-forward-lm")
    save_random_model(folder / "search", words, words, kind="search")
    lines = b"".join(b"%s ||| x ||| 1\n" % each for each in SOURCES)
    (folder / "table.gz").write_bytes(gzip.compress(lines))
    (folder / "small").write_bytes(b"red0 red1 w0 w1 ||| x ||| 1\n")
    return folder


@pytest.fixture(scope="module")
def page(data: Path, start_phrasescore: Any) -> Path:
    """A map of all the phrases."""
    done = start_phrasescore(
        *(data, "analyze", "map", "--model", "model", "table.gz", "-o", "map.html"),
        *("--min-words", "3", "--threads", "1"),
    ).wait()
    assert done.status == 0, done.errors
    many = len(SOURCES)
    assert f"map.html: {many} phrases of {many}, ".encode() in done.errors
    assert done.output == b""
    return data / "map.html"


def ranges(opened: Any) -> list[float]:
    """What part of the map is in view: left, right, low, high."""
    found = opened.evaluate(
        "() => { const p = Bokeh.documents[0].get_model_by_name('plot');"
        " return [p.x_range.start, p.x_range.end, p.y_range.start, p.y_range.end]; }"
    )
    return [float(value) for value in found]


def ready(pages: Pages, page: Path, **how: Any) -> Any:
    """Open the map and wait until it is drawn."""
    opened = pages.open(page, **how)
    opened.wait_for_selector("html[data-ready=map]")
    return opened


@pytest.mark.browser
def test_search_lists_marks_and_goes_there(page: Path, pages: Pages) -> None:
    """What is found is listed, ringed and in view; accents and case do not matter."""
    opened = ready(pages, page)
    whole = ranges(opened)
    search = opened.get_by_label(f"Search among {len(SOURCES)} phrases")
    search.fill("NAIVE 's")
    results = opened.get_by_role("list", name="Search results").get_by_role("button")
    assert results.all_inner_texts() == ["naïve 's w2"]
    assert opened.get_by_role("status").inner_text() == "1 found"
    left, right, low, high = ranges(opened)
    assert right - left < (whole[1] - whole[0]) / 3
    x, y = opened.evaluate(
        "() => { const d = Bokeh.documents[0].get_model_by_name('found').data; "
        "return [d.x[0], d.y[0]]; }"
    )
    assert left < x < right
    assert low < y < high
    search.fill("w2")
    expected = [text for text in SOURCES if text.endswith(b"w2")]
    assert results.count() == len(expected)
    search.fill("nowhere")
    assert opened.get_by_role("status").inner_text() == "Nothing found"
    assert results.count() == 0
    opened.get_by_role("button", name="Show all").click()
    assert search.input_value() == ""
    assert ranges(opened) == pytest.approx(whole)


@pytest.mark.browser
def test_a_phrase_of_markup_is_text(page: Path, pages: Pages) -> None:
    """In the list, in the hover and as cluster's words; nothing of it runs."""
    opened = ready(pages, page)
    opened.on("dialog", lambda dialog: pytest.fail(dialog.message))
    for word in HOSTILE[:2]:
        text = f"{word.decode()} red0 w1"
        opened.locator("#search").fill(word.decode())
        result = opened.locator("#results button")
        assert result.all_inner_texts() == [text]
        result.click()
        # the point is in the middle of the plot, which is at the bottom of its box
        box = opened.locator("#map").bounding_box()
        width, height = opened.evaluate(
            "() => { const p = Bokeh.documents[0].get_model_by_name('plot');"
            " return [p.inner_width, p.inner_height]; }"
        )
        opened.mouse.move(
            box["x"] + box["width"] - width / 2, box["y"] + box["height"] - height / 2
        )
        tip = opened.locator(".tip")
        tip.first.wait_for()
        assert text in tip.all_inner_texts()
        opened.mouse.move(0, 0)
    opened.locator("#search").fill("caf")
    assert opened.locator("#results button").inner_text() == r"caf\xe9\xff red0 w1"
    assert opened.locator("img").count() == 0


@pytest.mark.browser
def test_zoom_to_a_cluster(page: Path, pages: Pages) -> None:
    """Each cluster of the list is a place: going there shows its points and their texts."""
    opened = ready(pages, page)
    whole = ranges(opened)
    clusters = opened.get_by_role("region", name="Clusters").get_by_role("button")
    assert clusters.count() > 1
    seen = set()
    for number in range(clusters.count()):
        clusters.nth(number).click()
        here = ranges(opened)
        assert here[1] - here[0] < whole[1] - whole[0]
        left, right, low, high = map(float, clusters.nth(number).get_attribute("data-box").split())
        assert here[0] < left < right < here[1]
        assert here[2] < low < high < here[3]
        seen.add(tuple(here))
        assert opened.evaluate(
            "() => Bokeh.documents[0].get_model_by_name('written').data.text.length"
        )
    assert len(seen) == clusters.count()


@pytest.mark.browser
def test_the_keyboard_is_enough(page: Path, pages: Pages) -> None:
    """From the search into its results and through them, and back."""
    opened = ready(pages, page)
    opened.locator("#search").focus()
    opened.keyboard.type("red1 ")
    focused = "document.activeElement.textContent"
    listed = opened.locator("#results button").all_inner_texts()
    assert len(listed) > 2
    opened.keyboard.press("ArrowDown")
    assert opened.evaluate(focused) == listed[0]
    opened.keyboard.press("ArrowDown")
    opened.keyboard.press("Enter")
    assert opened.evaluate(focused) == listed[1]
    assert opened.get_by_role("status").inner_text() == f"Shown: {listed[1]}"
    opened.keyboard.press("ArrowUp")
    opened.keyboard.press("ArrowUp")
    assert opened.evaluate("document.activeElement.id") == "search"


@pytest.mark.browser
def test_light_dark_and_narrow(page: Path, pages: Pages) -> None:
    """The map has the page's colours; a phone needs no sideways scrolling."""
    inks = set()
    for width, scheme in ((1280, "light"), (1280, "dark"), (390, "dark")):
        opened = ready(pages, page, width=width, scheme=scheme)
        assert opened.evaluate("document.documentElement.scrollWidth") == width
        inks.add(
            opened.evaluate(
                "() => Bokeh.documents[0].get_model_by_name('texts').glyph.text_color.value"
            )
        )
        box = opened.locator("#map canvas").first.bounding_box()
        assert box["width"] > 300
        assert box["height"] > 250
    assert len(inks) == 2


@pytest.mark.browser
def test_without_scripts_there_are_the_clusters(page: Path, pages: Pages) -> None:
    """Their words and examples; no control that does nothing."""
    opened = pages.open(page, scripts=False)
    assert opened.locator("#clusters li").count() > 1
    assert opened.locator("#clusters .examples").first.is_visible()
    assert not opened.locator("#search").is_visible()
    assert not opened.locator("#map").is_visible()


def test_a_map_of_words_in_a_picture(data: Path, phrasescore: Phrasescore, tmp_path: Path) -> None:
    """As SVG with letters as letters, the same bytes again; a table says of which words."""
    made = "analyze", "map", "--words", "--threads", "1", "--phrases", "20"
    for name in ("one.svg", "two.svg"):
        done = phrasescore(*made, "--model", data / "model", "-o", name)
        assert done.returncode == 0, done.stderr
        # w0 to w3, &apos;s and naïve, too
        assert f"{name}: 20 words of 33".encode() in done.stderr
    one = (tmp_path / "one.svg").read_text()
    assert one == (tmp_path / "two.svg").read_text()
    written = re.findall(r">([^<>\n]+)</text>", one)
    assert "Map of words (20)" in written
    assert {"blue0", "blue1"} & set(written)
    done = phrasescore(*made, "--model", data / "lm", data / "table.gz", "-o", "lm.png")
    assert done.returncode == 3
    assert (
        b"table.gz: the target side of this table has no word that the model knows" in done.stderr
    )


@pytest.mark.parametrize(
    ("arguments", "message", "status"),
    [
        (["table.gz", "-o", "map.gif"], "a map's format goes by its name", 2),
        (["table.gz", "-o", "-"], "a map's format goes by its name", 2),
        (["-o", "m.html"], "a map of phrases needs a phrase table", 2),
        (["small", "-o", "m.html"], "at least 10 points, and here 1 point", 2),
        (["table.gz", "-o", "m.html", "--min-words", "9"], "no source phrase of at least 9", 3),
        (["table.gz", "-o", "m.html", "--side", "source"], "Add --words", 2),
        (["table.gz", "-o", "m.html", "--model", "search"], "Add --words for its word", 4),
        (["table.gz", "-o", "m.html", "--phrases", "3"], "is not in the range", 2),
        (["table.gz", "-o", "table.gz"], "would replace what PHRASE-TABLE reads", 2),
    ],
)
def test_wrong_calls(
    arguments: list[str],
    message: str,
    status: int,
    data: Path,
    phrasescore: Phrasescore,
    tmp_path: Path,
) -> None:
    """Each gets a sentence, and there is no map."""
    for each in data.iterdir():
        if not each.name.endswith(".html"):
            (tmp_path / each.name).symlink_to(each)
    done = phrasescore("analyze", "map", "--model", "model", *arguments)
    assert done.returncode == status, done.stderr
    assert message in done.stderr.decode()
    assert not (tmp_path / "m.html").exists()
