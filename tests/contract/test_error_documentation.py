"""docs/errors.md agrees with the code."""

from __future__ import annotations

import re

from phrasescore import errors
from tests.conftest import PROJECT

TEXT = (PROJECT / "docs" / "errors.md").read_text("utf-8")


def test_exit_codes() -> None:
    """Every class of errors is listed under its exit code."""
    rows = dict(re.findall(r"^\| (\d+) \| ?(.*) \|.*\|$", TEXT, re.MULTILINE))
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    for kind in kinds:
        if issubclass(kind, errors.PhrasescoreError):
            row = re.search(rf"^\| {kind.exit_code} \|.*\b{kind.__name__}\b", TEXT, re.MULTILINE)
            assert row, kind
    assert {"0", "70", "130", "141"} < set(rows)
