"""The result of an experiment: BLEU of each system and run, and what of it is not chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from moses_integration.bleu.statistics import COLUMNS
from tuning.experiment.experiment_settings import ExperimentSystem
from tuning.experiment.plan import Plan
from tuning.experiment.results.runs import StepTime, SystemRun
from tuning.metrics.significance import SystemScores, compare_statistics


@dataclass(frozen=True)
class Row:
    """One system in the table.

    Args:
        system: Which.
        seeds: Those that are done; none of models alone.
        scores: BLEU by text; without texts that no run has translated.
        tuning_seconds: By the clock, one for each seed whose tuning was not interrupted.
        tuning_cpu_seconds: Of the processor, likewise.
        resumed: Whether a tuning was interrupted, so that its times are left out.
    """

    system: ExperimentSystem
    seeds: tuple[int, ...] = ()
    scores: Mapping[str, SystemScores] = field(default_factory=dict)
    tuning_seconds: tuple[float, ...] = ()
    tuning_cpu_seconds: tuple[float, ...] = ()
    resumed: bool = False


def collect(plan: Plan, runs: Mapping[str, Sequence[SystemRun]]) -> tuple[Row, ...]:
    """Compare what is translated so far with the first system.

    Args:
        plan: The experiment.
        runs: Of each system that has any, by its name.
    """
    first = plan.settings.systems[0]
    rows = []
    for system in plan.settings.systems:
        scores = {}
        for text in plan.texts:
            baseline = () if system is first else _counted(runs.get(first.name, ()), text.name)
            if counted := _counted(runs.get(system.name, ()), text.name):
                scores[text.name] = _compared(system.name, baseline, counted)
        rows.append(_row(plan, system, runs.get(system.name, ()), scores))
    return tuple(rows)


def _counted(runs: Sequence[SystemRun], text: str) -> tuple[bytes, ...]:
    return tuple(run.statistics[text].tobytes() for run in runs if text in run.statistics)


# the table is made after each run, and most of it is as it was
@cache
def _compared(name: str, baseline: tuple[bytes, ...], counted: tuple[bytes, ...]) -> SystemScores:
    """Compare runs, (S, 9) int64 each, with those of the first system, if there are any."""
    systems = {
        key: np.stack([np.frombuffer(run, np.int64).reshape(-1, COLUMNS) for run in runs])
        for key, runs in (("", baseline), (name, counted))
        if runs
    }
    return compare_statistics("bleu", systems)[-1]


def _row(
    plan: Plan,
    system: ExperimentSystem,
    runs: Sequence[SystemRun],
    scores: Mapping[str, SystemScores],
) -> Row:
    tuned = [(run, run.seed) for run in runs if run.seed is not None]
    spent: list[list[StepTime]] = []
    for run, seed in tuned:
        names = [step.name for step in plan.tuning_steps(system, seed)]
        spent.append([run.steps[name] for name in names if name in run.steps])
    # what ran twice kept the seconds of its last part alone
    whole = [steps for steps in spent if steps and all(step.attempts == 1 for step in steps)]
    return Row(
        system,
        tuple(seed for _, seed in tuned),
        scores,
        tuple(sum(step.seconds for step in steps) for steps in whole),
        tuple(sum(step.cpu_seconds for step in steps) for steps in whole),
        any(step.attempts > 1 for steps in spent for step in steps),
    )
