"""Checks of command-line paths: outputs that would destroy files, and invalid names."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from phrasescore.cli import COMMANDS, cli
from phrasescore.commands.paths import (
    INPUT,
    INPUT_FOLDER,
    OUTPUT,
    OUTPUT_FOLDER,
    PathName,
    Use,
    refuse_replaced_inputs,
    takes_standard_output,
)
from phrasescore.errors import InputError, PhrasescoreError, SettingsError


@click.command()
@click.argument("table", type=INPUT)
@click.option("--source", type=INPUT, multiple=True)
@click.option("--model", type=INPUT_FOLDER)
@click.option("-o", "--output", type=OUTPUT)
@click.option("--report", type=OUTPUT)
@click.option("--instead", type=PathName(Use.WRITE, may_replace="--output"))
@click.option("--edited", type=PathName(Use.WRITE, may_replace="TABLE"))
@click.option("--folder", type=OUTPUT_FOLDER)
@click.option("--json", is_flag=True, callback=takes_standard_output)
@click.option("--hidden-input")
def command(hidden_input: str | None, **_: object) -> None:
    """Take paths of all kinds, and only check the hidden input."""
    if hidden_input is not None:
        refuse_replaced_inputs([("TranslationModel0", hidden_input)])


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a table, links to it, and a model."""
    monkeypatch.chdir(tmp_path)
    Path("table").write_bytes(b"a ||| b ||| 1\n")
    Path("soft").symlink_to("table")
    os.link("table", "hard")
    Path("loop").symlink_to("loop")
    Path("nowhere").symlink_to("missing")
    Path("old").write_bytes(b"earlier")
    for path in map(Path, ("model/deep/weights", "model/weights", "trained/SHA256SUMS")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")


def call(*arguments: str) -> None:
    command.main(list(arguments), "command", standalone_mode=False)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["table", "-o", "table"], "--output would replace an input: TABLE"),
        (["table", "-o", "./table"], "--output would replace an input: TABLE"),
        (["table", "-o", "soft"], "--output would replace an input: TABLE"),
        (["hard", "-o", "table"], "--output would replace an input: TABLE"),
        (["-o", "table", "table"], "--output would replace an input: TABLE"),
        (["table", "--report", "soft"], "--report would replace an input: TABLE"),
        (["-", "--source", "table", "-o", "hard"], "--output would replace an input: --source"),
        (["-", "--model", "model", "-o", "model/weights"], "replace an input: --model"),
        (["-", "--model", "model", "-o", "model/deep/weights"], "replace an input: --model"),
        (["-", "--model", "model", "--folder", "model"], "replace an input: --model"),
        (["-", "--model", "trained", "-o", "trained/new"], "replace an input: --model"),
        (["table", "-o", "new", "--report", "./new"], "--output and --report would write the same"),
        (["table", "-o", "old", "--report", "old"], "--output and --report would write the same"),
        (["table", "-o", "new", "--folder", "new"], "--output and --folder would write the same"),
        (["table", "-o", "new", "--instead", "new"], "--output and --instead would write the same"),
        (["table", "-o", "-", "--report", "-"], "would both go to standard output"),
        (["table", "-o", "-", "--json"], "would both go to standard output"),
        (["-", "--source", "-"], "would both read standard input"),
        (
            ["-", "--source", "old", "--source", "-"],
            "--source and TABLE would both read standard input",
        ),
        (["old", "--source", "-", "--source", "-"], "two values of --source would both read"),
        (["-", "-o", "old", "--hidden-input", "old"], "replace an input: TranslationModel0"),
        (["-", "-o", "model/weights", "--hidden-input", "model"], "an input: TranslationModel0"),
    ],
)
def test_an_output_replaces_nothing_that_is_needed(arguments: list[str], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        call(*arguments)
    assert Path("table").read_bytes() == b"a ||| b ||| 1\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["table", "-o", "old"],
        ["table", "-o", "new", "--report", "newer", "--folder", "a/b", "--model", "model"],
        ["table", "-o", "/dev/null", "--report", "/dev/null"],
        ["table", "--source", "table", "-o", "-"],
        ["-", "-o", "-"],
        ["table", "-o", "-", "--instead", "-"],
        ["table", "-o", "nowhere"],
        ["-", "--model", "model", "-o", "model/new"],
        ["-", "--model", "model", "-o", "model/../old"],
        ["-", "--model", ".", "--folder", "model"],
        ["-", "--model", ".", "-o", "-"],
        ["table", "--edited", "soft"],
    ],
)
def test_what_harms_nothing_is_allowed(arguments: list[str]) -> None:
    before = sorted(Path().iterdir())
    call(*arguments)
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["table", "-o", "model"], "a folder, where a file was expected"),
        (["table", "-o", "."], "a folder, where a file was expected"),
        (["table", "-o", "/"], "a folder, where a file was expected"),
        (["table", "-o", ""], "--output has an empty name"),
        ([""], "TABLE has an empty name"),
        (["table", "-o", "a\nb"], "the name has a control character"),
        (["table", "-o", "no/folder"], "cannot write there"),
        (["table", "-o", "table/x"], "cannot write there"),
        (["table", "-o", "/proc/x"], "cannot write there"),
        (["table", "-o", "loop/x"], "cannot write there"),
        (["table", "-o", "x" * 256], "File name too long"),
        (["table", "--folder", "table"], "a file, where a folder was expected"),
        (["table", "--folder", "table/x"], "cannot write there"),
        (["table", "--folder", "/"], "the root folder cannot be the output"),
        (["table", "--folder", "nowhere"], "a broken symbolic link"),
        (["table", "--folder", "loop"], "a broken symbolic link"),
    ],
)
def test_what_cannot_be_is_found_before_the_work(arguments: list[str], says: str) -> None:
    before = sorted(Path().iterdir())
    with pytest.raises(PhrasescoreError, match=says) as caught:
        call(*arguments)
    assert caught.value.exit_code in (2, 3)
    assert sorted(Path().iterdir()) == before


def test_a_folder_that_was_deleted_under_the_command(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    with pytest.raises(InputError, match="no longer exists"):
        call("table")


def _parameters(group: click.Group, context: click.Context) -> list[tuple[str, click.Parameter]]:
    found = []
    for name in group.list_commands(context):
        sub = group.get_command(context, name)
        assert sub is not None
        if isinstance(sub, click.Group):
            found += _parameters(sub, context)
        found += [(name, param) for param in sub.params]
    return found


def test_every_path_of_every_command_is_checked() -> None:
    """All parameters shown as files or folders have a type that checks them."""
    shown = {"FILE", "FOLDER", "SYSTEM", "NBEST", "MODEL/", "TEXT", "TABLE", "EXPERIMENT.toml"}
    parameters = _parameters(cli, click.Context(cli))
    assert len({name for name, _ in parameters}) > len(COMMANDS)
    for name, param in parameters:
        if (param.metavar or param.human_readable_name) in shown:
            assert isinstance(param.type, PathName), (name, param.name)
