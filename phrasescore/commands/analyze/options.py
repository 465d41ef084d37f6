"""Options that several analyses share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from phrasescore.commands.device_option import device_option
from phrasescore.commands.numbers import SEED, THREADS
from phrasescore.commands.paths import INPUT_FOLDER
from phrasescore.errors import SettingsError

_Command = TypeVar("_Command", bound=Callable[..., Any])


def model_option(required: bool = True) -> Callable[[_Command], _Command]:
    """Return what adds ``--model``; the command gets ``folder``."""
    return click.option(
        "--model",
        "folder",
        required=required,
        type=INPUT_FOLDER,
        metavar="FOLDER",
        help="A model folder.",
    )


def compute_options(command: _Command) -> _Command:
    """Add ``--device`` and ``--threads``."""
    threads = click.option("--threads", type=THREADS, metavar="N", help="CPU threads.")
    return device_option(threads(command))


def seed_option(purpose: str) -> Callable[[_Command], _Command]:
    """Return what adds ``--seed``, whose help says its purpose."""
    return click.option(
        "--seed", type=SEED, metavar="N", default=1, show_default=True, help=purpose
    )


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


def refuse_side_without_words(words: bool, side: str | None) -> None:
    """Refuse ``--side`` alone: a summary is of the side that the model reads.

    Raises:
        SettingsError: There is one without ``--words``.
    """
    if side is not None and not words:
        raise SettingsError(
            "--side chooses among word vectors; summaries are of the side that the model reads",
            remedy="add --words or leave out --side",
        )


def use_threads(threads: int | None) -> None:
    """Let torch compute with so many threads; by default with all cores."""
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
