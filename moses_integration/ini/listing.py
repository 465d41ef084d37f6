"""The listing of a moses.ini: features in the order of n-best lists, files, settings, problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

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


# one feature of an ini: "tuned" has a flag for each weight, or is None if the features are faulty;
# "given" tells whether the ini has its weights, for which Moses otherwise takes 1
ListedFeature = TypedDict(
    "ListedFeature",
    {
        "name": str,
        "class": str,
        "weights": tuple[float, ...],
        "tuned": tuple[bool, ...] | None,
        "given": bool,
    },
)


@dataclass(frozen=True)
class Listing:
    """The content of an ini; its attributes are JSON values.

    Args:
        path: Its path.
        features: In the order of n-best lists; if that is unknown, in the order of the file.
        files: The path, the feature and the state of each file that a feature names.
        settings: The values of all other sections.
        problems: Everything that Moses would refuse or ignore.
    """

    path: str
    features: list[ListedFeature]
    files: list[dict[str, str]]
    settings: dict[str, tuple[str, ...]]
    problems: list[str]

    @classmethod
    def from_ini(cls, ini: MosesIni) -> Listing:
        """List an ini.

        Raises:
            IniError: The file is old-style or has no features.
        """
        ini.refuse_old_style()
        try:
            tuned = {each.name: each.tuneable for each in FeatureLayout.from_ini(ini).features}
        except IniError:
            tuned = {}
        kinds = {line.name: line.kind for line in ini.features}
        return cls(
            ini.path,
            [
                {
                    "name": name,
                    "class": kinds[name],
                    "weights": ini.weights.get(name, (1.0,) * len(tuned.get(name, ()))),
                    "tuned": tuned.get(name),
                    "given": name in ini.weights,
                }
                for name in tuned or kinds
            ],
            [
                {"path": path, "feature": line.name, "state": _state(line, path)}
                for line, _, path in named_paths(ini)
            ],
            {name: ini.values(name) for name in ini.sections if name not in _LISTED_ELSEWHERE},
            [str(problem) for _, problem in problems(ini)],
        )

    def __str__(self) -> str:
        title = f"{self.path}: {counted(len(self.features), 'feature')}, "
        if self.features[0]["tuned"] is None:
            title += "in the order of the file"
        else:
            flags = [flag for each in self.features for flag in each["tuned"] or ()]
            title += f"{counted(len(flags), 'weight')}, {sum(flags)} of them tuned; "
            title += "in the order of n-best lists"
        rows = [(each["name"], each["class"], _weights_text(each)) for each in self.features]
        settings = [(section, " | ".join(values)) for section, values in self.settings.items()]
        parts = [[title, *_aligned([("feature", "class", "weights"), *rows])]]
        if self.files:
            parts.append(_aligned([("file", "of", ""), *(tuple(f.values()) for f in self.files)]))
        if settings:
            parts.append(_aligned([("setting", "value"), *settings]))
        if self.problems:
            parts.append(["problems", *(f"  {problem}" for problem in self.problems)])
        return "\n\n".join("\n".join(lines) for lines in parts)


def _weights_text(feature: ListedFeature) -> str:
    """Format the weights, with brackets around weights that are not tuned."""
    texts, tuned = list(map(format_weight, feature["weights"])), feature["tuned"]
    # a wrong number of weights is among the problems
    if tuned is None or len(tuned) != len(texts):
        return " ".join(texts)
    shown = (text if flag else f"({text})" for text, flag in zip(texts, tuned, strict=True))
    missing = "" if feature["given"] or not texts else "  (not given: Moses takes 1)"
    return " ".join(shown) + missing


def _state(line: FeatureLine, path: str) -> str:
    try:
        return find_any_file(path, line.kind).note or "found"
    except InputError:
        return "MISSING"


def section_problems(ini: MosesIni) -> Iterator[tuple[Severity, IniError]]:
    """Yield the sections that Moses refuses or never reads, with the line of their first value."""
    for name in ini.sections:
        line = ini.value_lines(name)[0][0]
        if name in SHORT_NAMES:
            problem = f"Moses ignores [{name}], which is the short name of a switch"
            yield "warning", ini.error(problem, line=line, remedy=f"write [{SHORT_NAMES[name]}]")
        elif name not in SECTIONS | OLD_STYLE_SECTIONS:
            guess = did_you_mean(name, SECTIONS | OLD_STYLE_SECTIONS)
            problem = f"Moses refuses the unknown section [{name}]{guess}"
            yield "error", ini.error(problem, line=line, remedy="correct or delete it")


def problems(ini: MosesIni) -> Iterator[tuple[Severity, IniError]]:
    """Yield everything that Moses would refuse or silently ignore, with line numbers."""
    yield from section_problems(ini)
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
        file = find_model_file(path)
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
