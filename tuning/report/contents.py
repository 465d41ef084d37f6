"""What a report is about, whichever command left it: scores, texts, tunings, models, columns.

Scores are fractions, as in the files; only what shows them multiplies by 100.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tuning.metrics.metric_settings import MetricName


@dataclass(frozen=True)
class Gain:
    """How a system differs from the first.

    Args:
        gain: The mean over runs minus that of the first system.
        low: Of the 95 % interval, for other sentences and other runs.
        high: The same.
        p_value: For other sentences and other runs, two-sided.
        randomization_p_value: Of approximate randomisation of sentences, two-sided.
    """

    gain: float
    low: float
    high: float
    p_value: float
    randomization_p_value: float


@dataclass(frozen=True)
class ScoredSystem:
    """One system in one metric on one text.

    Args:
        name: Of the system.
        runs: The score of each run.
        mean: Over runs.
        deviation: Over runs; none of a single one.
        gain: Over the first system; none for the first itself.
    """

    name: str
    runs: tuple[float, ...]
    mean: float
    deviation: float | None
    gain: Gain | None


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
    systems: tuple[ScoredSystem, ...]
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
class Round:
    """One round of a tuning.

    Args:
        number: From 1.
        score: The objective of what was decoded.
        bleu: Its BLEU.
        length_ratio: Its words per reference word.
        new: Candidates that no round before had.
        candidates: All so far.
        pooled: The best objective over all candidates so far; none where it was not looked for.
    """

    number: int
    score: float
    bleu: float
    length_ratio: float
    new: int
    candidates: int
    pooled: float | None


@dataclass(frozen=True)
class TuningRun:
    """One run of tuning.

    Args:
        run: Which of its system's, e.g. ``seed 1``; empty for the only one.
        rounds: Those that are done.
        before: The weights it began with, by component.
        after: The best weights; of a run that goes on, the last ones.
        objective: What was maximised.
        why: Why it ended; empty while it goes on.
        best: The round whose weights were taken, once it is over.
        seconds: Of optimising, all rounds together.
        tables: The phrase tables that its ini names, by feature.
    """

    run: str
    rounds: tuple[Round, ...]
    before: Mapping[str, float]
    after: Mapping[str, float]
    objective: str
    why: str
    best: int | None
    seconds: float
    tables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TunedSystem:
    """The tunings of one system, a run for each seed."""

    name: str
    runs: tuple[TuningRun, ...]


@dataclass(frozen=True)
class CurvePoint:
    """One evaluation of a training; nats per word.

    Args:
        updates: So far.
        epoch: The same in passes over the pairs.
        seconds: The same by the clock.
        training: Over the updates since the last evaluation.
        sources: On held-out sources or sentences; none if there are none.
        pairs: On held-out pairs, likewise.
    """

    updates: int
    epoch: float
    seconds: float
    training: float | None
    sources: float | None
    pairs: float | None


@dataclass(frozen=True)
class TrainedModel:
    """A model and how it was trained.

    Args:
        name: Of its folder.
        facts: What it is, by what that is called.
        points: The curve.
        of_text: Whether it learned from sentences.
        finished: Whether the model is written.
        seconds: Of training, if it is known.
    """

    name: str
    facts: Mapping[str, str]
    points: tuple[CurvePoint, ...]
    of_text: bool
    finished: bool
    seconds: float | None


@dataclass(frozen=True)
class SharedWork:
    """What equal beginnings of the phrases of one side saved.

    Args:
        asked: Steps of the model without sharing.
        done: Steps with it.
        saving: How many times fewer these are.
        unknown: The share of the words that the model does not know.
    """

    asked: int
    done: int
    saving: float
    unknown: float


@dataclass(frozen=True)
class ScoredModel:
    """A model that scored a table, and the mean of its scores."""

    name: str
    mean_ln_p: float


@dataclass(frozen=True, eq=False)
class ScoredTable:
    """What ``score --report`` says, and the new column.

    Args:
        name: Of the report.
        pairs: How many phrase pairs the table has.
        seconds: Of scoring.
        pairs_per_second: How fast it was.
        models: In the order of their columns.
        work: By side, source and target.
        output: The name of the table that was written; empty where it is not known.
        first_column: The first new column, from 0, if the columns replaced others.
        unknown_column: Whether a column of unknown words stands behind the new ones.
        columns: By name, ln p of the pairs that were looked at; empty if the table is gone.
        looked_at: How many pairs these are.
        notes: What could not be found.
    """

    name: str
    pairs: int
    seconds: float
    pairs_per_second: float
    models: tuple[ScoredModel, ...]
    work: Mapping[str, SharedWork]
    output: str = ""
    first_column: int | None = None
    unknown_column: bool = False
    columns: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    looked_at: int = 0
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
        return Results(
            self.name,
            {**self.facts, **other.facts},
            self.scores + other.scores,
            self.texts + other.texts,
            self.tunings + other.tunings,
            self.models + other.models,
            self.tables + other.tables,
            self.spent + other.spent,
            {**self.provenances, **other.provenances},
            self.unfinished + other.unfinished,
            self.notes + other.notes,
        )
