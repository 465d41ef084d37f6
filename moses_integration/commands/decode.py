"""``phrasescore decode``: translate with a moses.ini, without Moses."""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Timer
from typing import get_type_hints

from moses_integration.commands.options import INI, LoadingOptions, named_command
from moses_integration.decoder.settings import (
    DEFAULT_TABLE_LIMIT,
    NBestSettings,
    OutputSettings,
    SearchSettings,
)
from phrasescore.closed_settings import bounds_of
from phrasescore.commands.declarations import Field, Options, command, flag, option, output_to
from phrasescore.commands.options import THREADS, BoundedInt, bounded, resumable, say
from phrasescore.commands.paths import OUTPUT, PathName, Use
from phrasescore.runs.file_kinds import STANDARD_STREAM
from phrasescore.runs.processes import usable_cores

_PATIENCE = 10.0  # seconds until a program that waits for translations is told why
_READS_ALL = (
    "note: all lines are read, up to the end of input (Ctrl-D on a terminal), before the first is "
    "translated; Decoder.translate_text of the Python package answers line by line"
)
_PRINTED = "report_segmentation", "print_alignment_info", "output_hypo_score"
_HINTS = get_type_hints(SearchSettings, include_extras=True)


def _search_option(name: str, text: str) -> Field:
    """Declare a search option; the default is the value in the ini, or else Moses's default."""
    default, bounds = getattr(SearchSettings, name), bounds_of(_HINTS[name])
    assert bounds is not None
    return option(bounded(bounds, whole=isinstance(default, int)), f"{text}  [{default}]")


class SearchOptions(Options):
    """Limits of the search; the defaults are the values in the ini, or else Moses's defaults."""

    search_algorithm: int | None = _search_option(
        "search_algorithm", "0 for stack decoding, 1 for cube pruning."
    )
    stack: int | None = _search_option(
        "stack", "The maximum number of hypotheses in a stack; 0 for no limit."
    )
    beam_threshold: float | None = _search_option(
        "beam_threshold",
        "The minimum ratio of a hypothesis's probability to that of the best one in its stack.",
    )
    distortion_limit: int | None = _search_option(
        "distortion_limit", "The maximum number of words that a phrase may jump; -1 for no limit."
    )
    table_limit: int | None = option(
        BoundedInt(0, 10**6),
        f"The maximum number of translations of a phrase; 0 for no limit.  [{DEFAULT_TABLE_LIMIT}]",
    )
    cube_pruning_pop_limit: int | None = _search_option(
        "cube_pruning_pop_limit", "The number of hypotheses to pop for each stack."
    )
    cube_pruning_diversity: int | None = _search_option(
        "cube_pruning_diversity", "The minimum number of hypotheses per coverage."
    )
    max_phrase_length: int | None = _search_option(
        "max_phrase_length", "The maximum number of words in a source phrase."
    )
    max_trans_opt_per_coverage: int | None = _search_option(
        "max_trans_opt_per_coverage",
        "The maximum number of translation options of a span; 0 for no limit.",
    )
    drop_unknown: bool = flag("Drop unknown words without digits instead of copying them.")
    threads: int | None = option(
        THREADS, "The number of sentences to translate at once.  [the number of usable cores]"
    )


class OutputOptions(Options):
    """Outputs, with the names of Moses's switches."""

    output: str = output_to("Where to write the translations.")
    nbest: str | None = option(
        PathName(Use.WRITE, may_replace="--output"), "Also write an n-best list."
    )
    nbest_size: int = option(
        BoundedInt(1, 100_000),
        "The maximum number of derivations of a sentence in the list.",
        default=NBestSettings().size,
        needs=("nbest",),
    )
    distinct: bool = flag(
        "List only the best derivation of each translation, or all derivations.",
        "--distinct/--no-distinct",
        default=NBestSettings().distinct,
        needs=("nbest",),
    )
    n_best_factor: int = option(
        BoundedInt(0, 10**4),
        "The maximum number of derivations to examine for a line of a distinct list; 0 for 1000.",
        default=NBestSettings().factor,
        needs=("nbest",),
    )
    include_segmentation_in_n_best: bool = flag(
        "Add source spans to the lines of the list.", needs=("nbest",)
    )
    print_alignment_info_in_n_best: bool = flag(
        "Add word links to the lines of the list.", needs=("nbest",)
    )
    report_segmentation: bool = flag("Print the source span after each phrase, e.g. |0-1|.", "-t")
    print_alignment_info: bool = flag("Print word links after the translation.")
    output_hypo_score: bool = flag("Print the model score before the translation.")
    output_unknowns: str | None = option(OUTPUT, "Also write the unknown words of each sentence.")


