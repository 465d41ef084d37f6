"""``phrasescore preprocess`` and ``postprocess``: raw text to a system's tokens, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from phrasescore.commands.paths import INPUT, INPUT_FOLDER, OUTPUT

if TYPE_CHECKING:
    from moses_integration.system_building.corpus.text_preparation import TextSettings

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Side = Literal["source", "target"]


def _text_options(default_side: Side) -> Callable[[Decorated], Decorated]:
    """Add what both commands take: the text, where it goes, and how its side is prepared."""
    options = [
        click.argument("text", default="-", type=INPUT),
        click.option(
            "-o",
            "--output",
            default="-",
            type=OUTPUT,
            metavar="FILE",
            help="The output; - is standard output.",
        ),
        click.option(
            "--system",
            type=INPUT_FOLDER,
            metavar="FOLDER",
            help="A system that phrasescore build made: its record of the text gives the "
            "defaults of the options below.",
        ),
        click.option(
            "--side",
            type=click.Choice(["source", "target"]),
            default=default_side,
            show_default=True,
            help="Which side of the system the text belongs to.",
        ),
        click.option("--language", metavar="CODE", help="The language of the text, such as fr."),
        click.option(
            "--tokenize/--no-tokenize",
            default=None,
            help="Make tokens as Moses's tokenizer does, or find them in the text.  [default: yes]",
        ),
        click.option(
            "--lowercase/--no-lowercase",
            default=None,
            help="Whether the system is lower-cased.  [default: no]",
        ),
        click.option(
            "--escape/--no-escape",
            default=None,
            help="Whether entities such as &apos; stand for what Moses takes for markup.  "
            "[default: yes]",
        ),
    ]

    def add(command: Decorated) -> Decorated:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def _settings(system: str | None, side: Side, given: dict[str, Any]) -> TextSettings:
    """Take the settings of a system, or the defaults, and replace those that are given."""
    import dataclasses

    from moses_integration.system_building.corpus.text_preparation import (
        TextSettings,
        read_settings,
    )

    settings = TextSettings() if system is None else read_settings(system).side(side)
    return dataclasses.replace(
        settings, **{name: value for name, value in given.items() if value is not None}
    )


def _convert(text: str, output: str, convert: Callable[[str], str], what: str) -> None:
    """Write every line of a text converted, one line for each."""
    from moses_integration.system_building.corpus.text_preparation import read_text
    from phrasescore.runs.final_names import open_output
    from phrasescore.runs.progress import Progress

    with Progress(what, unit="lines") as progress, open_output(output) as stream:
        for line in read_text(text):
            stream.write(convert(line).encode("utf-8") + b"\n")
            progress.advance(1)


@click.command("preprocess")
@_text_options("source")
def preprocess(text: str, output: str, system: str | None, side: Side, **given: Any) -> None:
    """Turn TEXT (plain, .gz, or - for standard input) into the tokens of a system.

    Tokens meet the phrase table only if they are made as those of its training text were. Give
    --system, or the language and case of a system that was built elsewhere.
    """
    from moses_integration.system_building.corpus.text_preparation import Preprocessor

    _convert(text, output, Preprocessor(_settings(system, side, given)), "preprocess")


@click.command("postprocess")
@_text_options("target")
@click.option("--capitalize", is_flag=True, help="Capitalise the first letter of every line.")
def postprocess(
    text: str, output: str, system: str | None, side: Side, capitalize: bool, **given: Any
) -> None:
    """Turn TEXT (tokens, as a decoder prints them) into readable text: undo preprocess.

    Lower-cased text stays lower-cased; see --capitalize.
    """
    from moses_integration.system_building.corpus.text_preparation import Postprocessor

    convert = Postprocessor(_settings(system, side, given), capitalize=capitalize)
    _convert(text, output, convert, "postprocess")
