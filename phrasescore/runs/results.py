"""Results of commands: typed records, which are written as JSON and read back.

A command whose output is a folder writes ``result.json`` into it. ``--json-file`` writes the same
record to a file of any name. Every record has ``kind``, the command that wrote it, and ``version``.
Records that other commands read have a class here.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

from phrasescore.closed_settings import Between, from_mapping
from phrasescore.errors import SettingsError
from phrasescore.runs.json_files import JsonError, read_object, write_json

RESULT = "result.json"
VERSION = 1  # raise this number if older programs cannot read new records
# every real result is within these bounds; larger numbers would not fit into pictures
Number = Annotated[float, Between(-1e9, 1e9)]
Seconds = Annotated[float, Between(0, 1e12)]
Probability = Annotated[float, Between(0, 1)]
Count = Annotated[int, Between(0, 10**15)]
Positive = Annotated[int, Between(1, 10**15)]


@dataclass(frozen=True)
class Record:
    """A record of one kind. A field that has its default value is not written."""

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
            remedy="run the command again with this version of phrasescore",
        )
    where = "not a record of phrasescore"
    return from_mapping(known[kind], content, where=where, only_known=False)


def has_record(folder: Path, kind: type[Record]) -> bool:
    """Return whether the ``result.json`` of a folder says that a command of this kind made it.

    A command that writes into an existing folder asks first, and writes this record before any
    other file, so that it replaces only its own files and still continues after a kill.
    """
    with contextlib.suppress(OSError, JsonError):
        return bool(read_object(folder / RESULT).get("kind") == kind.kind)
    return False


@dataclass(frozen=True)
class SystemDifference:
    """The difference between a system and the first system in one metric, as fractions.

    Attributes:
        gain: The mean over runs minus the mean of the first system.
        low: The lower end of the gain's 95 % interval, which accounts for the choice of sentences
            and of runs.
        high: The upper end of the interval.
        p_randomization: The p-value of approximate randomisation of sentences, for these runs only.
        p_bootstrap: The p-value of the two-level bootstrap, which also determines the interval.
    """

    gain: float
    low: float
    high: float
    p_randomization: float
    p_bootstrap: float


@dataclass(frozen=True)
class ComparedSystem:
    """The scores of one system in one metric, as fractions; the first system has no gain.

    Attributes:
        system: The name of the system.
        runs: The score of each run.
        mean: The mean over runs.
        deviation: The standard deviation over runs (n - 1); ``None`` for a single run.
        gain: The mean minus the mean of the first system.
        low: As in `SystemDifference`.
        high: As in `SystemDifference`.
        p_randomization: As in `SystemDifference`.
        p_bootstrap: As in `SystemDifference`.
    """

    system: str
    runs: tuple[Number, ...]
    mean: Number
    deviation: Number | None
    gain: Number | None = None
    low: Number | None = None
    high: Number | None = None
    p_randomization: Probability | None = None
    p_bootstrap: Probability | None = None

    @property
    def difference(self) -> SystemDifference | None:
        """The difference from the first system; ``None`` for the first system itself."""
        if self.gain is None:
            return None
        # a record from elsewhere may lack p-values; a p-value of 1 shows no difference
        p_values = (self.p_randomization, self.p_bootstrap)
        chances = (1.0 if p_value is None else p_value for p_value in p_values)
        return SystemDifference(self.gain, self.low or 0.0, self.high or 0.0, *chances)


@dataclass(frozen=True, kw_only=True)
class ComparisonRecord(Record):
    """The record of ``compare``.

    Args:
        references: The reference files.
        sentences: The number of compared sentences.
        known_words: The model whose vocabularies selected the sentences, if a model selected them.
        signatures: For each metric, its settings as a signature of sacrebleu.
        trials: The number of trials of each test.
        seed: The seed of each test.
        files: For each system, the files of its translations.
        metrics: For each metric, the scores of the systems.
        notes: Messages for the user about faults of the texts.
        by_length: The comparison for each group of sentences of similar length.
        source: The file of the source text; empty if it is not known.
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
class ScoringRecord(Record):
    """The part of the record of ``score`` that other commands read.

    Args:
        provenance: The provenance of the scores.
    """

    kind: ClassVar[str] = "score"
    provenance: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TrainingRecord(Record):
    """The record in a model's folder, and in the work folder of its training.

    Args:
        config: The settings of the model; empty until the model is finished.
        provenance: The provenance of the model; empty until the model is finished.
    """

    kind: ClassVar[str] = "train"
    config: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CurvePoint:
    """An evaluation during training: a line of ``curves.jsonl``, with losses in nats per word.

    Args:
        updates: Number of updates so far.
        epoch: Number of passes over the pairs so far.
        seconds: Wall-clock seconds of training so far.
        words_per_second: Target words trained on per second.
        learning_rate: Learning rate of the last update.
        training_nll: Mean loss of the updates since the last evaluation.
        held_out_sources_nll: Loss on pairs of held-out sources, or on held-out sentences.
        held_out_pairs_nll: Loss on pairs held out at random.
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
    """The optimisation after a round: its score and start score on all candidates, and its time.

    ``share`` is the part of the way from the best decoded weights to the weights found; the next
    round decodes with the weights at this point.
    """

    score: Number | None = None
    start_score: Number | None = None
    seconds: Seconds = 0.0
    share: Number = 1.0


@dataclass(frozen=True)
class TunedRound:
    """One round of a tuning.

    Attributes:
        number: The index of the round, from 1.
        weights: The weights that the round decoded with, by component.
        score: The value of the objective for the decoded translations.
        bleu: The BLEU of the decoded translations.
        length_ratio: The number of words of the decoded translations per reference word.
        new: The number of candidates that did not occur in an earlier round.
        candidates: The number of candidates of all rounds so far.
        optimized: The result of the optimisation that followed.
    """

    number: Positive
    weights: dict[str, Number]
    score: Number
    bleu: Number
    length_ratio: Number
    new: Count
    candidates: Count
    optimized: Optimized = Optimized()


@dataclass(frozen=True)
class ScoreBenefit:
    """The estimated benefit of a score that is ln p of a model; twofold, over n-best lists.

    Attributes:
        name: The component, such as ``TranslationModel0_4``.
        weight: Its tuned weight.
        gain: The objective with the score minus the objective without it.
        low: The lower end of the gain's 95 % interval, which accounts for the choice of sentences.
        high: The upper end of the interval.
    """

    name: str
    weight: Number
    gain: Number
    low: Number
    high: Number


@dataclass(frozen=True, kw_only=True)
class TuningRecord(Record):
    """The record of ``tune``, for a single run or for the best of several runs.

    Args:
        objective: The metric that is maximised.
        curve: The finished rounds; empty for several runs, each of which has a record with a curve.
        weights: The best weights by feature; the latest weights if the run is not finished.
        bleu: The BLEU of the best round.
        score: The value of the objective in the best round.
        why: The reason why the run ended; empty for an unfinished run and for several runs.
        round: The best round, counted from 1.
        rounds: The number of rounds.
        seed: The seed of the best run, if there are several; ``None`` if the average is best.
        mean: The mean of the objective over seeds.
        deviation: The standard deviation of the objective over seeds.
        average: The objective of the average of the runs' weights, if there are several.
        warnings: Reasons not to rely on the result.
        seeds: A summary of each finished run, if there are several runs.
        benefits: The estimated benefit of each score that is ln p of a model, in the best run
            of a seed.
        provenance: The provenance of the weights.
    """

    kind: ClassVar[str] = "tune"
    objective: str
    curve: tuple[TunedRound, ...] = ()
    weights: dict[str, tuple[Number, ...]]
    bleu: Number | None = None
    score: Number | None = None
    why: str = ""
    round: Positive | None = None
    rounds: Count | None = None
    seed: int | None = None
    mean: Number | None = None
    deviation: Number | None = None
    average: Number | None = None
    warnings: tuple[str, ...] = ()
    seeds: list[Any] | None = None
    benefits: tuple[ScoreBenefit, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class BuildRecord(Record):
    """The record of ``build``: the seconds and counts of each step, and the provenance."""

    kind: ClassVar[str] = "build"
    steps: dict[str, dict[str, Any]]
    provenance: dict[str, Any]


@dataclass(frozen=True)
class FilteredTable:
    """A filtered table: the feature that uses it, and its lines before and after filtering."""

    name: str
    lines: Count
    kept: Count


@dataclass(frozen=True)
class FilterRecord(Record):
    """The record of ``filter``: digests of the ini file and of the texts, and the tables."""

    kind: ClassVar[str] = "filter"
    asked: dict[str, str]
    tables: tuple[FilteredTable, ...]


@dataclass(frozen=True)
class ExperimentRow:
    """One system of an experiment.

    Args:
        name: The name of the system.
        not_run: The reason why the row has no runs; empty for rows with runs.
        runs: The number of runs that the row will have.
        seeds: The seeds of the finished runs.
    """

    name: str
    not_run: str
    runs: Count
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class ExperimentPart:
    """The effect of one part of a system, while all other parts are present.

    Args:
        name: The name of the part.
        system: The row that has the part.
        without: The row that lacks the part.
        texts: For each text, by name, the comparison of the two rows.
    """

    name: str
    system: str
    without: str
    texts: dict[str, ComparedSystem]


@dataclass(frozen=True)
class ExperimentRecord(Record):
    """The record of ``experiment``.

    Args:
        name: The name of the experiment.
        settings: The content of the experiment file.
        systems: The rows of the table.
        texts: For each text, by name, the comparison of all systems with the first system.
        provenance: The provenance of the table.
        parts: The comparisons of rows with and without a part, in the order of the file.
    """

    kind: ClassVar[str] = "experiment"
    name: str
    settings: dict[str, Any]
    systems: tuple[ExperimentRow, ...]
    texts: dict[str, ComparisonRecord]
    provenance: dict[str, Any]
    parts: tuple[ExperimentPart, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ScatterRecord(Record):
    """The record of ``analyze scatter``.

    Args:
        pairs: Number of pairs in the table.
        drawn_pairs: Number of drawn pairs, from which all figures are computed.
        pearson: Correlation of the two ln p; ``None`` if either ln p is constant.
        spearman: Rank correlation; equal values share their mean rank.
        near: Share of pairs whose two ln p differ by at most 1 nat.
        far: Share of pairs whose two ln p differ by more than 5 nats.
        provenance: Versions, inputs and settings of the comparison.
    """

    kind: ClassVar[str] = "analyze scatter"
    pairs: Count
    drawn_pairs: Count
    pearson: Number | None
    spearman: Number | None
    near: Probability
    far: Probability
    provenance: dict[str, Any]


def weights_by_component(weights: Mapping[str, Sequence[float]]) -> Iterator[tuple[str, float]]:
    """Yield weights by component: ``LM0``, ``TranslationModel0_0``, ``TranslationModel0_1``."""
    for name, values in weights.items():
        for place, number in enumerate(values):
            yield (name if len(values) == 1 else f"{name}_{place}"), number
