"""``results.json``: all that the runs of an experiment showed, without a word of its texts.

A table can be made of it without the translations. Statistics of a text are numbers in the order
of its sentences, with spaces between them: ``length`` of the translation in words, and
``matches``, four such lines for n-grams of one to four words; ``reference_lengths`` is the same for
all translations of a text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from moses_integration.bleu.statistics import ORDERS, bleu_of_sums, statistics_rows
from phrasescore.closed_settings import from_mapping
from phrasescore.errors import ResumeError, SettingsError
from phrasescore.runs.json_files import JsonError, read_object, write_json
from tuning.experiment.results.runs import Statistics, StepTime, SystemRun

_FORMAT = 1


@dataclass(frozen=True)
class KeptText:
    """A text that systems translated.

    Args:
        source: The digest of the text.
        reference: That of its translation.
        reference_lengths: (S,) words.
    """

    source: str
    reference: str
    reference_lengths: tuple[int, ...]


@dataclass(frozen=True)
class KeptRow:
    """The runs of one system.

    Args:
        described: What the experiment file says of it, and of all that it needs.
        inputs: Digests of what it was made from, by what the file calls it.
        runs: In the order of the table.
        steps: The times of the steps that all runs share, by name.
    """

    described: Mapping[str, Any]
    inputs: Mapping[str, str]
    runs: tuple[SystemRun, ...] = ()
    steps: Mapping[str, StepTime] = field(default_factory=dict)


@dataclass(frozen=True)
class KeptResults:
    """The content of the file.

    Args:
        texts: By name.
        rows: By the name of the system.
        name: Of the experiment.
        steps: The times of the steps that all systems share, by name.
    """

    texts: Mapping[str, KeptText] = field(default_factory=dict)
    rows: Mapping[str, KeptRow] = field(default_factory=dict)
    name: str = ""
    steps: Mapping[str, StepTime] = field(default_factory=dict)


def write_results(path: Path, results: KeptResults) -> None:
    """Write the file, atomically."""
    write_json(
        path,
        {
            "format": _FORMAT,
            "name": results.name,
            "texts": {
                name: {**vars(text), "reference_lengths": _written(text.reference_lengths)}
                for name, text in results.texts.items()
            },
            "steps": _times_json(results.steps),
            "rows": {
                name: {
                    **vars(row),
                    "runs": [_run_json(run) for run in row.runs],
                    "steps": _times_json(row.steps),
                }
                for name, row in results.rows.items()
            },
        },
    )


def read_results(path: Path) -> KeptResults:
    """Read the file; without one there are no results.

    Raises:
        ResumeError: It is not what ``write_results`` writes.
    """
    try:
        return parse_results(read_object(path), path)
    except FileNotFoundError:
        return KeptResults()
    except JsonError as error:
        raise _not_results(str(error), path) from None


def parse_results(content: Mapping[str, Any], path: Path) -> KeptResults:
    """Return the results in the object that a file holds.

    Raises:
        ResumeError: It is not what ``write_results`` writes.
    """
    try:
        return _parsed(from_mapping(_File, content, where="results"))
    except SettingsError as error:
        raise _not_results(error.problem, path) from None
    except (ValueError, OverflowError) as error:
        raise _not_results(str(error), path) from None


def _not_results(why: str, path: Path) -> ResumeError:
    return ResumeError(
        f"not the results of earlier runs ({why})",
        path=path,
        remedy="move the file away; rows that are run again do not need it",
    )


@dataclass(frozen=True)
class _TextFile:
    """A text, as the file has it."""

    source: str
    reference: str
    reference_lengths: str


@dataclass(frozen=True)
class _StatisticsFile:
    """The statistics of a translation, likewise."""

    bleu: float
    length: str
    matches: tuple[str, ...]


@dataclass(frozen=True)
class _RunFile:
    """A run, likewise."""

    seed: int | None
    weights: dict[str, tuple[float, ...]]
    steps: dict[str, StepTime]
    provenance: dict[str, Any]
    texts: dict[str, _StatisticsFile]


@dataclass(frozen=True)
class _RowFile:
    """A row, likewise."""

    described: dict[str, Any]
    inputs: dict[str, str]
    runs: tuple[_RunFile, ...]
    steps: dict[str, StepTime]


@dataclass(frozen=True)
class _File:
    """The whole file."""

    format: Literal[1]
    name: str
    texts: dict[str, _TextFile]
    rows: dict[str, _RowFile]
    steps: dict[str, StepTime]


def _parsed(file: _File) -> KeptResults:
    """Return the results.

    Raises:
        ValueError: Statistics are not those of a text.
        OverflowError: They have a number that no text has.
    """
    texts = {
        name: KeptText(text.source, text.reference, _numbers(text.reference_lengths))
        for name, text in file.texts.items()
    }
    rows = {
        name: KeptRow(
            row.described, row.inputs, tuple(_run(run, texts) for run in row.runs), row.steps
        )
        for name, row in file.rows.items()
    }
    return KeptResults(texts, rows, file.name, file.steps)


def _run_json(run: SystemRun) -> dict[str, Any]:
    return {
        "seed": run.seed,
        "weights": run.weights,
        "steps": _times_json(run.steps),
        "provenance": run.provenance,
        "texts": {text: _text_json(rows) for text, rows in run.statistics.items()},
    }


def _run(run: _RunFile, texts: Mapping[str, KeptText]) -> SystemRun:
    unknown = run.texts.keys() - texts.keys()
    if unknown:
        raise ValueError(f"a run of a text that is not described: {min(unknown)}")
    statistics = {name: _statistics(text, texts[name]) for name, text in run.texts.items()}
    return SystemRun(run.seed, statistics, run.weights, run.steps, run.provenance)


def _text_json(rows: Statistics) -> dict[str, Any]:
    return {
        "bleu": float(bleu_of_sums(rows.sum(0, dtype=np.int64))),
        "length": _written(rows[:, 1]),
        "matches": [_written(column) for column in rows[:, 0:-1:2].T],
    }


def _statistics(content: _StatisticsFile, text: KeptText) -> Statistics:
    """Return (S, 9), of which the file says what cannot be computed."""
    length = np.array(_numbers(content.length), np.int32)
    matches = np.array([_numbers(line) for line in content.matches], np.int32).T
    expected = np.array(text.reference_lengths, np.int32)
    if not (len(length) == len(expected) and matches.shape == (len(length), ORDERS)):
        raise ValueError("a text has more sentences than its references, or fewer")
    return statistics_rows(matches, length, expected).astype(np.int64)


def _times_json(steps: Mapping[str, StepTime]) -> dict[str, Any]:
    return {name: dataclasses.asdict(time) for name, time in steps.items()}


def _written(numbers: Any) -> str:
    return " ".join(str(int(number)) for number in numbers)


def _numbers(text: str) -> tuple[int, ...]:
    numbers = tuple(int(number) for number in text.split(" ") if number)
    if min(numbers, default=0) < 0:
        raise ValueError("a count below 0")
    return numbers
