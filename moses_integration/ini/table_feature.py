"""Make a moses.ini use a phrase table that has more scores than the one it names now."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from moses_integration.ini.feature_kinds import (
    PHRASE_TABLE_KINDS,
    TEXT_TABLE_KINDS,
    component_count,
)
from moses_integration.ini.lines import format_weight, refuse_unreadable
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from phrasescore.errors import IniError, PhraseTableError, SettingsError, counted
from phrasescore.runs.file_kinds import STANDARD_STREAM

_DEFAULT_WEIGHT = 1.0
START_WEIGHT = 0.2  # what Moses's training gives each score of a phrase table
# how to make the binary form that an ini asks for; N is the number of scores
_BINARISERS = {
    "PhraseDictionaryCompact": "processPhraseTableMin -nscores N -in TABLE -out NAME",
    "PhraseDictionaryOnDisk": "CreateOnDiskPt 1 1 N 20 2 TABLE FOLDER",
    "ProbingPT": "CreateProbingPT --num-scores N --input-pt TABLE --output-dir FOLDER",
}


@dataclass(frozen=True)
class TableFeature:
    """The phrase table of an ini that is to be replaced.

    Args:
        line: Its line.
        scores: How many scores it has now.
        weights: Its weights now, one for each score.
    """

    line: FeatureLine
    scores: int
    weights: tuple[float, ...]


@dataclass(frozen=True)
class TableChange:
    """An edited ini, and what was done to it.

    Args:
        ini: The new content.
        before: The phrase table that was replaced.
        scores: How many scores it has now.
        weights: Its weights now, one for each score.
    """

    ini: MosesIni
    before: TableFeature
    scores: int
    weights: tuple[float, ...]

    def __str__(self) -> str:
        name = self.before.line.name
        path = self.ini.feature(name).options["path"]
        if self.scores == self.before.scores:
            return f"{name}: path={path}; still {counted(self.scores, 'score')}, same weights"
        added = " ".join(map(format_weight, self.weights[self.before.scores :]))
        return (
            f"{name}: path={path}, num-features={self.scores} "
            f"(before: {self.before.scores}), with the weight {added}"
        )


def has_tuned_weights(ini: MosesIni) -> bool:
    """Tell whether weights were tuned: training gives all scores of a phrase table the same."""
    tables = (line.name for line in ini.features if line.kind in PHRASE_TABLE_KINDS)
    return any(len(set(ini.weights.get(name, ()))) > 1 for name in tables)


def start_weight_for(ini: MosesIni) -> float:
    """Return a weight for a new score: that of training, or 0 beside weights that are tuned.

    Any other would make translations worse until all weights are tuned again.
    """
    return 0.0 if has_tuned_weights(ini) else START_WEIGHT


def find_table_feature(ini: MosesIni, name: str | None = None) -> TableFeature:
    """Find the phrase table to replace, and make sure that it can be replaced without guessing.

    Args:
        ini: What to look through.
        name: The feature; needed only where there are several phrase tables.

    Raises:
        IniError: It cannot be told what to edit, it is not a text table, or the number of its
            weights is wrong.
        SettingsError: ``name`` is not a phrase table.
    """
    ini.refuse_old_style()
    _refuse_other_weights(ini)
    line = _text_table(ini, name)
    try:
        scores = component_count(line.kind, line.options)
    except IniError as error:
        raise error.at(ini.path, line.line) from None
    weights = ini.weights.get(line.name, (_DEFAULT_WEIGHT,) * scores)
    if len(weights) != scores:
        raise IniError(
            f"{counted(len(weights), 'weight')} for {line.name}, which has num-features={scores}",
            path=ini.path,
            line=ini.weight_line(line.name),
            remedy="make the two agree first, as Moses requires",
        )
    return TableFeature(line, scores, weights)


def with_table(
    ini: MosesIni, feature: TableFeature, table: str, scores: int, start_weight: float
) -> TableChange:
    """Point a phrase table to another file, with a weight for each new score.

    Only the path changes if the number of scores stays. ``tuneable-components``, where present,
    goes on with 1.

    Args:
        ini: What to edit.
        feature: What was found in it.
        table: The path of the text table, as the ini will name it.
        scores: How many scores each of its lines has.
        start_weight: The weight of each new score.

    Raises:
        IniError: The table has fewer scores than the feature, or Moses could not read its path.
    """
    line, added = feature.line, scores - feature.scores
    if added < 0:
        raise IniError(
            f"{line.name} has {counted(feature.scores, 'score')}, but {table} has only {scores}",
            path=ini.path,
            line=line.line,
            remedy="name the table that has all columns of the old one, then the new ones",
        )
    ini = ini.with_feature_option(line.name, "path", table)
    if not added:
        return TableChange(ini, feature, scores, feature.weights)
    ini = ini.with_feature_option(line.name, "num-features", str(scores))
    if mask := line.options.get("tuneable-components"):
        ini = ini.with_feature_option(line.name, "tuneable-components", mask + ",1" * added)
    weights = feature.weights + (start_weight,) * added
    ini = ini.with_weights({line.name: weights})
    return TableChange(ini, feature, scores, weights)


def with_reordering(ini: MosesIni, table: str) -> MosesIni:
    """Point the one lexicalised reordering feature to another table.

    Args:
        ini: What to edit.
        table: The path of the text table, as the ini will name it.

    Raises:
        IniError: There is none, or there are several; or Moses could not read the path.
    """
    check_table_path(table)
    lines = [line for line in ini.features if line.kind == "LexicalReordering"]
    if len(lines) != 1:
        raise IniError(
            f"{counted(len(lines), 'LexicalReordering feature')}, where --reordering takes one",
            path=ini.path,
            remedy="leave --reordering out, and edit path= in the file",
        )
    return ini.with_feature_option(lines[0].name, "path", table)


def _refuse_other_weights(ini: MosesIni) -> None:
    for section in ("weight-overwrite", "feature-overwrite", "alternate-weight-setting"):
        if ini.values(section):
            raise IniError(
                f"a [{section}] section, which would have to change too",
                path=ini.path,
                remedy="write what it says into [feature] and [weight], or add the column by hand",
            )


def _text_table(ini: MosesIni, name: str | None) -> FeatureLine:
    """Find the one phrase table that is meant, and make sure that it is read as text."""
    tables = [line for line in ini.features if line.kind in PHRASE_TABLE_KINDS]
    names = ", ".join(line.name for line in tables)
    if name is not None:
        chosen = ini.feature(name)
        if chosen not in tables:
            raise SettingsError(
                f"{name} is a {chosen.kind}, not a phrase table",
                remedy=f"name one of: {names}" if tables else None,
            )
    elif not tables:
        raise IniError("no phrase table among the features", path=ini.path)
    elif len(tables) > 1:
        raise IniError(
            f"{len(tables)} phrase tables: {names}",
            path=ini.path,
            line=tables[1].line,
            remedy="say with --feature which one gets the new table",
        )
    else:
        chosen = tables[0]
    if chosen.kind not in TEXT_TABLE_KINDS:
        _refuse_binary(ini, chosen)
    return chosen


def _refuse_binary(ini: MosesIni, line: FeatureLine) -> None:
    remedy = "point the feature to a text table first (PhraseDictionaryMemory)"
    if line.kind in _BINARISERS:
        remedy = (
            "add the column to the ini of the text table (PhraseDictionaryMemory), and make the "
            f"binary table from the new text table: {_BINARISERS[line.kind]}"
        )
    raise IniError(
        f"{line.name} is a {line.kind}, which does not read text tables",
        path=ini.path,
        line=line.line,
        remedy=remedy,
    )


def check_table_path(table: str) -> None:
    """Refuse what cannot be the path of a text table.

    Raises:
        IniError: Moses could not read it from an ini.
        SettingsError: It is standard input.
        PhraseTableError: It is a folder.
    """
    if table == STANDARD_STREAM:
        raise SettingsError(
            "the table is standard input, but the ini needs a path", remedy="write it to a file"
        )
    refuse_unreadable("path", table)
    if Path(table).is_dir():
        raise PhraseTableError(
            "a folder, where a text phrase table was expected",
            path=table,
            remedy="name the text table; probing and on-disk tables, which are folders, are made "
            "from it afterwards",
        )


def with_absolute_paths(ini: MosesIni) -> MosesIni:
    """Return the file with every path of a feature, and of ``[weight-file]``, made absolute.

    Relative ones are taken to be relative to the current directory, as Moses takes them.
    """
    for line in ini.features:
        for key in path_keys(line):
            ini = ini.with_feature_option(line.name, key, _absolute(line.options[key]))
    for index, path in enumerate(ini.values("weight-file")):
        ini = ini.with_value("weight-file", index, _absolute(path))
    return ini


def relative_paths(ini: MosesIni) -> list[tuple[FeatureLine, str]]:
    """Return features with the paths that hold in the current directory only."""
    return [
        (line, line.options[key])
        for line in ini.features
        for key in path_keys(line)
        if not Path(line.options[key]).is_absolute()
    ]


def _absolute(path: str) -> str:
    # not Path.resolve(): links keep their names
    return os.path.abspath(path)  # noqa: PTH100


def path_keys(line: FeatureLine) -> Iterator[str]:
    """Yield the options of a feature that name a file."""
    for key, value in line.options.items():
        if value and (key in ("path", "base", "file") or key.endswith(("-path", "-file"))):
            yield key
