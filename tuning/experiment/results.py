"""The runs of an experiment: what their files show, what earlier calls kept, and the table's rows.

``results.json`` keeps all that runs showed, without a word of the texts: a table can be made of it
without the translations. Statistics of a text are numbers in the order of its sentences, with
spaces between them: ``length`` of the translation in words, and ``matches``, four such lines for
n-grams of one to four words; ``reference_lengths`` is the same for all translations of a text.

A row of an earlier call counts if the experiment file describes it as then, and if system, texts
and whatever else it was made from have the same content. So a table can grow row by row, and be
carried on in another folder.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from moses_integration.bleu.statistics import (
    COLUMNS,
    ORDERS,
    References,
    bleu_of_sums,
    statistics_rows,
)
from phrasescore.errors import CorpusError, ResumeError, SettingsError
from phrasescore.runs.identity import machine, provenance
from phrasescore.runs.json_files import JsonError, read_object
from phrasescore.runs.results import ExperimentRow, Record, SystemGain, TextBleu, parse_record
from phrasescore.runs.steps import Steps
from phrasescore.table.input_files import read_lines
from tuning.experiment.experiment_settings import DEV, LEFT_OUT, ExperimentSystem, ExperimentText
from tuning.experiment.plan import Plan
from tuning.loop.weights import read_weights_file
from tuning.metrics.significance import SystemScores, compare_statistics

KEPT = "results.json"
Statistics = NDArray[np.int64]
# what is said of a row, and changes nothing in it
_WORDS = ("name", "not_run", "paper_dev", "paper_test")


@dataclass(frozen=True)
class StepTime:
    """The time that a step took.

    Args:
        seconds: By the clock, the last time it ran.
        cpu_seconds: Of the processor.
        attempts: How often it was started; of several, the times miss a part.
    """

    seconds: float
    cpu_seconds: float
    attempts: int


@dataclass(frozen=True)
class TextStatistics:
    """The statistics of one translation, as text.

    Args:
        bleu: Their BLEU.
        length: Words of each sentence.
        matches: For n-grams of one to four words, the matches of each sentence.
    """

    bleu: float
    length: str
    matches: tuple[str, ...]

    @classmethod
    def from_rows(cls, rows: NDArray[np.int32]) -> TextStatistics:
        """Return (S, 9) rows of statistics as text."""
        matches = tuple(_written(column) for column in rows[:, 0:-1:2].T)
        bleu = float(bleu_of_sums(rows.sum(0, dtype=np.int64)))
        return cls(bleu, _written(rows[:, 1]), matches)

    def matrix(self, reference_lengths: str) -> Statistics:
        """Return (S, 9) statistics, given the words of each reference.

        Raises:
            ValueError: These are not the statistics of that text.
            OverflowError: A number is one that no text has.
        """
        length, expected = _numbers(self.length), _numbers(reference_lengths)
        matches = np.array([_numbers(line) for line in self.matches]).T
        if not (len(length) == len(expected) and matches.shape == (len(length), ORDERS)):
            raise ValueError("a text has more sentences than its references, or fewer")
        return statistics_rows(matches, length, expected).astype(np.int64)


def _written(numbers: Iterable[Any]) -> str:
    return " ".join(str(int(number)) for number in numbers)


def _numbers(text: str) -> NDArray[np.int32]:
    numbers = np.array([int(number) for number in text.split(" ") if number], np.int32)
    if numbers.min(initial=0) < 0:
        raise ValueError("a count below 0")
    return numbers


@dataclass(frozen=True)
class SystemRun:
    """One run of a system: a tuning with one seed, or models that translated alone.

    Args:
        seed: Of its tuning, or of its models; none of models alone that are the same for all.
        texts: Statistics by text.
        weights: By feature; none of models alone.
        steps: The times of its own steps, by name.
        provenance: Where it comes from.
    """

    seed: int | None
    texts: dict[str, TextStatistics]
    weights: dict[str, tuple[float, ...]] = field(default_factory=dict)
    steps: dict[str, StepTime] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class KeptText:
    """A text that systems translated: digests of both sides, and the words of each reference."""

    source: str
    reference: str
    reference_lengths: str


@dataclass(frozen=True)
class KeptRow:
    """The runs of one system.

    Args:
        described: What the experiment file says of it, and of all that it needs.
        inputs: Digests of what it was made from, by what the file calls it.
        runs: In the order of the table.
        steps: The times of the steps that all runs share, by name.
    """

    described: dict[str, Any]
    inputs: dict[str, str]
    runs: tuple[SystemRun, ...] = ()
    steps: dict[str, StepTime] = field(default_factory=dict)


@dataclass(frozen=True)
class KeptResults(Record):
    """The content of ``results.json``.

    Args:
        name: Of the experiment.
        texts: By name.
        rows: By the name of the system.
        steps: The times of the steps that all systems share, by name.
    """

    kind: ClassVar[str] = "experiment-runs"
    name: str = ""
    texts: dict[str, KeptText] = field(default_factory=dict)
    rows: dict[str, KeptRow] = field(default_factory=dict)
    steps: dict[str, StepTime] = field(default_factory=dict)

    def statistics(self, run: SystemRun, text: str) -> Statistics:
        """Return (S, 9) of a run's translation of a text."""
        return run.texts[text].matrix(self.texts[text].reference_lengths)

    @classmethod
    def read(cls, path: Path) -> KeptResults:
        """Read a file; without one there are no results.

        Raises:
            ResumeError: No experiment has written the file.
        """
        try:
            return cls.parse(read_object(path), path)
        except FileNotFoundError:
            return cls()
        except JsonError as error:
            raise _not_results(str(error), path) from None

    @classmethod
    def parse(cls, content: Mapping[str, Any], path: Path) -> KeptResults:
        """Return the results in the JSON object of a file.

        Raises:
            ResumeError: No experiment has written the object.
        """
        try:
            found = parse_record(content)
            if not isinstance(found, cls):
                raise ValueError(f"its kind is not {cls.kind}")
            for row in found.rows.values():
                for run in row.runs:
                    if unknown := run.texts.keys() - found.texts.keys():
                        raise ValueError(f"a run of a text that is not described: {min(unknown)}")
                    for text in run.texts:
                        found.statistics(run, text)
        except SettingsError as error:
            raise _not_results(error.problem, path) from None
        except (ValueError, OverflowError) as error:
            raise _not_results(str(error), path) from None
        return found


