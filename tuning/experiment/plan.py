"""From what is compared to command lines: which steps, on which files, in which order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from phrasescore.errors import SettingsError
from tuning.experiment.experiment_settings import ExperimentSystem
from tuning.experiment.result_files import ResultFiles, slug
from tuning.experiment.steps import (
    CommandStep,
    choosing_steps,
    decoding,
    dev_steps,
    extending,
    filtering,
    training,
    translating,
    tuning,
)


@dataclass(frozen=True)
class Plan(ResultFiles):
    """The steps of an experiment in a folder of results.

    Args:
        settings: What is compared.
        results: An absolute folder.
        moses: The binary, where real Moses decodes.
    """

    def __post_init__(self) -> None:
        folders: dict[str, str] = {}
        for system in self.settings.systems:
            other = folders.setdefault(slug(system.name), system.name)
            if other != system.name:
                raise SettingsError(
                    f"the systems {other!r} and {system.name!r} would share a folder",
                    path=self.settings.file,
                    remedy="let their names differ in letters or digits",
                )

    def steps(self) -> tuple[CommandStep, ...]:
        """Return all steps in the order in which one at a time would run, shared ones once."""
        steps = {step.name: step for step in (filtering(self),)}
        for system in self.settings.systems:
            if system.not_run:
                continue
            for step in self.preparing(system):
                steps.setdefault(step.name, step)
            for seed in self.seeds(system):
                for step in self.run_steps(system, seed):
                    steps.setdefault(step.name, step)
        return tuple(steps.values())

    def seeds(self, system: ExperimentSystem) -> tuple[int | None, ...]:
        """The seed of each run of a system; models alone translate once, if no seed is in them."""
        return self.settings.seeds if self.settings.has_seeds(system) else (None,)

    def preparing(self, system: ExperimentSystem) -> Iterator[CommandStep]:
        """Yield the steps that all runs of a system share."""
        for name in system.all_models:
            model = self.settings.model(name)
            if not model.folder and not model.per_seed:
                yield training(self, model)
        if not system.translate:
            yield from extending(self, self.tuned_system(system))

    def preparing_run(self, system: ExperimentSystem, seed: int) -> Iterator[CommandStep]:
        """Yield the steps of one run of a system that come before its tuning."""
        for name in system.all_models:
            model = self.settings.model(name)
            if not model.folder and model.per_seed:
                yield training(self, model, seed)
        if not system.translate:
            yield from extending(self, self.tuned_system(system), seed)

    def run_steps(self, system: ExperimentSystem, seed: int | None) -> Iterator[CommandStep]:
        """Yield the steps of one run of a system."""
        if seed is not None:
            yield from self.preparing_run(system, seed)
            yield from self.tuning_steps(system, seed)
        for text in self.texts:
            if seed is None or system.translate:
                yield translating(self, system, seed, text)
            elif system.rerank:
                yield from choosing_steps(self, system, seed, text)
            else:
                yield decoding(self, system, seed, text)

    def tuning_steps(self, system: ExperimentSystem, seed: int) -> Iterator[CommandStep]:
        """Yield the steps of one run that find its weights."""
        if system.translate:
            return
        yield tuning(self, self.tuned_system(system), seed)
        if system.rerank:
            yield from dev_steps(self, system, seed)

    def final_steps(self, system: ExperimentSystem, seed: int | None) -> tuple[str, ...]:
        """The names of the steps whose outputs are the translations of one run."""
        return tuple(f"{self.run_name(system, seed)}.{text.name}" for text in self.texts)
