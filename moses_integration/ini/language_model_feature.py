"""Make a moses.ini ask a neural language model in a folder, beside all that it has already."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import get_args

from moses_integration.ini.feature_kinds import FEED_FORWARD_LM, OWN_KINDS
from moses_integration.ini.feature_weights import boolean_option
from moses_integration.ini.lines import format_weight, refuse_unreadable
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from phrasescore.errors import IniError, SettingsError
from phrasescore.words import Unknown

_BASE_NAME = "NeuralLM"
_TUNABLE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")


@dataclass(frozen=True)
class LanguageModelChange:
    """An edited ini, and what was done to it.

    Args:
        ini: The new content.
        name: Of the new feature.
        weight: Its weight.
    """

    ini: MosesIni
    name: str
    weight: float

    def __str__(self) -> str:
        options = self.ini.feature(self.name).options
        scores = "scores without ln Z" if options.get("normalised") == "false" else "ln p"
        if options.get("unknown") == "share":
            scores += ", of unknown words their shares of p(<unk>)"
        return (
            f"{self.name}: path={options['path']}, {scores}, with the weight "
            f"{format_weight(self.weight)}"
        )


def next_name(taken: Collection[str], base: str = _BASE_NAME) -> str:
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
) -> LanguageModelChange:
    """Add a feed-forward language model as the last feature, with the last weight.

    Args:
        ini: What to edit; every other byte stays.
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
    if not _TUNABLE_NAME.fullmatch(name):
        raise SettingsError(
            f"--name: a feature cannot be called {name!r}",
            remedy="use letters and digits only, a letter first",
        )
    if name in taken:
        raise IniError(
            f"there is a feature {name} already, or a weight of that name",
            path=ini.path,
            remedy=f"give another --name, such as {next_name(taken)}",
        )
    code = f"{FEED_FORWARD_LM} name={name} path={folder}"
    code += "" if normalised else " normalised=false"
    code += " unknown=share" if shares_unknown else ""
    return LanguageModelChange(
        ini.with_feature(code).with_weights({name: (start_weight,)}), name, start_weight
    )


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
        raise IniError(
            f"real Moses has no {line.kind}, which is {line.name} here",
            path=ini.path,
            line=line.line,
            remedy=f"take it out (phrasescore ini remove-feature MOSES_INI {line.name}) and let "
            "the model score n-best lists (phrasescore nbest), or use the embedded decoder",
        )
