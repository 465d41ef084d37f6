"""Options that the commands of tuning share. Imports nothing heavy: help must be instant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from phrasescore.errors import SettingsError

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--optimizer",
        type=click.Choice(["mert", "pro", "mira"]),
        default="mert",
        show_default=True,
        help="Minimum error rate training, pairwise ranking, or batch MIRA.",
    ),
    click.option(
        "--restarts",
        type=click.IntRange(min=0),
        default=20,
        show_default=True,
        help="Of MERT: climbs from other points than the start.",
    ),
    click.option(
        "--objective",
        "objective",
        multiple=True,
        metavar="METRIC=SHARE",
        help="What to maximise: bleu, chrf or ter (as 1 - TER) and its share; may be repeated "
        "for a mixture.  [default: bleu=1]",
    ),
    click.option(
        "--reference-length",
        type=click.Choice(["closest", "shortest", "average"]),
        default="closest",
        show_default=True,
        help="Which length of several references counts in BLEU.",
    ),
    click.option(
        "--freeze",
        multiple=True,
        metavar="NAME",
        help="Keep the weights of a feature, or of one component such as TranslationModel0_4.",
    ),
    click.option(
        "--bound",
        "bounds",
        multiple=True,
        metavar="NAME=LOW..HIGH",
        help="Keep weights within bounds, e.g. LM0=0..1 or LM0=0.. ; may be repeated.",
    ),
    click.option("--seed", type=int, default=1, show_default=True, help="Of all that is random."),
    click.option(
        "--threads",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="The result does not depend on it.",
    ),
)


def optimizer_options(command: Command) -> Command:
    """Add the options that say how to optimise."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def parse_shares(texts: tuple[str, ...]) -> dict[str, float]:
    """Parse ``metric=share``; a metric alone has the share 1.

    Raises:
        SettingsError: A share is not a number, or a metric is named twice.

    >>> parse_shares(("bleu=0.5", "chrf"))
    {'bleu': 0.5, 'chrf': 1.0}
    """
    shares: dict[str, float] = {}
    for text in texts:
        name, _, share = text.partition("=")
        if name in shares:
            raise SettingsError(f"the objective names {name} twice")
        try:
            shares[name] = float(share) if share else 1.0
        except ValueError:
            raise SettingsError(
                f"the objective {text!r} is not METRIC=SHARE", remedy="write for example bleu=0.7"
            ) from None
    return shares
