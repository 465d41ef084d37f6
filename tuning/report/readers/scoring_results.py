"""What ``score --report`` left: what sharing saved, unknown words, and the new column."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from phrasescore.errors import PhrasescoreError
from phrasescore.table.input_files import read_lines
from phrasescore.table.phrase_table import parse_entry, parse_scores
from tuning.report.contents import Provenance, Results, ScoredModel, ScoredTable, SharedWork, Spent
from tuning.report.readers.reading import (
    Count,
    Number,
    Positive,
    Probability,
    ResultFiles,
    Seconds,
    left_out,
)

# more would tell the same of the column's spread
_MOST_PAIRS = 100_000
_FLOOR = -100.0


@dataclass(frozen=True)
class _Named:
    """A new column, or the model that it is of."""

    name: str
    mean_ln_p: Number = 0.0


@dataclass(frozen=True)
class _Sides:
    """How many times fewer steps were done."""

    source: Number
    target: Number


@dataclass(frozen=True)
class _Work:
    """Steps of the model."""

    source_asked: Count
    source_done: Count
    target_asked: Count
    target_done: Count


@dataclass(frozen=True)
class _Columns:
    """Which columns were written."""

    replace_column: Positive | None = None
    unknown_column: bool = False


@dataclass(frozen=True)
class _Settings:
    """How the table was scored."""

    settings: _Columns = field(default_factory=_Columns)


@dataclass(frozen=True)
class _ScoringProvenance(Provenance):
    """Where the scores come from."""

    settings: _Settings = field(default_factory=_Settings)


@dataclass(frozen=True)
class _Scoring:
    """The report of ``score``, as far as a page shows it."""

    pairs: Count
    seconds: Seconds
    pairs_per_second: Number
    columns: tuple[_Named, ...]
    models: tuple[_Named, ...]
    work: _Work
    savings: _Sides
    source_unknown_rate: Probability
    target_unknown_rate: Probability
    provenance: _ScoringProvenance | None = None


def read_scoring(path: Path, name: str, files: ResultFiles) -> Results:
    """Read a report of ``score``, and the first pairs of the table it is of.

    Args:
        path: A file of JSON.
        name: What to call it.
        files: Those that may be read.
    """
    try:
        found = files.read(_Scoring, path)
    except PhrasescoreError as error:
        return Results(name, notes=(left_out(error),))
    made = found.provenance or _ScoringProvenance()
    replaced = made.settings.settings.replace_column
    columns: dict[str, np.ndarray[Any, np.dtype[np.float64]]] = {}
    notes: tuple[str, ...] = ()
    output = ""
    try:
        output = _output(made.command)
        columns = _columns(found, files.located(output, path.parent), made.settings.settings)
    except PhrasescoreError as error:
        notes = (f"The scored table cannot be shown: {error}",)
    work = found.work
    table = ScoredTable(
        name,
        found.pairs,
        found.seconds,
        found.pairs_per_second,
        tuple(ScoredModel(each.name, each.mean_ln_p) for each in found.models),
        {
            "source": SharedWork(
                work.source_asked, work.source_done, found.savings.source, found.source_unknown_rate
            ),
            "target": SharedWork(
                work.target_asked, work.target_done, found.savings.target, found.target_unknown_rate
            ),
        },
        output,
        None if replaced is None else replaced - 1,
        made.settings.settings.unknown_column,
        columns,
        min(map(len, columns.values()), default=0),
        notes,
    )
    return Results(
        name,
        tables=(table,),
        spent=(Spent(f"scoring {found.pairs:,} pairs", found.seconds),),
        provenances={f"scores {name}": found.provenance} if found.provenance else {},
    )


def _columns(
    found: _Scoring, table: Path, settings: _Columns
) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    """Return the model's columns of the first pairs, as ln p.

    Raises:
        PhrasescoreError: The table is damaged.
    """
    columns: dict[str, list[float]] = {each.name: [] for each in found.columns}
    for number, line in enumerate(read_lines(table), 1):
        if number > _MOST_PAIRS:
            break
        scores = parse_scores(parse_entry(line).scores)
        first = len(scores) - len(columns) - settings.unknown_column
        if settings.replace_column is not None:
            first = settings.replace_column - 1
        new = scores[first : first + len(columns)] if first >= 0 else []
        if len(new) != len(columns):
            raise PhrasescoreError(
                f"{len(scores)} scores, too few for the new ones", path=table, line=number
            )
        for column, score in zip(columns.values(), new, strict=True):
            column.append(math.log(score) if score > 0 else _FLOOR)
    return {name: np.maximum(column, _FLOOR) for name, column in columns.items()}


def _output(command: str) -> str:
    """Return which table a command wrote.

    Raises:
        PhrasescoreError: The command does not say.
    """
    try:
        words = shlex.split(command)
        place = next(words.index(option) for option in ("-o", "--output") if option in words)
        return words[place + 1]
    except (ValueError, StopIteration, IndexError):
        raise PhrasescoreError("its name is not known") from None
