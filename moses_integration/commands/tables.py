"""``phrasescore prune`` and ``filter``: keep a part of the lines of tables."""

from __future__ import annotations

from pathlib import Path

from moses_integration.commands.options import INI, sections
from moses_integration.ini import edits, model_files
from moses_integration.ini.moses_ini import MosesIni
from phrasescore.commands.declarations import Options, argument, command, option
from phrasescore.commands.options import (
    COLUMN,
    ITEMS,
    BoundedFloat,
    Reordering,
    Result,
    output_file,
    output_folder,
    resumable,
    say,
)
from phrasescore.commands.paths import INPUT
from phrasescore.runs.identity import provenance
from phrasescore.table.input_files import looks_raw, read_lines


class PruneOptions(Reordering, Result):
    """Options of ``prune``."""

    table: str = argument(INPUT)
    output: str = output_file("the table")
    top: int | None = option(
        ITEMS,
        "Keep the best K targets of each source; among equally good targets, those that come "
        "first in the table.",
        metavar="K",
    )
    threshold: float | None = option(
        BoundedFloat(-1e300, 1e300), "Keep pairs whose score is at least this number.", metavar="P"
    )
    column: int | None = option(
        COLUMN,
        "The score that --top and --threshold compare, counted from 1; 3 is p(target|source) in a "
        "table of Moses.",
    )
    significance: str | None = option(
        "LEVEL",
        "Keep pairs with -ln p above this number in Fisher's exact test on the table's counts. "
        "a+e drops the pairs that, like both of their phrases, have the count 1 (build with one "
        "--aligner, because each one counts); a-e keeps them.",
        needs=("sentences",),
    )
    sentences: int | None = option(
        ITEMS,
        "With --significance: the number of sentence pairs that the table was extracted from.",
        needs=("significance",),
    )
    drop: str | None = option(
        INPUT, "A file of pairs to drop: source, tab, target; further columns are ignored."
    )
    reordering: str | None = option(
        INPUT, "The lexicalised reordering table of the same system; keep the same pairs in it."
    )


@command("prune", PruneOptions)
def prune(options: PruneOptions) -> None:
    """Keep the pairs of TABLE (plain, .gz, or - for standard input) that meet all conditions.

    Conditions apply in this order, each to the pairs that are left: --drop, --significance,
    --threshold, --top. Kept lines stay as they are, in their order. The table must be sorted as
    Moses sorts it (LC_ALL=C). If the command is interrupted, even by kill -9, the same command
    continues.
    """
    from moses_integration.tables.pair_significance import SignificanceLevel
    from moses_integration.tables.pruning import DropList, PruningConditions, prune_table

    reordering = options.reordering_pair(options.output)
    significance = None
    if options.significance is not None and options.sentences is not None:
        significance = SignificanceLevel.parse(options.significance, options.sentences)
    drop = None if options.drop is None else DropList(read_lines(options.drop), options.drop)
    conditions = options.settings(PruningConditions, drop=drop, significance=significance)
    with resumable([options.table], [options.output]):
        report = prune_table(options.table, options.output, conditions, reordering=reordering)
        say(str(report))
    options.show({**report.to_json(), "provenance": provenance(settings=conditions.to_json())})


class FilterOptions(Options):
    """Options of ``filter``."""

    ini: str = INI
    inputs: tuple[str, ...] = option(
        INPUT,
        "A tokenised text that will be translated, plain or gzip; may be repeated.",
        "--input",
        many=True,
        required=True,
    )
    output: str = output_folder(
        "A new folder for moses.ini and the tables. Each table is named after its feature."
    )
    sections: tuple[tuple[str, str], ...] = sections(
        "Give the new moses.ini a setting, e.g. search-algorithm=1; may be repeated."
    )


@command("filter", FilterOptions)
def filter_tables(options: FilterOptions) -> None:
    """Copy those lines of SYSTEM's phrase and reordering tables that the given texts can use.

    The new tables contain, unchanged, the lines whose source phrase occurs in a text. Binary tables
    and language models stay where they are. The new moses.ini names all files by absolute paths.
    If SYSTEM is a folder with a rescoring.json, the new folder gets a copy, with the models.
    """
    from moses_integration.ini.rescoring_file import carry_rescoring
    from moses_integration.tables.copying import filter_system
    from moses_integration.text.preparation import SETTINGS_FILE

    folder = Path(options.output)
    ini = MosesIni.read(options.ini)
    ini.refuse_old_style()
    ini = edits.with_sections(model_files.with_absolute_paths(ini, str), options.sections)
    for feature, key, named in model_files.named_paths(ini):
        if model_files.find_binary_file(named, feature.kind) is None:
            found = str(model_files.find_model_file(named))
            ini = ini.with_feature_option(feature.name, key, found)
    ini = model_files.with_absolute_paths(ini, model_files.absolute_if_possible)
    lines = [line for name in options.inputs for line in read_lines(name)]
    ends = (line.split()[-1].decode("utf-8", "replace") for line in lines if line.strip())
    if Path(ini.path).with_name(SETTINGS_FILE).exists() and looks_raw(ends):
        say("warning: the input looks like raw text; preprocess it first")
    done = folder.exists()
    _, tables = filter_system(ini, lines, folder)
    carry_rescoring(options.ini, folder)
    if done:
        say(f"{folder}: filtered already to the same texts")
    for table in tables:
        say(f"{table.name}: {table.kept:,} of {table.lines:,} lines")
