"""Results of commands: typed records that the same class writes to JSON and reads back.

A command that leaves a folder writes ``result.json`` in it; ``--json-file`` writes the same record
to a file of any name. Every record has ``kind``, the command that made it, and ``version``. Results
that other commands read have a class here.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

from phrasescore.closed_settings import Between, from_mapping
from phrasescore.errors import SettingsError
from phrasescore.runs.json_files import write_json

RESULT = "result.json"
VERSION = 1  # raised when today's readers could no longer read the record
# figures have room for numbers within these bounds, which no honest result reaches
Number = Annotated[float, Between(-1e9, 1e9)]
Seconds = Annotated[float, Between(0, 1e12)]
Probability = Annotated[float, Between(0, 1)]
Count = Annotated[int, Between(0, 10**15)]
Positive = Annotated[int, Between(1, 10**15)]


@dataclass(frozen=True)
class Record:
    """A record of one kind. A field with its default value is not written, and may be missing."""

    kind: ClassVar[str] = ""

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        return {"kind": self.kind, "version": VERSION, **_values(self)}

    def write(self, path: str | Path) -> None:
        """Write the record, atomically."""
        write_json(path, self.to_json())


def _values(value: Any) -> Any:
    """Convert nested dataclasses to mappings, and paths to text."""
    if dataclasses.is_dataclass(value):
        return {
            each.name: _values(getattr(value, each.name))
            for each in dataclasses.fields(value)
            if getattr(value, each.name) != each.default
        }
    if isinstance(value, Mapping):
        return {key: _values(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_values(inner) for inner in value]
    return str(value) if isinstance(value, Path) else value


def parse_record(content: Mapping[str, Any]) -> Record | None:
    """Return the record in a JSON object; ``None`` if no class here has its kind.

    Raises:
        SettingsError: The record has another version, or a value is missing or of another type.
    """
    known = {kind.kind: kind for kind in Record.__subclasses__()}
    kind = content.get("kind")
    if not isinstance(kind, str) or kind not in known or "version" not in content:
        return None
    if content["version"] != VERSION or isinstance(content["version"], bool):
        raise SettingsError(
            f"a result of version {str(content['version'])[:20]}, expected version {VERSION}",
            remedy="make it again with this version of phrasescore",
        )
    where = "not what phrasescore writes"
    return from_mapping(known[kind], content, where=where, only_known=False)


@dataclass(frozen=True)
class ComparedSystem:
    """One system in one metric; fractions. The first system of a comparison has no gain.

    Args:
        system: Its name.
        runs: The score of each run.
        mean: Over runs.
        deviation: Over runs; ``None`` for a single one.
        gain: The mean minus the mean of the first system.
        low: The lower end of the gain's 95 % interval.
        high: The upper end.
        p_randomization: Of approximate randomisation of sentences.
        p_replicas: Of randomisation of replicas.
        p_bootstrap: Of the two-level bootstrap.
    """

    system: str
    runs: tuple[Number, ...]
    mean: Number
    deviation: Number | None
    gain: Number | None = None
    low: Number | None = None
    high: Number | None = None
    p_randomization: Probability | None = None
    p_replicas: Probability | None = None
    p_bootstrap: Probability | None = None


@dataclass(frozen=True, kw_only=True)
class ComparisonRecord(Record):
    """The record of ``compare``.

    Args:
        references: Files.
        sentences: How many sentences count.
        known_words: The model whose words the sentences keep to, if only such were compared.
        signatures: By metric, sacrebleu's name of it.
        trials: Of each test.
        seed: Of each test.
        files: The translations by system.
        metrics: By metric, the systems.
        notes: Sentences on faults of the texts.
        by_length: The same for groups of sentences.
        source: The file that was translated, if it is known.
    """

    kind: ClassVar[str] = "compare"
    references: tuple[str, ...]
    sentences: Count
    known_words: dict[str, Any] | None = None
    signatures: dict[str, str]
    trials: Positive
    seed: int
    files: dict[str, tuple[str, ...]]
    metrics: dict[str, tuple[ComparedSystem, ...]]
    notes: tuple[str, ...]
    by_length: list[Any] | None = None
    source: str = ""


@dataclass(frozen=True)
class SharedWork:
    """Steps of a model: those that pairs scored one by one would take, and those that were taken.

    Args:
        source_asked: Words of the sources, each source with its ``</s>``.
        source_done: Encoder steps.
        target_asked: Words of the targets, each target with its ``</s>``.
        target_done: Normalisers: one for each distinct (source, target prefix) or, for a model
            that sees the last words only, for each distinct history.
    """

    source_asked: Count = 0
    source_done: Count = 0
    target_asked: Count = 0
    target_done: Count = 0

    @property
    def savings(self) -> dict[str, float]:
        """How many times fewer steps sharing took, by side."""
        return {
            "source": self.source_asked / max(self.source_done, 1),
            "target": self.target_asked / max(self.target_done, 1),
        }

    def __add__(self, other: SharedWork) -> SharedWork:
        return SharedWork(*map(operator.add, dataclasses.astuple(self), dataclasses.astuple(other)))

    def __sub__(self, other: SharedWork) -> SharedWork:
        return SharedWork(*map(operator.sub, dataclasses.astuple(self), dataclasses.astuple(other)))


@dataclass(frozen=True)
class ScoringModel:
    """A model that scored a table, and the mean of its scores."""

    name: str
    mean_ln_p: Number


@dataclass(frozen=True)
class ScoredColumn:
    """A column of new scores, and how many of them are at Moses's floor."""

    name: str
    floor_hits: Count


