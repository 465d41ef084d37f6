"""The result of an experiment: BLEU of each system and seed, and what of it is not chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moses_integration.bleu.statistics import References
from phrasescore.errors import CorpusError
from phrasescore.files import read_lines
from phrasescore.resuming.stamps import Stamps
from tuning.experiment.experiment_file import ExperimentSystem
from tuning.experiment.plan import TEXTS, Plan
from tuning.metrics.significance import SystemScores, compare_statistics


@dataclass(frozen=True)
class Row:
    """One system in the table.

    Args:
        system: Which.
        seeds: Those that are done.
        scores: BLEU by text, ``dev`` and ``test``; empty where no seed is done.
        tuning_seconds: By the clock, one for each seed.
        tuning_cpu_seconds: Of the processor, one for each seed.
        resumed: Whether a tuning was interrupted, so that its times miss a part.
    """

    system: ExperimentSystem
    seeds: tuple[int, ...] = ()
    scores: Mapping[str, SystemScores] = field(default_factory=dict)
    tuning_seconds: tuple[float, ...] = ()
    tuning_cpu_seconds: tuple[float, ...] = ()
    resumed: bool = False


def collect(plan: Plan, stamps: Stamps) -> tuple[Row, ...]:
    """Score what is translated so far.

    Raises:
        CorpusError: A translation has another number of lines than its references.
    """
    references = {text: References.read([plan.reference(text)]) for text in TEXTS}
    first = plan.settings.systems[0]
    baseline: dict[str, dict[str, NDArray[np.int64]]] = {text: {} for text in TEXTS}
    rows = []
    for system in plan.settings.systems:
        seeds = tuple(seed for seed in plan.settings.seeds if _is_done(plan, system, seed))
        if system.not_run or not seeds:
            rows.append(Row(system))
            continue
        scores = {}
        for text in TEXTS:
            files = [plan.translation(system, seed, text) for seed in seeds]
            counted = np.stack([_statistics(references[text], file) for file in files])
            if system is first:
                baseline[text] = {system.name: counted}
            compared = {**baseline[text], system.name: counted}
            scores[text] = compare_statistics("bleu", compared, replicas=False)[-1]
        rows.append(_timed(Row(system, seeds, scores), plan, stamps))
    return tuple(rows)


def _is_done(plan: Plan, system: ExperimentSystem, seed: int) -> bool:
    return all(plan.translation(system, seed, text).exists() for text in TEXTS)


def _statistics(references: References, file: Path) -> NDArray[np.int64]:
    """Return (sentences, 9) of a translation."""
    lines = list(read_lines(file))
    if len(lines) != len(references):
        raise CorpusError(
            f"{len(lines)} translations of {len(references)} sentences",
            path=file,
            remedy="delete the file and run the experiment again",
        )
    return references.score(np.arange(len(lines)), lines).matrix().astype(np.int64)


def _timed(row: Row, plan: Plan, stamps: Stamps) -> Row:
    found = [stamps.read(plan.tuning_step(row.system, seed)) for seed in row.seeds]
    known = [stamp for stamp in found if stamp is not None]
    return replace(
        row,
        tuning_seconds=tuple(stamp.seconds for stamp in known),
        tuning_cpu_seconds=tuple(stamp.cpu_seconds for stamp in known),
        resumed=any(stamp.attempts > 1 for stamp in known),
    )
