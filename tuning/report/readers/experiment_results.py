"""What ``experiment`` left: its table, the texts, the tunings, the models it trained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path

import numpy as np

from phrasescore.errors import InputError, PhrasescoreError, counted
from phrasescore.runs.identity import sha256_of
from tuning.experiment.experiment_settings import DEV
from tuning.experiment.result_files import slug
from tuning.experiment.results.kept_results import RESULTS
from tuning.experiment.results.results_format import (
    KeptResults,
    KeptRow,
    parse_results,
)
from tuning.experiment.results.runs import StepTime, SystemRun
from tuning.metrics.metric_settings import TRIALS
from tuning.report.contents import (
    Gain,
    Provenance,
    Results,
    ScoredSystem,
    ScoreSet,
    Spent,
    SystemOutput,
    TranslatedText,
)
from tuning.report.readers.model_results import read_model
from tuning.report.readers.reading import (
    Count,
    Number,
    Probability,
    ResultFiles,
    left_out,
    typed,
)
from tuning.report.readers.result_folders import (
    find_models,
    folders_in,
    score_reports,
    seed_folders,
)
from tuning.report.readers.scoring_results import read_scoring
from tuning.report.readers.tuning_results import read_tuning
from tuning.report.sentences import words_in

TABLE = "table.json"
# what a step's name says it does
_WORK = {".tune": "tuning", ".score": "scoring", ".rescore": "rescoring", ".optimize": "optimising"}


@dataclass(frozen=True)
class _Gain:
    """How a system differs from the first one."""

    bleu: Number
    low: Number
    high: Number
    p_value: Probability
    randomization_p_value: Probability


@dataclass(frozen=True)
class _Scores:
    """A system's scores on a text."""

    bleu: tuple[Number, ...]
    mean: Number
    deviation: Number | None
    gain: _Gain | None


@dataclass(frozen=True)
class _System:
    """A row of the table."""

    name: str
    seeds: tuple[int, ...]
    not_run: str
    translate: tuple[str, ...]
    texts: dict[str, _Scores]


@dataclass(frozen=True)
class _Places:
    """Where a text is."""

    source: str
    reference: str


@dataclass(frozen=True)
class _Table:
    """``table.json``, as far as a report shows it."""

    name: str
    decoder: str
    sections: dict[str, str | float | int]
    optimizer: str
    rounds: Count
    nbest_size: Count
    seeds: tuple[int, ...]
    per_seed: tuple[str, ...]
    systems: tuple[_System, ...]
    provenance: Provenance
    texts: dict[str, _Places] = field(default_factory=dict)


def read_experiment(folder: Path, name: str, files: ResultFiles) -> Results:
    """Read the folder of an experiment, finished or not.

    Args:
        folder: As ``experiment -o`` names it.
        name: What to call it where it does not say.
        files: Those that may be read.
    """
    notes: list[str] = []
    kept = KeptResults()
    found = Results(name)
    table: _Table | None = None
    has_table = (folder / TABLE).exists()
    try:
        table = files.read(_Table, folder / TABLE) if has_table else None
        if (folder / RESULTS).exists():
            kept = parse_results(files.content(folder / RESULTS), folder / RESULTS)
        found = _of_table(folder, table, kept, name, files)
    except PhrasescoreError as error:
        notes.append(left_out(error))
    if not has_table:
        notes.append("No system has translated a text yet, so there is no table.")
    rows = [system.name for system in table.systems] if table else []
    names = {slug(name): name for name in (*rows, *kept.rows)}
    parts = [Results(name, notes=tuple(notes))]
    for path in folders_in(folder / "systems", files):
        system = names.get(path.name, path.name)
        for file in score_reports(path, files):
            of_seed = file.name.removesuffix("score.json").rstrip(".")
            scored = read_scoring(file, f"{system}, {of_seed}" if of_seed else system, files)
            # the time of the step is told already
            parts.append(replace(scored, spent=()))
        if seed_folders(path):
            parts.append(read_tuning(path, system, files))
    models = find_models(folder / "models", files)
    parts += [read_model(path, label, files) for path, label in models]
    return reduce(Results.joined, parts, found)


def _of_table(
    folder: Path, table: _Table | None, kept: KeptResults, name: str, files: ResultFiles
) -> Results:
    """Return what table and kept results say.

    Raises:
        InputError: A row or a run has a provenance of another kind.
    """
    if table is None:
        return Results(kept.name or name, unfinished=("The experiment is at its beginning.",))
    names = dict.fromkeys(text for system in table.systems for text in system.texts)
    tests = [text for text in names if text != DEV]
    scores = [
        _score_set(table, text) for text in (*tests, *(text for text in names if text == DEV))
    ]
    texts = [_text(folder, table, kept, text, files) for text in tests]
    return Results(
        table.name,
        facts=_facts(table),
        scores=tuple(scores),
        texts=tuple(text for text in texts if text is not None),
        spent=tuple(_spent(kept)),
        provenances={
            f"experiment {table.name}": table.provenance,
            **{
                f"{row_name}, {_run_name(run)}": typed(Provenance, run.provenance, folder / RESULTS)
                for row_name, row in kept.rows.items()
                for run in row.runs
            },
        },
        unfinished=tuple(_unfinished(table)),
        notes=tuple(_not_run(table)),
    )


