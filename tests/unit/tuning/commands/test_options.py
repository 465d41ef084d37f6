"""Options of the commands of tuning, alone and together."""

from __future__ import annotations

import click
import pytest

from phrasescore.commands.declarations import command
from tuning.commands.options import ScoringOptions
from tuning.metrics.metric_settings import USUAL_METRICS, TextScoring


def given(*arguments: str) -> ScoringOptions:
    """Return the parsed options of a command."""
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


def test_metrics() -> None:
    """The default metrics are those for sentences; named metrics are in their usual order."""
    assert given().scoring == TextScoring(USUAL_METRICS)
    assert given("--metric", "ter", "--metric", "bleu").scoring.metrics == ("bleu", "ter")
