"""``phrasescore preprocess`` and ``postprocess``: turn raw text into tokens, and back."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from moses_integration.text import preparation
from moses_integration.text.tokenising import language_notes
from phrasescore.commands.declarations import Field, Options, argument, command, flag, option
from phrasescore.commands.options import say, show_notes
from phrasescore.commands.paths import INPUT, INPUT_FOLDER, OUTPUT
from phrasescore.errors import InputError
from phrasescore.runs.final_names import open_output
from phrasescore.runs.progress import Progress
from phrasescore.table.phrase_table import Side

_WORDS = 2000  # distinct words of the text that are looked up


def _side(default: Side) -> Field:
    return option(
        ["source", "target"], "Which side of the system the text belongs to.", default=default
    )


class PreprocessOptions(Options):
    """Options of both commands: a text, the output, and the settings of the text's preparation."""

    hint = " (name the language with --language, the output with -o)"
    text: str = argument(INPUT, default="-")
    output: str = option(
        OUTPUT, "Where to write the result.  [default: standard output]", "-o", default="-"
    )
    system: str | None = option(
        INPUT_FOLDER, "A system of phrasescore build; the options below default to its settings."
    )
    side: Side = _side("source")
    language: str | None = option("CODE", "The language of the text, such as fr.")
    tokenize: bool | None = flag(
        "Separate words and punctuation, or take the words of the text as tokens.  [default: yes]",
        "--tokenize/--no-tokenize",
    )
    tokenizer: preparation.TokenizerName | None = option(
        ["unicode", "moses"],
        "unicode keeps combining marks, joiners and modifier letters with their letter; moses "
        "gives the tokens of Moses's tokenizer.perl, for systems built elsewhere.  [default: "
        "unicode]",
    )
    lowercase: bool | None = flag(
        "Whether the system is lower-cased.  [default: no]", "--lowercase/--no-lowercase"
    )
    escape: bool | None = flag(
        "Whether entities such as &apos; replace what Moses takes for markup.  [default: yes]",
        "--escape/--no-escape",
    )

    def text_settings(self) -> preparation.TextSettings:
        """Return the given settings; others come from the system, or else are the defaults."""
        settings = preparation.TextSettings(tokenizer="unicode", apostrophes=True)
        if self.system is not None:
            if not Path(self.system).exists():  # the settings beside it are another system's
                raise InputError("no such folder", path=self.system)
            text = preparation.read_settings(self.system)
            settings = text.source if self.side == "source" else text.target
        names = [each.name for each in dataclasses.fields(preparation.TextSettings)]
        given = {name: vars(self)[name] for name in names if vars(self).get(name) is not None}
        return dataclasses.replace(settings, **given)


class PostprocessOptions(PreprocessOptions):
    """Options of ``postprocess``."""

    side: Side = _side("target")
    capitalize: bool = flag("Capitalise the first letter of every line.")


def _convert(text: str, output: str, convert: Callable[[str], str], what: str) -> None:
    """Convert a text line by line."""
    with Progress(what, unit="lines") as progress, open_output(output) as stream:
        for line in preparation.read_text(text):
            stream.write(convert(line).encode("utf-8") + b"\n")
            progress.advance(1)


@command("preprocess", PreprocessOptions)
def preprocess(options: PreprocessOptions) -> None:
    """Turn TEXT (plain, .gz, or - for standard input) into the tokens of a system.

    Tokens match the phrase table only if they are made like the tokens of its training text. Give
    --system, or the language and case of a system that was built elsewhere.
    """
    convert = preparation.preprocessor_of(options.system, options.side, options.text_settings())
    show_notes(language_notes([options.language]) if options.language else ())
    words = Counter[str]()

    def convert_and_collect(line: str) -> str:
        tokens = convert(line)
        if len(words) < _WORDS:
            words.update(tokens.split(" "))
        return tokens

    _convert(options.text, options.output, convert_and_collect, "preprocess")
    doubt = preparation.wrong_language(options.system, options.side, words)
    for note in (*convert.notes, *([f"warning: {doubt} (--side)"] if doubt else [])):
        say(note)


@command("postprocess", PostprocessOptions)
def postprocess(options: PostprocessOptions) -> None:
    """Turn TEXT (tokens, as a decoder prints them) into readable text: undo preprocess.

    Sentences of a truecased system get a capital. Lower-cased text stays lower-cased; see
    --capitalize.
    """
    settings = options.text_settings()
    convert = preparation.Postprocessor(settings, capitalize=options.capitalize)
    if settings.lowercase and not options.capitalize:
        say(preparation.CASE_LOST)
    _convert(options.text, options.output, convert, "postprocess")
