"""The contents of a report: scores, texts, tunings, models and columns, as any command left them.

Scores are fractions, as in the files; figures and tables multiply them by 100.
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
        text: The name of the text that was translated.
        metric: The metric of the scores.
        systems: At least one system.
        trials: The number of trials of each test.
        signature: The signature of sacrebleu, if it is known.
        is_dev: Whether weights were tuned on this text.
        file: The name of the result that the scores come from, if there may be several.
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
    """The translations of a text by one system.

    Args:
        name: The name of the system.
        statistics: (R, S, K) counts of R runs and S sentences.
        run: The run that made ``lines``, e.g. ``seed 1``; empty for a single run.
        lines: S translations of the first run; ``None`` if the file is gone.
    """

    name: str
    statistics: NDArray[np.int64]
    run: str = ""
    lines: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class TranslatedText:
    """A text and its translations.

    Args:
        name: The name of the text.
        metric: The metric that the statistics belong to.
        outputs: The translations of each system, beginning with the baseline.
        reference_lengths: (S,) the words of each reference.
        source: S lines, if they are known.
        reference: S lines, if they are known.
        notes: Sentences on files that could not be used.
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
        run: The name of the run, e.g. ``seed 1``; empty for the only one of a system.
        record: The record of the run.
    """

    run: str
    record: TuningRecord

    @property
    def rounds(self) -> tuple[TunedRound, ...]:
        """The rounds that are done."""
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
        name: The name of its folder.
        facts: Kind, sizes, direction and losses, as words.
        points: The points of the learning curve.
        of_text: Whether the model learned from sentences.
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
        name: The name of the record.
        record: The record.
        columns: By name, ln p of the first pairs of the table; empty if the table is gone.
        notes: Sentences on files that could not be used.
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
    """The part of a result's provenance that a page shows; see ``phrasescore.runs.identity``."""

    phrasescore: str = ""
    python: str = ""
    libraries: dict[str, str | None] = field(default_factory=dict)
    processor: str = ""
    machine: str = ""
    cores: int = 0
    command: str = ""


@dataclass(frozen=True)
class Results:
    """All results in a folder.

    Args:
        name: The name of the folder or experiment.
        facts: The settings that the page shows first, as words.
        scores: The scores on each text, test sets first.
        texts: The texts whose sentences can be shown.
        tunings: The tunings of each system.
        models: The models, in the order of their names.
        tables: The scored phrase tables.
        spent: Seconds of each piece of work, in the order of the work.
        provenances: Versions, machines and commands, by the name of the result.
        unfinished: Sentences on work that is not done yet.
        notes: Sentences on files that could not be read.
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
