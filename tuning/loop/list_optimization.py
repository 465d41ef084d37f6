"""One optimisation over n-best lists on disk, from reading them to the weights file."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from moses_integration.bleu.statistics import COLUMNS, bleu_of_sums
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.moses_ini import MosesIni
from phrasescore.errors import IniError
from phrasescore.runs.identity import provenance
from tuning.loop.lists import ScoredList, read_scored, with_empty_translations
from tuning.loop.weight_plan import WeightPlan
from tuning.loop.weights_file import read_weights_file
from tuning.metrics.candidate_statistics import CandidateStatistics
from tuning.optimizers.candidate_pool import CandidatePool
from tuning.optimizers.optimizer_settings import OptimizationSettings


@dataclass(frozen=True, kw_only=True)
class ListOptimization(OptimizationSettings):
    """What to optimise over.

    Args:
        lists: N-best files, in the order of their rounds.
        start: A moses.ini or weights file to begin with; ``None`` for equal influence. Features of
            the lists that a weights file does not name begin with 0.
    """

    lists: tuple[str, ...]
    start: str | None = None

    def provenance(self) -> dict[str, Any]:
        """Return where the result comes from."""
        inputs = [*self.lists, *self.references, *([self.start] if self.start else [])]
        settings = dataclasses.asdict(self)
        for path in ("lists", "references", "start"):
            del settings[path]
        return provenance(inputs=inputs, settings={**settings, "objective": str(self.objective)})


@dataclass(frozen=True)
class OptimizationReport:
    """What came out.

    Args:
        weights: By feature.
        score: The objective that they reach on the lists.
        start_score: The same for the weights it began with.
        bleu: Corpus BLEU of what they choose.
        sentences: How many sentences.
        candidates: How many different candidates.
        seconds: What the optimiser itself took.
        notes: What the user should know.
        provenance: Where it comes from.
    """

    weights: dict[str, tuple[float, ...]]
    score: float
    start_score: float
    bleu: float
    sentences: int
    candidates: int
    seconds: float
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the content of a weights file."""
        return {**vars(self), "seconds": round(self.seconds, 3)}


def optimize_lists(task: ListOptimization) -> OptimizationReport:
    """Optimise over lists.

    Raises:
        NBestError: A list is damaged, or out of step with the references or the start.
        SettingsError: The settings make no sense together.
    """
    statistics = CandidateStatistics(task.references, task.objective, task.reference_length)
    plan, lists, notes = _read(task, statistics)
    notes += [note for scored in lists for note in scored.notes]
    if plan.hidden:
        notes.append(plan.hidden_note)
    sparse = bool(plan.sparse_weights)
    features = plan.layout.nbest.size + sparse
    pool = CandidatePool(len(statistics), features, statistics.columns)
    for scored in lists:
        scored.add_to(pool, scored.candidates.sparse if sparse else None)
    problem = plan.problem(with_empty_translations(pool, statistics), task.objective)
    begin = time.perf_counter()
    solution = task.optimizer.build().optimize(problem, np.random.default_rng(task.seed))
    return OptimizationReport(
        weights=plan.complete(solution.weights[: plan.layout.nbest.size]),
        score=solution.score,
        start_score=solution.start_score,
        bleu=float(bleu_of_sums(problem.statistics_of(solution.weights)[:COLUMNS])),
        sentences=len(statistics),
        candidates=len(pool),
        seconds=time.perf_counter() - begin,
        notes=(*notes, *solution.notes),
        provenance=task.provenance(),
    )


def _read(
    task: ListOptimization, statistics: CandidateStatistics
) -> tuple[WeightPlan, list[ScoredList], list[str]]:
    """Read the start and the lists, which must agree; return notes, too."""
    plan: WeightPlan | None = None
    weights: dict[str, tuple[float, ...]] | None = None
    if task.start is not None and task.start.endswith(".json"):
        weights = read_weights_file(task.start)
    elif task.start is not None:
        plan = WeightPlan.from_ini(MosesIni.read(task.start))
    lists, notes = [], []
    for path in task.lists:
        scored = read_scored(
            path,
            statistics,
            expected=plan.expected if plan else None,
            sparse_weights=plan.sparse_weights if plan else None,
        )
        if plan is None:
            layout = FeatureLayout.from_sizes(scored.sizes)
            zeros = {name: (0.0,) * size for name, size in scored.sizes.items()}
            if weights and (new := [name for name in zeros if name not in weights]):
                notes.append(f"{task.start} has no weight for {', '.join(new)}: the start is 0")
            start = {**zeros, **(weights or {})}
            try:
                layout.flatten(start)
            except IniError as error:
                raise error.at(task.start or path) from None
            plan = WeightPlan.of(layout, start)
        lists.append(scored)
    assert plan is not None, "there is at least one list"
    return plan.restricted(task.freeze, task.bounds), lists, notes
