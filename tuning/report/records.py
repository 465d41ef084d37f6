"""Records of one piece of work as parts of a page: a model, a scored table, a system, a tuning."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import InputError, PhrasescoreError, counted
from phrasescore.model.folder import CURVES
from phrasescore.runs.results import (
    BuildRecord,
    Count,
    CurvePoint,
    FilterRecord,
    Number,
    ScoringRecord,
    Seconds,
    TrainingRecord,
    TuningRecord,
)
from phrasescore.table.input_files import read_lines
from phrasescore.table.phrase_table import parse_entry, parse_scores
from tuning.report.contents import (
    Provenance,
    Results,
    ScoredTable,
    Spent,
    TrainedModel,
    TunedSystem,
    TuningRun,
)
from tuning.report.result_files import (
    FoundResult,
    ResultFiles,
    find_results,
    left_out,
    provenances,
    seed_folders,
    typed,
)

_WORK = ".training"
# more would tell the same of the column's spread
_MAX_PAIRS = 100_000
_FLOOR = -100.0


def read_record(found: FoundResult, name: str, files: ResultFiles) -> Results:
    """Return what a record says; of a damaged one a note.

    Args:
        found: The record.
        name: What to call it.
        files: Those that may be read.
    """
    try:
        match found.record:
            case TrainingRecord() as record:
                return _model(record, found, name, files)
            case ScoringRecord() as record:
                return _scored_table(record, found, name, files)
            case BuildRecord() as record:
                return _system(record, found, name)
            case FilterRecord():
                return Results(name)
            case TuningRecord() as record if record.seeds is None:
                return tuned_system(name, [("", found)])
            case TuningRecord() as record:
                made = provenances(f"tuning {name}", record.provenance, found.path)
                runs = tuned_system(name, runs_of_seeds(found.folder, files))
                return runs.joined(Results(name, provenances=made))
    except PhrasescoreError as error:
        return Results(name, notes=(left_out(error),))
    return Results(name, notes=(found.note,))


@dataclass(frozen=True)
class _Config:
    """The settings of a model, as far as a report shows them; each kind has some of the sizes."""

    kind: str = ""
    direction: str = ""
    hidden: Count | None = None
    embedding: Count | None = None
    source_vocabulary: Count | None = None
    target_vocabulary: Count | None = None


@dataclass(frozen=True)
class _Loss:
    """The loss on pairs that were set aside."""

    nll: Number


@dataclass(frozen=True)
class _HeldOut:
    """The loss on held-out sources and on held-out pairs."""

    held_out_sources: _Loss | None = None
    held_out_pairs: _Loss | None = None


@dataclass(frozen=True)
class _Training:
    """The amount of training."""

    seconds: Seconds | None = None
    words: Count | None = None
    updates: Count = 0


@dataclass(frozen=True)
class _TrainingSettings:
    """The settings of a training."""

    learns_from: str = "phrases"


@dataclass(frozen=True)
class _ModelProvenance(Provenance):
    """The provenance of a model."""

    training: _Training = _Training()
    settings: _TrainingSettings = _TrainingSettings()
    held_out: _HeldOut | None = None


def _model(record: TrainingRecord, found: FoundResult, name: str, files: ResultFiles) -> Results:
    """Return a model, or a training that goes on."""
    finished = bool(record.config)
    name = name.removesuffix(_WORK)
    config = typed(_Config, record.config, found.path)
    made = typed(_ModelProvenance, record.provenance, found.path)
    points = files.lines(CurvePoint, found.folder / CURVES)
    seconds = made.training.seconds
    if seconds is None and points:
        seconds = points[-1].seconds
    of_text = "phrase" not in made.settings.learns_from
    return Results(
        name,
        models=(TrainedModel(name, _model_facts(config, made), points, of_text, finished),),
        spent=() if seconds is None else (Spent(f"training {name}", seconds),),
        provenances={f"model {name}": made} if finished else {},
        unfinished=() if finished else (f"The training of {name} has not come to its end.",),
    )


def _model_facts(config: _Config, made: _ModelProvenance) -> dict[str, str]:
    """Return what a reader wants to know first, as words."""
    training, held_out = made.training, made.held_out or _HeldOut()
    sizes = ((config.hidden, "hidden units"), (config.embedding, "elements of a word"))
    lists = ((config.source_vocabulary, "source"), (config.target_vocabulary, "target"))
    facts = {
        "kind": config.kind,
        "size": ", ".join(f"{size:,} {what}" for size, what in sizes if size is not None),
        "words in its lists": ", ".join(f"{n:,} {side}" for n, side in lists if n is not None),
        "direction": config.direction,
    }
    if training.words is not None:
        facts["words seen"] = f"{training.words:,} in {training.updates:,} updates"
    for loss, words in (
        (held_out.held_out_sources, "sources"),
        (held_out.held_out_pairs, "pairs"),
    ):
        if loss:
            facts[f"unseen {words}"] = f"{loss.nll:.3f} nats per word"
    return {name: text for name, text in facts.items() if text}


def _scored_table(
    record: ScoringRecord, found: FoundResult, name: str, files: ResultFiles
) -> Results:
    """Return what scoring a table took, and the new scores of its first pairs."""
    columns: dict[str, NDArray[np.float64]] = {}
    notes: tuple[str, ...] = ()
    try:
        columns = _columns(record, files.located(record.output, found.folder))
    except PhrasescoreError as error:
        notes = (f"The scored table cannot be shown: {error}",)
    return Results(
        name,
        tables=(ScoredTable(name, record, columns, notes),),
        spent=(Spent(f"scoring {record.pairs:,} pairs", record.seconds),),
        provenances=provenances(f"scores {name}", record.provenance, found.path),
    )


def _columns(record: ScoringRecord, table: Path) -> dict[str, NDArray[np.float64]]:
    """Return the model's columns of the first pairs, as ln p.

    Raises:
        PhrasescoreError: The table is damaged.
    """
    columns: dict[str, list[float]] = {each.name: [] for each in record.columns}
    for number, line in enumerate(read_lines(table), 1):
        if number > _MAX_PAIRS:
            break
        scores = parse_scores(parse_entry(line).scores)
        first = len(scores) - len(columns) - record.unknown_column
        if record.replace_column is not None:
            first = record.replace_column - 1
        new = scores[first : first + len(columns)] if first >= 0 else []
        if len(new) != len(columns):
            raise PhrasescoreError(
                f"{len(scores)} scores, too few for the new ones", path=table, line=number
            )
        for column, score in zip(columns.values(), new, strict=True):
            column.append(math.log(score) if score > 0 else _FLOOR)
    return {name: np.maximum(column, _FLOOR) for name, column in columns.items()}


@dataclass(frozen=True)
class _Step:
    """A step of ``build``, as far as a report shows it; each kind has some of the counts."""

    seconds: Seconds
    pairs_kept: Count = 0
    source_words: Count = 0
    target_words: Count = 0
    phrase_pairs: Count = 0


def _system(record: BuildRecord, found: FoundResult, name: str) -> Results:
    steps = {step: typed(_Step, content, found.path) for step, content in record.steps.items()}
    facts = {}
    if corpus := steps.get("corpus"):
        facts["corpus"] = (
            f"{corpus.pairs_kept:,} pairs of sentences, {corpus.source_words:,} source and "
            f"{corpus.target_words:,} target words"
        )
    if scored := steps.get("score"):
        facts[name] = f"{scored.phrase_pairs:,} phrase pairs"
    spent = (Spent(f"building {name}: {step}", each.seconds) for step, each in steps.items())
    made = provenances(f"system {name}", record.provenance, found.path)
    return Results(name, facts=facts, spent=tuple(spent), provenances=made)


def runs_of_seeds(folder: Path, files: ResultFiles) -> Iterator[tuple[str, FoundResult]]:
    """Yield the records in the folders ``seedN`` of a folder, each with the name of its run."""
    for path in seed_folders(folder):
        for found in find_results(path, files, levels=0):
            yield f"seed {path.name[4:]}", found


def tuned_system(name: str, found: Iterator[tuple[str, FoundResult]] | list[Any]) -> Results:
    """Return the tunings of a system.

    Args:
        name: Of the system.
        found: The record of each run, and what to call the run.
    """
    runs: list[TuningRun] = []
    notes: list[str] = []
    unfinished: list[str] = []
    made: dict[str, Provenance] = {}
    for run, each in found:
        record = each.record
        if not isinstance(record, TuningRecord):
            notes += filter(None, [each.note])
            continue
        which = f" ({run})" if run else ""
        try:
            made |= provenances(f"tuning {name}{which}", record.provenance, each.path)
            if record.why and record.round not in [line.number for line in record.curve]:
                raise InputError(
                    f"not what phrasescore writes: round {record.round} is the best, and not in "
                    "the curve",
                    path=each.path,
                )
        except PhrasescoreError as error:
            notes.append(left_out(error))
            continue
        if record.curve:
            runs.append(TuningRun(run, record))
        if not record.why:
            done, following = counted(len(record.curve), "round"), len(record.curve) + 1
            begun = not run and (each.folder / f"round{following:02d}").is_dir()
            more = f"; round {following} is under way" if begun else ""
            unfinished.append(
                f"The tuning {name}{which} has not come to its end: {done} done{more}."
            )
    return Results(
        name,
        tunings=(TunedSystem(name, tuple(runs)),) if runs else (),
        spent=tuple(_spent(name, runs)),
        provenances=made,
        unfinished=tuple(unfinished),
        notes=tuple(notes),
    )


def _spent(name: str, runs: Sequence[TuningRun]) -> Iterator[Spent]:
    for run in runs:
        which = f" ({run.run})" if run.run else ""
        seconds = sum(each.optimized.seconds for each in run.rounds)
        yield Spent(f"finding weights for {name}{which}, without decoding", seconds)
