"""``phrasescore decode``: translate with a moses.ini, without Moses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from moses_integration.decoder.file_decoding import DecodingTask


def search_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that bound the search; a value of ``None`` leaves it to the ini."""
    for option in reversed(
        [
            click.option("--search-algorithm", type=int, help="0 stack decoding, 1 cube pruning."),
            click.option("--stack", type=int, help="Hypotheses of a stack; 0 for all.  [200]"),
            click.option(
                "--beam-threshold", type=float, help="Lowest probability ratio in a stack.  [1e-5]"
            ),
            click.option(
                "--distortion-limit",
                type=int,
                help="How far phrases may jump, in words; -1 without limit.  [-1]",
            ),
            click.option(
                "--table-limit", type=click.IntRange(0), help="Entries of a source phrase.  [20]"
            ),
            click.option(
                "--cube-pruning-pop-limit", type=int, help="Hypotheses popped per stack.  [1000]"
            ),
            click.option(
                "--cube-pruning-diversity", type=int, help="At least so many per coverage.  [0]"
            ),
            click.option("--max-phrase-length", type=int, help="Words of a source phrase.  [20]"),
            click.option(
                "--max-trans-opt-per-coverage", type=int, help="Options of a span.  [5000]"
            ),
            click.option("--drop-unknown", is_flag=True, help="Drop unknown words without digits."),
        ]
    ):
        function = option(function)
    return function


def model_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say what is loaded, and with which weights."""
    for option in reversed(
        [
            click.option(
                "-i",
                "--input",
                "input_path",
                default="-",
                metavar="FILE",
                help="What to translate.",
            ),
            click.option(
                "--weight",
                "weights",
                multiple=True,
                metavar="'NAME= W W'",
                help="Replace the weights of a feature; may be repeated.",
            ),
            click.option("--cache-folder", metavar="FOLDER", help="Where parsed tables are kept."),
            click.option("--no-cache", is_flag=True, help="Keep no parsed tables on disk."),
            click.option(
                "--max-sentence-length",
                type=click.IntRange(1),
                default=300,
                show_default=True,
                help="Refuse lines with more words.",
            ),
        ]
    ):
        function = option(function)
    return function


def _output_options(function: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(
        [
            click.option("-o", "--output", default="-", metavar="FILE", help="Translations."),
            click.option("--nbest", metavar="FILE", help="Also write an n-best list."),
            click.option("--nbest-size", type=click.IntRange(1), default=100, show_default=True),
            click.option(
                "--distinct/--no-distinct",
                default=True,
                show_default=True,
                help="Whether words alone tell the derivations of a list apart.",
            ),
            click.option(
                "--n-best-factor",
                type=click.IntRange(0),
                default=20,
                show_default=True,
                help="Derivations looked at per distinct one.",
            ),
            click.option("--include-segmentation-in-n-best", is_flag=True),
            click.option("--print-alignment-info-in-n-best", is_flag=True),
            click.option(
                "-t", "--report-segmentation", is_flag=True, help="Print source spans: |0-1|."
            ),
            click.option("--print-alignment-info", is_flag=True, help="Print word links."),
            click.option("--output-hypo-score", is_flag=True, help="Print the model score first."),
            click.option("--output-unknowns", metavar="FILE", help="Unknown words, line by line."),
            click.option("--statistics", metavar="FILE", help="What each sentence cost (TSV)."),
            click.option(
                "--minimum-bayes-risk", "--mbr", is_flag=True, help="Choose by expected BLEU."
            ),
            click.option("--mbr-size", type=click.IntRange(1), default=200, show_default=True),
            click.option("--mbr-scale", type=float, default=1.0, show_default=True),
        ]
    ):
        function = option(function)
    return function


@click.command("decode", short_help="Translate with a moses.ini.")
@click.argument("ini", metavar="MOSES_INI")
@model_options
@_output_options
@search_options
@click.option("--threads", type=click.IntRange(1), help="Sentences searched at once.  [1]")
def decode(**options: Any) -> None:
    """Translate sentences, one a line, with the models and weights of MOSES_INI.

    Search and scores are those of Moses; options are called as there, and what is not given is
    taken from the ini. Input must be preprocessed like the training text (phrasescore preprocess).
    """
    from moses_integration.decoder.file_decoding import DecodingTask, decode_file

    task: DecodingTask = DecodingTask.of(options)
    decode_file(task)
