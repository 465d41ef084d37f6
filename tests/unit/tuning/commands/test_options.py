"""Options of the commands of tuning, alone and together."""

from __future__ import annotations

import click
import pytest

from phrasescore.commands.declarations import command
from tuning.commands.options import ScoringOptions
from tuning.metrics.metric_settings import USUAL_METRICS, TextScoring


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


def test_metrics() -> None:
    """Those of sentences unless some are named, in their usual order."""
    assert given().scoring == TextScoring(USUAL_METRICS)
    assert given("--metric", "ter", "--metric", "bleu").scoring.metrics == ("bleu", "ter")
