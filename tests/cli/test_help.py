"""The help of every command is complete and quick."""

from __future__ import annotations

import pytest

from phrasescore.cli import COMMANDS
from tests.conftest import PROJECT, Phrasescore
from tests.support.fresh_process import run_fresh

HEAVY = ("torch", "numpy", "numba", "sacremoses", "sacrebleu")
PROBE = f"""
import sys
from click.testing import CliRunner
from phrasescore.cli import cli
for command in sys.argv[1:]:
    result = CliRunner().invoke(cli, [*command.split(), "--help"])
    assert result.exit_code == 0, result.output
    assert "Usage:" in result.output and "Options:" in result.output, command
    loaded = [name for name in {HEAVY!r} if name in sys.modules]
    assert not loaded, f"{{command}} loaded {{loaded}}"
"""


def test_help_loads_nothing_heavy() -> None:
    """Each --help explains the command and imports neither torch nor numpy."""
    commands = ["", *COMMANDS, "ini add-column", "ini add-language-model"]
    run_fresh(PROJECT, *commands, program=("-c", PROBE)).well()


def test_the_overview_names_every_command(phrasescore: Phrasescore) -> None:
    """`phrasescore --help` lists the commands with descriptions."""
    said = phrasescore("--help").stdout.decode()
    for name, (_, text) in COMMANDS.items():
        assert f"{name} " in said
        assert text.split(" ")[0] in said


def test_an_unknown_command_is_a_usage_error(phrasescore: Phrasescore) -> None:
    """A misspelt command exits with status 2 and without a traceback."""
    phrasescore("trian").refused(2, "No such command 'trian'")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["phrasescore", "sco"], ["plain,score", "plain,score-text"]),
        (["phrasescore", "ini", "add-c"], ["plain,add-column"]),
        (["phrasescore", "score", "--unknown-c"], ["plain,--unknown-column"]),
        (["phrasescore", "train", "--recipe", ""], ["plain,fast", "plain,paper"]),
        (["phrasescore", "score", "--model", "mod"], ["dir,mod"]),
        (["phrasescore", "score", "phr"], ["file,phr"]),
    ],
)
def test_what_a_shell_completes(
    phrasescore: Phrasescore, monkeypatch: pytest.MonkeyPatch, typed: list[str], expected: list[str]
) -> None:
    """Commands, options, values and paths are completed; the shell looks up the paths."""
    monkeypatch.setenv("_PHRASESCORE_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", " ".join(typed))
    monkeypatch.setenv("COMP_CWORD", str(len(typed) - 1))
    done = phrasescore().well()
    assert done.stdout.decode().split() == expected
