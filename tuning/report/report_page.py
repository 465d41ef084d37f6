"""Reads a results folder, and writes the report page from its templates."""

from __future__ import annotations

import contextlib
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from moses_integration.system_building.corpus.text_preparation import read_text
from phrasescore.errors import InputError, PhrasescoreError, counted
from phrasescore.model.folder import CURVES
from phrasescore.pictures.figure_files import check_drawing
from phrasescore.pictures.html_pages import page_environment, write_page
from phrasescore.runs.interruption import interruptible
from phrasescore.runs.results import (
    BuildRecord,
    ComparisonRecord,
    CurvePoint,
    ExperimentRecord,
    FilterRecord,
    ScoringRecord,
    TrainingRecord,
    TuningRecord,
)
from tuning.report.figures import (
    interval_figure,
    learning_figure,
    score_table,
    tuning_figure,
    unknown_words_table,
    weights_figure,
)
from tuning.report.result_files import (
    FoundResult,
    ResultFiles,
    entries_of,
    find_results,
    is_at_work,
    left_out,
)
from tuning.report.scores import ScoreSet, about_tests, in_words, score_sets, verdict
from tuning.report.sentences import Lines, TextDifferences, compare_texts

_TEMPLATES = Path(__file__).parent / "templates"
_DEV = "dev"  # the text of an experiment that weights are tuned on
_WORK = ".training"  # the suffix of a training's work folder
_VERSIONS = ("phrasescore", "python", "libraries", "processor", "machine", "cores")
# kind of record -> its noun, in the order of the work
_NOUNS: dict[type, str] = {
    BuildRecord: "built system",
    TrainingRecord: "model",
    ScoringRecord: "scored table",
    FilterRecord: "filtered system",
    TuningRecord: "tuned system",
    ExperimentRecord: "experiment",
    ComparisonRecord: "comparison",
    type(None): "damaged file",
}


@dataclass(frozen=True)
class ReportSettings:
    """The settings of a report.

    Args:
        folder: The results folder.
        sources: Texts that may be the source of a comparison that does not name its own.
        data: Further folders; files in them may be shown if the results name them.
    """

    folder: Path
    sources: tuple[Path, ...] = ()
    data: tuple[Path, ...] = ()


@dataclass
class Results:
    """All results in a folder; runs and models are keyed by the name of their seed's folder.

    Args:
        name: The name of the folder.
        holds: The number of records of each kind, in words.
        experiments: The records of experiments.
        built: The records of built systems, by name.
        scores: Scores of translations.
        texts: Differences of translations, by the title of their scores.
        tunings: By system, the runs that have at least one round.
        models: By name, the learning curve of each model.
        configs: By name, the settings of finished models.
        scored: The records of scored tables, by name.
        provenances: By name of the record, its provenance.
        unfinished: Sentences about work that is not done yet.
        notes: Sentences about files that could not be read.
    """

    name: str
    holds: str = ""
    experiments: list[ExperimentRecord] = field(default_factory=list)
    built: dict[str, BuildRecord] = field(default_factory=dict)
    scores: list[ScoreSet] = field(default_factory=list)
    texts: dict[str, TextDifferences] = field(default_factory=dict)
    tunings: dict[str, dict[str, TuningRecord]] = field(default_factory=dict)
    models: dict[str, dict[str, tuple[CurvePoint, ...]]] = field(default_factory=dict)
    configs: dict[str, dict[str, Any]] = field(default_factory=dict)
    scored: dict[str, ScoringRecord] = field(default_factory=dict)
    provenances: dict[str, dict[str, Any]] = field(default_factory=dict)
    unfinished: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_results(settings: ReportSettings) -> Results:
    """Read all results in a folder.

    Raises:
        InputError: The folder has no results, or a source text cannot be read.
    """
    sources = [tuple(read_text(path)) for path in settings.sources]
    files = ResultFiles(settings.folder, (*settings.data, *settings.sources))
    kinds = list(_NOUNS)
    found = [each for each in find_results(settings.folder, files) if type(each.record) in kinds]
    found.sort(key=lambda each: (kinds.index(type(each.record)), _in_order(each.name)))
    if not found:
        some = any(settings.folder.iterdir())
        raise InputError(
            "no results of phrasescore are here" if some else "the folder is empty",
            path=settings.folder,
            remedy="name a folder that experiment, tune, train or the demo wrote, or one that has "
            "such folders or the JSON of --json-file in it",
        )
    # the runs of all seeds and their summary are one piece of work
    works = {(type(each.record), _group(each.name)[0]) for each in found}
    counts = Counter(kind for kind, _ in works)
    holds = (counted(counts[kind], _NOUNS[kind]) for kind in kinds if kind in counts)
    results = Results(settings.folder.absolute().name, ", ".join(holds))
    for each in found:
        try:
            _add(results, each, files, sources)
        except PhrasescoreError as error:
            results.notes.append(left_out(error))
    return results


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
        case BuildRecord() as record:
            results.built[name] = record
        case TrainingRecord() as record:
            name = name.removesuffix(_WORK)
            group, model = _group(name)
            points = files.lines(CurvePoint, found.folder / CURVES)
            results.models.setdefault(group, {})[model] = points
            if record.config:
                results.configs.setdefault(group, record.config)
            else:
                results.unfinished.append(f"The training of {name} has not come to its end.")
        case ScoringRecord() as record:
            results.scored[name] = record
        case TuningRecord() as record:
            _add_tuning(results, record, found)
        case ComparisonRecord() as record:
            title = f"{Path(record.references[0]).name} ({name})" if record.references else name
            _add_comparison(results, record, title, found, files, sources)
        case ExperimentRecord() as record:
            _add_experiment(results, record, found, files)
    if made := getattr(found.record, "provenance", None):
        results.provenances[name] = made