def _not_results(why: str, path: Path) -> ResumeError:
    return ResumeError(
        f"not the results of earlier runs ({why})",
        path=path,
        remedy="move the file away; rows that are run again do not need it",
    )


class ResultsKeeper:
    """The runs of an experiment.

    Args:
        plan: The experiment.
        stamps: Of its steps.

    Raises:
        ResumeError: The file of an earlier call is damaged.
    """

    def __init__(self, plan: Plan, stamps: Steps) -> None:
        self._plan, self._stamps = plan, stamps
        self._references = {
            text.name: References.read([plan.data(text.reference)]) for text in plan.texts
        }
        self._systems = tuple(
            system for system in plan.settings.systems if system.not_run in ("", LEFT_OUT)
        )
        self._rows = {
            system.name: KeptRow(_described(plan, system), _inputs(plan, system, stamps))
            for system in self._systems
        }
        self._texts = {text.name: self._text(text) for text in plan.texts}
        self._old = self._still_true(KeptResults.read(plan.results / KEPT))
        described = provenance()
        del described["inputs"], described["settings"]
        self._provenance = {**described, **machine()}

    def collect(self, done: Collection[str]) -> KeptResults:
        """Return the runs of this call, and of earlier ones that would be the same today.

        The runs of a row stand in the order of the seeds. Rows of earlier calls that this
        experiment does not have are kept, too.

        Args:
            done: The names of the steps that are done in this call.

        Raises:
            CorpusError: A translation has another number of lines than its references.
        """
        rows = dict(self._old.rows)
        for system in self._systems:
            seeds, kept = self._plan.seeds(system), self._kept(system)
            runs = {run.seed: run for run in kept}
            for seed in seeds if not system.not_run else ():
                if all(name in done for name in self._plan.final_steps(system, seed)):
                    runs[seed] = self._run(system, seed, runs.get(seed))
            if runs:
                names = (step.name for step in self._plan.preparing(system))
                before = rows[system.name].steps if kept else {}
                rows[system.name] = dataclasses.replace(
                    self._rows[system.name],
                    runs=tuple(runs[seed] for seed in seeds if seed in runs),
                    steps={**before, **self._times(names)},
                )
        texts = {**self._old.texts, **self._texts}
        return KeptResults(self._plan.settings.name, texts, rows, self._times(["filter"]))

    def rows(self, kept: KeptResults) -> tuple[ExperimentRow, ...]:
        """Return the rows of the table: each system compared with the first one."""
        return table_rows(self._plan, self.current_runs(kept), kept.texts)

    def current_runs(self, kept: KeptResults) -> dict[str, tuple[SystemRun, ...]]:
        """Return the runs of each system as the experiment file describes it now."""
        return {
            name: kept.rows[name].runs
            for name, row in self._rows.items()
            if name in kept.rows and dataclasses.replace(kept.rows[name], runs=(), steps={}) == row
        }

    def _text(self, text: ExperimentText) -> KeptText:
        paths = [self._plan.data(text.source), self._plan.data(text.reference)]
        source, reference = self._stamps.digests(paths)
        return KeptText(source, reference, _written(self._references[text.name].lengths[:, 0]))

    def _run(
        self, system: ExperimentSystem, seed: int | None, before: SystemRun | None
    ) -> SystemRun:
        """Return a run that is done; one that an earlier call made keeps that call's provenance."""
        plan = self._plan
        texts = {
            text: _statistics(references, plan.translation(system, seed, text))
            for text, references in self._references.items()
        }
        weights = {}
        if seed is not None and not system.translate:
            weights = read_weights_file(plan.weights(system, seed))
        times = self._times(step.name for step in plan.run_steps(system, seed))
        same = before is not None and before.texts == texts
        made = before.provenance if before and same else self._provenance
        return SystemRun(seed, texts, weights, times, made)

    def _times(self, names: Iterable[str]) -> dict[str, StepTime]:
        """Return the times of the steps that have ended, by name."""
        found = {name: self._stamps.read(name) for name in names}
        return {
            name: StepTime(stamp.seconds, stamp.cpu_seconds, stamp.attempts)
            for name, stamp in found.items()
            if stamp is not None and stamp.finished
        }

    def _still_true(self, old: KeptResults) -> KeptResults:
        """Return what an earlier call left without what was made from other texts or systems."""
        other = {
            name
            for name, text in self._texts.items()
            if name in old.texts and old.texts[name] != text
        }
        now = {name: digest for row in self._rows.values() for name, digest in row.inputs.items()}
        rows = {
            name: dataclasses.replace(row, runs=tuple(_without(run, other) for run in row.runs))
            for name, row in old.rows.items()
            if DEV not in other
            and all(now.get(key, each) == each for key, each in row.inputs.items())
        }
        texts = {name: text for name, text in old.texts.items() if name not in other}
        return dataclasses.replace(old, texts=texts, rows=rows)

    def _kept(self, system: ExperimentSystem) -> tuple[SystemRun, ...]:
        """Return the runs of an earlier call that the row would have today."""
        old, new = self._old.rows.get(system.name), self._rows[system.name]
        if old is None or old.described != new.described:
            return ()
        # a model of a seed that is new was in no old run
        more = set(self._plan.seeds(system)) - {run.seed for run in old.runs}
        added = tuple(map(_of_seed, more))
        same = all(
            old.inputs.get(name) == digest
            for name, digest in new.inputs.items()
            if not name.endswith(added)
        )
        return old.runs if same else ()


