"""The page: a folder of results, read, drawn and filled into the templates."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
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
from tuning.report.contents import (
    Provenance,
    Results,
    ScoredTable,
    ScoreSet,
    TrainedModel,
    TranslatedText,
    TunedSystem,
    TuningRun,
)
from tuning.report.figures import (
    Cell,
    DataTable,
    Figure,
    columns_figure,
    interval_figure,
    learning_figure,
    length_figure,
    named,
    number_cell,
    score_cell,
    spread_figure,
    tuning_figure,
    weights_figure,
)
from tuning.report.plain_words import about_tests, about_tuning, in_words, shown_p, verdict
from tuning.report.records import read_record
from tuning.report.result_files import FoundResult, ResultFiles, find_results, is_at_work
from tuning.report.sentences import Differences, differences, first_systems, most_rows

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


@dataclass(frozen=True)
class ScoreView:
    """A table of systems with what it means."""

    title: str
    scores: ScoreSet
    table: DataTable
    figure: Figure | None
    sentences: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class TuningView:
    """The tuning of a system."""

    system: TunedSystem
    sentences: tuple[str, ...]
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class ModelView:
    """Models that are drawn together: of one name, or one alone."""

    title: str
    facts: Mapping[str, str]
    figure: Figure | None
    finished: bool


@dataclass(frozen=True)
class TableView:
    """A scored table."""

    table: ScoredTable
    work: DataTable
    figure: Figure | None


@dataclass(frozen=True)
class TextView:
    """A text, sentence by sentence."""

    text: TranslatedText
    label: str
    lengths: Figure
    spread: Figure
    pairs: tuple[Differences, ...]


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
    """Return what the templates name."""
    most = most_rows(first_systems(results.texts))
    tunings = (_tuning_view(each, results, place) for place, each in enumerate(results.tunings))
    return {
        "results": results,
        "verdict": verdict(results),
        "live": live,
        "written": time.strftime("%H:%M:%S") if live else "",
        "scores": [_score_view(each, place) for place, each in enumerate(results.scores)],
        "texts": [_text_view(each, place, most) for place, each in enumerate(results.texts)],
        "tunings": [*tunings],
        "models": [*_model_views(results.models)],
        "tables": [_table_view(each, place) for place, each in enumerate(results.tables)],
        "spent": _spent(results) if results.spent else None,
        "versions": _versions(results.provenances),
        "commands": _commands(results.provenances),
        "most": most,
    }


def _score_view(scores: ScoreSet, place: int) -> ScoreView:
    several = any(len(system.runs) > 1 for system in scores.systems)
    header = ["system", *(["runs"] if several else []), LABELS[scores.metric]]
    header += [*(["±"] if several else []), "gain", "95 % from", "to", "p", "p (AR)"]
    rows = []
    for system in scores.systems:
        row = [named(system.name), *([number_cell(len(system.runs), 0)] if several else [])]
        row += [score_cell(system.mean), *([score_cell(system.deviation)] if several else [])]
        if (gain := system.difference) is None:
            row += [Cell("–")] * 5
        else:
            row += [score_cell(value, sign=True) for value in (gain.gain, gain.low, gain.high)]
            chances = gain.p_bootstrap, gain.p_randomization
            row += [Cell(shown_p(each, scores.trials), each) for each in chances]
        rows.append(tuple(row))
    said = ((system.name, in_words(scores, system)) for system in scores.systems)
    return ScoreView(
        f"{LABELS[scores.metric]} on {scores.text}",
        scores,
        DataTable(tuple(header), tuple(rows)),
        interval_figure(scores, f"interval{place}"),
        tuple(said),
        tuple(about_tests(scores)),
    )


def _text_view(text: TranslatedText, place: int, most: int) -> TextView:
    pairs = (differences(text, output, most) for output in text.outputs[1:])
    return TextView(
        text,
        LABELS[text.metric],
        length_figure(text, f"length{place}"),
        spread_figure(text, f"spread{place}"),
        tuple(pair for pair in pairs if pair is not None),
    )


def _tuning_view(system: TunedSystem, results: Results, place: int) -> TuningView:
    new = _new_scores(system.runs[0], results.tables)
    weights = weights_figure(system, new, f"weights{place}")
    figures = tuning_figure(system, f"tuning{place}"), weights
    shown = tuple(figure for figure in figures if figure is not None)
    return TuningView(system, tuple(map(about_tuning, system.runs)), shown)


def _new_scores(run: TuningRun, tables: Sequence[ScoredTable]) -> dict[str, str]:
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


def _model_views(models: Sequence[TrainedModel]) -> Iterator[ModelView]:
    """Yield models; those of one name with a seed each together."""
    groups: dict[str, list[TrainedModel]] = {}
    for model in models:
        name, slash, seed = model.name.rpartition("/")
        several = bool(slash) and seed.startswith("seed")
        groups.setdefault(name if several else model.name, []).append(model)
    for place, (title, group) in enumerate(groups.items()):
        drawn = [model for model in group if model.points]
        figure = learning_figure(drawn, title, f"learning{place}") if drawn else None
        yield ModelView(title, group[0].facts, figure, all(model.finished for model in group))


def _table_view(table: ScoredTable, place: int) -> TableView:
    record = table.record
    work, unknown = record.work, (record.source_unknown_rate, record.target_unknown_rate)
    sides = (
        ("source", work.source_asked, work.source_done, record.savings["source"], unknown[0]),
        ("target", work.target_asked, work.target_done, record.savings["target"], unknown[1]),
    )
    rows = tuple(
        (
            named(side),
            number_cell(asked, 0),
            number_cell(done, 0),
            number_cell(saving, 2),
            Cell(f"{100 * unknown:.2f} %", unknown),
        )
        for side, asked, done, saving, unknown in sides
    )
    header = ("side", "steps asked for", "steps done", "times fewer", "words outside the lists")
    return TableView(table, DataTable(header, rows), columns_figure(table, f"column{place}"))


def _spent(results: Results) -> DataTable:
    with_processor = any(each.cpu_seconds is not None for each in results.spent)
    rows = tuple(
        (
            named(each.what),
            number_cell(each.seconds, 1),
            *([number_cell(each.cpu_seconds, 1)] if with_processor else []),
        )
        for each in results.spent
    )
    processor = ("of the processor",) if with_processor else ()
    return DataTable(("work", "seconds", *processor), rows)


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
    with interruptible(path):
        try:
            while True:
                now = _state(settings.folder)
                if now != seen:
                    # a model that is finished leaves its work folder for its own
                    with contextlib.nullcontext() if seen is None else _between_two_names():
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
                with _between_two_names():
                    write_report(path, read_results(settings))


def _between_two_names() -> contextlib.AbstractContextManager[None]:
    """Pass over a moment in which nothing is there."""
    return contextlib.suppress(InputError)


def _state(folder: Path) -> dict[str, tuple[int, int]]:
    return dict(_files(str(folder), _LEVELS))


def _files(folder: str, levels: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the files that a report reads, with what changes when they do."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            # what is hidden is not whole
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if levels:
                    yield from _files(entry.path, levels - 1)
            elif entry.name.endswith(_READ):
                found = entry.stat()
                yield entry.path, (found.st_size, found.st_mtime_ns)
