"""Options of the analyses that look into a model's vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from phrasescore.commands.numbers import THREADS
from phrasescore.commands.paths import INPUT_FOLDER

_Command = TypeVar("_Command", bound=Callable[..., Any])


def model_option(command: _Command) -> _Command:
    """Add ``--model``; the command gets ``folder``."""
    return click.option(
        "--model",
        "folder",
        required=True,
        type=INPUT_FOLDER,
        metavar="FOLDER",
        help="A model folder.",
    )(command)


def words_options(command: _Command) -> _Command:
    """Add ``--words`` and ``--side``."""
    words = click.option(
        "--words", is_flag=True, help="Word vectors, which every kind of model has."
    )
    side = click.option(
        "--side",
        type=click.Choice(["source", "target"]),
        help="With --words: of which side.  [default: the side that the model reads]",
    )
    return words(side(command))


def threads_option(command: _Command) -> _Command:
    """Add ``--threads``."""
    return click.option("--threads", type=THREADS, metavar="N", help="CPU threads.")(command)


def refuse_side_without_words(words: bool, side: str | None) -> None:
    """Refuse ``--side`` alone: a summary is of the side that the model reads.

    Raises:
        SettingsError: There is one without ``--words``.
    """
    if side is not None and not words:
        from phrasescore.errors import SettingsError

        raise SettingsError(
            "--side chooses among word vectors; summaries are of the side that the model reads",
            remedy="add --words or leave out --side",
        )
