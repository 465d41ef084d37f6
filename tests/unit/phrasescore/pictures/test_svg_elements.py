"""Figures among others on a page: nothing of one reaches into another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from phrasescore.pictures.figure_files import svg_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(canvas: Figure) -> None:
    """Lines with marks, bars that are clipped, and names that are hostile."""
    axes = canvas.add_subplot()
    axes.plot([1, 2], [3, 4], marker="o", color="#1b1f23", label="a <b>&</b> \"'")
    axes.plot([1, 2], [4, 4], color="#d55e00", label="\u732b")
    axes.legend()


def test_ids_differ_and_lead_somewhere() -> None:
    """Each begins with its salt; what is named is there; nothing else has an id."""
    figures = [svg_text(draw, 4, 3, salt=salt) for salt in ("one", "two")]
    seen: set[str] = set()
    for figure, salt in zip(figures, ("one", "two"), strict=True):
        ids = re.findall(r' id="([^"]*)"', figure)
        assert ids and all(each.startswith(f"{salt}-") for each in ids)
        named = {*re.findall(r'href="#([^"]*)"', figure), *re.findall(r"url\(#([^)]*)\)", figure)}
        assert named == set(ids)
        assert not seen & named
        seen |= named
    assert figures[0] == svg_text(draw, 4, 3, salt="one")


def test_it_is_an_element_without_a_world_of_its_own() -> None:
    """No style, metadata, address or font; the colours of the page, those of data too."""
    text = svg_text(draw, 4, 3, salt="x")
    root = ElementTree.fromstring(text)
    assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
        "svg", "g", "defs", "path", "use", "text", "clipPath", "rect",
    }  # fmt: skip
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "font-family" not in text and "<?xml" not in text
    assert "var(--ink, #1b1f23)" in text and "var(--vermilion, #d55e00)" in text
    assert "a &lt;b&gt;&amp;&lt;/b&gt;" in text and "\u732b" in text
