"""Paths of a command line: outputs that would destroy something, and names that cannot be."""

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
    """Take all there is, and do nothing."""
    if hidden_input is not None:
        refuse_replaced_inputs([("TranslationModel0", hidden_input)])


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table, links to it, and a model."""
    monkeypatch.chdir(tmp_path)
    Path("table").write_bytes(b"a ||| b ||| 1\n")
    Path("soft").symlink_to("table")
    os.link("table", "hard")
    Path("loop").symlink_to("loop")
    Path("nowhere").symlink_to("missing")
    Path("model").mkdir()
    Path("model/weights").write_bytes(b"")
    Path("old").write_bytes(b"earlier")


def call(*arguments: str) -> None:
    command.main(list(arguments), "command", standalone_mode=False)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["table", "-o", "table"], "--output would replace what TABLE reads"),
        (["table", "-o", "./table"], "--output would replace what TABLE reads"),
        (["table", "-o", "soft"], "--output would replace what TABLE reads"),
        (["hard", "-o", "table"], "--output would replace what TABLE reads"),
        (["-o", "table", "table"], "--output would replace what TABLE reads"),
        (["table", "--report", "soft"], "--report would replace what TABLE reads"),
        (["-", "--source", "table", "-o", "hard"], "--output would replace what --source reads"),
        (["-", "--model", "model", "-o", "model/weights"], "replace what --model reads from"),
        (["-", "--model", "model", "--folder", "model"], "replace what --model reads from"),
        (["table", "-o", "new", "--report", "./new"], "--output and --report would write the same"),
        (["table", "-o", "old", "--report", "old"], "--output and --report would write the same"),
        (["table", "-o", "new", "--folder", "new"], "--output and --folder would write the same"),
        (["table", "-o", "-", "--report", "-"], "would both go to standard output"),
        (["table", "-o", "-", "--json"], "would both go to standard output"),
        (["-", "--source", "-"], "would both read standard input"),
        (["-", "--source", "old", "--source", "-"], "would both read standard input"),
        (["-", "-o", "old", "--hidden-input", "old"], "replace what TranslationModel0 reads"),
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
        (["table", "-o", "a\nb"], "a control character in a name"),
        (["table", "-o", "no/folder"], "cannot write there"),
        (["table", "-o", "table/x"], "cannot write there"),
        (["table", "-o", "/proc/x"], "cannot write there"),
        (["table", "-o", "loop/x"], "cannot write there"),
        (["table", "-o", "x" * 256], "the path, or a name in it, is too long"),
        (["x/" * 2100], "the path, or a name in it, is too long"),
        (["table", "--folder", "table"], "a file, where a folder was expected"),
        (["table", "--folder", "table/x"], "cannot write there"),
        (["table", "--folder", "/"], "not the root of all files"),
        (["table", "--folder", "nowhere"], "its links lead nowhere"),
        (["table", "--folder", "loop"], "its links lead"),
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
    with pytest.raises(InputError, match="is gone"):
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
    """Whatever is shown as a file or a folder has one of the types that check it."""
    shown = {"FILE", "FOLDER", "MOSES_INI", "NBEST", "MODEL/", "TEXT", "TABLE", "EXPERIMENT.toml"}
    parameters = _parameters(cli, click.Context(cli))
    assert len({name for name, _ in parameters}) > len(COMMANDS)
    for name, param in parameters:
        if (param.metavar or param.human_readable_name) in shown:
            assert isinstance(param.type, PathName), (name, param.name)
