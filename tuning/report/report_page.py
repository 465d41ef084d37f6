"""Reads a results folder, which may come from an untrusted person, and writes the report page.

The templates of the page are in this package.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from moses_integration.system_building.build_settings import BuildRecord
from moses_integration.tables.copying import FilterRecord
from phrasescore.analysis.scatter import ScatterRecord
from phrasescore.closed_settings import from_mapping
from phrasescore.errors import (
    InputError,
    MissingDependencyError,
    PhrasescoreError,
    SettingsError,
    counted,
    located,
)
from phrasescore.model.folder import CURVES, CurvePoint, TrainingRecord
from phrasescore.pictures.figure_files import check_drawing
from phrasescore.runs.file_kinds import read_regular
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.json_files import JsonError, parse_object
from phrasescore.runs.results import RESULT, Record, parse_record
from tuning.experiment.table import ExperimentRecord
from tuning.improvement.session import ImproveRecord
from tuning.loop.tuning_settings import TuningRecord
from tuning.loop.weights import WEIGHTS
from tuning.metrics.system_comparison import ComparisonRecord, score_table
from tuning.report import figures

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True)
class ScoringRecord(Record):
    """The part of the record of ``score`` that other commands read.

    Args:
        provenance: The provenance of the scores.
    """

    kind: ClassVar[str] = "score"
    provenance: dict[str, object] = field(default_factory=dict)


_LEVELS = 5
# results of phrasescore are far smaller; larger JSON comes from another program
_LARGEST_JSON = 1 << 24
_TEMPLATES = Path(__file__).parent / "templates"
_DEV = "dev"  # the name of the text that an experiment tunes weights on
_WORK = ".training"  # the suffix of a training's work folder
_VERSIONS = ("phrasescore", "python", "libraries", "aligners", "processor", "machine", "cores")
# kind of record -> its name on the page; the page shows the kinds in this order
_RECORDS: dict[type[Record], str] = {
    BuildRecord: "built system",
    TrainingRecord: "model",
    ScoringRecord: "scored table",
    ScatterRecord: "scatter plot",
    FilterRecord: "filtered system",
    TuningRecord: "tuned system",
    ExperimentRecord: "experiment",
    ImproveRecord: "improvement",
    ComparisonRecord: "comparison",
}
_NOUNS: dict[type, str] = {**_RECORDS, type(None): "damaged file"}


def _read(path: Path, root: Path) -> bytes:
    """Return the content of a file that lies in a folder after links are resolved.

    So a results folder from someone else cannot make a report show other files.

    Raises:
        InputError: The file cannot be read, or a link leads out of the folder.
    """
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        raise InputError(
            "this link leads out of the results, so it is not followed",
            path=path,
            remedy="copy the file into the folder",
        )
    try:
        return read_regular(path)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path) from None


def _curve(path: Path, root: Path) -> tuple[CurvePoint, ...]:
    """Return the points of a learning curve, one per line; an incomplete last line is ignored.

    Raises:
        PhrasescoreError: The file cannot be read, is not allowed, or has a malformed line.
    """
    lines = _read(path, root).split(b"\n")[:-1] if path.exists() else []
    where = "not a record of phrasescore"
    with located(path):
        return tuple(
            from_mapping(CurvePoint, _object(line, path), where=where, only_known=False)
            for line in lines
        )


def left_out(error: Exception) -> str:
    """Return the sentence that tells the reader why a file is missing from the report."""
    return f"{error} The report omits this file."


def _object(text: bytes, path: Path) -> dict[str, object]:
    try:
        return parse_object(text)
    except JsonError as error:
        raise InputError(f"not a record of phrasescore: {error}", path=path) from None


@dataclass(frozen=True)
class FoundResult:
    """A record, or a damaged file that should hold one.

    Args:
        path: The file of the record.
        name: The path of the file, or of the folder of a ``result.json``, relative to the searched
            folder.
        record: The record; ``None`` if the file is damaged.
        note: The sentence about the damage.
    """

    path: Path
    name: str
    record: Record | None
    note: str = ""


def find_results(root: Path) -> Iterator[FoundResult]:
    """Yield the records in a folder and up to ``_LEVELS`` levels below it, except hidden folders.

    Linked folders are left out: what a report may read is found under its own name.
    """
    for folder, subfolders, names in os.walk(root):
        here = Path(folder)
        is_deepest = len(here.relative_to(root).parts) == _LEVELS
        subfolders[:] = [] if is_deepest else [each for each in subfolders if each[0] != "."]
        for name in names:
            # a result.json has the weights and the rounds, so skip the weights.json beside it
            if name.endswith(".json") and not (name == WEIGHTS and RESULT in names):
                yield from _found(here / name, root)


def _found(path: Path, root: Path) -> Iterator[FoundResult]:
    """Yield the record of a result file, or the note about its damage; else nothing."""
    is_result = path.name == RESULT
    named = path.parent if is_result else path
    name = root.absolute().name if named == root else str(named.relative_to(root))
    try:
        if path.stat().st_size > _LARGEST_JSON:
            return
        record = parse_record(_object(_read(path, root), path), *_RECORDS)
        if record is not None:
            yield FoundResult(path, name, record)
        elif is_result:
            raise SettingsError("not a record of phrasescore: its kind of result is unknown")
    except (InputError, OSError) as error:
        # JSON under any other name may come from another program
        if is_result:
            yield FoundResult(path, name, None, left_out(error))
    except SettingsError as error:
        yield FoundResult(path, name, None, left_out(error.at(path)))


@dataclass
class Results:
    """All results in a folder.

    Args:
        name: The name of the folder.
        holds: The number of results of each kind, in words.
        experiments: The records of experiments.
        scores: Scores of translations.
        tunings: The tuning runs that have at least one round, by system and run.
        models: The learning curve of each model, by name and run.
        configs: The settings of finished models, by name.
        provenances: The provenance of each record, by the name of the record.
        unfinished: Sentences about work that is not done yet.
        notes: Sentences about files that could not be read.
    """

    name: str
    holds: str = ""
    experiments: list[ExperimentRecord] = field(default_factory=list)
    scores: list[figures.ScoreSet] = field(default_factory=list)
    tunings: dict[str, dict[str, TuningRecord]] = field(default_factory=dict)
    models: dict[str, dict[str, tuple[CurvePoint, ...]]] = field(default_factory=dict)
    configs: dict[str, dict[str, object]] = field(default_factory=dict)
    provenances: dict[str, dict[str, object]] = field(default_factory=dict)
    unfinished: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def group(self, name: str) -> tuple[str, str]:
        """Split a record's name into group and member; all ``NAME/seedN`` form the group NAME."""
        group, _, last = name.rpartition("/")
        return (group or self.name, last) if re.fullmatch("seed[0-9]+", last) else (name, name)


