"""Options that several commands share."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from phrasescore.commands.declarations import Options, argument, command, option
from phrasescore.commands.options import Result
from phrasescore.errors import SettingsError

# a path in an unknown encoding, as Python represents it
_RESULT = {"path": b"caf\xe9.ini".decode("utf-8", "surrogateescape"), "lines": 2, "à": [1, 2.5]}


@command("example", Result)
def example(options: Result) -> None:
    """Return a command with a result."""
    options.show(_RESULT, "text\n")


@pytest.mark.parametrize("show", [False, True])
@pytest.mark.parametrize("write", [False, True])
def test_json_is_printed_written_or_both(tmp_path: Path, show: bool, write: bool) -> None:
    """Printed and written JSON are equal; paths that are not UTF-8 are restored when read."""
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


class Reading(Options):
    """A command with one argument and an input."""

    system: str = argument(click.STRING)
    input: str = option(click.STRING, "The text.", "-i", default="-")


class Drawing(Options):
    """Options that need or exclude each other."""

    source: str = argument(click.STRING)
    samples: int | None = option(click.INT, "How many to draw.", excludes=("beam",))
    beam: int = option(click.INT, "How many to keep.", default=10)
    seed: int | None = option(click.INT, "Of the draw.", needs=("samples", "beam"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--samples", "1", "--seed", "2"], None),
        (["--beam", "10", "--seed", "2"], None),
        (["--seed", "2"], "--seed needs --samples or --beam, which is not given. Add --samples"),
        (["--beam", "10", "--samples", "1"], "--samples and --beam exclude each other. Leave out"),
    ],
)
def test_options_that_need_or_exclude_others(words: list[str], message: str | None) -> None:
    """Only options on the command line count, not defaults; the command does not start."""
    called: list[Drawing] = []
    drawing = command("drawing", Drawing)(called.append)
    if message is None:
        drawing.main(["text", *words], standalone_mode=False)
        assert called[0].beam == 10
        return
    with pytest.raises(SettingsError, match=message):
        drawing.main(["text", *words], standalone_mode=False)
    assert not called


def test_more_arguments_than_the_command_has() -> None:
    """The error of click also names the option for an input, if the command has it."""
    example = command("example", Reading)(lambda options: None)
    done = CliRunner().invoke(example, ["one", "two"])
    assert done.exit_code == 2
    assert "Too many arguments: two (name the input with -i)" in done.stderr
