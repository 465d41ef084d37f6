"""Faults of a moses.ini itself: sections, features, weights, paths."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from moses_integration.doctor.findings import Finding, Place, Severity
from moses_integration.ini.edits import START_WEIGHT
from moses_integration.ini.feature_kinds import (
    LANGUAGE_MODEL_KINDS,
    OWN_KINDS,
    PHRASE_TABLE_KINDS,
    TEXT_TABLE_KINDS,
)
from moses_integration.ini.feature_weights import FeatureLayout, has_tuned_weights
from moses_integration.ini.listing import file_problems, name_problems, section_problem
from moses_integration.ini.model_files import (
    find_binary_file,
    find_model_file,
    path_keys,
    relative_paths,
)
from moses_integration.ini.moses_ini import FeatureLine, MosesIni, format_weight
from moses_integration.ini.parameters import SHORT_NAMES
from phrasescore.errors import IniError, InputError
from phrasescore.runs.file_kinds import is_stream
from phrasescore.table.input_files import whole_number

# a weight below this share of the largest has no effect; MERT with a constant feature gave 1e-38
_NEGLIGIBLE = 1e-6
_LANGUAGE_MODELS = LANGUAGE_MODEL_KINDS | OWN_KINDS


def ini_findings(ini: MosesIni) -> Iterator[Finding]:
    """Check everything in the ini, but not the content of the files that it names."""
    yield from _section_findings(ini)
    try:
        layout = FeatureLayout.from_ini(ini)
    except IniError as error:
        yield Finding.from_error(error, ini.path)
    else:
        yield from _weight_findings(ini, layout)
    if relative := [path for _, path in relative_paths(ini)]:
        yield Place(ini.path).warning(
            "relative paths, which only work in the current directory, and mert-moses.pl changes "
            f"to another one: {', '.join(relative)}",
            f"write absolute paths: phrasescore ini absolute-paths {ini.path} -o FILE",
        )
    for line in ini.features:
        yield from _feature_findings(ini, line)
    yield from _missing_features(ini)


def _section_findings(ini: MosesIni) -> Iterator[Finding]:
    for name, number in ini.unknown_sections:
        severity: Severity = "warning" if name in SHORT_NAMES else "error"
        yield Finding.from_error(section_problem(ini, name, number), ini.path, severity)
    limit = ini.values("distortion-limit")
    if not limit or limit[0].startswith("-"):
        yield Place(ini.path).warning(
            "no distortion limit, so phrases may move any distance: slow, and usually worse",
            "write a section [distortion-limit] with the value 6",
        )
    yield from _mapping_findings(ini)


def _mapping_findings(ini: MosesIni) -> Iterator[Finding]:
    names = [line.name for line in ini.features if line.kind in PHRASE_TABLE_KINDS]
    for value in ini.values("mapping"):
        words = value.split(" ")
        number = words[-1]
        named = number in names or whole_number(number, len(names) - 1) is not None
        if "T" in words and not named:
            yield Place(ini.path).error(
                f"[mapping] uses the phrase table {number}, but there are {len(names)} (from 0)",
                "correct [mapping], or delete it where there is one table",
            )


def _weight_findings(ini: MosesIni, layout: FeatureLayout) -> Iterator[Finding]:
    try:
        weights = layout.read_weights(ini)
    except IniError as error:
        yield Finding.from_error(error, ini.path)
        return
    tuneable = [feature.name for feature in layout.features if any(feature.tuneable)]
    tuned = {name: values for name in tuneable if (values := weights[name])}
    sizes = sorted(abs(value) for values in tuned.values() for value in values)
    if not any(sizes):
        yield Place(ini.path).error(
            "all weights are zero, so all translations score the same",
            "an earlier tuning failed, perhaps with BLEU 0; start from the weights of training",
        )
        return
    for name, values in tuned.items():
        place = Place(ini.path, ini.weight_line(name))
        if name not in ini.weights:
            yield place.warning(
                f"no weights for {name}, so Moses takes 1 for each",
                f"write a line '{name}= ...' into [weight]",
            )
        elif not any(values):
            yield place.warning(
                f"the weights of {name} are all zero, so the feature has no effect",
                "tune them, or give a start weight such as 0.2",
            )
    yield from _start_weight_findings(ini, tuned)
    if len(sizes) > 1 and 0 < sizes[-2] < _NEGLIGIBLE * sizes[-1]:
        yield Place(ini.path).error(
            f"one weight is {format_weight(sizes[-1])} and no other more than "
            f"{format_weight(sizes[-2])}: MERT has diverged, as it may with a constant feature",
            "start from the weights of training, and freeze or leave out constant features",
        )


def _start_weight_findings(
    ini: MosesIni, weights: Mapping[str, tuple[float, ...]]
) -> Iterator[Finding]:
    """Report a new last score or neural language model whose weight was never tuned."""
    if not has_tuned_weights(ini):
        return
    kinds = {line.name: line.kind for line in ini.features}
    for name, values in weights.items():
        added = kinds.get(name) in OWN_KINDS or (
            kinds.get(name) in PHRASE_TABLE_KINDS and len(set(values[:-1])) > 1
        )
        if added and values[-1] in (0.0, START_WEIGHT) and (any(values) or len(values) > 1):
            yield Place(ini.path, ini.weight_line(name)).warning(
                f"the last weight of {name} is {format_weight(values[-1])}, a start weight, while "
                "other weights are tuned",
                "tune all weights together: phrasescore tune",
            )


def _feature_findings(ini: MosesIni, line: FeatureLine) -> Iterator[Finding]:
    for problem in name_problems(ini, line):
        yield Finding.from_error(problem, ini.path)
    # model folders and binary tables are checked by `models` and `tables`
    if line.kind in OWN_KINDS | PHRASE_TABLE_KINDS - TEXT_TABLE_KINDS:
        return
    for key in path_keys(line):
        if find_binary_file(line.options[key], line.kind) is None:
            yield from _file_findings(ini, line, line.options[key])


def _file_findings(ini: MosesIni, line: FeatureLine, path: str) -> Iterator[Finding]:
    place = Place(ini.path, line.line)
    for problem in file_problems(ini, line, path):
        yield Finding.from_error(problem, ini.path)
    try:
        file = find_model_file(path)
    except InputError:
        return
    if is_stream(file.path):
        yield place.error(
            f"{path} is a pipe or a device, where {line.kind} needs a file",
            "write the data to a file, and name that file",
        )
    if file.path.is_dir():
        yield place.error(
            f"{path} is a folder, where {line.kind} needs a file",
            "probing and on-disk tables are for the classes ProbingPT and PhraseDictionaryOnDisk",
        )


def _missing_features(ini: MosesIni) -> Iterator[Finding]:
    kinds = {line.kind for line in ini.features}
    wanted: tuple[tuple[Collection[str], Severity, str, str], ...] = (
        (PHRASE_TABLE_KINDS, "error", "phrase table", "there is nothing to translate with"),
        (_LANGUAGE_MODELS, "warning", "language model", "word order is left to chance"),
        ({"UnknownWordPenalty"}, "warning", "UnknownWordPenalty", "unknown words cost nothing"),
        ({"WordPenalty"}, "warning", "WordPenalty", "tuning cannot correct the length"),
    )
    for kind, severity, name, effect in wanted:
        if kinds.isdisjoint(kind):
            yield Place(ini.path).finding(
                severity,
                f"no {name}: {effect}",
                "add its line to [feature], and its weight to [weight]",
            )
    owners: dict[str, str] = {}
    for line in ini.features:
        path = line.options.get("path", "")
        owner = owners.setdefault(path, line.name)
        if path and owner != line.name:
            yield Place(ini.path).warning(
                f"{owner} and {line.name} read the same file {path}", "name two"
            )
