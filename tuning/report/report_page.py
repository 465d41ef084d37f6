"""Reads a results folder, and writes the report page from the templates of this package."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moses_integration.text.preparation import read_text
from phrasescore.errors import InputError, MissingDependencyError, PhrasescoreError, counted
from phrasescore.model.folder import CURVES
from phrasescore.pictures.figure_files import check_drawing
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.results import (
    BuildRecord,
    ComparisonRecord,
    CurvePoint,
    ExperimentRecord,
    FilterRecord,
    ScatterRecord,
    ScoringRecord,
    TrainingRecord,
    TuningRecord,
)
from tuning.metrics.score_tables import benefit_in_words
from tuning.report.figures import (
    interval_figure,
    learning_figure,
    rounds_table,
    score_table,
    tuning_figure,
    weights_table,
)
from tuning.report.result_files import FoundResult, ResultFiles, find_results, left_out
from tuning.report.scores import ScoreSet, about_tests, in_words, score_sets, verdict
from tuning.report.sentences import Lines, TextDifferences, compare_texts

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"
_DEV = "dev"  # the name of the text that an experiment tunes weights on
_WORK = ".training"  # the suffix of a training's work folder
_VERSIONS = ("phrasescore", "python", "libraries", "aligners", "processor", "machine", "cores")
# kind of record -> its name on the page; the page shows the kinds in this order
_NOUNS: dict[type, str] = {
    BuildRecord: "built system",
    TrainingRecord: "model",
    ScoringRecord: "scored table",
    ScatterRecord: "scatter plot",
    FilterRecord: "filtered system",
    TuningRecord: "tuned system",
    ExperimentRecord: "experiment",
    ComparisonRecord: "comparison",
    type(None): "damaged file",
}


@dataclass
class Results:
    """All results in a folder.

    Args:
        name: The name of the folder.
        holds: The number of results of each kind, in words.
        experiments: The records of experiments.
        scores: Scores of translations.
        texts: Differences of translations, by the title of their ``ScoreSet``.
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
    scores: list[ScoreSet] = field(default_factory=list)
    texts: dict[str, TextDifferences] = field(default_factory=dict)
    tunings: dict[str, dict[str, TuningRecord]] = field(default_factory=dict)
    models: dict[str, dict[str, tuple[CurvePoint, ...]]] = field(default_factory=dict)
    configs: dict[str, dict[str, Any]] = field(default_factory=dict)
    provenances: dict[str, dict[str, Any]] = field(default_factory=dict)
    unfinished: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def group(self, name: str) -> tuple[str, str]:
        """Split a record's name into group and member; all ``NAME/seedN`` form the group NAME."""
        group, _, last = name.rpartition("/")
        is_of_seed = re.fullmatch("seed[0-9]+", last)
        return (group or self.name, last) if is_of_seed else (name, name)


def read_results(
    folder: Path, source_paths: Sequence[Path] = (), data: Sequence[Path] = ()
) -> Results:
    """Read all results in a folder.

    Args:
        folder: The results folder.
        source_paths: Texts that may be the source of a comparison that names no source.
        data: Further folders; the page may show files in them that the results name.

    Raises:
        InputError: The folder has no results, or a source text cannot be read.
    """
    sources = [tuple(read_text(path)) for path in source_paths]
    files = ResultFiles(folder, (*data, *source_paths))
    kinds = list(_NOUNS)
    found = [each for each in find_results(folder, files) if type(each.record) in kinds]
    found.sort(key=lambda each: (kinds.index(type(each.record)), _in_order(each.name)))
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
    results.holds = ", ".join(
        counted(counts[kind], _NOUNS[kind]) for kind in kinds if kind in counts
    )
    for each in _distinctly_named(found):
        try:
            _add(results, each, files, sources)
        except PhrasescoreError as error:
            results.notes.append(left_out(error))
    return results