def _group(name: str) -> tuple[str, str]:
    """Split the name of a folder into group and member; all ``NAME/seedN`` form the group NAME."""
    group, slash, last = name.rpartition("/")
    return (group, last) if slash and re.fullmatch("seed[0-9]+", last) else (name, name)


def _add_tuning(results: Results, record: TuningRecord, found: FoundResult) -> None:
    if record.seeds is not None:  # a summary; each run has its own record
        return
    rounds = [each.number for each in record.curve]
    if record.why and record.round not in rounds:
        raise InputError(
            f"not what phrasescore writes: round {record.round} is the best, and not in the curve",
            path=found.path,
        )
    if rounds:
        group, run = _group(found.name)
        results.tunings.setdefault(group, {})[run] = record
    if not record.why:
        done = counted(len(rounds), "round")
        results.unfinished.append(f"The tuning {found.name} has not come to its end: {done} done.")


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
    """Check that a page can be written, before the work that it needs.

    Raises:
        MissingDependencyError: Jinja2 or matplotlib is not installed.
    """
    page_environment(_TEMPLATES)
    check_drawing()


def write_report(path: str | Path, results: Results, *, live: bool = False) -> None:
    """Write the page atomically.

    Args:
        path: The file of the page.
        results: The content of the page.
        live: Whether the page reloads itself in the browser until the last page is written.

    Raises:
        MissingDependencyError: Jinja2 or matplotlib is not installed.
        SettingsError: The file cannot be written.
    """
    functions = (
        score_table, interval_figure, in_words, about_tests, tuning_figure, weights_figure,
        unknown_words_table, learning_figure, in_short,
    )  # fmt: skip
    made = results.provenances.values()
    commands = (str(each.get("command", "")) for each in made)
    values = {
        "results": results,
        "verdict": verdict(results.scores),
        "live": live,
        "written": time.strftime("%H:%M:%S") if live else "",
        "versions": _versions(results.provenances),
        "commands": [each for each in dict.fromkeys(commands) if each],
        **{function.__name__: function for function in functions},
    }
    write_page(path, "report.html", values, _TEMPLATES)


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
    """Return each distinct set of versions and machine, with the names of its records."""
    found: dict[str, list[str]] = {}
    for name, made in provenances.items():
        said = {key: made[key] for key in _VERSIONS if key in made}
        found.setdefault(in_short(said), []).append(name)
    return found


Say = Callable[[str], None]
# only these files are watched: n-best lists and tables change more often but are not in the report
_READ = (".json", ".jsonl", ".txt")
_LEVELS = 4
_BETWEEN_LOOKS = 2.0  # seconds
# between two commands of a script, no process holds a lock while the second one starts
_PATIENCE = 10.0  # seconds


def watch(
    settings: ReportSettings,
    path: str | Path,
    say: Say,
    *,
    between: float = _BETWEEN_LOOKS,
    patience: float = _PATIENCE,
) -> None:
    """Write the page whenever results change, until no process has worked there for a while.

    Args:
        settings: The settings of the report.
        path: The file of the page.
        say: Prints a line for each page.
        between: Seconds between two checks of the folder.
        patience: Seconds without a change and without a working process that end the watch.

    Raises:
        InputError: The folder has no results.
        InterruptedWorkError: Ctrl-C was pressed; the last page has been written.
    """
    seen: dict[str, tuple[int, int]] | None = None
    quiet_since = time.monotonic()
    suppress_moving = contextlib.suppress(InputError)
    with interruptible(path):
        try:
            while True:
                now = _state(settings.folder)
                if now != seen:
                    # a finished model moves to another folder, and is in neither for a moment
                    with contextlib.nullcontext() if seen is None else suppress_moving:
                        write_report(path, read_results(settings), live=True)
                        say(f"{time.strftime('%H:%M:%S')}: wrote {path}")
                    seen = now
                    quiet_since = time.monotonic()
                elif is_at_work(settings.folder):
                    quiet_since = time.monotonic()
                if time.monotonic() - quiet_since >= patience:
                    return
                time.sleep(between)
        finally:
            # the last page must not reload itself any more
            if seen is not None:
                with suppress_moving:
                    write_report(path, read_results(settings))


def _state(folder: str | Path, levels: int = _LEVELS) -> dict[str, tuple[int, int]]:
    """Return the size and modification time of each file that a report reads."""
    found: dict[str, tuple[int, int]] = {}
    for entry in entries_of(folder):
        # hidden files are still being written
        if entry.name.startswith("."):
            continue
        # a file may have vanished since the folder was listed
        with contextlib.suppress(OSError):
            if entry.is_dir(follow_symlinks=False):
                found |= _state(entry.path, levels - 1) if levels else {}
            elif entry.name.endswith(_READ):
                state = entry.stat()
                found[entry.path] = state.st_size, state.st_mtime_ns
    return found
