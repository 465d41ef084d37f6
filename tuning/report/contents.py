"""What a report is about, whichever command left it: scores, texts, tunings, models, columns.

Scores are fractions, as in the files; only what shows them multiplies by 100.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.runs.results import (
    CurvePoint,
    ScoringRecord,
    TunedRound,
    TuningRecord,
    weights_by_component,
)
from tuning.metrics.metric_settings import MetricName
from tuning.metrics.significance import SystemScores


@dataclass(frozen=True)
class ScoreSet:
    """Systems compared with the first of them.

    Args:
        text: What was translated.
        metric: Which metric.
        systems: At least one.
        trials: Of the tests.
        signature: What sacrebleu calls the metric, if it is known.
        is_dev: Whether weights were tuned on this text.
        file: Which of the results says so, if there may be several.
    """

    text: str
    metric: MetricName
    systems: tuple[SystemScores, ...]
    trials: int
    signature: str = ""
    is_dev: bool = False
    file: str = ""


@dataclass(frozen=True, eq=False)
class SystemOutput:
    """What a system made of a text.

    Args:
        name: Of the system.
        statistics: (R, S, K) of R runs and S sentences.
        run: Which run ``lines`` are of, e.g. ``seed 1``; empty where there is one.
        lines: S translations of the first run; none if the file is gone.
    """

    name: str
    statistics: NDArray[np.int64]
    run: str = ""
    lines: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class TranslatedText:
    """A text and what systems made of it.

    Args:
        name: Of the text.
        metric: What its statistics are of.
        outputs: Of each system, the first one first.
        reference_lengths: (S,) words.
        source: S lines, if they are known.
        reference: S lines, likewise.
        notes: What could not be found.
    """

    name: str
    metric: MetricName
    outputs: tuple[SystemOutput, ...]
    reference_lengths: NDArray[np.int64]
    source: tuple[str, ...] | None = None
    reference: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TuningRun:
    """One run of tuning, with at least one round.

    Args:
        run: Which of its system's, e.g. ``seed 1``; empty for the only one.
        record: Its record.
    """

    run: str
    record: TuningRecord

    @property
    def rounds(self) -> tuple[TunedRound, ...]:
        """Those that are done."""
        return self.record.curve

    @property
    def best(self) -> TunedRound | None:
        """The round whose weights were taken, once the run is over."""
        return next((each for each in self.rounds if each.number == self.record.round), None)

    @property
    def before(self) -> Mapping[str, float]:
        """The weights that the run began with, by component."""
        return self.rounds[0].weights

    @property
    def after(self) -> Mapping[str, float]:
        """The best weights that were tuned; of a run that goes on, the last ones."""
        found = weights_by_component(self.record.weights)
        return {name: weight for name, weight in found if name in self.before}


@dataclass(frozen=True)
class TunedSystem:
    """The tunings of one system, a run for each seed."""

    name: str
    runs: tuple[TuningRun, ...]


@dataclass(frozen=True)
class TrainedModel:
    """A model and how it was trained.

    Args:
        name: Of its folder.
        facts: What it is, by what that is called.
        points: The curve.
        of_text: Whether it learned from sentences.
        finished: Whether the model is written.
    """

    name: str
    facts: Mapping[str, str]
    points: tuple[CurvePoint, ...]
    of_text: bool
    finished: bool


@dataclass(frozen=True, eq=False)
class ScoredTable:
    """The record of ``score``, and the new columns.

    Args:
        name: Of the record.
        record: What it says.
        columns: By name, ln p of the pairs that were looked at; empty if the table is gone.
        notes: What could not be found.
    """

    name: str
    record: ScoringRecord
    columns: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Spent:
    """Seconds of one piece of work; by the clock, and of the processor where that is known."""

    what: str
    seconds: float
    cpu_seconds: float | None = None


@dataclass(frozen=True)
class Provenance:
    """Where a result comes from, as far as a page shows it: see ``phrasescore.runs.identity``."""

    phrasescore: str = ""
    python: str = ""
    libraries: dict[str, str | None] = field(default_factory=dict)
    processor: str = ""
    machine: str = ""
    cores: int = 0
    command: str = ""


@dataclass(frozen=True)
class Results:
    """All that a folder holds.

    Args:
        name: What it is called.
        facts: What was run, by what that is called.
        scores: Test sets first.
        texts: Those whose sentences can be shown.
        tunings: By system.
        models: In the order of their names.
        tables: Scored ones.
        spent: In the order of the work.
        provenances: By what they are of: versions, machines and commands.
        unfinished: Sentences on what is still to come.
        notes: Sentences on what could not be read.
    """

    name: str
    facts: Mapping[str, str] = field(default_factory=dict)
    scores: tuple[ScoreSet, ...] = ()
    texts: tuple[TranslatedText, ...] = ()
    tunings: tuple[TunedSystem, ...] = ()
    models: tuple[TrainedModel, ...] = ()
    tables: tuple[ScoredTable, ...] = ()
    spent: tuple[Spent, ...] = ()
    provenances: Mapping[str, Provenance] = field(default_factory=dict)
    unfinished: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def joined(self, other: Results) -> Results:
        """Return both as one, called as this one is."""
        parts: dict[str, Any] = {}
        for each in fields(self)[1:]:
            one, two = getattr(self, each.name), getattr(other, each.name)
            parts[each.name] = one + two if isinstance(one, tuple) else {**one, **two}
        return Results(self.name, **parts)
