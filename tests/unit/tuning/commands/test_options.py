"""Options of the commands of tuning, alone and together."""

from __future__ import annotations

import click
import pytest

from phrasescore.commands.declarations import command
from phrasescore.errors import SettingsError
from tuning.commands.options import ScoringOptions
from tuning.metrics.metric_settings import USUAL_METRICS, SentenceSelection, TextScoring

LENGTHS = ["--source", "s", "--by-length"]


def given(*arguments: str) -> ScoringOptions:
    """Return the options that a command would get."""
    found: list[ScoringOptions] = []

    @command("example", ScoringOptions)
    def example(options: ScoringOptions) -> None:
        found.append(options)

    assert isinstance(example, click.Command)
    example.main(["--reference", "r", *arguments], "example", standalone_mode=False)
    return found[0]


@pytest.fixture(autouse=True)
def _folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("folder"))


def test_selections() -> None:
    """Bounds are numbers with commas; without any option all sentences count."""
    assert given().selection == SentenceSelection()
    options = given(*LENGTHS, "--length-bins", "5, 10,20")
    assert options.selection == SentenceSelection("s", True, (5, 10, 20))


def test_metrics() -> None:
    """Those of sentences unless some are named, in their usual order."""
    assert given().scoring == TextScoring(USUAL_METRICS)
    assert given("--metric", "ter", "--metric", "bleu").scoring.metrics == ("bleu", "ter")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--source", "s"], "--source goes with --by-length or --known-words"),
        (["--by-length"], "--by-length goes with --source"),
        (
            ["--length-bins", "5", "--source", "s", "--known-words", "m"],
            "--length-bins goes with --by-length",
        ),
        ([*LENGTHS, "--length-bins", "5,5"], "the bounds 5,5 do not rise from 1 on"),
        ([*LENGTHS, "--length-bins", "0,5"], "the bounds 0,5 do not rise from 1 on"),
        ([*LENGTHS, "--length-bins", "5,a"], "the bounds '5,a' are not whole numbers"),
        ([*LENGTHS, "--length-bins", ""], "the bounds '' are not whole numbers"),
    ],
)
def test_selections_that_make_no_sense(arguments: list[str], message: str) -> None:
    """Each is refused with what to do."""
    with pytest.raises(SettingsError, match=message):
        assert given(*arguments).selection