def read_results(folder: Path) -> Results:
    """Read all results in a folder.

    Raises:
        InputError: The folder has no results.
    """
    kinds = list(_NOUNS)
    found = sorted(
        find_results(folder),
        key=lambda each: (kinds.index(type(each.record)), _in_order(each.name)),
    )
    if not found:
        some = any(folder.iterdir())
        raise InputError(
            "the folder has no results of phrasescore" if some else "the folder is empty",
            path=folder,
            remedy="name a folder written by the demo or by the command experiment, tune or train, "
            "or a folder that contains such folders or files written with --json-file",
        )
    results = Results(folder.absolute().name)
    # the runs of all seeds and their summary count as one result
    works = {(type(each.record), results.group(each.name)[0]) for each in found}
    counts = Counter(kind for kind, _ in works)
    held = (counted(counts[kind], _NOUNS[kind]) for kind in kinds if kind in counts)
    results.holds = ", ".join(held)
    for each in found:
        try:
            _add(results, each, folder)
        except PhrasescoreError as error:
            results.notes.append(left_out(error))
    return results


def _in_order(name: str) -> list[tuple[int, str]]:
    """Return a sort key that orders numbers inside names by value: seed2 before seed10."""
    parts = re.split("([0-9]+)", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _add(results: Results, found: FoundResult, root: Path) -> None:
    """Add a record to the results.

    Raises:
        PhrasescoreError: The record, or a file that belongs to it, is damaged.
    """
    name = found.name
    match found.record:
        case None:
            results.notes.append(found.note)
            return
        case TrainingRecord() as record:
            name = name.removesuffix(_WORK)
            group, model = results.group(name)
            results.models.setdefault(group, {})[model] = _curve(found.path.with_name(CURVES), root)
            if record.config:
                results.configs.setdefault(group, record.config)
            else:
                results.unfinished.append(f"The training of {name} is not finished.")
        case TuningRecord() as record:
            _add_tuning(results, record, found)
        case ComparisonRecord() as record:
            title = f"{Path(record.references[0]).name} ({name})" if record.references else name
            results.scores += figures.score_sets(record, title, found.path)
            results.notes += record.notes
        case ExperimentRecord() as record:
            _add_experiment(results, record, found)
        case ImproveRecord() as record:
            said = record.verdict or "not finished"
            (results.notes if record.verdict else results.unfinished).append(f"{name}: {said}.")
    if made := getattr(found.record, "provenance", None):
        results.provenances[name] = made


def _add_tuning(results: Results, record: TuningRecord, found: FoundResult) -> None:
    results.notes += [f"The tuning {found.name}: {warning}." for warning in record.warnings]
    if record.seeds is not None:  # a summary; each run has its own record, but not of rescoring
        told = record.benefits if record.rescoring else ()
        results.notes += [f"The tuning {found.name}: {record.about(each)}." for each in told]
        return
    rounds = [each.number for each in record.curve]
    if record.why and record.round not in rounds:
        raise InputError(
            f"not a record of phrasescore: its best round, {record.round}, is not in the curve",
            path=found.path,
        )
    if rounds:
        group, run = results.group(found.name)
        results.tunings.setdefault(group, {})[run] = record
    if not record.why:
        done = counted(len(rounds), "round")
        results.unfinished.append(f"The tuning {found.name} is not finished: {done} done.")


def _add_experiment(results: Results, record: ExperimentRecord, found: FoundResult) -> None:
    results.experiments.append(record)
    for row in record.systems:
        texts = [text.files.get(row.name, ()) for text in record.texts.values()]
        done = min(map(len, texts), default=0)
        if row.not_run and not done:
            results.notes.append(f"{row.name} was not run: {row.not_run}.")
        elif done < row.runs and not row.not_run:
            results.unfinished.append(f"{row.name}: {done} of {counted(row.runs, 'run')} done.")
    for name in sorted(record.texts, key=lambda text: text == _DEV):
        text = record.texts[name]
        if text.files or text.metrics.get("bleu"):
            title = f"{name} ({found.name})"
            results.scores += figures.score_sets(text, title, found.path, is_dev=name == _DEV)
            results.notes += text.notes


def check_page() -> None:
    """Check early that a page can be written.

    Raises:
        MissingDependencyError: Jinja2 or matplotlib is not installed.
    """
    _environment()
    check_drawing()


def _environment() -> Environment:
    """Return the templates; every value is escaped, and an undefined name is an error."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise MissingDependencyError.extra("jinja2", "report") from None
    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def write_report(path: str | Path, results: Results) -> None:
    """Write the page atomically: one file with its style inside.

    The page's content security policy forbids all network access, so no text in it can make a
    browser contact another machine.

    Raises:
        MissingDependencyError: Jinja2 or matplotlib is not installed.
        SettingsError: The file cannot be written.
    """
    commands = (str(each.get("command", "")) for each in results.provenances.values())
    values = {
        "results": results,
        "versions": _versions(results.provenances),
        "commands": [each for each in dict.fromkeys(commands) if each],
        "figures": figures,
        "score_table": score_table,
        "in_short": in_short,
    }
    text = _environment().get_template("report.html").render(values)
    # names of files and damaged lines may contain surrogates, which UTF-8 cannot encode
    write_atomically(path, text.encode("utf-8", "backslashreplace"))


def in_short(value: object) -> str:
    """Return a value of a record in words: ``kind embedded, threads 1``.

    >>> in_short({"kind": "embedded", "threads": 1, "sections": {}})
    'kind embedded, threads 1'
    """
    if isinstance(value, Mapping):
        parts = {key: in_short(inner) for key, inner in value.items()}
        return ", ".join(f"{key} {text}" for key, text in parts.items() if text)
    if isinstance(value, list | tuple):
        return ", ".join(map(in_short, value))
    return "" if value is None else str(value)


def _versions(provenances: Mapping[str, Mapping[str, object]]) -> dict[str, list[str]]:
    """Return each combination of versions and machine, with the names of its records."""
    found: dict[str, list[str]] = {}
    for name, made in provenances.items():
        said = {key: made[key] for key in _VERSIONS if key in made}
        found.setdefault(in_short(said), []).append(name)
    return found
