"""A moses.ini for the human eye: features in the order of n-best lists, files, what is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from moses_integration.ini.feature_weights import Feature, FeatureLayout
from moses_integration.ini.lines import format_weight
from moses_integration.ini.model_files import find_binary_file, find_model_file
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from moses_integration.ini.parameters import OLD_STYLE_SECTIONS, SECTIONS, SHORT_NAMES
from moses_integration.ini.table_feature import path_keys
from phrasescore.errors import IniError, InputError, counted, did_you_mean

# what Moses's own tuning script takes for the name of a dense feature
_TUNABLE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_LISTED_ELSEWHERE = {"feature", "weight", "weight-add"}


@dataclass(frozen=True)
class ListedFeature:
    """A feature with its weights.

    Args:
        name: E.g. ``TranslationModel0``.
        kind: Its class.
        weights: Its weights; what Moses takes where the ini gives none.
        tuned: For each component whether it is tuned; empty where that cannot be told.
        given: Whether the ini gives the weights.
    """

    name: str
    kind: str
    weights: tuple[float, ...]
    tuned: tuple[bool, ...]
    given: bool

    @property
    def text(self) -> str:
        """The weights; those that are not tuned in brackets."""
        # a wrong number of weights is among the problems
        fits = len(self.tuned) == len(self.weights)
        tuned = self.tuned if fits else (True,) * len(self.weights)
        texts = [
            format_weight(weight) if flag else f"({format_weight(weight)})"
            for weight, flag in zip(self.weights, tuned, strict=True)
        ]
        note = "" if self.given or not texts else "  (not given: Moses takes 1)"
        return " ".join(texts) + note


@dataclass(frozen=True)
class Listing:
    """What a moses.ini says, and what is wrong with it.

    Args:
        path: The file.
        features: In the order of n-best lists; in that of the file where that cannot be told.
        is_layout_known: Whether it can.
        files: Path, feature and state of every file.
        settings: The values of every other section.
        problems: Sentences.
    """

    path: str
    features: tuple[ListedFeature, ...]
    is_layout_known: bool
    files: tuple[tuple[str, str, str], ...]
    settings: dict[str, tuple[str, ...]]
    problems: tuple[str, ...]

    @classmethod
    def of(cls, ini: MosesIni) -> Listing:
        """Look through a file.

        Raises:
            IniError: The file is old-style or has no features.
        """
        ini.refuse_old_style()
        settings = {
            section: ini.values(section)
            for section in ini.sections
            if section not in _LISTED_ELSEWHERE
        }
        files, found = tuple(_files(ini)), tuple(problems(ini))
        try:
            layout = FeatureLayout.of(ini)
        except IniError:
            unknown = tuple(
                ListedFeature(line.name, line.kind, ini.weights.get(line.name, ()), (), True)
                for line in ini.features
            )
            return cls(ini.path, unknown, False, files, settings, found)
        kinds = {line.name: line.kind for line in ini.features}
        features = tuple(_listed(ini, feature, kinds[feature.name]) for feature in layout.features)
        return cls(ini.path, features, True, files, settings, found)

    def __str__(self) -> str:
        counts = f"{self.path}: {counted(len(self.features), 'feature')}, "
        if self.is_layout_known:
            flags = [flag for feature in self.features for flag in feature.tuned]
            counts += f"{counted(len(flags), 'weight')}, {sum(flags)} of them tuned; "
        order = f"in the order of {'n-best lists' if self.is_layout_known else 'the file'}"
        rows = [(feature.name, feature.kind, feature.text) for feature in self.features]
        settings = [(section, " | ".join(values)) for section, values in self.settings.items()]
        parts = [[counts + order, *_aligned([("feature", "class", "weights"), *rows])]]
        if self.files:
            parts.append(_aligned([("file", "of", ""), *self.files]))
        if settings:
            parts.append(_aligned([("setting", "value"), *settings]))
        if self.problems:
            parts.append(["problems", *(f"  {problem}" for problem in self.problems)])
        return "\n\n".join("\n".join(lines) for lines in parts)

    def to_json(self) -> dict[str, Any]:
        """Return all of it as JSON values; ``tuned`` is null where it cannot be told."""
        return {
            "path": self.path,
            "features": [
                {
                    "name": feature.name,
                    "class": feature.kind,
                    "weights": list(feature.weights),
                    "tuned": list(feature.tuned) if self.is_layout_known else None,
                    "given": feature.given,
                }
                for feature in self.features
            ],
            "files": [
                {"path": path, "feature": feature, "state": state}
                for path, feature, state in self.files
            ],
            "settings": {section: list(values) for section, values in self.settings.items()},
            "problems": list(self.problems),
        }


def _listed(ini: MosesIni, feature: Feature, kind: str) -> ListedFeature:
    weights = ini.weights.get(feature.name)
    given = weights is not None
    if weights is None:
        weights = (1.0,) * feature.components
    return ListedFeature(feature.name, kind, weights, feature.tuneable, given)


def _files(ini: MosesIni) -> Iterator[tuple[str, str, str]]:
    for line in ini.features:
        for key in path_keys(line):
            path = line.options[key]
            try:
                file = find_binary_file(path, line.kind) or find_model_file(path)
                state = file.note or "found"
            except InputError:
                state = "MISSING"
            yield path, line.name, state


def problems(ini: MosesIni) -> Iterator[str]:
    """Yield a sentence for everything that Moses would refuse or silently ignore."""
    for section, number in ini.unknown_sections:
        yield _unknown_section(ini, section, number)
    try:
        FeatureLayout.of(ini).read_weights(ini)
    except IniError as error:
        yield str(error)
    for line in ini.features:
        if not _TUNABLE_NAME.fullmatch(line.name):
            yield (
                f"{ini.path}:{line.line}: mert-moses.pl does not tune a feature called "
                f"{line.name}: letters and digits only, a letter first."
            )
        for key in path_keys(line):
            yield from _file_problems(ini, line, line.options[key])


def _file_problems(ini: MosesIni, line: FeatureLine, path: str) -> Iterator[str]:
    if find_binary_file(path, line.kind) is not None:
        return
    try:
        file = find_model_file(path, ini=ini.path)
    except InputError as error:
        yield str(error)
        return
    if file.note and line.kind != "LexicalReordering":
        yield f"{ini.path}:{line.line}: {file.note}; Moses itself would not find it."


def _unknown_section(ini: MosesIni, section: str, number: int) -> str:
    if section in SHORT_NAMES:
        return (
            f"{ini.path}:{number}: Moses ignores [{section}], which is the short name of a "
            f"switch: write [{SHORT_NAMES[section]}]."
        )
    guess = did_you_mean(section, SECTIONS | OLD_STYLE_SECTIONS)
    return f"{ini.path}:{number}: Moses refuses the unknown section [{section}]{guess}."


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
