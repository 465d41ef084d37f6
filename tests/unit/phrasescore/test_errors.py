"""The exception classes: texts, places, exit statuses."""

from __future__ import annotations

import pytest

from phrasescore import errors
from phrasescore.errors import InputError, MissingDependencyError, PhrasescoreError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (InputError("bad score x"), "bad score x."),
        (InputError("bad score x", path="t.gz", line=3), "t.gz:3: bad score x."),
        (InputError("no such file", path="t.gz"), "t.gz: no such file."),
        (InputError("bad", path="-", line=1), "standard input:1: bad."),
        (InputError("bad", path="t", remedy="sort it"), "t: bad. Sort it."),
        (InputError("a \x1b[2J b", path="\x1b]0;x\n"), r"\x1b]0;x\n: a \x1b[2J b."),
        (InputError("bad \ud800", path="\ud800\udce9"), r"\ud800\xe9: bad \ud800."),
        (InputError("bad", path="x" * 400), f"{'x' * 150}...{'x' * 150}: bad."),
    ],
)
def test_the_text_names_place_problem_and_remedy(error: PhrasescoreError, text: str) -> None:
    """A message has FILE:LINE, the problem and the remedy."""
    assert str(error) == text


def test_a_place_is_filled_in_once() -> None:
    """The layer that knows the file adds it; a known place is kept."""
    error = InputError("bad").at("inner", 7)
    assert str(error.at("outer", 1)) == "inner:7: bad."


def test_a_missing_extra_is_named() -> None:
    """The error has the command that installs the missing extra."""
    error = MissingDependencyError.extra("bokeh", "report")
    assert "pip install 'phrasescore[report]'" in str(error)


def test_exit_statuses_tell_kinds_apart() -> None:
    """Each branch of the classes has a different nonzero status."""
    branches = {
        kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and PhrasescoreError in kind.__mro__[:2]
    }
    assert branches == {1, 2, 3, 4, 5, 6, 8, 9, 130}
