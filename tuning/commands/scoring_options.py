"""Options of the commands that score texts. Imports nothing heavy: help must be instant."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from tuning.metrics.metric_settings import TextScoring

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--reference",
        "references",
        multiple=True,
        required=True,
        metavar="FILE",
        help="A reference translation, plain or gzip; may be repeated.",
    ),
    click.option(
        "--metric",
        "metrics",
        multiple=True,
        type=click.Choice(["bleu", "chrf", "ter"]),
        help="Which to compute; may be repeated.  [default: all]",
    ),
    click.option(
        "--tokenize",
        type=click.Choice(["none", "13a", "intl", "char", "zh"]),
        default="none",
        show_default=True,
        help="How to separate words for BLEU: at spaces, or as sacrebleu does.",
    ),
    click.option("--lowercase", is_flag=True, help="Compare without case."),
)


def scoring_options(command: Command) -> Command:
    """Add the options that say how to score texts."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def parse_scoring(options: Mapping[str, Any]) -> TextScoring:
    """Build the settings from the values of the options."""
    from tuning.metrics.metric_settings import METRICS, TextScoring

    chosen = tuple(name for name in METRICS if name in options["metrics"])
    return TextScoring(chosen or METRICS, options["tokenize"], options["lowercase"])


def emit(content: str | dict[str, Any]) -> None:
    """Print text as it is and anything else as JSON, to standard output."""
    if isinstance(content, str):
        click.echo(content, nl=False)
    else:
        click.echo(json.dumps(content, indent=2, ensure_ascii=False))
