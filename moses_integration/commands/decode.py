"""``phrasescore decode``: translate with a moses.ini, without Moses."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import click

from moses_integration.decoder.settings import (
    BOUNDS,
    DEFAULT_TABLE_LIMIT,
    LONGEST_SENTENCE,
    NBestSettings,
    RiskSettings,
    SearchSettings,
)
from phrasescore.commands.numbers import THREADS, WORDS, Real, Whole
from phrasescore.commands.paths import (
    INPUT,
    OUTPUT,
    OUTPUT_FOLDER,
    PathName,
    Use,
    refuse_replaced_inputs,
)

Command = Callable[..., None]


def _together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Make one decorator of several options, which the help shows in this order."""

    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def _search_option(name: str, text: str) -> Callable[[Command], Command]:
    """Make an option that bounds the search; without it the ini decides, then Moses's default."""
    setting = name.replace("-", "_")
    default = getattr(SearchSettings, setting)
    return click.option(f"--{name}", type=Whole(*BOUNDS[setting]), help=f"{text}  [{default}]")


_search_options = _together(
    click.option("--search-algorithm", type=Whole(0, 1), help="0 stack decoding, 1 cube pruning."),
    _search_option("stack", "Hypotheses of a stack; 0 for all."),
    click.option(
        "--beam-threshold",
        type=Real(0, 1, below=True),
        help=f"Lowest probability ratio in a stack.  [{SearchSettings.beam_threshold}]",
    ),
    _search_option("distortion-limit", "How far phrases may jump, in words; -1 without limit."),
    click.option(
        "--table-limit",
        type=Whole(0, 10**6),
        help=f"Entries of a source phrase.  [{DEFAULT_TABLE_LIMIT}]",
    ),
    _search_option("cube-pruning-pop-limit", "Hypotheses popped per stack."),
    _search_option("cube-pruning-diversity", "Least hypotheses per coverage."),
    _search_option("max-phrase-length", "Words of a source phrase."),
    _search_option("max-trans-opt-per-coverage", "Options of a span."),
    click.option("--drop-unknown", is_flag=True, help="Drop unknown words without digits."),
)

# what is loaded, and with which weights
model_options = _together(
    click.option(
        "-i",
        "--input",
        "input_path",
        default="-",
        type=INPUT,
        metavar="FILE",
        help="The text to translate.",
    ),
    click.option(
        "--weight",
        "weights",
        multiple=True,
        metavar="'NAME= W W'",
        help="Replace the weights of a feature; may be repeated.",
    ),
    click.option(
        "--cache-folder", type=OUTPUT_FOLDER, metavar="FOLDER", help="Where parsed tables are kept."
    ),
    click.option("--no-cache", is_flag=True, help="Keep no parsed tables on disk."),
    click.option(
        "--max-sentence-length",
        type=WORDS,
        default=LONGEST_SENTENCE,
        show_default=True,
        help="Refuse lines with more words.",
    ),
)

# how translations are chosen by their risk
risk_options = _together(
    click.option("--minimum-bayes-risk", "--mbr", is_flag=True, help="Choose by expected BLEU."),
    click.option("--mbr-size", type=Whole(1, 10_000), default=RiskSettings.size, show_default=True),
    click.option("--mbr-scale", type=Real(0, 1e6), default=RiskSettings.scale, show_default=True),
)

_output_options = _together(
    click.option("-o", "--output", default="-", type=OUTPUT, metavar="FILE", help="Translations."),
    click.option(
        "--nbest",
        type=PathName(Use.WRITE, may_replace="--output"),
        metavar="FILE",
        help="Also write an n-best list.",
    ),
    click.option(
        "--nbest-size", type=Whole(1, 100_000), default=NBestSettings().size, show_default=True
    ),
    click.option(
        "--distinct/--no-distinct",
        default=NBestSettings().distinct,
        show_default=True,
        help="Whether a list has one derivation of each translation, or all.",
    ),
    click.option(
        "--n-best-factor",
        type=Whole(0, 10**4),
        default=NBestSettings().factor,
        show_default=True,
        help="Derivations to look at for each distinct one.",
    ),
    click.option("--include-segmentation-in-n-best", is_flag=True),
    click.option("--print-alignment-info-in-n-best", is_flag=True),
    click.option("-t", "--report-segmentation", is_flag=True, help="Print source spans: |0-1|."),
    click.option("--print-alignment-info", is_flag=True, help="Print word links."),
    click.option("--output-hypo-score", is_flag=True, help="Print the model score first."),
    click.option(
        "--output-unknowns", type=OUTPUT, metavar="FILE", help="Unknown words, line by line."
    ),
    click.option("--statistics", type=OUTPUT, metavar="FILE", help="Cost of each sentence (TSV)."),
    risk_options,
)


@click.command("decode", short_help="Translate with a moses.ini.")
@click.argument("ini", type=INPUT, metavar="MOSES_INI")
@model_options
@_output_options
@_search_options
@click.option("--threads", type=THREADS, help="Sentences searched at once.  [1]")
def decode(**options: Any) -> None:
    """Translate sentences, one per line, with the models and weights of MOSES_INI.

    Search and scores are those of Moses. Options have Moses's names; what you leave out comes
    from the ini. Input must be preprocessed like the training text (phrasescore preprocess).

    If it is interrupted, even by kill -9, and all outputs are files, the same command continues
    where it stopped.
    """
    from moses_integration.decoder.decoding_task import DecodingTask
    from moses_integration.decoder.file_decoding import decode_file, keeps_work
    from moses_integration.ini.model_files import files_read
    from phrasescore.runs.interruption import interruptible

    task = DecodingTask.of(options)
    refuse_replaced_inputs(files_read(task.ini))
    with interruptible(options["output"]) if keeps_work(task) else contextlib.nullcontext():
        asked = decode_file(task)
    if asked.words:
        click.echo(
            f"neural language models: {asked.words:,} words asked for, "
            f"{asked.histories:,} distinct histories computed",
            err=True,
        )