def _distinctly_named(found: Sequence[FoundResult]) -> Iterator[FoundResult]:
    """Yield all results; the names of experiments that share a name get their folders' names."""
    names = Counter(each.record.name for each in found if isinstance(each.record, ExperimentRecord))
    for each in found:
        record = each.record
        if isinstance(record, ExperimentRecord) and names[record.name] > 1:
            record = replace(record, name=f"{record.name}, {each.name}")
        yield replace(each, record=record)


def _in_order(name: str) -> list[tuple[int, str]]:
    """Return a sort key that orders numbers inside names by value: seed2 before seed10."""
    return [
        (int(part), "") if part.isdecimal() else (-1, part) for part in re.split("([0-9]+)", name)
    ]


def _add(
    results: Results, found: FoundResult, files: ResultFiles, sources: Sequence[Lines]
) -> None:
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
            points = files.lines(CurvePoint, found.folder / CURVES)
            results.models.setdefault(group, {})[model] = points
            if record.config:
                results.configs.setdefault(group, record.config)
            else:
                results.unfinished.append(f"The training of {name} is not finished.")
        case TuningRecord() as record:
            _add_tuning(results, record, found)
        case ComparisonRecord() as record:
            title = f"{Path(record.references[0]).name} ({name})" if record.references else name
            _add_comparison(results, record, title, found, files, sources)
        case ExperimentRecord() as record:
            _add_experiment(results, record, found, files)
    if made := getattr(found.record, "provenance", None):
        results.provenances[name] = made


def _add_tuning(results: Results, record: TuningRecord, found: FoundResult) -> None:
    results.notes += [f"The tuning {found.name}: {warning}." for warning in record.warnings]
    if record.seeds is not None:  # a summary; each run has its own record
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


def _add_comparison(
    results: Results,
    record: ComparisonRecord,
    title: str,
    found: FoundResult,
    files: ResultFiles,
    sources: Sequence[Lines] = (),
    *,
    is_dev: bool = False,
) -> None:
    results.scores += score_sets(record, title, found.path, is_dev=is_dev)
    results.notes += record.notes
    if not is_dev:
        results.texts[title] = compare_texts(record, found.folder, files, sources)
        results.notes += results.texts[title].notes


def _add_experiment(
    results: Results, record: ExperimentRecord, found: FoundResult, files: ResultFiles
) -> None:
    results.experiments.append(record)
    for row in record.systems:
        texts = [text.files.get(row.name, ()) for text in record.texts.values()]
        done = min(map(len, texts), default=0)
        if row.not_run and not done:
            results.notes.append(f"{row.name} was not run: {row.not_run}.")
        elif done < row.runs and not row.not_run:
            runs = counted(row.runs, "run")
            results.unfinished.append(f"{row.name}: {done} of {runs} done.")
    for name in sorted(record.texts, key=lambda text: text == _DEV):
        text = record.texts[name]
        if text.files or text.metrics.get("bleu"):
            title = f"{name} ({record.name})"
            _add_comparison(results, text, title, found, files, is_dev=name == _DEV)


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
    """Write the page atomically: one file with its style and scripts inside.

    The page's content security policy forbids all network access, so no text in it can make a
    browser contact another machine.

    Raises:
        MissingDependencyError: Jinja2 or matplotlib is not installed.
        SettingsError: The file cannot be written.
    """
    functions = (
        score_table, interval_figure, in_words, about_tests, tuning_figure, rounds_table,
        weights_table, benefit_in_words, learning_figure, in_short,
    )  # fmt: skip
    made = results.provenances.values()
    commands = (str(each.get("command", "")) for each in made)
    values = {
        "results": results,
        "verdict": verdict(results.scores),
        "versions": _versions(results.provenances),
        "commands": [each for each in dict.fromkeys(commands) if each],
        **{function.__name__: function for function in functions},
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


def _versions(provenances: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return each combination of versions and machine, with the names of its records."""
    found: dict[str, list[str]] = {}
    for name, made in provenances.items():
        said = {key: made[key] for key in _VERSIONS if key in made}
        found.setdefault(in_short(said), []).append(name)
    return found
