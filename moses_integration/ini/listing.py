"""The listing of a moses.ini: features in the order of n-best lists, their files, problems."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypedDict

from moses_integration.ini.edits import TUNABLE_NAME, own_features
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.model_files import (
    find_binary_file,
    find_model_file,
    named_paths,
    path_keys,
)
from moses_integration.ini.moses_ini import FeatureLine, MosesIni, format_weight
from moses_integration.ini.parameters import OLD_STYLE_SECTIONS, SECTIONS, SHORT_NAMES
from phrasescore.errors import IniError, InputError, counted, did_you_mean

Severity = Literal["error", "warning", "note"]

# one feature of an ini, with a flag for each weight; without weights in the ini, weights are 1
ListedFeature = TypedDict(
    "ListedFeature",
    {
        "name": str,
        "class": str,
        "weights": tuple[float, ...],
        "tuned": tuple[bool, ...],
        "files": list[str],
    },
)


@dataclass(frozen=True)
class Listing:
    """The content of an ini; its attributes are JSON values.

    Args:
        path: The path of the ini.
        features: The features in the order of n-best lists; empty if any of them is invalid.
        problems: Everything that Moses would refuse or ignore.
    """

    path: str
    features: list[ListedFeature]
    problems: list[str]

    @classmethod
    def from_ini(cls, ini: MosesIni) -> Listing:
        """List an ini.

        Raises:
            IniError: The file is old-style or has no features.
        """
        ini.refuse_old_style()
        features: list[ListedFeature] = []
        with contextlib.suppress(IniError):  # `problems` reports it
            layout = FeatureLayout.from_ini(ini)
            weights = layout.read_weights(ini)
            for each in layout.features:
                line = ini.feature(each.name)
                files = [line.options[key] for key in path_keys(line)]
                features.append(
                    {
                        "name": each.name,
                        "class": line.kind,
                        "weights": weights[each.name],
                        "tuned": each.tuneable,
                        "files": files,
                    }
                )
        return cls(ini.path, features, [str(problem) for _, problem in problems(ini)])

    def __str__(self) -> str:
        flags = [flag for each in self.features for flag in each["tuned"]]
        lines = [
            f"{self.path}: {counted(len(self.features), 'feature')}, "
            f"{counted(len(flags), 'weight')}, {sum(flags)} of them tuned; in the order of n-best "
            "lists",
            *_aligned(
                [
                    ("feature", "class", "file", "weights"),
                    *(
                        (each["name"], each["class"], " ".join(each["files"]), _weights_text(each))
                        for each in self.features
                    ),
                ]
            ),
        ]
        if self.problems:
            lines += ["", "problems", *(f"  {problem}" for problem in self.problems)]
        return "\n".join(lines)


def _weights_text(feature: ListedFeature) -> str:
    """Format the weights, with brackets around weights that are not tuned."""
    texts = map(format_weight, feature["weights"])
    pairs = zip(texts, feature["tuned"], strict=True)
    return " ".join(text if tuned else f"({text})" for text, tuned in pairs)


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
        remedy = f"remove {line.name} with phrasescore ini remove-feature"
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
        if file == Path(path) or line.kind == "LexicalReordering":
            return None
        problem = f"{path} does not exist; {file} does, but Moses would not look for it"
        remedy = f"write path={file}, or unzip it"
    return ini.error(problem, line=line.line, remedy=remedy)


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