@dataclass(frozen=True, kw_only=True)
class ScoringRecord(Record):
    """The record of ``score``.

    Args:
        pairs: Phrase pairs of the table.
        resumed_pairs: Pairs that an earlier, interrupted run had scored.
        seconds: Of this run.
        pairs_per_second: Of this run.
        work: Steps of the models.
        savings: How many times fewer steps sharing took, by side.
        source_unknown_rate: The share of source words outside the shortlist.
        target_unknown_rate: The same of target words.
        unknown: What words outside the shortlist were given.
        models: In the order of their columns.
        columns: The new columns.
        processors: Those that scored.
        table_sha256: Of the table's file; ``None`` for a pipe.
        output: The table that was written.
        replace_column: The first column that was replaced, from 1, if columns were.
        unknown_column: Whether a column of unknown words stands behind the new ones.
        provenance: Of the scores.
    """

    kind: ClassVar[str] = "score"
    pairs: Count
    resumed_pairs: Count
    seconds: Seconds
    pairs_per_second: Number
    work: SharedWork
    savings: dict[str, Number]
    source_unknown_rate: Probability
    target_unknown_rate: Probability
    unknown: str
    models: tuple[ScoringModel, ...]
    columns: tuple[ScoredColumn, ...]
    processors: list[Any]
    table_sha256: str | None
    output: str = ""
    replace_column: Positive | None = None
    unknown_column: bool = False
    provenance: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TrainingRecord(Record):
    """The record in a model's folder, and in the work folder of its training.

    Args:
        config: The settings of the model; empty until it is finished.
        provenance: Of the model; empty until it is finished.
    """

    kind: ClassVar[str] = "train"
    config: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CurvePoint:
    """One evaluation of a training, a line of ``curves.jsonl``; losses in nats per word.

    Args:
        updates: Number of updates so far.
        epoch: Number of passes over the pairs so far.
        seconds: Wall-clock seconds of training so far.
        words_per_second: Target words trained on per second.
        learning_rate: Learning rate of the last update.
        training_nll: Mean over the updates since the last evaluation.
        held_out_sources_nll: On pairs of held-out sources, or on held-out sentences.
        held_out_pairs_nll: On pairs held out at random.
    """

    updates: Count
    epoch: Number
    seconds: Seconds
    words_per_second: Number | None = None
    learning_rate: Number | None = None
    training_nll: Number | None = None
    held_out_sources_nll: Number | None = None
    held_out_pairs_nll: Number | None = None


@dataclass(frozen=True)
class Optimized:
    """The weights that a round of tuning led to: their score over all candidates so far."""

    score: Number | None = None
    start_score: Number | None = None
    seconds: Seconds = 0.0


