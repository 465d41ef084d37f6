"""What ``tune`` left: rounds, weights before and after, and whether it goes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from moses_integration.ini.feature_kinds import TEXT_TABLE_KINDS
from moses_integration.ini.moses_ini import MosesIni
from phrasescore.errors import InputError, PhrasescoreError, counted
from tuning.report.contents import Provenance, Results, Round, Spent, TunedSystem, TuningRun
from tuning.report.readers.reading import (
    Count,
    Number,
    Positive,
    ResultFiles,
    Seconds,
    flat,
    left_out,
)
from tuning.report.readers.result_folders import round_folders, seed_folders

_T = TypeVar("_T")


@dataclass(frozen=True)
class _Optimized:
    """What optimising after a round gave."""

    score: Number | None = None
    seconds: Seconds = 0.0


@dataclass(frozen=True)
class _Line:
    """A line of ``curve.jsonl``."""

    number: Positive
    score: Number
    bleu: Number
    length_ratio: Number
    new: Count
    candidates: Count
    weights: dict[str, Number]
    optimized: _Optimized = field(default_factory=_Optimized)


@dataclass(frozen=True)
class _Request:
    """``run.json``, as far as a report shows it."""

    objective: str = "bleu"


@dataclass(frozen=True)
class _Weights:
    """``optimized.json`` of a round."""

    weights: dict[str, tuple[Number, ...]]


@dataclass(frozen=True)
class _Result(_Weights):
    """``weights.json``, which is written at the end."""

    why: str
    round: Positive
    provenance: Provenance | None = None


def read_tuning(folder: Path, name: str, files: ResultFiles) -> Results:
    """Read the folder of a tuning, with one seed or several.

    Args:
        folder: As ``tune -o`` names it.
        name: What to call its system.
        files: Those that may be read.
    """
    several = seed_folders(folder)
    runs: list[TuningRun] = []
    notes: list[str] = []
    provenance: Provenance | None = None
    for path in several or (folder,):
        try:
            runs.append(_run(path, f"seed {path.name[4:]}" if several else "", files))
        except PhrasescoreError as error:
            notes.append(left_out(error))
    shown = tuple(run for run in runs if run.rounds)
    try:
        result = _if_there(_Result, folder / "weights.json", files)
        provenance = result.provenance if result else None
    except PhrasescoreError as error:
        notes = [*dict.fromkeys([*notes, left_out(error)])]
    return Results(
        name,
        tunings=(TunedSystem(name, shown),) if shown else (),
        spent=tuple(_spent(name, run) for run in shown),
        provenances={f"tuning {name}": provenance} if provenance else {},
        unfinished=tuple(_unfinished(name, run, folder) for run in runs if not run.why),
        notes=tuple(notes),
    )


def _run(folder: Path, run: str, files: ResultFiles) -> TuningRun:
    request = _if_there(_Request, folder / "run.json", files) or _Request()
    lines = files.read_lines(_Line, folder / "curve.jsonl")
    result = _if_there(_Result, folder / "weights.json", files)
    last = _if_there(_Weights, folder / f"round{len(lines):02d}" / "optimized.json", files)
    if result and result.round not in [line.number for line in lines]:
        raise InputError(
            f"not what phrasescore writes: round {result.round} is the best, and not in the curve",
            path=folder / "weights.json",
        )
    before = lines[0].weights if lines else {}
    found = result or last
    after = dict(flat(found.weights)) if found else before
    return TuningRun(
        run,
        tuple(map(_round, lines)),
        before,
        # weights that tuning leaves alone are not in the curve
        {name: weight for name, weight in after.items() if name in before},
        request.objective,
        result.why if result else "",
        result.round if result else None,
        sum(line.optimized.seconds for line in lines),
        _tables(folder, files),
    )


def _tables(folder: Path, files: ResultFiles) -> dict[str, str]:
    """Return the phrase tables of a run by feature; none if its ini cannot be read."""
    inis = (folder / "moses.ini", folder / "round01" / "moses.ini")
    try:
        path = next(filter(Path.is_file, inis))
        features = MosesIni.parse(files.bytes(path), str(path)).features
    except (StopIteration, PhrasescoreError):
        return {}
    return {
        line.name: line.options["path"]
        for line in features
        if line.kind in TEXT_TABLE_KINDS and "path" in line.options
    }


def _round(line: _Line) -> Round:
    counts = line.length_ratio, line.new, line.candidates
    return Round(line.number, line.score, line.bleu, *counts, line.optimized.score)


def _if_there(kind: type[_T], path: Path, files: ResultFiles) -> _T | None:
    """Return what is in a file that is written at the end; none before."""
    return files.read(kind, path) if path.exists() else None


def _spent(name: str, run: TuningRun) -> Spent:
    which = f" ({run.run})" if run.run else ""
    return Spent(f"finding weights for {name}{which}, without decoding", run.seconds)


def _unfinished(name: str, run: TuningRun, folder: Path) -> str:
    which = f" ({run.run})" if run.run else ""
    begun = len(round_folders(folder)) > len(run.rounds) and not run.run
    more = f"; round {len(run.rounds) + 1} is under way" if begun else ""
    done = counted(len(run.rounds), "round")
    return f"The tuning {name}{which} has not come to its end: {done} done{more}."
