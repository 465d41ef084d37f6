"""``phrasescore train``: learn p(target | source) from a phrase table or two texts, or p(text)."""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import NoneType
from typing import Any

import click

from phrasescore.closed_settings import bounds_of
from phrasescore.commands.declarations import (
    DeclaredCommand,
    Options,
    argument,
    command,
    flag,
    option,
)
from phrasescore.commands.numbers import BoundedFloat, bounded
from phrasescore.commands.options import Device
from phrasescore.commands.paths import PathName, Use, refuse_unwritable_folder
from phrasescore.model.kinds import KINDS, kind_named
from phrasescore.training.settings import TrainingSettings

_HELD_OUT_TEXT = "--held-out-text"
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST = 3660 * _UNITS["d"]


def duration(text: str) -> float:
    """Return the seconds in a time like 90s, 45m, 2h or 1h30m; a plain number is seconds."""
    text = text.strip().lower()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        text += "s"
    if not re.fullmatch(r"([0-9]+(\.[0-9]+)?[smhd])+", text):
        raise click.BadParameter(f"{text[:30]!r} is not a time; write 90s, 45m, 2h or 1h30m")
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)([smhd])", text)
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if seconds > _LONGEST:
        raise click.BadParameter(f"{text[:30]!r} is longer than ten years")
    return seconds


# click types of options, where the type of the settings field does not determine the click type
_TYPES: dict[str, Any] = {
    "kind": [kind.option for kind in KINDS],
    "max_time": duration,
    "self_normalise": BoundedFloat(0, 1e6, min_open=True),
    "held_out_text": PathName(Use.READ, Path),
    "checkpoint_every": duration,
}


def _declared() -> dict[str, Any]:
    """Declare the arguments, and an option for each settings field with the metadata ``click``."""
    paths = argument(PathName(Use.READ, Path), "INPUT... MODEL/", nargs=-1, required=True)
    declared = {"paths": paths}
    hints = typing.get_type_hints(TrainingSettings, include_extras=True)
    for field in dataclasses.fields(TrainingSettings):
        name, hint, asked = field.name, hints[field.name], field.metadata.get("click", {})
        if name == "device":
            declared |= Device.declared()
        elif asked and hint is bool:
            declared[name] = flag(**asked)
        elif asked:
            kind = _TYPES.get(name) or _type_of(hint)
            declared[name] = option(kind, **{"default": field.default, **asked})
    return declared


def _type_of(hint: Any) -> Any:
    """Return the click type of a choice, a number within bounds (perhaps optional), or a text."""
    if typing.get_origin(hint) is typing.Literal:
        return typing.get_args(hint)
    bounds = bounds_of(hint)
    if bounds is None:
        return click.STRING
    numbers = [each for each in typing.get_args(hint) if each is not NoneType] or [hint]
    return bounded(bounds, whole=int in (numbers[0], *typing.get_args(numbers[0])))


TrainOptions: type[Options] = type("TrainOptions", (Options,), _declared())


class _Train(DeclaredCommand):
    """A command whose ``--held-out-text`` takes one file for each text that the model reads."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Rewrite ``--held-out-text A B`` as ``--held-out-text A --held-out-text B``."""
        takes = max(1, len(kind_named(_kind_among(args)).inputs))
        spread: list[str] = []
        files, takes_more = 0, False
        for arg in args:
            if arg.startswith("-"):
                takes_more = arg == _HELD_OUT_TEXT
            elif takes_more:
                if spread[-1] != _HELD_OUT_TEXT:
                    spread.append(_HELD_OUT_TEXT)
                files += 1
                takes_more = files < takes
            spread.append(arg)
        return super().parse_args(ctx, spread)


def _kind_among(args: Sequence[str]) -> str:
    known = [kind.option for kind in KINDS]
    asked = known[0]
    for arg, following in pairwise([*args, ""]):
        option_name, _, value = arg.partition("=")
        if option_name == "--kind":
            asked = value or following
    return asked if asked in known else known[0]


@command("train", TrainOptions, cls=_Train, options_metavar="[OPTIONS]")
def train(options: Options) -> None:
    """Learn p(target | source), or p(text), and write the model to the folder MODEL/.

    Models of phrases learn from a phrase table, in which each distinct pair counts once:

    \b
      phrasescore train phrase-table.gz MODEL/

    Models of sentences, with attention (search) or without (encdec), learn from two texts that are
    line by line translations of each other:

    \b
      phrasescore train train.en train.fr MODEL/ --kind search

    Language models learn from one text:

    \b
      phrasescore train train.fr MODEL/ --kind feed-forward-lm

    MODEL.training/ holds the state of the training; after Ctrl-C or a crash, the same command
    continues. To train a finished model further, give the same command a larger --max-time or
    --max-epochs. Under torchrun, several processes share the work.
    """  # noqa: D301 - this character tells click to keep the lines of a paragraph
    from phrasescore.training.session import train_model

    settings = settings_of(**vars(options))
    refuse_unwritable_folder(settings.model)
    train_model(settings)


def settings_of(paths: tuple[Path, ...], **options: Any) -> TrainingSettings:
    """Return the settings of a command line.

    Raises:
        SettingsError: The kind of model does not have an option, or options contradict each other.
    """
    settings = TrainingSettings(inputs=paths[:-1], model=paths[-1], **options)
    settings.check()
    return settings
