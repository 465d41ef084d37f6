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
from typing import Any

import numpy as np

from moses_integration.bleu.reference_ngrams import ORDERS
from moses_integration.bleu.statistics import BleuStatistics
from phrasescore.errors import ResumeError
from phrasescore.files.json_files import read_object
from phrasescore.provenance import write_json
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
        return _parsed(read_object(path))
    except FileNotFoundError:
        return KeptResults()
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
        raise ResumeError(
            f"not the results of earlier runs ({type(error).__name__}: {error})",
            path=path,
            remedy="move the file away; rows that are run again do not need it",
        ) from None


def _parsed(content: Mapping[str, Any]) -> KeptResults:
    if type(content["format"]) is not int or content["format"] != _FORMAT:
        raise ValueError(f"format {content['format']}, this version reads {_FORMAT}")
    texts = {
        name: KeptText(text["source"], text["reference"], _numbers(text["reference_lengths"]))
        for name, text in content["texts"].items()
    }
    rows = {
        name: KeptRow(
            row["described"],
            row["inputs"],
            tuple(_run(run, texts) for run in row["runs"]),
            _times(row["steps"]),
        )
        for name, row in content["rows"].items()
    }
    return KeptResults(texts, rows, str(content["name"]), _times(content["steps"]))


def _run_json(run: SystemRun) -> dict[str, Any]:
    return {
        "seed": run.seed,
        "weights": run.weights,
        "steps": _times_json(run.steps),
        "provenance": run.provenance,
        "texts": {text: _text_json(rows) for text, rows in run.statistics.items()},
    }


def _run(content: Mapping[str, Any], texts: Mapping[str, KeptText]) -> SystemRun:
    return SystemRun(
        content["seed"],
        {name: _statistics(text, texts[name]) for name, text in content["texts"].items()},
        {name: tuple(map(float, values)) for name, values in content["weights"].items()},
        _times(content["steps"]),
        content["provenance"],
    )


def _text_json(rows: Statistics) -> dict[str, Any]:
    statistics = BleuStatistics.from_matrix(rows)
    return {
        "bleu": statistics.bleu(),
        "length": _written(statistics.totals[:, 0]),
        "matches": [_written(column) for column in statistics.matches.T],
    }


def _statistics(content: Mapping[str, Any], text: KeptText) -> Statistics:
    """Return (S, 9), of which the file says what cannot be computed."""
    length = np.array(_numbers(content["length"]), np.int32)
    matches = np.array([_numbers(line) for line in content["matches"]], np.int32).T
    totals = np.maximum(length[:, None] - np.arange(ORDERS, dtype=np.int32), 0)
    expected = np.array(text.reference_lengths, np.int32)
    if not len(length) == len(matches) == len(expected):
        raise ValueError("a text has more sentences than its references, or fewer")
    return BleuStatistics(matches, totals, expected).matrix().astype(np.int64)


def _times_json(steps: Mapping[str, StepTime]) -> dict[str, Any]:
    return {name: dataclasses.asdict(time) for name, time in steps.items()}


def _times(content: Mapping[str, Any]) -> dict[str, StepTime]:
    return {name: StepTime(**time) for name, time in content.items()}


def _written(numbers: Any) -> str:
    return " ".join(str(int(number)) for number in numbers)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(" ") if number)
