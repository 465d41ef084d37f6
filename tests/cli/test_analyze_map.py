"""``phrasescore analyze map`` as a user runs it, and its page in a browser."""

from __future__ import annotations

import gzip
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
    """Return a folder with models and a table of about a hundred phrases."""
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
    """Make a map of all phrases."""
    done = start_phrasescore(
        *(data, "analyze", "map", "--model", "model", "table.gz", "-o", "map.html"),
        *("--min-words", "3", "--threads", "1"),
    ).wait()
    assert done.status == 0, done.errors
    many = len(SOURCES)
    assert f"map.html: {many} of {many} phrases, ".encode() in done.errors
    assert done.output == b""
    return data / "map.html"


@pytest.mark.browser
def test_search_and_hover(page: Path, pages: Pages) -> None:
    """Found phrases are marked; phrases with markup are shown as text, no script in them runs."""
    opened = pages.open(page)
    opened.on("dialog", lambda dialog: pytest.fail(dialog.message))
    search = opened.locator("input")
    search.wait_for()
    policy = opened.locator("meta[http-equiv='Content-Security-Policy']").get_attribute("content")
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    for wanted, count in ((HOSTILE[0].decode(), 1), ("W2", None), ("nowhere", 0), ("", 0)):
        search.fill(wanted)
        marked, texts = opened.evaluate(
            "() => { const p = Bokeh.documents[0].roots()[0].children[1].renderers[0].data_source;"
            " return [p.selected.indices.map((row) => p.data.text[row]), [...p.data.text]]; }"
        )
        expected = [text for text in texts if wanted and wanted.lower() in text.lower()]
        assert marked == expected
        assert count is None or len(marked) == count
    assert r"caf\xe9\xff red0 w1" in texts
    assert "naïve 's w2" in texts
    assert opened.locator("img").count() == 0


def test_a_map_of_words(data: Path, phrasescore: Phrasescore, tmp_path: Path) -> None:
    """The map has the most frequent words, including w0 to w3, &apos;s and naïve."""
    call = "analyze", "map", "--words", "--threads", "1", "--phrases", "20", "-o", "words.html"
    done = phrasescore(*call, "--model", data / "model").well()
    assert b"words.html: The 20 most frequent of 33 words" in done.stderr
    assert (tmp_path / "words.html").exists()


@pytest.mark.parametrize(
    ("arguments", "message", "status"),
    [
        (["table.gz", "-o", "map.gif"], "a map is an HTML page. End its name", 2),
        (["-o", "m.html"], "exactly one of PHRASE-TABLE and --words", 2),
        (["small", "-o", "m.html"], "at least 10 points, but this map would have 1 point", 2),
        (["table.gz", "-o", "m.html", "--min-words", "9"], "Lower --min-words", 3),
        (["table.gz", "-o", "m.html", "--side", "source"], "Add --words", 2),
        (["table.gz", "-o", "m.html", "--model", "search"], "Add --words for its word", 4),
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
    """Each wrong call prints one sentence and writes no map."""
    for each in data.iterdir():
        if not each.name.endswith(".html"):
            (tmp_path / each.name).symlink_to(each)
    phrasescore("analyze", "map", "--model", "model", *arguments).refused(status, message)
    assert not (tmp_path / "m.html").exists()
