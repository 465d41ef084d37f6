"""The problems of a moses.ini: everything that Moses would refuse or silently ignore.

Features that mert-moses.pl does not tune are problems, too. Source: StaticData.cpp, Manager.cpp and
IOWrapper.cpp of mosesdecoder 34452895f.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from moses_integration.ini import feature_kinds
from moses_integration.ini.edits import TUNABLE_NAME, factor_problems, own_features
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.model_files import (
    BINARY_TABLE_KINDS,
    find_binary_file,
    find_model_file,
    named_paths,
)
from moses_integration.ini.moses_ini import FeatureLine, MosesIni, code_of
from moses_integration.ini.parameters import OLD_STYLE_SECTIONS, SECTIONS, SHORT_NAMES
from phrasescore.errors import IniError, InputError, did_you_mean
from phrasescore.table.input_files import whole_number

# an error of one decoder concerns nobody who uses the other one
Severity = Literal["error", "moses error", "embedded error", "warning", "note"]
LineProblem = tuple[Severity, str, str]  # a problem of a feature's line, and the remedy
# section -> the values with which Moses can translate plain text by phrases, and by grammar rules
_VALUES = {"search-algorithm": ((0, 1), (0, 1, 3, 5, 6, 7, 8, 9)), "inputtype": ((0, 5), (0, 5))}
_MAX_THREADS = 256
_NUMBER = re.compile("[+-]?[0-9]{1,9}")
_PHRASES_ONLY = frozenset(["Distortion", "LexicalReordering"])  # Moses refuses them beside rules
_SINGLE = frozenset(["WordPenalty", "UnknownWordPenalty"])  # Moses refuses a second one
# options of KENLM -> the values that Moses takes
_KENLM_VALUES = {
    "load": ["lazy", "populate_or_lazy", "populate_or_read", "populate", "read", "parallel_read"],
    "lazyken": ["0", "1", "false", "true"],
}


def _number_read(value: str) -> int:
    """Return the whole number that Moses reads from a value: the digits at its start, or 0."""
    found = _NUMBER.match(value)
    return int(found[0]) if found else 0


def section_problems(ini: MosesIni) -> Iterator[tuple[Severity, IniError]]:
    """Yield a problem for each section that Moses refuses or never reads, at its first value."""
    for name, values in ini.sections.items():
        line = values[0][0]
        if name in SHORT_NAMES:
            full = SHORT_NAMES[name]
            problem = f"Moses never reads [{name}], the short name of {full}"
            remedy = "delete it" if full in OLD_STYLE_SECTIONS else f"write [{full}], or delete it"
            yield "warning", ini.error(problem, line=line, remedy=remedy)
        elif name not in SECTIONS | OLD_STYLE_SECTIONS:
            guess = did_you_mean(name, SECTIONS | OLD_STYLE_SECTIONS)
            problem = f"Moses refuses the unknown section [{name}]{guess}"
            yield "error", ini.error(problem, line=line, remedy="correct or delete it")
    for number, text in ini.value_lines("threads")[:1]:
        if text != "all" and not whole_number(text, _MAX_THREADS):
            problem = f"[threads] is {text!r}, expected a number from 1 to {_MAX_THREADS}, or all"
            yield "error", ini.error(problem, line=number)


def decoding_steps(ini: MosesIni) -> list[tuple[int, int]]:
    """Return the steps of ``[mapping]``: the decoding path, and the index of table or model.

    A line is ``path T table`` (translate), ``path G model`` (generate factors), or one of these
    without path 0. Paths count up from 0. Moses refuses ``path name`` for every class of table,
    and takes words for 0.

    Raises:
        IniError: Moses refuses a line.
    """
    counts = {
        "T": sum(line.kind in feature_kinds.PHRASE_TABLE_KINDS for line in ini.features),
        "G": sum(line.kind == "Generation" for line in ini.features),
    }
    steps: list[tuple[int, int]] = []
    for number, text in ini.value_lines("mapping") or [(None, "0 T 0")]:
        tokens = text.split()
        path, kind, index = ["0", *tokens][-3:] if 1 < len(tokens) < 4 else ("", "", "")
        last = steps[-1][0] if steps else -1
        at, model = _number_read(path), _number_read(index)
        if not (max(last, 0) <= at <= last + 1 and 0 <= model < counts.get(kind, 0)):
            raise ini.error(
                f"[mapping] has {text!r}, expected 'path T table' with one of the "
                f"{counts['T']} phrase tables, counted from 0, and paths that count up from 0",
                line=number,
                remedy="correct the line; Moses refuses it, too",
            )
        steps.append((at, model))
    return steps


def decoder_problems(ini: MosesIni) -> Iterator[tuple[Severity, IniError]]:
    """Yield everything that Moses refuses or silently ignores, except missing files."""
    yield from section_problems(ini)
    try:
        FeatureLayout.from_ini(ini).read_weights(ini)
        if ini.values("mapping"):
            decoding_steps(ini)
    except IniError as error:
        yield "error", error
    for missing_factors in factor_problems(ini):
        yield "error", missing_factors
    for line in own_features(ini):
        problem = f"real Moses has no {line.kind} and refuses the file"
        remedy = f"remove {line.name} with phrasescore ini remove-feature"
        yield "moses error", ini.error(problem, line=line.line, remedy=remedy)
    has_phrases = any(line.kind in _PHRASES_ONLY for line in ini.features)
    for name, (by_phrases, by_rules) in _VALUES.items():
        known = by_phrases if has_phrases else by_rules
        for number, value in ini.value_lines(name)[:1]:
            if _number_read(value) not in known:
                problem = f"with [{name}] {value} Moses cannot translate plain text in this system"
                remedy = f"write one of {', '.join(map(str, known))}"
                yield "moses error", ini.error(problem, line=number, remedy=remedy)
    yield from _feature_problems(ini)


def _feature_problems(ini: MosesIni) -> Iterator[tuple[Severity, IniError]]:
    counts: Counter[str] = Counter()
    for line in ini.features:
        counts[line.kind] += 1
        found = itertools.chain(
            _option_problems(ini, line),
            _table_problems(ini, line),
            _kind_problems(line.kind, counts[line.kind]),
        )
        for severity, problem, remedy in found:
            yield severity, ini.error(problem, line=line.line, remedy=remedy)


def _kind_problems(kind: str, count: int) -> Iterator[LineProblem]:
    """Yield what Moses may refuse in the ``count``-th line of a class."""
    if kind in _SINGLE and count == 2:
        yield "moses error", f"real Moses refuses a second {kind}", "delete one of the lines"
    problem = f"real Moses has {kind} only if it was built with it"
    if kind in feature_kinds.LANGUAGE_MODEL_KINDS - {"KENLM"}:
        yield "warning", problem, "use KENLM, which reads ARPA files"
    if kind == "PhraseDictionaryCompact":
        yield "note", problem, "build Moses with --with-cmph, or use ProbingPT"


def _option_problems(ini: MosesIni, line: FeatureLine) -> Iterator[LineProblem]:
    """Yield what Moses refuses in the line of a usual class."""
    if line.kind not in feature_kinds.OPTIONS.keys() - feature_kinds.OWN_KINDS:
        return
    is_reordering = line.kind == "LexicalReordering"
    common = {"name", "num-features"} if is_reordering else feature_kinds.COMMON_OPTIONS
    for key, value in line.options.items():
        if line.kind in _PHRASES_ONLY and key.startswith("sparse"):
            continue
        if key not in common | feature_kinds.OPTIONS[line.kind]:
            severity: Severity = "moses error" if key in feature_kinds.COMMON_OPTIONS else "error"
            guess = did_you_mean(key, common | feature_kinds.OPTIONS[line.kind])
            problem = f"Moses refuses the unknown option {key} of {line.kind}{guess}"
            yield severity, problem, "delete the option"
        elif line.kind == "KENLM" and value not in _KENLM_VALUES.get(key, [value]):
            problem = f"Moses refuses {key}={value}, expected {', '.join(_KENLM_VALUES[key])}"
            yield "moses error", problem, "correct or delete the option"
    if "path" in feature_kinds.OPTIONS[line.kind] and not line.options.get("path"):
        yield "error", f"{line.name} has no path", "add path=FILE to the line"
    if line.kind == "KENLM":
        yield from _language_model_problems(ini, line)


def _language_model_problems(ini: MosesIni, line: FeatureLine) -> Iterator[LineProblem]:
    if "\t" in code_of(ini.lines[line.line - 1]):
        problem = f"a tab in the line of {line.name}; Moses separates options of KENLM by blanks"
        yield "moses error", problem, "write blanks instead of tabs"
    factor = line.options.get("factor", "0")
    options = (each.options for each in ini.features)
    made = [each["output-factor"] for each in options if "output-factor" in each]
    if factor not in ",".join(made or [factor]).split(","):
        problem = f"{line.name} reads factor {factor}, which no table makes: Moses crashes"
        yield "error", problem, "correct factor=, or the output-factor= of the tables"


def _table_problems(ini: MosesIni, line: FeatureLine) -> Iterator[LineProblem]:
    if line.kind in feature_kinds.PHRASE_TABLE_KINDS:
        place = line.options.get("path", "")
        read = set(line.options.get("input-factor", "").split(",")) - {""}
        given = ini.values("input-factors") or ["0"]
        if missing := read - {str(_number_read(each)) for each in given}:
            problem = f"{line.name} reads factor {min(missing)}, which [input-factors] lacks"
            yield "error", problem, "correct input-factor= or [input-factors]"
        if line.kind in BINARY_TABLE_KINDS and not find_binary_file(place, line.kind):
            problem = f"{line.kind} finds no binary table at {place}"
            remedy = "correct the path, or write PhraseDictionaryMemory for a text table"
            yield "error", problem, remedy


def problems(ini: MosesIni) -> Iterator[tuple[Severity, IniError]]:
    """Yield everything that Moses or mert-moses.pl would refuse or silently ignore."""
    yield from decoder_problems(ini)
    for line in ini.features:
        if not TUNABLE_NAME.fullmatch(line.name):
            problem = f"mert-moses.pl does not tune a feature called {line.name}"
            remedy = "name it with letters and digits only, a letter first: name=..."
            yield "moses error", ini.error(problem, line=line.line, remedy=remedy)
    for line, _, path in named_paths(ini):
        if missing := _missing_file(ini, line, path):
            yield missing
    for path in map(ini.resolved, ini.values("weight-file")):
        if not Path(path).is_file():
            yield "moses error", ini.error(f"no such file: {path}", remedy="correct [weight-file]")


def _missing_file(ini: MosesIni, line: FeatureLine, path: str) -> tuple[Severity, IniError] | None:
    """Return an error if Moses would not find a file that a feature names."""
    severity: Severity = "error"
    if line.kind in BINARY_TABLE_KINDS or find_binary_file(path, line.kind) is not None:
        return None  # `decoder_problems` checks binary tables
    try:
        file = find_model_file(path)
    except InputError as error:
        problem, remedy = f"{path}: {error.problem}", error.remedy
    else:
        # Moses itself looks for a .gz file only if it reads a reordering table
        if file == Path(path) or line.kind == "LexicalReordering":
            return None
        severity = "moses error"
        problem = f"{path} does not exist; {file} does, but Moses would not look for it"
        remedy = f"write path={file}, or unzip it"
    return severity, ini.error(problem, line=line.line, remedy=remedy)
