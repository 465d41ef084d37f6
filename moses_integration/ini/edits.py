"""Edits of a moses.ini: another table, a language model, a setting, a feature less.

Each returns a new ini, in which every byte stays that the edit does not concern.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from moses_integration.ini.feature_kinds import (
    FEED_FORWARD_LM,
    OWN_KINDS,
    PHRASE_TABLE_KINDS,
    TEXT_TABLE_KINDS,
)
from moses_integration.ini.feature_weights import (
    boolean_option,
    find_phrase_table,
    has_tuned_weights,
    table_weights,
)
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

START_WEIGHT = 0.2  # what Moses's training gives each score of a phrase table
# what mert-moses.pl takes for the name of a dense feature
TUNABLE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_LANGUAGE_MODEL_NAME = "NeuralLM"
# how to make the binary form that an ini asks for; N is the number of scores
_BINARISERS = {
    "PhraseDictionaryCompact": "processPhraseTableMin -nscores N -in TABLE -out NAME",
    "PhraseDictionaryOnDisk": "CreateOnDiskPt 1 1 N 20 2 TABLE FOLDER",
    "ProbingPT": "CreateProbingPT --num-scores N --input-pt TABLE --output-dir FOLDER",
}
# Moses dies at the first unknown word without it
_NEEDED = frozenset(["UnknownWordPenalty"])
_MAPPED = PHRASE_TABLE_KINDS | {"Generation"}
_OTHER_WEIGHTS = frozenset(["alternate-weight-setting"])
# these describe the model; a value for them alone would contradict the rest of the file
_STRUCTURE = frozenset(
    name for name in SECTIONS if name.startswith(("feature", "weight", "alternate-weight"))
) | {"mapping"}


@dataclass(frozen=True)
class IniChange:
    """An edited ini.

    Args:
        ini: The new content.
        name: The feature that is new or another one now.
        added: How many weights it did not have before.
        summary: What was done, for the user.
    """

    ini: MosesIni
    name: str
    added: int
    summary: str


def start_weight_for(ini: MosesIni) -> float:
    """Return a weight for a new score: that of training, or 0 beside weights that are tuned.

    Any other would make translations worse until all weights are tuned again.
    """
    return 0.0 if has_tuned_weights(ini) else START_WEIGHT


def find_table_feature(ini: MosesIni, name: str | None = None) -> FeatureLine:
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
    for section in ("weight-overwrite", "feature-overwrite", *_OTHER_WEIGHTS):
        if ini.values(section):
            raise ini.error(
                f"a [{section}] section, which would have to change too",
                remedy="write what it says into [feature] and [weight], or add the column by hand",
            )
    line = find_phrase_table(ini, name)
    if line.kind not in TEXT_TABLE_KINDS:
        remedy = "point the feature to a text table first (PhraseDictionaryMemory)"
        if line.kind in _BINARISERS:
            remedy = (
                "add the column to the ini of the text table (PhraseDictionaryMemory), and make "
                f"the binary table from the new text table: {_BINARISERS[line.kind]}"
            )
        raise ini.error(
            f"{line.name} is a {line.kind}, which does not read text tables",
            line=line.line,
            remedy=remedy,
        )
    table_weights(ini, line)
    return line


def with_table(
    ini: MosesIni, line: FeatureLine, table: str, scores: int, start_weight: float
) -> IniChange:
    """Point a phrase table to another file, with a weight for each new score.

    Only the path changes if the number of scores stays. ``tuneable-components``, where present,
    goes on with 1.

    Args:
        ini: What to edit.
        line: The phrase table's line in it.
        table: The path of the text table, as the ini will name it.
        scores: How many scores each of its lines has.
        start_weight: The weight of each new score.

    Raises:
        IniError: The table has fewer scores than the feature, or Moses could not read its path.
    """
    weights = table_weights(ini, line)
    before, added = len(weights), scores - len(weights)
    if added < 0:
        raise ini.error(
            f"{line.name} has {counted(before, 'score')}, but {table} has only {scores}",
            line=line.line,
            remedy="name the table that has all columns of the old one, then the new ones",
        )
    ini = ini.with_feature_option(line.name, "path", table)
    summary = f"{line.name}: path={table}"
    if not added:
        summary += f"; still {counted(scores, 'score')}, same weights"
        return IniChange(ini, line.name, added, summary)
    ini = ini.with_feature_option(line.name, "num-features", str(scores))
    if mask := line.options.get("tuneable-components"):
        ini = ini.with_feature_option(line.name, "tuneable-components", mask + ",1" * added)
    ini = ini.with_weights({line.name: weights + (start_weight,) * added})
    shown = " ".join([format_weight(start_weight)] * added)
    summary += f", num-features={scores} (before: {before}), with the weight {shown}"
    return IniChange(ini, line.name, added, summary)


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
        raise ini.error(
            f"{counted(len(lines), 'LexicalReordering feature')}, where --reordering takes one",
            remedy="leave --reordering out, and edit path= in the file",
        )
    return ini.with_feature_option(lines[0].name, "path", table)


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


def next_name(taken: Collection[str], base: str = _LANGUAGE_MODEL_NAME) -> str:
    """Return the first of ``NeuralLM0``, ``NeuralLM1`` and so on that is free.

    >>> next_name({"LM0", "NeuralLM0"})
    'NeuralLM1'
    """
    number = 0
    while f"{base}{number}" in taken:
        number += 1
    return f"{base}{number}"


def with_language_model(
    ini: MosesIni,
    folder: str,
    name: str | None,
    start_weight: float,
    *,
    normalised: bool = True,
    shares_unknown: bool = False,
) -> IniChange:
    """Add a feed-forward language model as the last feature, with the last weight.

    Args:
        ini: What to edit.
        folder: The model, as the ini will name it.
        name: What weights and n-best lists call it; the next free ``NeuralLM0`` for ``None``.
        start_weight: Until it is tuned.
        normalised: Whether its scores are ln p; otherwise ln Z is left out.
        shares_unknown: Whether a word outside its shortlist has its share of p(<unk>), or all.

    Raises:
        IniError: The name is taken, or the folder's cannot stand in an ini.
        SettingsError: The name is none that can be tuned.
    """
    ini.refuse_old_style()
    folder = folder.rstrip("/") or folder
    refuse_unreadable("path", folder)
    taken = {*(line.name for line in ini.features), *ini.weights}
    if name is None:
        name = next_name(taken)
    if not TUNABLE_NAME.fullmatch(name):
        raise SettingsError(
            f"--name: a feature cannot be called {name!r}",
            remedy="use letters and digits only, a letter first",
        )
    if name in taken:
        raise ini.error(
            f"there is a feature {name} already, or a weight of that name",
            remedy=f"give another --name, such as {next_name(taken)}",
        )
    code, scores = f"{FEED_FORWARD_LM} name={name} path={folder}", "ln p"
    if not normalised:
        code, scores = f"{code} normalised=false", "scores without ln Z"
    if shares_unknown:
        code, scores = (
            f"{code} unknown=share",
            f"{scores}, of unknown words their shares of p(<unk>)",
        )
    ini = ini.with_added_value("feature", code).with_weights({name: (start_weight,)})
    summary = f"{name}: path={folder}, {scores}, with the weight {format_weight(start_weight)}"
    return IniChange(ini, name, 1, summary)


def neural_options(line: FeatureLine) -> tuple[bool, bool]:
    """Return whether a model's scores are normalised, and whether it shares p(<unk>) out.

    Raises:
        IniError: An option has none of its values (without its place).
    """
    unknown = line.options.get("unknown", "whole")
    if unknown not in get_args(Unknown):
        raise IniError(
            f"unknown is {unknown!r}, expected whole or share", remedy="write one of them"
        )
    normalised = boolean_option("normalised", line.options.get("normalised", "true"))
    return normalised, unknown == "share"


def own_features(ini: MosesIni) -> tuple[FeatureLine, ...]:
    """Return the features of an ini that real Moses does not know."""
    return tuple(line for line in ini.features if line.kind in OWN_KINDS)


def refuse_in_moses(ini: MosesIni) -> None:
    """Refuse an ini that is to be read by real Moses, if a feature in it is ours.

    Raises:
        IniError: There is one; the error names it.
    """
    for line in own_features(ini):
        raise ini.error(
            f"real Moses has no {line.kind}, which is {line.name} here",
            line=line.line,
            remedy=f"take it out (phrasescore ini remove-feature MOSES_INI {line.name}) and let "
            "the model score n-best lists (phrasescore nbest), or use the embedded decoder",
        )


def without_feature(ini: MosesIni, name: str) -> MosesIni:
    r"""Return an ini without a feature's line and its weights.

    Weights of single sparse features, ``Name_sparse``, go with it. So what
    ``with_language_model`` added is taken away again.

    Args:
        ini: What to edit.
        name: The feature, as weights and n-best lists call it.

    Raises:
        IniError: There is no such feature, or others, or ``[mapping]``, would not mean the same
            without it.

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
                    f"[{section}] names {name}, too",
                    line=number,
                    remedy="write what the section says into [feature] and [weight] first",
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
        why = "is a step of the translation itself, which [mapping] counts"
        remedy = "remove it by hand, together with its step in [mapping]"
    elif line.kind in _NEEDED:
        why = "is needed: Moses dies at the first unknown word without it"
        remedy = "give it the weight that you want in its place"
    elif not line.options.get("name"):
        # a later feature that is called by its class and number would get another number
        for other in ini.features:
            if other.kind == line.kind and not other.options.get("name") and other.line > line.line:
                why = f"has no name of its own, and {other.name} would get another name without it"
                remedy = f"give {other.name} its name=, as it is called now"
                break
    if why:
        raise ini.error(f"{line.name} {why}", line=line.line, remedy=remedy)


def with_section(ini: MosesIni, name: str, value: str) -> MosesIni:
    r"""Return the file with one setting made or changed.

    Args:
        ini: The file.
        name: Of the section, e.g. ``cube-pruning-pop-limit``.
        value: Its first value; where the section has several, the others stay.

    Raises:
        SettingsError: Moses knows no such section, or it is one that holds the model itself.

    >>> with_section(MosesIni.parse(b"[distortion-limit]\n6\n"), "distortion-limit", "4").lines
    ('[distortion-limit]', '4', '')
    """
    if name not in SECTIONS:
        raise SettingsError(
            f"Moses knows no section [{name}]{did_you_mean(name, SECTIONS)}",
            remedy="name a setting as it is called in a moses.ini, e.g. search-algorithm",
        )
    if name in _STRUCTURE or not value or any(sign in value for sign in "#\n[]"):
        raise SettingsError(
            f"[{name}] cannot be set to {value!r} in this way",
            remedy="give a plain setting, e.g. search-algorithm=1; weights are for tune",
        )
    if ini.values(name):
        return ini.with_value(name, 0, value)
    return ini.with_added_value(name, value)