@dataclass(frozen=True)
class TunedRound:
    """One round of a tuning.

    Args:
        number: From 1.
        weights: By component, those it was decoded with.
        score: The objective of what was decoded.
        bleu: Its BLEU.
        length_ratio: Its words per reference word.
        new: Candidates that no round before had.
        candidates: All so far.
        optimized: What optimising after the round gave.
    """

    number: Positive
    weights: dict[str, Number]
    score: Number
    bleu: Number
    length_ratio: Number
    new: Count
    candidates: Count
    optimized: Optimized = Optimized()


@dataclass(frozen=True, kw_only=True)
class TuningRecord(Record):
    """The record of ``tune``: of one run, or of the best of several.

    Args:
        objective: What is maximised.
        curve: The rounds that are done; of several runs, each run's folder has its own.
        weights: By feature: the best ones, or the last ones of a run that goes on.
        tables: The phrase tables that the ini names, by feature.
        bleu: Of the best round.
        score: Its objective.
        why: The reason why the run ended; empty while it goes on, and for several runs.
        round: The best round.
        rounds: How many there were.
        seed: The best seed of several.
        mean: Of the objective over seeds.
        deviation: Of the objective over seeds.
        seeds: A summary of each run that is done, if there are several.
        provenance: Of the weights.
    """

    kind: ClassVar[str] = "tune"
    objective: str
    curve: tuple[TunedRound, ...] = ()
    weights: dict[str, tuple[Number, ...]]
    tables: dict[str, str] = field(default_factory=dict)
    bleu: Number | None = None
    score: Number | None = None
    why: str = ""
    round: Positive | None = None
    rounds: Count | None = None
    seed: int | None = None
    mean: Number | None = None
    deviation: Number | None = None
    seeds: list[Any] | None = None
    provenance: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class BuildRecord(Record):
    """The record of ``build``: seconds and counts of each step, and the provenance."""

    kind: ClassVar[str] = "build"
    steps: dict[str, dict[str, Any]]
    provenance: dict[str, Any]


@dataclass(frozen=True)
class FilteredTable:
    """A filtered table: the feature that uses it, and its lines before and after."""

    name: str
    lines: Count
    kept: Count


@dataclass(frozen=True)
class FilterRecord(Record):
    """The record of ``filter``: digests of the ini and the texts, and the tables."""

    kind: ClassVar[str] = "filter"
    asked: dict[str, str]
    tables: tuple[FilteredTable, ...]


@dataclass(frozen=True)
class ExperimentRow:
    """One system of an experiment.

    Args:
        name: Of the system.
        not_run: The reason why it has no runs, if so.
        runs: How many runs it is to have.
        seeds: The seeds of the tunings that are done.
        tuning_seconds: Of each tuning that was not interrupted.
        tuning_cpu_seconds: The same of the processor.
        resumed: Whether there were interrupted tunings.
    """

    name: str
    not_run: str
    runs: Count
    seeds: tuple[int, ...]
    tuning_seconds: tuple[Seconds, ...]
    tuning_cpu_seconds: tuple[Seconds, ...]
    resumed: bool = False


@dataclass(frozen=True)
class ExperimentPart:
    """What a part of a system is worth where all other parts are there.

    Args:
        name: Of the part.
        system: The row that has it.
        without: The row that lacks it.
        texts: By name of the text, the system compared with the row that lacks the part.
    """

    name: str
    system: str
    without: str
    texts: dict[str, ComparedSystem]


@dataclass(frozen=True)
class ExperimentRecord(Record):
    """The record of ``experiment``.

    Args:
        name: Of the experiment.
        settings: The experiment file.
        systems: The rows of the table.
        texts: By name of the text, the systems compared with the first one.
        provenance: Of the table.
        parts: In the order of the file.
    """

    kind: ClassVar[str] = "experiment"
    name: str
    settings: dict[str, Any]
    systems: tuple[ExperimentRow, ...]
    texts: dict[str, ComparisonRecord]
    provenance: dict[str, Any]
    parts: tuple[ExperimentPart, ...] = ()


def weights_by_component(weights: Mapping[str, Sequence[float]]) -> Iterator[tuple[str, float]]:
    """Yield weights by component: ``LM0``, ``TranslationModel0_0``, ``TranslationModel0_1``."""
    for name, values in weights.items():
        for place, number in enumerate(values):
            yield (name if len(values) == 1 else f"{name}_{place}"), number
