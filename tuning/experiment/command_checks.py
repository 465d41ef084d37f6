"""The command lines of an experiment, looked at before the first of them runs.

An experiment file has options of other commands in it. A wrong one in the last step would cost the
hours of all steps before it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import click

from phrasescore.cli import cli
from phrasescore.commands.paths import PLANNED, Use
from phrasescore.errors import InputError, SettingsError
from tuning.experiment.command import PROGRAM, CommandStep


def check_commands(steps: Iterable[CommandStep], folder: Path, results: Path, where: str) -> None:
    """See whether each command knows its options, and files are there that no step makes.

    Args:
        steps: In any order.
        folder: Where commands run.
        results: The folder of what steps make.
        where: What to call the experiment file in an error.

    Raises:
        SettingsError: An option is unknown, or none that can be meant, or it stands where the
            experiment gives it, or names an output elsewhere than in the results.
        InputError: A file that an option names does not exist.
    """
    for step in steps:
        if step.work.words[0] != PROGRAM:
            continue
        for text, use in _named_paths(step, where):
            path = folder / text
            if use.writes and text != os.devnull and not _is_within(path, results):
                raise _refused(step, where, f"it would write {text}, outside the folder of results")
            needed = use in (Use.READ, Use.READ_FOLDER) and not path.is_relative_to(results)
            if needed and not path.exists():
                raise InputError(
                    "no such file or folder, which the experiment reads",
                    path=path,
                    remedy=f"correct the path in {where}",
                )


def _is_within(path: Path, folder: Path) -> bool:
    """Tell whether a path leads into a folder, ``..`` resolved."""
    return Path(os.path.normpath(path)).is_relative_to(os.path.normpath(folder))


def _named_paths(step: CommandStep, where: str) -> list[tuple[str, Use]]:
    """Parse a step's command line; return the paths in it."""
    _, name, *arguments = step.work.words
    planned: list[tuple[str, Use]] = []
    with click.Context(cli, info_name=PROGRAM) as parent:
        parent.meta[PLANNED] = planned
        command = cli.get_command(parent, name)
        if command is None or isinstance(command, click.Group):
            return []  # no option of theirs comes from the file
        try:
            with command.make_context(name, list(arguments), parent=parent) as context:
                if (twice := _given_twice(command, context, arguments)) is not None:
                    raise SettingsError(f"the experiment gives {twice} itself")
                if name == "train":
                    _check_training(context)
        except click.exceptions.Exit:
            raise _refused(step, where, "it asks for help") from None
        except click.ClickException as error:
            raise _refused(step, where, error.format_message()) from None
        except SettingsError as error:
            raise _refused(step, where, error.problem) from None
    return planned


def _given_twice(
    command: click.Command, context: click.Context, arguments: list[str]
) -> str | None:
    """Return an option that stands twice and may stand once: the second one would overrule."""
    *_, order = command.make_parser(context).parse_args(arguments)
    seen: set[click.Parameter] = set()
    for parameter in order:
        if parameter in seen and isinstance(parameter, click.Option) and not parameter.multiple:
            name = max(parameter.opts, key=len)
            # how many cores work decides no result
            if name != "--threads":
                return name
        seen.add(parameter)
    return None


def _check_training(context: click.Context) -> None:
    """See whether a kind of model has the options that are given to it."""
    from phrasescore.commands.train import settings_of

    settings_of(**context.params)


def _refused(step: CommandStep, where: str, why: str) -> SettingsError:
    return SettingsError(
        f"{where}: the step {step.name} cannot run: {why.rstrip('.')}",
        remedy="correct the options in the experiment file",
    )
