"""Keeps the BLEU statistics of an experiment's runs, across calls.

``results.json`` has the statistics of all runs but no text, so a table can be made without the
translations. The statistics of a translation are lines of numbers separated by spaces, one number
per sentence: ``length``, the length in words; and ``matches``, four lines with the matching n-grams
of one to four words. All translations of a text share its ``reference_lengths``.

A row of an earlier call is still valid if its description in the experiment file and the content of
the system, the texts and its other inputs are unchanged. So a table can grow row by row, move to
another folder, or take rows from the ``results.json`` of other folders.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Iterable, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from moses_integration.bleu import ORDERS, References, bleu_of_sums, statistics_rows
from phrasescore.errors import CorpusError, InputError, ResumeError, SettingsError
from phrasescore.runs.identity import machine, provenance
from phrasescore.runs.json_files import JsonError, read_object
from phrasescore.runs.ledger import Entry, Ledger, differences
from phrasescore.runs.results import Record, parse_record
from phrasescore.table.input_files import read_lines
from tuning.experiment.experiment_settings import DEV, ExperimentSystem, ExperimentText
from tuning.experiment.plan import Plan, Run
from tuning.loop.weight_files import read_weights_file

KEPT = "results.json"
Statistics = NDArray[np.int64]
# settings of a row that do not influence its translations, or are recorded elsewhere
_NO_INFLUENCE = ("name", "not_run", "parts", "translate_options")


@dataclass(frozen=True)
class TextStatistics:
    """The statistics of one translation, as text.

    Args:
        bleu: The corpus BLEU of the translation.
        length: The number of words of each sentence.
        matches: For n-grams of one to four words, the number of matches in each sentence.
    """

    bleu: float
    length: str
    matches: tuple[str, ...]

    @classmethod
    def from_rows(cls, rows: NDArray[np.int32]) -> TextStatistics:
        """Convert (S, 9) statistics to text."""
        matches = tuple(_written(column) for column in rows[:, 0:-1:2].T)
        return cls(float(bleu_of_sums(rows.sum(0, dtype=np.int64))), _written(rows[:, 1]), matches)

    def matrix(self, reference_lengths: str) -> Statistics:
        """Convert the text back to (S, 9) statistics, given the length of each reference sentence.

        Raises:
            ValueError: The numbers are malformed, or belong to another text.
            OverflowError: A number is too large.
        """
        length, expected = _numbers(self.length), _numbers(reference_lengths)
        matches = np.array([_numbers(line) for line in self.matches]).T
        if not (len(length) == len(expected) and matches.shape == (len(length), ORDERS)):
            raise ValueError("a translation and its references differ in their number of sentences")
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
        seed: The seed of tuning or of the models; ``None`` if the translations depend on no seed.
        texts: The statistics of each text's translation, by the name of the text.
        weights: The weights by feature; empty if models translate alone.
        seconds: The wall-clock time of each finished step, by name; if a step was interrupted, the
            time since it last continued.
        provenance: The provenance of the translations.
    """

    seed: int | None
    texts: dict[str, TextStatistics]
    weights: dict[str, tuple[float, ...]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class KeptText:
    """A translated text: digests of source and reference, and each reference sentence's length."""

    source: str
    reference: str
    reference_lengths: str


@dataclass(frozen=True)
class KeptRow:
    """The runs of one system.

    Args:
        described: All settings in the experiment file that influence the translations.
        inputs: Digests of the input files and models other than the texts, by name.
        runs: The runs, in the order of their seeds.
    """

    described: dict[str, Any]
    inputs: dict[str, str]
    runs: tuple[SystemRun, ...] = ()

    def differences(self, old: KeptRow, seeds: Set[int | None]) -> list[str]:
        """Return the reasons why the runs of an older row are not valid for this row.

        Args:
            old: The older row.
            seeds: The seeds of all runs of this row. If the older row has no run of a seed, the
                models of that seed are not compared.
        """
        endings = tuple(map(_of_seed, seeds - {run.seed for run in old.runs}))
        names = [name for name in self.inputs if not name.endswith(endings)]
        before, now = (
            Entry(row.described, [row.inputs.get(name, "") for name in names])
            for row in (old, self)
        )
        return differences(before, now, names)


@dataclass(frozen=True)
class KeptResults(Record):
    """The content of ``results.json``.

    Args:
        name: The name of the experiment.
        texts: The texts by name.
        rows: The rows by the name of the system.
    """

    kind: ClassVar[str] = "experiment-runs"
    name: str = ""
    texts: dict[str, KeptText] = field(default_factory=dict)
    rows: dict[str, KeptRow] = field(default_factory=dict)

    def statistics(self, run: SystemRun, text: str) -> Statistics:
        """Return the (S, 9) statistics of a run's translation of a text."""
        return run.texts[text].matrix(self.texts[text].reference_lengths)

    @classmethod
    def read(cls, path: Path) -> KeptResults:
        """Read the results of earlier calls.

        Raises:
            InputError: There is no such file.
            ResumeError: The file does not have the form that an experiment writes.
        """
        try:
            found = parse_record(read_object(path), cls)
            if found is None:
                raise ValueError(f"its kind is not {cls.kind}")
            for run in (run for row in found.rows.values() for run in row.runs):
                if unknown := run.texts.keys() - found.texts.keys():
                    raise ValueError(f"a run has a text that is not described: {min(unknown)}")
                for text in run.texts:
                    found.statistics(run, text)
        except FileNotFoundError:
            raise InputError("no such file", path=path) from None
        except (JsonError, SettingsError, ValueError, OverflowError) as error:
            raise ResumeError(
                f"not the results of earlier runs ({error})",
                path=path,
                remedy="move the file away; rows that are run again do not need the file",
            ) from None
        return found

    def without_changed(self, texts: dict[str, KeptText]) -> KeptResults:
        """Return the results without the statistics of texts whose content has changed.

        A changed dev set removes all rows, because weights are tuned on it.
        """
        changed = {name for name in texts if self.texts.get(name, texts[name]) != texts[name]}
        rows = {
            name: dataclasses.replace(row, runs=tuple(_without(run, changed) for run in row.runs))
            for name, row in self.rows.items()
            if DEV not in changed
        }
        return dataclasses.replace(self, texts={**self.texts, **texts}, rows=rows)


def _without(run: SystemRun, texts: Collection[str]) -> SystemRun:
    kept = {name: each for name, each in run.texts.items() if name not in texts}
    return dataclasses.replace(run, texts=kept)


class ResultsKeeper:
    """Collects the runs of this call and of earlier calls.

    Args:
        plan: The plan of the experiment.
        ledger: The ledger of its steps.
        given: Files of results from other folders, whose rows are used here.

    Raises:
        ResumeError: The file of an earlier call is damaged.
        SettingsError: A row of a given file has other settings or inputs than in this experiment.
    """

    def __init__(self, plan: Plan, ledger: Ledger, given: Iterable[str | Path] = ()) -> None:
        self._plan, self._ledger = plan, ledger
        self._finished: dict[str, SystemRun] = {}  # a cache, so that each run is read only once
        self._references = {
            text.name: References.read([plan.data(text.reference)]) for text in plan.texts
        }
        self._systems = [system for system in plan.settings.systems if system.may_be_run]
        self._rows = {
            system.name: KeptRow(_described(plan, system), _inputs(plan, system, ledger))
            for system in self._systems
        }
        texts = {text.name: self._text(text) for text in plan.texts}
        kept = plan.results / KEPT
        old = KeptResults.read(kept) if kept.exists() else KeptResults()
        self._old = old.without_changed(texts)
        for path in map(Path, given):
            self._old = self._with_given(KeptResults.read(path), path)
        made = provenance()
        del made["inputs"], made["settings"]
        self._provenance = {**made, **machine()}

    def collect(
        self, done: Collection[str]
    ) -> tuple[KeptResults, dict[str, tuple[SystemRun, ...]]]:
        """Collect the runs of this call, and the runs of earlier calls that are still valid.

        Args:
            done: The names of the steps that are done.

        Returns:
            The results to keep, which include rows of earlier calls that the experiment file no
            longer has; and the runs of each system that the experiment file describes now.

        Raises:
            CorpusError: A translation has another number of lines than its references.
        """
        rows, current = dict(self._old.rows), {}
        for system in self._systems:
            row, runs = self._rows[system.name], self._plan.runs(system)
            found = self._valid_runs(system)
            for run in () if system.not_run else runs:
                if all(name in done for name in run.final_steps()):
                    found[run.seed] = self._run(run, found.get(run.seed))
            if found:
                kept = tuple(found[run.seed] for run in runs if run.seed in found)
                rows[system.name] = dataclasses.replace(row, runs=kept)
                current[system.name] = kept
        return KeptResults(self._plan.settings.name, self._old.texts, rows), current

    def _with_given(self, given: KeptResults, path: Path) -> KeptResults:
        """Return the old results, updated with this experiment's rows from another file.

        Raises:
            SettingsError: The file has no row of this experiment, or a row has other settings,
                inputs or texts.
        """
        if not self._rows.keys() & given.rows.keys():
            raise SettingsError("no row of this experiment is in the file", path=path)
        rows, texts = dict(self._old.rows), self._references.keys()
        for system in self._systems:
            row, new = self._rows[system.name], given.rows.get(system.name)
            if new is None:
                continue
            reasons = [
                f"the text {text} had different content"
                for text in sorted({text for run in new.runs for text in run.texts} & texts)
                if given.texts[text] != self._old.texts[text]
            ]
            reasons += row.differences(new, set(self._plan.settings.runs(system)))
            if reasons:
                raise SettingsError(
                    f"the row {system.name} was made with other settings or data than this "
                    f"experiment has: {'; '.join(reasons)}",
                    path=path,
                    remedy="leave out this file, or use the settings and data of its rows",
                )
            runs = self._valid_runs(system)
            runs |= {run.seed: _without(run, run.texts.keys() - texts) for run in new.runs}
            rows[system.name] = dataclasses.replace(row, runs=tuple(runs.values()))
        return dataclasses.replace(self._old, rows=rows)

    def _valid_runs(self, system: ExperimentSystem) -> dict[int | None, SystemRun]:
        """Return the old runs of a row by seed; none if the row has changed since."""
        old, seeds = self._old.rows.get(system.name), set(self._plan.settings.runs(system))
        if old is None or self._rows[system.name].differences(old, seeds):
            return {}
        return {run.seed: run for run in old.runs}

    def _text(self, text: ExperimentText) -> KeptText:
        paths = [self._plan.data(text.source), self._plan.data(text.reference)]
        source, reference = self._ledger.digests(paths)
        return KeptText(source, reference, _written(self._references[text.name].lengths[:, 0]))

    def _run(self, run: Run, before: SystemRun | None) -> SystemRun:
        """Return the results of a finished run; unchanged runs keep their earlier provenance."""
        if run.name in self._finished:
            return self._finished[run.name]
        texts = {
            text: _statistics(references, run.translation(text))
            for text, references in self._references.items()
        }
        weights = {} if run.system.translate else read_weights_file(run.weights)
        entries = {step.name: self._ledger.finished_entry(step.name) for step in run.steps()}
        seconds = {name: entry.seconds for name, entry in entries.items() if entry}
        made = self._provenance
        if before is not None and before.provenance and before.texts == texts:
            made = before.provenance
        self._finished[run.name] = SystemRun(run.seed, texts, weights, seconds, made)
        return self._finished[run.name]


def _statistics(references: References, file: Path) -> TextStatistics:
    if len(lines := list(read_lines(file))) != len(references):
        raise CorpusError(
            f"{len(lines)} translations of {len(references)} sentences",
            path=file,
            remedy="delete the file and run the experiment again",
        )
    return TextStatistics.from_rows(references.score(np.arange(len(lines)), lines))


def _described(plan: Plan, system: ExperimentSystem) -> dict[str, Any]:
    """Return all settings that influence the translations of a row, as JSON values."""
    settings, row = plan.settings, dataclasses.asdict(system)
    said: dict[str, Any] = {"system": {key: row[key] for key in row if key not in _NO_INFLUENCE}}
    said["models"] = {
        name: {"name": name, **dataclasses.asdict(settings.models[name])}
        for name in system.all_models
    }
    if system.translate:
        said["translate"] = dataclasses.asdict(settings.translation(system))
    else:
        said["decoder"] = {"kind": settings.decoder.kind, "sections": settings.decoder.sections}
        said["tuning"] = dataclasses.asdict(settings.tuning)
    if system.rerank:
        said["rerank"] = dataclasses.asdict(settings.rerank)
    return json.loads(json.dumps(said))


def _inputs(plan: Plan, system: ExperimentSystem, ledger: Ledger) -> dict[str, str]:
    """Return the digests of a row's input files, except for the texts."""
    models = {
        plan.model_folder(name, seed): f"the model {name}{_of_seed(seed) if model.per_seed else ''}"
        for name, model in plan.settings.models.items()
        for seed in (plan.settings.seeds if model.folder else ())
    }
    texts = {plan.data(path) for text in plan.texts for path in (text.source, text.reference)}
    found: dict[str, Path] = {}
    for path in (path for run in plan.runs(system) for step in run.steps() for path in step.inputs):
        if path.exists() and path not in texts and not path.is_relative_to(plan.results):
            inside = path.is_relative_to(plan.settings.folder)
            name = path.relative_to(plan.settings.folder) if inside else path
            found[models.get(path, str(name))] = path
    return dict(zip(found, ledger.digests(list(found.values())), strict=True))


def _of_seed(seed: int | None) -> str:
    return f" of seed {seed}"