class DecodeOptions(LoadingOptions, OutputOptions, SearchOptions):
    """Options of ``decode``."""

    ini: str = INI
    scorers: tuple[tuple[str, str], ...] = option(
        named_command,
        "The program that computes the feature NAME of SYSTEM's rescoring.json. It reads the "
        "source, a tab and a candidate from each line, and writes a number a line; may be "
        "repeated.",
        "--scorer",
        many=True,
        metavar="NAME='COMMAND'",
    )
    raw: bool = flag(
        "Read raw text, and write finished text: preprocess, translate and postprocess with the "
        "text.json of SYSTEM. Lines that are too long are cut where sentences end.",
        excludes=("nbest", "output_unknowns", *_PRINTED),
    )


def _note_for_waiting(path: str) -> Timer:
    """Return a timer for the note that all lines are read first; it runs for standard input."""
    is_typed = sys.stdin is not None and sys.stdin.isatty()
    timer = Timer(0 if is_typed else _PATIENCE, say, [_READS_ALL])
    timer.daemon = True
    if path == STANDARD_STREAM:
        timer.start()
    return timer


@command("decode", DecodeOptions, short_help="Translate with a moses.ini.")
def decode(options: DecodeOptions) -> None:
    """Translate sentences, one per line, with SYSTEM: a moses.ini, or the folder of a system.

    In a folder, all paths are relative to the folder, and if it has a rescoring.json, the models
    named there choose among the candidates of the search. An n-best list then shows their scores,
    and the second score as the total.

    Search and scores are the same as in Moses, and options have Moses's names. If an option is not
    given, its value comes from the ini, or else is Moses's default, shown in brackets below. The
    input must be preprocessed like the training text (phrasescore preprocess), unless --raw is
    given.

    All of the input is read before the first sentence is translated.

    If all outputs are files and the command is interrupted, even by kill -9, the same command
    continues where it stopped.
    """
    from moses_integration.decoder.file_decoding import decode_file
    from moses_integration.decoder.loading.source_phrases import read_sentences
    from moses_integration.ini.rescoring_file import RESCORING

    ini = options.system(options.ini)
    decoder = options.decoder(ini, scorers=dict(options.scorers))
    if not ini.base and Path(ini.path).with_name(RESCORING).exists():
        say(f"note: {RESCORING} beside {ini.path} is not used; name the folder to use it")
    nbest = NBestSettings(options.nbest_size, options.distinct, options.n_best_factor)
    named = {
        "nbest": options.nbest,
        "unknowns": options.output_unknowns,
        # as in Moses, an n-best list on standard output replaces the translations
        "output": None if options.nbest == options.output == STANDARD_STREAM else options.output,
    }
    paths = {name: path for name, path in named.items() if path is not None}
    printed = options.settings(OutputSettings)
    usual = [*ini.values("threads"), "all"][0]  # `FeatureSet.from_ini` checked the value
    threads = options.threads or (usable_cores() if usual == "all" else int(usual))
    with resumable((), [options.output, *paths.values()]):
        note = _note_for_waiting(options.input_path)
        given, longest, raw = options.input_path, options.max_sentence_length, None
        if options.raw:
            from moses_integration.decoder.raw_text import RawText
            from moses_integration.text.preparation import CASE_LOST, read_text

            raw = RawText.from_lines(read_text(given), ini.path, path=given, longest=longest)
            for said in (*raw.notes, *([CASE_LOST] if raw.restore.settings.lowercase else [])):
                say(said)
        sentences = raw.sentences if raw else read_sentences(given, longest=longest)
        note.cancel()
        decode_file(
            ini, decoder, sentences, paths, printed=printed, nbest=nbest, threads=threads, raw=raw
        )
