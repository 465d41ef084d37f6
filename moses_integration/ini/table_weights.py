"""The weights that a moses.ini gives the scores of one phrase table, wherever that table lies."""

from __future__ import annotations

from pathlib import Path

from moses_integration.ini.feature_kinds import PHRASE_TABLE_KINDS, component_count
from moses_integration.ini.model_files import find_model_file
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from moses_integration.ini.parameters import REWRITING_SECTIONS
from phrasescore.errors import IniError, InputError, SettingsError, counted


def table_weights(
    ini: MosesIni, table: str | Path, name: str | None = None
) -> tuple[str, tuple[float, ...]]:
    """Find the feature that stands for a table, and its weights.

    It is the feature called ``name``; or else the phrase table whose path is that of ``table``; or
    else the only phrase table.

    Args:
        ini: What to look through; relative paths resolve against the current directory.
        table: The table, or ``-``.
        name: The feature, if it is known.

    Returns:
        The feature's name, and a weight for each of its scores.

    Raises:
        IniError: It cannot be told which feature is meant, it has not a weight for each score, or a
            section changes weights behind the back of ``[weight]``.
        SettingsError: ``name`` is not a phrase table.
    """
    ini.refuse_old_style()
    for section in sorted(REWRITING_SECTIONS):
        if ini.values(section):
            raise IniError(
                f"a [{section}] section",
                path=ini.path,
                remedy="write what it says into [feature] and [weight] themselves",
            )
    line = _feature_of(ini, table, name)
    try:
        count = component_count(line.kind, line.options)
    except IniError as error:
        raise error.at(ini.path, line.line) from None
    weights = ini.weights.get(line.name, ())
    if len(weights) != count:
        found = counted(len(weights), "weight") if weights else "no weight"
        raise IniError(
            f"{found} for {line.name}, which has {counted(count, 'score')}",
            path=ini.path,
            line=line.line,
            remedy=f"give {line.name} a weight for each score in [weight]",
        )
    return line.name, weights


def _feature_of(ini: MosesIni, table: str | Path, name: str | None) -> FeatureLine:
    tables = [line for line in ini.features if line.kind in PHRASE_TABLE_KINDS]
    names = ", ".join(line.name for line in tables)
    if name is not None:
        chosen = ini.feature(name)
        if chosen not in tables:
            raise SettingsError(
                f"{name} is a {chosen.kind}, not a phrase table",
                remedy=f"name one of: {names}" if tables else None,
            )
        return chosen
    if not tables:
        raise IniError("no phrase table among the features", path=ini.path)
    same = [line for line in tables if _is_path_of(line, table)]
    if len(tables) == 1 or len(same) == 1:
        return (same or tables)[0]
    raise IniError(
        f"{len(tables)} phrase tables: {names}",
        path=ini.path,
        line=tables[1].line,
        remedy="say with --feature which one's weights count",
    )


def _is_path_of(line: FeatureLine, table: str | Path) -> bool:
    try:
        found = find_model_file(line.options.get("path", ""))
    except InputError:
        return False
    return found.path.resolve() == Path(table).resolve()
