"""The page: a folder of results, read, drawn and filled into the templates."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any

from moses_integration.system_building.corpus.text_preparation import read_text
from phrasescore.errors import InputError, counted
from phrasescore.pictures.figure_files import check_drawing
from phrasescore.pictures.html_pages import page_environment, write_page
from phrasescore.runs.interruption import interruptible
from phrasescore.runs.results import (
    BuildRecord,
    ComparisonRecord,
    ExperimentRecord,
    FilterRecord,
    ScoringRecord,
    TrainingRecord,
    TuningRecord,
)
from tuning.metrics.text_scores import LABELS
from tuning.report.comparisons import read_comparison, read_experiment
from tuning.report.contents import Provenance, Results, ScoredTable, TrainedModel, TuningRun
from tuning.report.figures import (
    columns_figure,
    interval_figure,
    learning_figure,
    length_figure,
    score_table,
    spread_figure,
    time_table,
    tuning_figure,
    weights_figure,
    work_table,
)
from tuning.report.plain_words import about_tests, about_tuning, in_words, verdict
from tuning.report.records import read_record
from tuning.report.result_files import (
    FoundResult,
    ResultFiles,
    entries_of,
    find_results,
    is_at_work,
)
from tuning.report.sentences import compare_outputs

_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class ReportSettings:
    """What a report is asked for.

    Args:
        folder: Of results.
        sources: Texts of which one may be what a comparison's systems translated.
        data: Further folders whose files may be shown where the results name them.
    """

    folder: Path
    sources: tuple[Path, ...] = ()
    data: tuple[Path, ...] = ()


def read_results(settings: ReportSettings) -> Results:
    """Read all that a folder holds.

    Raises:
        InputError: It holds no results, or a source cannot be read.
    """
    sources = [tuple(read_text(path)) for path in settings.sources]
    files = ResultFiles(settings.folder, (*settings.data, *settings.sources))
    found = sorted(
        (each for each in find_results(settings.folder, files) if type(each.record) in _NOUNS),
        key=lambda each: [*_NOUNS].index(type(each.record)),
    )
    if not found:
        some = any(settings.folder.iterdir())
        raise InputError(
            "no results of phrasescore are here" if some else "the folder is empty",
            path=settings.folder,
            remedy="name a folder that experiment, tune, train or the demo wrote, or one that has "
            "such folders or the JSON of --json-file in it",
        )
    parts = [_read(each, files, sources) for each in found]
    name = parts[0].name if len(parts) == 1 else settings.folder.absolute().name
    return reduce(Results.joined, parts, Results(name, facts={"folder": _holds(found)}))


def _read(found: FoundResult, files: ResultFiles, sources: Sequence[tuple[str, ...]]) -> Results:
    match found.record:
        case ComparisonRecord() as record:
            return read_comparison(record, found, files, sources)
        case ExperimentRecord() as record:
            return read_experiment(record, found, files)
    return read_record(found, found.name, files)


# in the order of the work, the noun for a record of each kind
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


def _holds(found: Sequence[FoundResult]) -> str:
    kinds = [type(each.record) for each in found]
    return ", ".join(
        counted(kinds.count(kind), noun) for kind, noun in _NOUNS.items() if kind in kinds
    )


def check_page() -> None:
    """Find out before the work whether a page could be written at its end.

    Raises:
        MissingDependencyError: Jinja2 or matplotlib is not installed.
    """
    page_environment(_TEMPLATES)
    check_drawing()


def write_report(path: str | Path, results: Results, *, live: bool = False) -> None:
    """Write the page; it appears when it is whole.

    Args:
        path: Where to.
        results: What it shows.
        live: Whether the page looks for a newer one, until one says that it is the last.

    Raises:
        MissingDependencyError: Jinja2 or matplotlib is not installed.
        SettingsError: The file cannot be written.
    """
    write_page(path, "report.html", page_values(results, live), _TEMPLATES)


def page_values(results: Results, live: bool) -> dict[str, Any]:
    """Return the values and functions that the templates use."""
    # all pairs of systems together get room for a thousand gains and losses
    pairs = max(sum(len(text.outputs) - 1 for text in results.texts), 1)
    max_rows = min(100, max(5, 500 // pairs))
    return {
        "results": results,
        "verdict": verdict(results),
        "live": live,
        "written": time.strftime("%H:%M:%S") if live else "",
        "labels": LABELS,
        "texts": [(text, compare_outputs(text, max_rows)) for text in results.texts],
        "max_rows": max_rows,
        "models": _groups_of_seeds(results.models),
        "versions": _versions(results.provenances),
        "commands": _commands(results.provenances),
        "score_table": score_table,
        "interval_figure": interval_figure,
        "in_words": in_words,
        "about_tests": about_tests,
        "length_figure": length_figure,
        "spread_figure": spread_figure,
        "about_tuning": about_tuning,
        "tuning_figure": tuning_figure,
        "weights_figure": weights_figure,
        "new_scores": partial(_new_scores, tables=results.tables),
        "learning_figure": learning_figure,
        "work_table": work_table,
        "columns_figure": columns_figure,
        "time_table": time_table,
    }


def _new_scores(run: TuningRun, *, tables: Sequence[ScoredTable]) -> dict[str, str]:
    """Return the components of a run's phrase tables that are a model's, with its name."""
    found: dict[str, str] = {}
    for feature, path in run.record.tables.items():
        components = [name for name in run.before if name.startswith(f"{feature}_")]
        for table in tables:
            # the folder of the results may be called otherwise by now
            if Path(table.record.output).parts[-2:] != Path(path).parts[-2:]:
                continue
            record = table.record
            first = len(components) - len(record.models) - record.unknown_column
            if record.replace_column is not None:
                first = record.replace_column - 1
            new = components[max(first, 0) :]
            found.update(zip(new, (Path(model.name).name for model in record.models), strict=False))
    return found


def _groups_of_seeds(models: Sequence[TrainedModel]) -> dict[str, list[TrainedModel]]:
    """Return models by title; those in folders ``NAME/seedN`` of one name form a group."""
    groups: dict[str, list[TrainedModel]] = {}
    for model in models:
        name, slash, seed = model.name.rpartition("/")
        several = bool(slash) and seed.startswith("seed")
        groups.setdefault(name if several else model.name, []).append(model)
    return groups


def _versions(provenances: Mapping[str, Provenance]) -> list[tuple[str, list[str]]]:
    """Return each set of versions with what was made by it."""
    found: dict[str, list[str]] = {}
    for what, each in provenances.items():
        names = [f"phrasescore {each.phrasescore}", f"Python {each.python}"]
        names += [f"{name} {version}" for name, version in each.libraries.items() if version]
        names += [text for text in (each.processor, each.machine) if text]
        if each.cores:
            names.append(counted(each.cores, "core"))
        found.setdefault(", ".join(names), []).append(what)
    return list(found.items())


def _commands(provenances: Mapping[str, Provenance]) -> list[str]:
    said = (each.command for each in provenances.values())
    commands = (command.replace("__main__.py", "phrasescore", 1) for command in said)
    return list(dict.fromkeys(command for command in commands if command))


Say = Callable[[str], None]
# what a report reads; lists and tables change more often, and say nothing new
_READ = (".json", ".jsonl", ".txt")
_LEVELS = 4
_BETWEEN_LOOKS = 2.0  # seconds
# between two commands of one script nobody is at work for as long as one takes to start
_PATIENCE = 10.0  # seconds


def watch(
    settings: ReportSettings,
    path: str | Path,
    say: Say,
    *,
    between: float = _BETWEEN_LOOKS,
    patience: float = _PATIENCE,
) -> None:
    """Write the page whenever results change, until nobody has been at work for a while.

    Args:
        settings: What is watched.
        path: Where the page goes.
        say: Gets a line for each page.
        between: Seconds between two looks at the folder.
        patience: Seconds without anybody at work or any change, after which the run is over.

    Raises:
        InputError: The folder holds no results.
        InterruptedWorkError: Ctrl-C; the page is the last one then.
    """
    seen: dict[str, tuple[int, int]] | None = None
    quiet_since = time.monotonic()
    suppress_moving = contextlib.suppress(InputError)
    with interruptible(path):
        try:
            while True:
                now = _state(settings.folder)
                if now != seen:
                    # a finished model moves to another folder: in between nothing is there
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
            # the last page asks for no newer one
            if seen is not None:
                with suppress_moving:
                    write_report(path, read_results(settings))


def _state(folder: str | Path, levels: int = _LEVELS) -> dict[str, tuple[int, int]]:
    """Return the size and time of change of each file that a report reads."""
    found: dict[str, tuple[int, int]] = {}
    for entry in entries_of(folder):
        # hidden files are being written
        if entry.name.startswith("."):
            continue
        # a file may be gone since the folder was listed
        with contextlib.suppress(OSError):
            if entry.is_dir(follow_symlinks=False):
                found |= _state(entry.path, levels - 1) if levels else {}
            elif entry.name.endswith(_READ):
                state = entry.stat()
                found[entry.path] = state.st_size, state.st_mtime_ns
    return found
