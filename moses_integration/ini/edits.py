"""Edits of a moses.ini: replace a table, add a language model, change a setting, remove a feature.

Each edit returns a new ini that differs from the old ini no more than the edit requires.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import get_args

from moses_integration.ini import feature_kinds
from moses_integration.ini.feature_weights import boolean_option, has_tuned_weights, table_weights
from moses_integration.ini.moses_ini import (
    FeatureLine,
    MosesIni,
    format_weight,
    parse_weights,
    refuse_unreadable,
)
from moses_integration.ini.parameters import REWRITING_SECTIONS, SECTIONS
from phrasescore.errors import IniError, PhraseTableError, SettingsError, counted, did_you_mean
from phrasescore.runs.file_kinds import STANDARD_STREAM
from phrasescore.words import Unknown

START_WEIGHT = 0.2  # the weight that Moses's training gives each score of a phrase table
# the names of dense features that mert-moses.pl recognises
TUNABLE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_MAPPED = feature_kinds.PHRASE_TABLE_KINDS | {"Generation"}
_OTHER_WEIGHTS = frozenset(["alternate-weight-setting"])
# these sections describe the model; changing one alone would contradict the rest of the file
_STRUCTURE = frozenset(
    name for name in SECTIONS if name.startswith(("feature", "weight", "alternate-weight"))
) | {"mapping"}


def start_weight_for(ini: MosesIni) -> float:
    """Return the weight of a new score: `START_WEIGHT`, or 0 if the other weights are tuned.

    Next to tuned weights, any weight but 0 would make translations worse until the next tuning.
    """
    return 0.0 if has_tuned_weights(ini) else START_WEIGHT


def find_table_feature(ini: MosesIni, name: str | None = None) -> FeatureLine:
    """Find the phrase table to replace, and check that the edit is unambiguous.

    Args:
        ini: The ini.
        name: The feature; needed only if there are several phrase tables.

    Raises:
        IniError: The choice is ambiguous, the table is not a text table, or the number of its
            weights is wrong.
        SettingsError: ``name`` is not a phrase table.
    """
    ini.refuse_old_style()
    for section in ("weight-overwrite", "feature-overwrite", *_OTHER_WEIGHTS):
        if ini.values(section):
            raise ini.error(
                f"the ini has a [{section}] section, which this edit would have to change, too",
                remedy="move its content to [feature] and [weight], or add the column by hand",
            )
    line = _phrase_table(ini, name)
    if line.kind not in feature_kinds.TEXT_TABLE_KINDS:
        remedy = "point the feature to a text table first (PhraseDictionaryMemory)"
        if binariser := feature_kinds.BINARISERS.get(line.kind):
            remedy = (
                "add the column to the ini of the text table (PhraseDictionaryMemory), and make "
                f"the binary table from the new text table: {binariser.format('N')}"
            )
        problem = f"{line.name} is a {line.kind}, which does not read text tables"
        raise ini.error(problem, line=line.line, remedy=remedy)
    table_weights(ini, line)
    return line


def _phrase_table(ini: MosesIni, name: str | None) -> FeatureLine:
    """Find a phrase table by name; without a name, find the only one."""
    tables = [line for line in ini.features if line.kind in feature_kinds.PHRASE_TABLE_KINDS]
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
        raise ini.error("no phrase table among the features")
    if len(tables) > 1:
        problem = f"the ini has {len(tables)} phrase tables: {names}"
        remedy = "choose one of them with --feature"
        raise ini.error(problem, line=tables[1].line, remedy=remedy)
    return tables[0]


def with_table(ini: MosesIni, line: FeatureLine, table: str, scores: int) -> tuple[MosesIni, str]:
    """Point a phrase table feature to another file, and add a weight for each new score.

    Only the path changes if the number of scores stays the same. ``tuneable-components``, if
    present, gets a 1 for each new score.

    Args:
        ini: The ini.
        line: The line of the phrase table.
        table: The path of the text table, as it is written to the ini.
        scores: The number of scores of the new table.

    Returns:
        The new ini, and a description of the edit for the user.

    Raises:
        IniError: The table has fewer scores than the feature, or is the feature's own table, which
            has no new score, or Moses could not read its path.
    """
    weights = table_weights(ini, line)
    before, added = len(weights), scores - len(weights)
    if added < 0:
        problem = f"{line.name} has {counted(before, 'score')}, but {table} has only {scores}"
        remedy = "name a table that has all scores of the old one, and then the new scores"
        raise ini.error(problem, line=line.line, remedy=remedy)
    if not added and Path(table).resolve() == Path(line.options.get("path", "")).resolve():
        problem = f"{line.name} has this table already, with {counted(scores, 'score')}"
        remedy = "first append a score to it: phrasescore score"
        raise ini.error(problem, line=line.line, remedy=remedy)
    start_weight = start_weight_for(ini)
    ini = ini.with_feature_option(line.name, "path", table)
    summary = f"{line.name}: path={table}"
    if not added:
        same = (
            f"; no score was added, because this table has {counted(scores, 'score')}, too "
            "(phrasescore score appends one)"
        )
        return ini, summary + same
    ini = ini.with_feature_option(line.name, "num-features", str(scores))
    if mask := line.options.get("tuneable-components"):
        ini = ini.with_feature_option(line.name, "tuneable-components", mask + ",1" * added)
    ini = ini.with_weights({line.name: weights + (start_weight,) * added})
    shown = " ".join([format_weight(start_weight)] * added)
    summary += f", num-features={scores} (before: {before}), with the weight {shown}"
    return ini, summary


def with_reordering(ini: MosesIni, table: str) -> MosesIni:
    """Point the only lexicalised reordering feature to another table.

    Args:
        ini: The ini.
        table: The path of the text table, as it is written to the ini.

    Raises:
        IniError: There is no such feature, or several, or Moses could not read the path.
    """
    check_table_path(table)
    lines = [line for line in ini.features if line.kind == "LexicalReordering"]
    if len(lines) != 1:
        raise ini.error(
            f"{counted(len(lines), 'LexicalReordering feature')}, but --reordering needs one",
            remedy="leave --reordering out, and edit path= in the file",
        )
    return ini.with_feature_option(lines[0].name, "path", table)


def check_table_path(table: str) -> None:
    """Refuse a path that cannot name a text table in an ini.

    Raises:
        IniError: Moses could not read the path from an ini.
        SettingsError: The path is standard input.
        PhraseTableError: The path is a folder.
    """
    if table == STANDARD_STREAM:
        raise SettingsError(
            "the table comes from standard input, but an ini needs a path",
            remedy="write the table to a file first",
        )
    refuse_unreadable("path", table)
    if Path(table).is_dir():
        raise PhraseTableError(
            "a folder, where a text phrase table was expected",
            path=table,
            remedy="name the text table; probing and on-disk tables, which are folders, are made "
            "from the text table afterwards",
        )


def next_name(taken: Collection[str], base: str = "NeuralLM") -> str:
    """Return the first free name among ``base0``, ``base1`` and so on.

    >>> next_name({"LM0", "NeuralLM0"})
    'NeuralLM1'
    """
    names = (f"{base}{number}" for number in itertools.count())
    return next(name for name in names if name not in taken)


def with_language_model(
    ini: MosesIni, kind: str, name: str | None, options: Mapping[str, str]
) -> tuple[MosesIni, str]:
    """Add a language model as the last feature, with the last weight.

    Args:
        ini: The ini.
        kind: The class of the feature.
        name: The name of the feature; ``None`` for the next free name, such as ``NeuralLM0`` or,
            for an n-gram model, ``LM0``.
        options: The options on the feature's line, ``path`` among them.

    Returns:
        The new ini, and a description of the edit for the user.

    Raises:
        IniError: The name is taken, or Moses could not read an option from an ini.
        SettingsError: A feature of this name could not be tuned.
    """
    ini.refuse_old_style()
    for key, value in options.items():
        refuse_unreadable(key, value)
    taken = {*(line.name for line in ini.features), *ini.weights}
    free = next_name(taken, "NeuralLM" if kind == feature_kinds.FEED_FORWARD_LM else "LM")
    name = name or free
    if not TUNABLE_NAME.fullmatch(name):
        problem = f"a feature cannot be called {name!r}"
        raise SettingsError(problem, remedy="use letters and digits only, a letter first")
    if name in taken:
        raise ini.error(
            f"there is a feature {name} already, or a weight of that name",
            remedy=f"give another --name, such as {free}",
        )
    line = " ".join(f"{key}={value}" for key, value in options.items())
    weight = start_weight_for(ini)
    ini = ini.with_added_values("feature", f"{kind} name={name} {line}")
    summary = f"{name}: {line}, with the weight {format_weight(weight)}"
    return ini.with_weights({name: (weight,)}), summary


def neural_options(line: FeatureLine) -> tuple[bool, bool]:
    """Return whether a model's scores are normalised, and whether unknown words share p(<unk>).

    Raises:
        IniError: An option has an unknown value (the error has no line number yet).
    """
    unknown = line.options.get("unknown", "whole")
    if unknown not in get_args(Unknown):
        raise IniError(f"unknown is {unknown!r}, expected whole or share")
    normalised = boolean_option("normalised", line.options.get("normalised", "true"))
    return normalised, unknown == "share"


def own_features(ini: MosesIni) -> tuple[FeatureLine, ...]:
    """Return the features of an ini that real Moses does not know."""
    return tuple(line for line in ini.features if line.kind in feature_kinds.OWN_KINDS)


def factor_problems(ini: MosesIni) -> Iterator[IniError]:
    """Yield an error for each table without the factors that Moses looks phrases up by.

    Moses then looks phrases up by no factor and copies the words of the input, or it stops.
    """
    for line in ini.features:
        is_table = line.kind in {"PhraseDictionaryMemory", *feature_kinds.BINARISERS}
        is_table |= "fe" in line.options.get("type", "").split("-")  # reordering of phrase pairs
        if is_table and not {"input-factor", "output-factor"} <= line.options.keys():
            problem = f"{line.name} needs input-factor=0 and output-factor=0"
            remedy = "add them to its line; without them, Moses stops, or looks up nothing"
            yield ini.error(problem, line=line.line, remedy=remedy)


def refuse_in_moses(ini: MosesIni) -> None:
    """Refuse an ini that real Moses would refuse, or read without an error and misunderstand.

    Raises:
        IniError: A feature is known to this project only, or lacks its factors; the error names it.
    """
    for line in own_features(ini):
        raise ini.error(
            f"real Moses has no {line.kind}, the class of {line.name}",
            line=line.line,
            remedy=f"remove it (phrasescore ini remove-feature SYSTEM {line.name}) and let "
            "the model score n-best lists (phrasescore nbest), or use the embedded decoder",
        )
    for problem in factor_problems(ini):
        raise problem


def without_feature(ini: MosesIni, name: str) -> MosesIni:
    r"""Return an ini without the line and the weights of a feature.

    The weights of its sparse features, which have names such as ``Name_sparse``, are removed, too.

    Args:
        ini: The ini.
        name: The name of the feature.

    Raises:
        IniError: There is no such feature, Moses needs it, or its removal would change the meaning
            of other features or of other sections.

    >>> ini = MosesIni.parse(b"[feature]\nDistortion\nWordPenalty\n[weight]\nDistortion0= 1\n")
    >>> without_feature(ini, "Distortion0").to_bytes()
    b'[feature]\nWordPenalty\n[weight]\n'
    """
    ini.refuse_old_style()
    line = ini.feature(name)
    _refuse_needed(ini, line)
    for section in sorted(REWRITING_SECTIONS | _OTHER_WEIGHTS):
        for number, text in ini.value_lines(section):
            if name in text:
                raise ini.error(
                    f"[{section}] names {name}, too", line=number, remedy="change that line first"
                )
    others = {feature.name for feature in ini.features} - {name}
    gone = {line.line}
    for number, text in (*ini.value_lines("weight-add"), *ini.value_lines("weight")):
        owner = parse_weights(text)[0]
        if name in (owner, owner.partition("_")[0]) and owner not in others:
            gone.add(number)
    return ini.without_lines(gone)


def _refuse_needed(ini: MosesIni, line: FeatureLine) -> None:
    why = remedy = ""
    if line.kind in _MAPPED:
        why = "is a translation step, which [mapping] refers to by number"
        remedy = "remove it by hand, together with its step in [mapping]"
    elif line.kind == "UnknownWordPenalty":
        why = "is needed: without it, Moses crashes at the first unknown word"
        remedy = "change its weight instead"
    elif not line.options.get("name"):
        # features without name= are numbered by class: the removal would rename later features
        for other in ini.features:
            if other.kind == line.kind and not other.options.get("name") and other.line > line.line:
                why = f"has no name=, and without it {other.name} would get another name"
                remedy = f"write name={other.name} into the line of {other.name} first"
                break
    if why:
        raise ini.error(f"{line.name} {why}", line=line.line, remedy=remedy)


# Sections with which Moses marks the phrases of every translation, to be set to false. Moses only
# asks whether they have a value, whatever it is, so that value is deleted.
MARKS_OFF = (("report-segmentation", "false"), ("report-segmentation-enriched", "false"))


def with_sections(ini: MosesIni, sections: Iterable[tuple[str, str]]) -> MosesIni:
    r"""Return the ini with settings added or changed.

    Args:
        ini: The ini.
        sections: The name of each section, e.g. ``cube-pruning-pop-limit``, and its new first
            value; further values of the section stay.

    Raises:
        SettingsError: Moses knows no such section, the section describes the model itself, or
            a value is invalid.

    >>> with_sections(MosesIni.parse(b"[stack]\n100\n"), [("stack", "50")]).lines
    ('[stack]', '50', '')
    >>> with_sections(MosesIni.parse(b"[report-segmentation]\n1\n"), MARKS_OFF).lines
    ('[report-segmentation]', '')
    """
    for name, value in sections:
        if name not in SECTIONS:
            raise SettingsError(f"Moses knows no section [{name}]{did_you_mean(name, SECTIONS)}")
        if name in _STRUCTURE or not value or any(sign in value for sign in "#\n[]"):
            raise SettingsError(
                f"[{name}] cannot be set to {value!r} by an option", remedy="edit the moses.ini"
            )
        if (name, value) in MARKS_OFF:
            ini = ini.without_lines([line for line, _ in ini.value_lines(name)])
        elif ini.values(name):
            ini = ini.with_value(name, 0, value)
        else:
            ini = ini.with_added_values(name, value)
    return ini