def _statistics(references: References, file: Path) -> TextStatistics:
    lines = list(read_lines(file))
    if len(lines) != len(references):
        raise CorpusError(
            f"{len(lines)} translations of {len(references)} sentences",
            path=file,
            remedy="delete the file and run the experiment again",
        )
    return TextStatistics.from_rows(references.score(np.arange(len(lines)), lines))


def _without(run: SystemRun, texts: Collection[str]) -> SystemRun:
    kept = {name: each for name, each in run.texts.items() if name not in texts}
    return dataclasses.replace(run, texts=kept)


def _described(plan: Plan, system: ExperimentSystem) -> dict[str, Any]:
    """Return all settings that the translations of a row depend on, as JSON values."""
    settings = plan.settings
    row = dataclasses.asdict(system)
    said: dict[str, Any] = {"system": {key: row[key] for key in row if key not in _WORDS}}
    said["models"] = {name: dataclasses.asdict(settings.model(name)) for name in system.all_models}
    if system.translate:
        said["translate"] = dataclasses.asdict(settings.translate)
    else:
        decoder = settings.decoder
        said["decoder"] = {"kind": decoder.kind, "sections": dict(decoder.sections)}
        said["tuning"] = dataclasses.asdict(settings.tuning)
    if system.rerank:
        said["rerank"] = dataclasses.asdict(settings.rerank)
    described: dict[str, Any] = json.loads(json.dumps(said))
    return described


