"""The problems of a moses.ini: everything that Moses would refuse or silently ignore.

Features that mert-moses.pl does not tune are problems, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from moses_integration.ini.edits import TUNABLE_NAME, factor_problems, own_features
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.model_files import find_binary_file, find_model_file, named_paths
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from moses_integration.ini.parameters import OLD_STYLE_SECTIONS, SECTIONS, SHORT_NAMES
from phrasescore.errors import IniError, InputError, did_you_mean

Severity = Literal["error", "warning", "note"]


def section_problems(ini: MosesIni) -> Iterator[tuple[Severity, IniError]]:
    """Yield a problem for each section that Moses refuses or never reads, at its first value."""
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
    """Yield everything that Moses or mert-moses.pl would refuse or silently ignore."""
    yield from section_problems(ini)
    try:
        FeatureLayout.from_ini(ini).read_weights(ini)
    except IniError as error:
        yield "error", error
    for missing_factors in factor_problems(ini):
        yield "error", missing_factors
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
        # Moses itself looks for a .gz file only if it reads a reordering table
        if file == Path(path) or line.kind == "LexicalReordering":
            return None
        problem = f"{path} does not exist; {file} does, but Moses would not look for it"
        remedy = f"write path={file}, or unzip it"
    return ini.error(problem, line=line.line, remedy=remedy)
