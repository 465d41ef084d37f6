"""Options that several commands share."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from phrasescore.commands.declarations import command
from phrasescore.commands.options import Result

# a path in an unknown encoding, as Python holds it
_RESULT = {"path": b"caf\xe9.ini".decode("utf-8", "surrogateescape"), "lines": 2, "à": [1, 2.5]}


@command("example", Result)
def example(options: Result) -> None:
    """A command with a result."""
    if not options.as_json:
        click.echo("text")
    options.show(_RESULT)


@pytest.mark.parametrize("show", [False, True])
@pytest.mark.parametrize("write", [False, True])
def test_json_is_printed_written_or_both(tmp_path: Path, show: bool, write: bool) -> None:
    """The two say the same; a path that is no UTF-8 comes back as it was."""
    file = tmp_path / "result.json"
    arguments = ["--json"] * show + ["--json-file", str(file)] * write
    commands = click.Group("phrasescore", {"example": example})
    done = CliRunner().invoke(commands, ["example", *arguments], catch_exceptions=False)
    expected = {"kind": "example", "version": 1, **_RESULT}
    if show:
        assert json.loads(done.stdout_bytes) == expected
        assert list(json.loads(done.stdout_bytes)) == list(expected)
    else:
        assert done.stdout == "text\n"
    assert file.exists() == write
    if write:
        assert json.loads(file.read_bytes()) == expected
