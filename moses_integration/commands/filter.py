"""``phrasescore filter``: filter the tables of a system to given texts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from moses_integration.commands.options import INI, sections
from phrasescore.commands.declarations import Options, command, option
from phrasescore.commands.paths import INPUT, OUTPUT_FOLDER

if TYPE_CHECKING:
    from moses_integration.ini.moses_ini import MosesIni


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
    output: str = option(
        OUTPUT_FOLDER,
        "A new folder for moses.ini and the tables. Each table is named after its feature.",
        "-o",
        required=True,
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
    from moses_integration.ini.moses_ini import MosesIni
    from moses_integration.ini.rescoring_file import carry_rescoring
    from moses_integration.tables.filtering import filter_system
    from phrasescore.table.input_files import read_lines

    folder = Path(options.output)
    ini = _prepared(MosesIni.read(options.ini), options.sections)
    lines = [line for name in options.inputs for line in read_lines(name)]
    done = folder.exists()
    _, tables = filter_system(ini, lines, folder)
    carry_rescoring(options.ini, folder)
    if done:
        click.echo(f"{folder}: filtered already to the same texts", err=True)
    for table in tables:
        click.echo(f"{table.name}: {table.kept:,} of {table.lines:,} lines", err=True)


def _prepared(ini: MosesIni, sections: Iterable[tuple[str, str]]) -> MosesIni:
    """Return the ini with new settings, and with absolute paths of existing files."""
    from moses_integration.ini.edits import with_sections
    from moses_integration.ini.model_files import (
        absolute_if_possible,
        find_binary_file,
        find_model_file,
        named_paths,
        with_absolute_paths,
    )

    ini.refuse_old_style()
    ini = with_absolute_paths(ini, str)
    ini = with_sections(ini, sections)
    for feature, key, named in named_paths(ini):
        if find_binary_file(named, feature.kind) is None:
            ini = ini.with_feature_option(feature.name, key, str(find_model_file(named)))
    return with_absolute_paths(ini, absolute_if_possible)