def _facts(table: _Table) -> dict[str, str]:
    decoder = "real Moses" if table.decoder == "moses" else "the embedded decoder"
    sections = ", ".join(f"{name} {value}" for name, value in table.sections.items())
    facts = {
        "decoder": decoder + (f" ({sections})" if sections else ""),
        "tuning": f"{table.optimizer.upper()}, at most {counted(table.rounds, 'round')}, "
        f"{table.nbest_size}-best lists",
        "seeds": ", ".join(map(str, table.seeds)),
    }
    if table.per_seed:
        facts["another model for each seed"] = ", ".join(table.per_seed)
    return facts


def _score_set(table: _Table, text: str) -> ScoreSet:
    return ScoreSet(
        text=text,
        metric="bleu",
        systems=tuple(
            _system(system.name, system.texts[text])
            for system in table.systems
            if text in system.texts
        ),
        trials=TRIALS,
        is_dev=text == DEV,
    )


def _system(name: str, scores: _Scores) -> ScoredSystem:
    gain = None
    if (found := scores.gain) is not None:
        gain = Gain(found.bleu, found.low, found.high, found.p_value, found.randomization_p_value)
    return ScoredSystem(name, scores.bleu, scores.mean, scores.deviation, gain)


def _text(
    folder: Path, table: _Table, kept: KeptResults, name: str, files: ResultFiles
) -> TranslatedText | None:
    """Return what the systems made of a text; none if no run is kept."""
    outputs, notes = [], []
    for system in (row.name for row in table.systems):
        runs = [run for run in kept.rows.get(system, _NO_ROW).runs if name in run.statistics]
        if runs:
            output, note = _output(folder, system, runs, name, files)
            outputs.append(output)
            notes += note
    if not outputs:
        return None
    text = kept.texts[name]
    sides: dict[str, tuple[str, ...] | None] = {"source": None, "reference": None}
    places = table.texts.get(name)
    if places is None:
        notes.append(_OLD_TABLE)
    else:
        for side, place in (("source", places.source), ("reference", places.reference)):
            lines, note = _side(name, getattr(text, side), place, folder, files)
            if lines is not None and len(lines) != len(text.reference_lengths):
                lines, note = None, [f"{place} has other lines than {name} had."]
            sides[side] = lines
            notes += note
    lengths = np.array(text.reference_lengths)
    return TranslatedText(name, "bleu", tuple(outputs), lengths, **sides, notes=tuple(notes))


def _side(
    name: str, digest: str, place: str, folder: Path, files: ResultFiles
) -> tuple[tuple[str, ...] | None, list[str]]:
    """Return the lines of a source or reference, or why they cannot be shown."""
    try:
        path = files.located(place, folder)
        if sha256_of(path) == digest:
            return files.text(path), []
        return None, [f"{path} has changed since {name} was translated."]
    except OSError as error:
        return None, [str(InputError(f"cannot be read ({error.strerror})", path=place))]
    except PhrasescoreError as error:
        return None, [str(error)]


_NO_ROW = KeptRow({}, {})
_OLD_TABLE = (
    "The table does not say where its texts are, as that of an earlier version; the same "
    "experiment command says it, without running a step again."
)


def _output(
    folder: Path, system: str, runs: list[SystemRun], text: str, files: ResultFiles
) -> tuple[SystemOutput, list[str]]:
    statistics = np.stack([run.statistics[text] for run in runs])
    seed = "" if runs[0].seed is None else f"seed{runs[0].seed}."
    path = folder / "systems" / slug(system) / f"{seed}{text}.txt"
    lines, notes = None, []
    try:
        read = files.text(path)
        lengths = [len(words_in(line)) for line in read]
        # of the text it was when it was scored
        if lengths == statistics[0][:, 1].tolist():
            lines = read
        else:
            notes.append(f"{path} has changed since it was scored.")
    except PhrasescoreError as error:
        notes.append(str(error))
    return SystemOutput(system, statistics, _run_name(runs[0]), lines), notes


def _run_name(run: SystemRun) -> str:
    return "one run" if run.seed is None else f"seed {run.seed}"


def _spent(kept: KeptResults) -> Iterator[Spent]:
    yield from _sums("all systems", kept.steps)
    for name, row in kept.rows.items():
        steps = dict(row.steps)
        for run in row.runs:
            steps.update(run.steps)
        yield from _sums(name, steps)


def _sums(name: str, steps: Mapping[str, StepTime]) -> Iterator[Spent]:
    kinds: dict[str, list[StepTime]] = {}
    for step, time in steps.items():
        kinds.setdefault(_work(step), []).append(time)
    for kind, times in kinds.items():
        several = f", {len(times)} steps" if len(times) > 1 else ""
        seconds = sum(time.seconds for time in times)
        yield Spent(f"{name}: {kind}{several}", seconds, sum(time.cpu_seconds for time in times))


def _work(step: str) -> str:
    if step.startswith("train."):
        return "training"
    if step == "filter":
        return "filtering"
    known = (kind for ending, kind in _WORK.items() if ending in f"{step}.")
    return next(known, "columns" if ".ini" in step else "translating")


def _unfinished(table: _Table) -> Iterator[str]:
    wanted = len(table.seeds)
    for system in table.systems:
        if system.not_run:
            continue
        done = len(system.seeds)
        if not system.texts:
            yield f"{system.name}: no run is done yet."
        elif (done or not system.translate) and done < wanted:
            yield f"{system.name}: {done} of {counted(wanted, 'seed')} are done."


def _not_run(table: _Table) -> Iterator[str]:
    for system in table.systems:
        if system.not_run and not system.texts:
            yield f"{system.name} was not run: {system.not_run}."
