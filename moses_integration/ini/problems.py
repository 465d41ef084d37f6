"""Faults of a moses.ini that Moses would refuse, or silently ignore."""

from __future__ import annotations

from collections.abc import Iterator

from moses_integration.ini.edits import TUNABLE_NAME, own_features
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.model_files import find_binary_file, find_model_file, path_keys
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from moses_integration.ini.parameters import OLD_STYLE_SECTIONS, SECTIONS, SHORT_NAMES
from phrasescore.errors import IniError, InputError, did_you_mean


def problems(ini: MosesIni) -> Iterator[IniError]:
    """Yield everything that Moses would refuse or silently ignore, each with its line."""
    for section, number in ini.unknown_sections:
        yield section_problem(ini, section, number)
    try:
        FeatureLayout.of(ini).read_weights(ini)
    except IniError as error:
        yield error
    for line in own_features(ini):
        yield IniError(
            f"real Moses has no {line.kind} and refuses the file",
            path=ini.path,
            line=line.line,
            remedy=f"take {line.name} out with phrasescore ini remove-feature",
        )
    for line in ini.features:
        yield from name_problems(ini, line)
        for key in path_keys(line):
            yield from file_problems(ini, line, line.options[key])


def section_problem(ini: MosesIni, section: str, number: int) -> IniError:
    """Return why Moses does not take a section for what it seems to be."""
    if section in SHORT_NAMES:
        problem = f"Moses ignores [{section}], which is the short name of a switch"
        remedy = f"write [{SHORT_NAMES[section]}]"
    else:
        guess = did_you_mean(section, SECTIONS | OLD_STYLE_SECTIONS)
        problem = f"Moses refuses the unknown section [{section}]{guess}"
        remedy = "correct or delete it"
    return IniError(problem, path=ini.path, line=number, remedy=remedy)


def name_problems(ini: MosesIni, line: FeatureLine) -> Iterator[IniError]:
    """Yield why Moses's own tuning script does not tune a feature of this name, if so."""
    if not TUNABLE_NAME.fullmatch(line.name):
        yield IniError(
            f"mert-moses.pl does not tune a feature called {line.name}",
            path=ini.path,
            line=line.line,
            remedy="name it with letters and digits only, a letter first: name=...",
        )


def file_problems(ini: MosesIni, line: FeatureLine, path: str) -> Iterator[IniError]:
    """Yield why Moses would not find a file that a feature names, if so."""
    if find_binary_file(path, line.kind) is not None:
        return
    try:
        file = find_model_file(path, ini=ini.path)
    except InputError as error:
        problem, remedy = f"{path}: {error.problem}", error.remedy
    else:
        # Moses looks for .gz itself for reordering tables only
        if not file.note or line.kind == "LexicalReordering":
            return
        problem = f"{path} does not exist; {file.path} does, but Moses would not look for it"
        remedy = f"write path={file.path}, or unzip it"
    yield IniError(problem, path=ini.path, line=line.line, remedy=remedy)
