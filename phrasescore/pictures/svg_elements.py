"""SVG that matplotlib wrote, made an element of a page among others."""

from __future__ import annotations

import re
from xml.etree import ElementTree

# as figures of pages should draw them
INK, QUIET, LINE, FAINT = "#1b1f23", "#6e7781", "#d0d7de", "#a8b1bb"
_SVG = "http://www.w3.org/2000/svg"
_LINK = "http://www.w3.org/1999/xlink"
# letters have the page's
_FONT = re.compile(r"font-family: [^;]*;? ?")
# the page has other colours on a dark background; these names are in its style sheet
_OF_THE_PAGE = {
    INK: "--ink",
    "#000000": "--ink",
    QUIET: "--quiet",
    "#888888": "--quiet",
    LINE: "--line",
    "#0072b2": "--blue",
    "#d55e00": "--vermilion",
    "#009e73": "--green",
    "#cc79a7": "--pink",
    "#e69f00": "--orange",
    "#56b4e9": "--sky",
    FAINT: "--faint",
}
_REFERENCE = re.compile(r"url\(#([^)]+)\)")

_COLOUR = re.compile(r"#[0-9a-f]{6}\b")


def in_page(svg: bytes, salt: str) -> str:
    """Return the element alone; ids begin with ``salt``, and those that nothing names are gone.

    Args:
        svg: A file of matplotlib's: nobody else's is safe in a page as it is.
        salt: A word of letters and digits.
    """
    root = ElementTree.fromstring(svg)
    for parent in [*root.iter()]:
        for child in [*parent]:
            # a style in it would be the whole page's
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    named = {name for element in root.iter() for name in _named(element)}
    for element in root.iter():
        _rename(element, named, salt)
    # the page says how large it is; the view box keeps its shape
    root.attrib.pop("width")
    root.attrib.pop("height")
    root.set("aria-hidden", "true")
    root.set("focusable", "false")
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _LINK)
    return ElementTree.tostring(root, encoding="unicode")


def _named(element: ElementTree.Element) -> set[str]:
    """The ids that an element's attributes name."""
    found = {name for value in element.attrib.values() for name in _REFERENCE.findall(value)}
    link = element.get(f"{{{_LINK}}}href", "")
    return found | ({link[1:]} if link.startswith("#") else set())


def _rename(element: ElementTree.Element, named: set[str], salt: str) -> None:
    own = element.attrib.pop("id", None)
    if own in named:
        element.set("id", f"{salt}-{own}")
    for key, value in element.attrib.items():
        value = _COLOUR.sub(_of_the_page, _FONT.sub("", value))
        element.set(key, _REFERENCE.sub(rf"url(#{salt}-\1)", value))
    link = element.attrib.pop(f"{{{_LINK}}}href", None)
    if link is not None:
        # what browsers of today read, without a second namespace
        element.set("href", f"#{salt}-{link[1:]}")


def _of_the_page(colour: re.Match[str]) -> str:
    name = _OF_THE_PAGE.get(colour[0])
    return colour[0] if name is None else f"var({name}, {colour[0]})"
