"""docs/errors.md says what the code says."""

from __future__ import annotations

import functools
import re

import pytest

from phrasescore import errors
from tests.conftest import PROJECT

TEXT = (PROJECT / "docs" / "errors.md").read_text("utf-8")
PACKAGES = ("phrasescore", "moses_integration", "tuning")


def test_exit_codes() -> None:
    """Every class of errors is listed under its exit code."""
    rows = dict(re.findall(r"^\| (\d+) \| ?(.*) \|.*\|$", TEXT, re.MULTILINE))
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    for kind in kinds:
        if issubclass(kind, errors.PhrasescoreError):
            row = re.search(rf"^\| {kind.exit_code} \|.*\b{kind.__name__}\b", TEXT, re.MULTILINE)
            assert row, kind
    assert {"0", "70", "130", "141"} < set(rows)


@functools.cache
def messages_in_the_code() -> str:
    """The source text, with strings that are continued on the next line joined."""
    paths = [path for package in PACKAGES for path in (PROJECT / package).rglob("*.py")]
    text = "\n".join(path.read_text("utf-8") for path in paths)
    return re.sub(r'"\s*\n\s*f?"', "", text)


@pytest.mark.parametrize(
    "sentence",
    [
        sentence
        for row in re.findall(r"^\| (`.*?) \|", TEXT, re.MULTILINE)
        for sentence in re.findall(r"`([^`]+)`", row)
    ],
)
def test_sentences(sentence: str) -> None:
    """Every sentence in the tables is one that the code can say, numbers and examples aside."""
    pieces = re.split(r"\d+|'x'|…|is nan|scores?\b|columns?\b|factors?\b", sentence)
    known = messages_in_the_code()
    for piece in pieces:
        assert piece.strip(" ,") in known
