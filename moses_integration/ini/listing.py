"""The listing of a moses.ini: features in the order of n-best lists, files, settings, problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from moses_integration.ini.edits import TUNABLE_NAME, own_features
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.model_files import (
    find_any_file,
    find_binary_file,
    find_model_file,
    named_paths,
)
from moses_integration.ini.moses_ini import FeatureLine, MosesIni, format_weight
from moses_integration.ini.parameters import OLD_STYLE_SECTIONS, SECTIONS, SHORT_NAMES
from phrasescore.errors import IniError, InputError, counted, did_you_mean

Severity = Literal["error", "warning", "note"]
_LISTED_ELSEWHERE = {"feature", "weight", "weight-add"}


def listing(ini: MosesIni) -> dict[str, Any]:
    """Return features, files, other settings and problems as JSON values.

    Features are in the order of n-best lists. If that order is unknown, they are in the order of
    the file, and ``tuned`` is null. ``given`` tells whether the ini has weights of the feature.

    Raises:
        IniError: The file is old-style or has no features.
    """
    ini.refuse_old_style()
    try:
        features = FeatureLayout.from_ini(ini).features
    except IniError:
        features = ()
    kinds = {line.name: line.kind for line in ini.features}
    sizes = {feature.name: feature.components for feature in features}
    tuned = {feature.name: list(feature.tuneable) for feature in features}
    return {
        "path": ini.path,
        "features": [
            {
                "name": name,
                "class": kinds[name],
                "weights": list(ini.weights.get(name, (1.0,) * sizes.get(name, 0))),
                "tuned": tuned.get(name),
                "given": name in ini.weights,
            }
            for name in sizes or kinds
        ],
        "files": list(_files(ini)),
        "settings": {
            section: list(ini.values(section))
            for section in ini.sections
            if section not in _LISTED_ELSEWHERE
        },
        "problems": [str(problem) for _, problem in problems(ini)],
    }


def listing_text(found: dict[str, Any]) -> str:
    """Return the result of `listing` as text."""
    features, is_known = found["features"], found["features"][0]["tuned"] is not None
    title = f"{found['path']}: {counted(len(features), 'feature')}, "
    if is_known:
        flags = [flag for feature in features for flag in feature["tuned"]]
        title += f"{counted(len(flags), 'weight')}, {sum(flags)} of them tuned; "
    title += f"in the order of {'n-best lists' if is_known else 'the file'}"
    rows = [(feature["name"], feature["class"], _weights(**feature)) for feature in features]
    files = [tuple(file.values()) for file in found["files"]]
    settings = [(section, " | ".join(values)) for section, values in found["settings"].items()]
    parts = [[title, *_aligned([("feature", "class", "weights"), *rows])]]
    if files:
        parts.append(_aligned([("file", "of", ""), *files]))
    if settings:
        parts.append(_aligned([("setting", "value"), *settings]))
    if found["problems"]:
        parts.append(["problems", *(f"  {problem}" for problem in found["problems"])])
    return "\n\n".join("\n".join(lines) for lines in parts)


def _weights(weights: list[float], tuned: list[bool] | None, given: bool, **_: str) -> str:
    """Format the weights of a feature, with brackets around weights that are not tuned."""
    # a wrong number of weights is among the problems
    if tuned is None or len(tuned) != len(weights):
        return " ".join(map(format_weight, weights))
    texts = [
        format_weight(weight) if flag else f"({format_weight(weight)})"
        for weight, flag in zip(weights, tuned, strict=True)
    ]
    return " ".join(texts) + ("" if given or not texts else "  (not given: Moses takes 1)")


def _files(ini: MosesIni) -> Iterator[dict[str, str]]:
    for line, _, path in named_paths(ini):
        try:
            state = find_any_file(path, line.kind).note or "found"
        except InputError:
            state = "MISSING"
        yield {"path": path, "feature": line.name, "state": state}


def problems(ini: MosesIni) -> Iterator[tuple[Severity, IniError]]:
    """Yield everything that Moses would refuse or silently ignore, with line numbers."""
    for section, number in ini.unknown_sections:
        if section in SHORT_NAMES:
            yield (
                "warning",
                ini.error(
                    f"Moses ignores [{section}], which is the short name of a switch",
                    line=number,
                    remedy=f"write [{SHORT_NAMES[section]}]",
                ),
            )
        else:
            guess = did_you_mean(section, SECTIONS | OLD_STYLE_SECTIONS)
            problem = f"Moses refuses the unknown section [{section}]{guess}"
            yield "error", ini.error(problem, line=number, remedy="correct or delete it")
    try:
        FeatureLayout.from_ini(ini).read_weights(ini)
    except IniError as error:
        yield "error", error
    for line in own_features(ini):
        problem = f"real Moses has no {line.kind} and refuses the file"
        remedy = f"take {line.name} out with phrasescore ini remove-feature"
        yield "note", ini.error(problem, line=line.line, remedy=remedy)
    for line in ini.features:
        if not TUNABLE_NAME.fullmatch(line.name):
            problem = f"mert-moses.pl does not tune a feature called {line.name}"
            remedy = "name it with letters and digits only, a letter first: name=..."
            yield "error", ini.error(problem, line=line.line, remedy=remedy)
    for line, _, path in named_paths(ini):
        if missing := _missing_file(ini, line, path):
            yield "error", missing


def _missing_file(ini: MosesIni, line: FeatureLine, path: str) -> IniError | None:
    """Return an error if Moses would not find a file that a feature names."""
    if find_binary_file(path, line.kind) is not None:
        return None
    try:
        file = find_model_file(path, ini=ini.path)
    except InputError as error:
        problem, remedy = f"{path}: {error.problem}", error.remedy
    else:
        # Moses looks for .gz itself for reordering tables only
        if not file.note or line.kind == "LexicalReordering":
            return None
        problem = f"{path} does not exist; {file.path} does, but Moses would not look for it"
        remedy = f"write path={file.path}, or unzip it"
    return ini.error(problem, line=line.line, remedy=remedy)


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
