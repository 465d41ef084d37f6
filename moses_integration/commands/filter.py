"""``phrasescore filter``: a system cut down to what given texts can use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from phrasescore.commands.paths import INPUT, OUTPUT_FOLDER
from phrasescore.errors import ResumeError, SettingsError

if TYPE_CHECKING:
    from moses_integration.ini.moses_ini import MosesIni


@click.command("filter")
@click.argument("path", type=INPUT, metavar="MOSES_INI")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    required=True,
    type=INPUT,
    metavar="FILE",
    help="A text that will be translated, tokenised, plain or gzip; may be repeated.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=OUTPUT_FOLDER,
    metavar="FOLDER",
    help="A new folder for moses.ini and the tables, which get the names of their features.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="SECTION=VALUE",
    help="Give the new moses.ini a setting, e.g. search-algorithm=1; may be repeated.",
)
def filter_tables(
    path: str, inputs: tuple[str, ...], output: str, settings: tuple[str, ...]
) -> None:
    """Copy what the phrase and reordering tables of MOSES_INI have for the texts to be translated.

    Lines whose source phrase occurs in a text stay as they are, all columns of them. Binary tables
    and language models stay where they are. The new moses.ini has absolute paths.
    """
    from pathlib import Path

    from moses_integration.ini.moses_ini import MosesIni
    from moses_integration.tables.filtering import filter_system, is_filtered
    from phrasescore.table.input_files import read_lines

    folder = Path(output)
    ini = _prepared(MosesIni.read(path), settings)
    lines = [line for name in inputs for line in read_lines(name)]
    if folder.exists() and not is_filtered(ini, lines, folder):
        raise ResumeError(
            "there is something of this name already, perhaps tables filtered to other texts",
            path=folder,
            remedy="name a new folder, or delete this one",
        )
    done = folder.exists()
    _, tables = filter_system(ini, lines, folder)
    if done:
        click.echo(f"{folder}: filtered already, for the same texts", err=True)
    for table in tables:
        click.echo(f"{table.name}: {table.kept:,} of {table.lines:,} lines", err=True)


def _prepared(ini: MosesIni, settings: tuple[str, ...]) -> MosesIni:
    """Return the ini with the settings, and absolute paths of files that exist."""
    from moses_integration.ini.edits import with_section
    from moses_integration.ini.model_files import (
        find_binary_file,
        find_model_file,
        path_keys,
        with_absolute_paths,
    )

    ini.refuse_old_style()
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise SettingsError(
                f"the setting {setting!r} is not SECTION=VALUE",
                remedy="write for example --set cube-pruning-pop-limit=500",
            )
        ini = with_section(ini, name, value)
    for feature in ini.features:
        for key in path_keys(feature):
            named = feature.options[key]
            if find_binary_file(named, feature.kind) is None:
                found = find_model_file(named, ini=ini.path)
                ini = ini.with_feature_option(feature.name, key, str(found.path))
    return with_absolute_paths(ini)