def _inputs(plan: Plan, system: ExperimentSystem, stamps: Steps) -> dict[str, str]:
    """Return the digests of what a row is made from, besides the texts; of what is there."""
    paths: list[Path] = []
    if not system.translate:
        paths += [plan.data(plan.settings.data.system), *plan.named_by_system]
    for step in plan.preparing(system):
        paths += step.inputs
    for seed in plan.seeds(system):
        if seed is not None:
            paths += [path for step in plan.preparing_run(system, seed) for path in step.inputs]
        paths += [plan.model_folder(name, seed) for name in system.all_models]
    found = {_label(plan, path): path for path in paths if not path.is_relative_to(plan.results)}
    there = {label: path for label, path in sorted(found.items()) if path.exists()}
    return dict(zip(there, stamps.digests(list(there.values())), strict=True))


def _of_seed(seed: int | None) -> str:
    return f" of seed {seed}"


def _label(plan: Plan, path: Path) -> str:
    """Return the experiment file's name of a path, which is the same wherever the data are."""
    for model in plan.settings.models:
        for seed in plan.settings.seeds if model.folder else ():
            if path == plan.model_folder(model.name, seed):
                return f"the model {model.name}" + (_of_seed(seed) if model.per_seed else "")
    if path.is_relative_to(plan.settings.folder):
        return str(path.relative_to(plan.settings.folder))
    return str(path)


def table_rows(
    plan: Plan, runs: Mapping[str, Sequence[SystemRun]], texts: Mapping[str, KeptText]
) -> tuple[ExperimentRow, ...]:
    """Compare what is translated so far with the first system.

    Args:
        plan: The experiment.
        runs: Of each system that has any, by its name.
        texts: The texts by name.
    """
    first = plan.settings.systems[0]
    rows = []
    for system in plan.settings.systems:
        scores = {}
        for name in (text.name for text in plan.texts):
            baseline = () if system is first else _translations(runs.get(first.name, ()), name)
            if translations := _translations(runs.get(system.name, ()), name):
                lengths = texts[name].reference_lengths
                scores[name] = _text_bleu(_compared(baseline, translations, lengths))
        rows.append(_row(plan, system, runs.get(system.name, ()), scores))
    return tuple(rows)


def _row(
    plan: Plan,
    system: ExperimentSystem,
    runs: Sequence[SystemRun],
    scores: dict[str, TextBleu],
) -> ExperimentRow:
    tuned = [run for run in runs if run.seed is not None]
    spent: list[list[StepTime]] = []
    for run in tuned:
        names = [step.name for step in plan.tuning_steps(system, run.seed or 0)]
        spent.append([run.steps[name] for name in names if name in run.steps])
    # what ran twice kept the seconds of its last part alone
    whole = [steps for steps in spent if steps and all(step.attempts == 1 for step in steps)]
    settings = dataclasses.asdict(system)
    return ExperimentRow(
        **{name: settings[name] for name in _SHOWN},
        seeds=tuple(run.seed for run in tuned if run.seed is not None),
        tuning_seconds=tuple(sum(step.seconds for step in steps) for steps in whole),
        tuning_cpu_seconds=tuple(sum(step.cpu_seconds for step in steps) for steps in whole),
        resumed=any(step.attempts > 1 for steps in spent for step in steps),
        texts=scores,
    )


# the settings of a system that the record has
_SHOWN = (
    *("name", "models", "unknown_column", "unknown"),
    *("language_models", "rerank", "translate", "not_run"),
)


def _translations(runs: Sequence[SystemRun], text: str) -> tuple[TextStatistics, ...]:
    return tuple(run.texts[text] for run in runs if text in run.texts)


# the table is made after each run, and most of it is as it was
@cache
def _compared(
    baseline: tuple[TextStatistics, ...], runs: tuple[TextStatistics, ...], lengths: str
) -> SystemScores:
    systems = {
        name: np.stack([run.matrix(lengths).reshape(-1, COLUMNS) for run in each])
        for name, each in (("baseline", baseline), ("system", runs))
        if each
    }
    return compare_statistics("bleu", systems)[-1]


def _text_bleu(scores: SystemScores) -> TextBleu:
    gain = scores.difference
    return TextBleu(
        scores.runs,
        scores.mean,
        scores.deviation,
        None
        if gain is None
        else SystemGain(
            bleu=gain.gain,
            p_value=gain.p_bootstrap,
            randomization_p_value=gain.p_randomization,
            replica_p_value=gain.p_replicas,
            low=gain.low,
            high=gain.high,
        ),
    )
