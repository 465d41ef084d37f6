"""A moses.ini for the human eye: features in the order of n-best lists, files, what is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from moses_integration.ini.feature_weights import Feature, FeatureLayout
from moses_integration.ini.lines import format_weight
from moses_integration.ini.model_files import find_binary_file, find_model_file
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from moses_integration.ini.parameters import OLD_STYLE_SECTIONS, SECTIONS, SHORT_NAMES
from moses_integration.ini.table_feature import path_keys
from phrasescore.errors import IniError, InputError, did_you_mean

# what Moses's own tuning script takes for the name of a dense feature
_TUNABLE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_LISTED_ELSEWHERE = {"feature", "weight", "weight-add"}


def listing(ini: MosesIni) -> str:
    """Return the features with their weights, the files, the other settings and the problems.

    Raises:
        IniError: The file is old-style or has no features.
    """
    ini.refuse_old_style()
    parts = [_features(ini), _files(ini), _settings(ini)]
    if found := list(problems(ini)):
        parts.append("\n".join(["problems", *(f"  {problem}" for problem in found)]))
    return "\n\n".join(part for part in parts if part)


def _features(ini: MosesIni) -> str:
    kinds = {line.name: line.kind for line in ini.features}
    try:
        layout = FeatureLayout.of(ini)
    except IniError:
        rows = [
            (name, kind, " ".join(map(format_weight, ini.weights.get(name, ()))))
            for name, kind in kinds.items()
        ]
        title = f"{ini.path}: {_counted(len(kinds), 'feature')}, in the order of the file"
    else:
        rows = [
            (feature.name, kinds[feature.name], _weights(ini, feature))
            for feature in layout.features
        ]
        title = (
            f"{ini.path}: {_counted(len(kinds), 'feature')}, "
            f"{_counted(layout.size, 'weight')}, {layout.nbest.size} of them tuned; "
            "in the order of n-best lists"
        )
    return "\n".join([title, *_aligned([("feature", "class", "weights"), *rows])])


def _weights(ini: MosesIni, feature: Feature) -> str:
    """Write the weights; those that are not tuned in brackets."""
    stated = ini.weights.get(feature.name)
    weights = stated if stated is not None else (1.0,) * feature.components
    flags = feature.tuneable if len(weights) == feature.components else (True,) * len(weights)
    texts = [
        format_weight(weight) if tuneable else f"({format_weight(weight)})"
        for weight, tuneable in zip(weights, flags, strict=True)
    ]
    note = "" if stated is not None or not texts else "  (not given: Moses takes 1)"
    return " ".join(texts) + note


def _files(ini: MosesIni) -> str:
    rows = []
    for line in ini.features:
        for key in path_keys(line):
            path = line.options[key]
            try:
                file = find_binary_file(path, line.kind) or find_model_file(path)
                state = file.note or "found"
            except InputError:
                state = "MISSING"
            rows.append((path, line.name, state))
    return "\n".join(_aligned([("file", "of", ""), *rows])) if rows else ""


def _settings(ini: MosesIni) -> str:
    rows = [
        (section, " | ".join(ini.values(section)))
        for section in ini.sections
        if section not in _LISTED_ELSEWHERE
    ]
    return "\n".join(_aligned([("setting", "value"), *rows])) if rows else ""


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


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
