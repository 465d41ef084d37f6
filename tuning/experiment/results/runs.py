"""What one run of a system left: the statistics of its translations, its weights, its times."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moses_integration.bleu.statistics import References
from phrasescore.errors import CorpusError
from phrasescore.runs.steps import Steps
from phrasescore.table.input_files import read_lines
from tuning.experiment.experiment_settings import ExperimentSystem
from tuning.experiment.plan import Plan
from tuning.loop.weights_file import read_weights_file

Statistics = NDArray[np.int64]


@dataclass(frozen=True)
class StepTime:
    """How long a step took.

    Args:
        seconds: By the clock, the last time it ran.
        cpu_seconds: Of the processor.
        attempts: How often it was started; of several, the times miss a part.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    attempts: int = 1


@dataclass(frozen=True, eq=False)
class SystemRun:
    """One run of a system: a tuning with one seed, or models that translated alone.

    Args:
        seed: Of its tuning, or of its models; none of models alone that are the same for all.
        statistics: By text, (S, 9) of BLEU.
        weights: By feature; none of models alone.
        steps: The times of its own steps, by name.
        provenance: Where it comes from.
    """

    seed: int | None
    statistics: Mapping[str, Statistics]
    weights: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    steps: Mapping[str, StepTime] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def has_statistics_of(self, other: SystemRun) -> bool:
        """Tell whether two runs translated alike."""
        return self.statistics.keys() == other.statistics.keys() and all(
            np.array_equal(rows, other.statistics[text]) for text, rows in self.statistics.items()
        )


def step_times(names: Iterable[str], stamps: Steps) -> dict[str, StepTime]:
    """Return the times of the steps that have ended, by name."""
    found = {name: stamps.read(name) for name in names}
    return {
        name: StepTime(stamp.seconds, stamp.cpu_seconds, stamp.attempts)
        for name, stamp in found.items()
        if stamp is not None and stamp.finished
    }


class RunReader:
    """Reads what the runs of an experiment left.

    Args:
        plan: The experiment.
        stamps: Of its steps.

    Attributes:
        references: By text.
    """

    def __init__(self, plan: Plan, stamps: Steps) -> None:
        self._plan, self._stamps = plan, stamps
        self.references = {
            text.name: References.read([plan.data(text.reference)]) for text in plan.texts
        }

    def read(self, system: ExperimentSystem, done: Collection[str]) -> list[SystemRun]:
        """Return the runs of a system that are done.

        Args:
            system: A row.
            done: The names of the steps that are done.

        Raises:
            CorpusError: A translation has another number of lines than its references.
        """
        return [
            self._run(system, seed)
            for seed in self._plan.seeds(system)
            if all(name in done for name in self._plan.final_steps(system, seed))
        ]

    def _run(self, system: ExperimentSystem, seed: int | None) -> SystemRun:
        plan = self._plan
        statistics = {
            text: _statistics(references, plan.translation(system, seed, text))
            for text, references in self.references.items()
        }
        weights = {}
        if seed is not None and not system.translate:
            weights = read_weights_file(plan.weights(system, seed))
        names = (step.name for step in plan.run_steps(system, seed))
        return SystemRun(seed, statistics, weights, step_times(names, self._stamps))


def _statistics(references: References, file: Path) -> Statistics:
    """Return (S, 9) of a translation."""
    lines = list(read_lines(file))
    if len(lines) != len(references):
        raise CorpusError(
            f"{len(lines)} translations of {len(references)} sentences",
            path=file,
            remedy="delete the file and run the experiment again",
        )
    return references.score(np.arange(len(lines)), lines).astype(np.int64)
