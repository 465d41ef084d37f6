"""Runs of this call and of earlier ones, which ``results.json`` keeps as long as they are true.

A row of an earlier call counts if the experiment file describes it as then, and if system, texts
and whatever else it was made from have the same content. So a table can grow row by row, and be
carried on in another folder.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from phrasescore.runs.identity import machine, provenance
from phrasescore.runs.steps import Steps
from tuning.experiment.experiment_settings import (
    DEV,
    LEFT_OUT,
    ExperimentSystem,
    ExperimentText,
)
from tuning.experiment.plan import Plan
from tuning.experiment.results.results_format import (
    KeptResults,
    KeptRow,
    KeptText,
    read_results,
    write_results,
)
from tuning.experiment.results.runs import RunReader, SystemRun, step_times

RESULTS = "results.json"
# what is said of a row, and changes nothing in it
_WORDS = ("name", "not_run", "paper_dev", "paper_test")
# settings that the first version of the file did not have, and what they are as a rule
_NEWER = {"language_models": (), "per_seed": False, "unnormalised": False, "unknown": "whole"}


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
        self._reader = RunReader(plan, stamps)
        self._systems = tuple(
            system for system in plan.settings.systems if system.not_run in ("", LEFT_OUT)
        )
        self._rows = {
            system.name: KeptRow(_described(plan, system), _inputs(plan, system, stamps))
            for system in self._systems
        }
        self._texts = {text.name: self._text(text) for text in plan.texts}
        self._old = self._still_true(read_results(plan.results / RESULTS))
        described = provenance()
        del described["inputs"], described["settings"]
        self._provenance = {**described, **machine()}

    def runs(self, done: Collection[str]) -> dict[str, list[SystemRun]]:
        """Return the runs of each row that has any, in the order of the seeds.

        Args:
            done: The names of the steps that are done in this call.

        Raises:
            CorpusError: A translation has another number of lines than its references.
        """
        found = {}
        for system in self._systems:
            runs = {run.seed: run for run in self._kept(system)}
            if not system.not_run:
                for run in self._reader.read(system, done):
                    runs[run.seed] = self._with_provenance(run, runs.get(run.seed))
            if runs:
                seeds = self._plan.seeds(system)
                found[system.name] = [runs[seed] for seed in seeds if seed in runs]
        return found

    def write(self, runs: Mapping[str, Sequence[SystemRun]]) -> None:
        """Write the file: these runs, and rows of earlier calls that are not among them."""
        rows = dict(self._old.rows)
        for system in self._systems:
            if system.name in runs:
                names = (step.name for step in self._plan.preparing(system))
                before = self._old.rows[system.name].steps if self._kept(system) else {}
                times = {**before, **step_times(names, self._stamps)}
                rows[system.name] = dataclasses.replace(
                    self._rows[system.name], runs=tuple(runs[system.name]), steps=times
                )
        texts = {**self._old.texts, **self._texts}
        steps = step_times(["filter"], self._stamps)
        results = KeptResults(texts, rows, self._plan.settings.name, steps)
        write_results(self._plan.results / RESULTS, results)

    def _text(self, text: ExperimentText) -> KeptText:
        paths = [self._plan.data(text.source), self._plan.data(text.reference)]
        source, reference = self._stamps.digests(paths)
        lengths = self._reader.references[text.name].lengths[:, 0]
        return KeptText(source, reference, tuple(lengths.tolist()))

    def _with_provenance(self, run: SystemRun, before: SystemRun | None) -> SystemRun:
        """A run that an earlier call made, and that is the same now, is still that call's."""
        same = before is not None and before.has_statistics_of(run)
        return dataclasses.replace(
            run, provenance=before.provenance if before and same else self._provenance
        )

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
        added = tuple(_of_seed(seed) for seed in more)
        same = all(
            old.inputs.get(name) == digest
            for name, digest in new.inputs.items()
            if not name.endswith(added)
        )
        return old.runs if same else ()


def _without(run: SystemRun, texts: Collection[str]) -> SystemRun:
    kept = {name: rows for name, rows in run.statistics.items() if name not in texts}
    return dataclasses.replace(run, statistics=kept)


def _described(plan: Plan, system: ExperimentSystem) -> dict[str, Any]:
    """Return all settings that the translations of a row depend on, as JSON values."""
    settings = plan.settings
    row = dataclasses.asdict(system)
    said: dict[str, Any] = {"system": {key: row[key] for key in row if key not in _WORDS}}
    said["models"] = {name: dataclasses.asdict(settings.model(name)) for name in system.all_models}
    # what rows of earlier versions do not say
    for part in (said["system"], *said["models"].values()):
        for key in _NEWER.keys() & part.keys():
            if part[key] == _NEWER[key]:
                del part[key]
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
    """What the experiment file calls a path: the same wherever the data are."""
    for model in plan.settings.models:
        for seed in plan.settings.seeds if model.folder else ():
            if path == plan.model_folder(model.name, seed):
                return f"the model {model.name}" + (_of_seed(seed) if model.per_seed else "")
    if path.is_relative_to(plan.settings.folder):
        return str(path.relative_to(plan.settings.folder))
    return str(path)
