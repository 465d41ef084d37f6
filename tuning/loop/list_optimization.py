"""One optimisation over n-best lists on disk, from reading them to the weights file."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from moses_integration.bleu.statistics import COLUMNS, ReferenceLength, bleu_of_sums
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.moses_ini import MosesIni
from phrasescore.provenance import provenance, write_json
from tuning.loop.lists import ScoredList, read_scored, with_empty_translations
from tuning.loop.weight_plan import WeightPlan, read_weights_file
from tuning.metrics.candidate_statistics import CandidateStatistics
from tuning.metrics.metric_settings import Objective
from tuning.optimizers.candidate_pool import CandidatePool
from tuning.optimizers.optimizer_settings import OptimizerSettings


@dataclass(frozen=True)
class ListOptimization:
    """What to optimise over.

    Args:
        lists: N-best files, in the order of their rounds.
        references: Reference files.
        start: A moses.ini or weights file to begin with; ``None`` for equal influence.
        objective: What is maximised.
        reference_length: ``closest``, ``shortest`` or ``average``.
        freeze: Names of features or components whose weights stay.
        bounds: Bounds of weights, ``NAME=LOW..HIGH``.
        seed: Of all that is random.
    """

    lists: tuple[str, ...]
    references: tuple[str, ...]
    start: str | None = None
    objective: Objective = field(default_factory=Objective)
    reference_length: str = "closest"
    freeze: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    seed: int = 1


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
    """

    weights: dict[str, tuple[float, ...]]
    score: float
    start_score: float
    bleu: float
    sentences: int
    candidates: int
    seconds: float
    notes: tuple[str, ...]


def optimize_lists(
    task: ListOptimization, settings: OptimizerSettings, output: str
) -> OptimizationReport:
    """Optimise over lists and write ``output``.

    Raises:
        NBestError: A list is damaged, or out of step with the references or the start.
        SettingsError: The settings make no sense together.
    """
    statistics = CandidateStatistics(
        task.references, task.objective, ReferenceLength(task.reference_length)
    )
    plan, lists = _read(task, statistics)
    notes = [note for scored in lists for note in scored.notes]
    if plan.hidden:
        notes.append(
            f"the lists do not show all of what {', '.join(plan.hidden)} contribute: "
            "that part is left out of account"
        )
    sparse = bool(plan.sparse_weights)
    features = plan.layout.nbest.size + sparse
    pool = CandidatePool(len(statistics), features, statistics.columns)
    for scored in lists:
        scored.add_to(pool, scored.candidates.sparse if sparse else None)
    problem = plan.problem(with_empty_translations(pool, statistics), task.objective)
    begin = time.perf_counter()
    solution = settings.build().optimize(problem, np.random.default_rng(task.seed))
    report = OptimizationReport(
        weights=plan.complete(solution.weights[: plan.layout.nbest.size]),
        score=solution.score,
        start_score=solution.start_score,
        bleu=float(bleu_of_sums(problem.statistics_of(solution.weights)[:COLUMNS])),
        sentences=len(statistics),
        candidates=len(pool),
        seconds=time.perf_counter() - begin,
        notes=(*notes, *solution.notes),
    )
    write_json(output, _content(task, settings, report))
    return report


def _read(
    task: ListOptimization, statistics: CandidateStatistics
) -> tuple[WeightPlan, list[ScoredList]]:
    """Read the start and the lists, which must agree."""
    plan: WeightPlan | None = None
    weights: dict[str, tuple[float, ...]] | None = None
    if task.start is not None and task.start.endswith(".json"):
        weights = read_weights_file(task.start)
    elif task.start is not None:
        plan = WeightPlan.from_ini(MosesIni.read(task.start))
    lists = []
    for path in task.lists:
        scored = read_scored(
            path,
            statistics,
            expected=plan.expected if plan else None,
            sparse_weights=plan.sparse_weights if plan else None,
        )
        if plan is None:
            layout = FeatureLayout.from_sizes(scored.sizes)
            if weights is None:
                weights = {name: (0.0,) * size for name, size in scored.sizes.items()}
            layout.flatten(weights)  # raises where the two do not fit
            plan = WeightPlan.of(layout, weights)
        lists.append(scored)
    assert plan is not None, "there is at least one list"
    return plan.restricted(task.freeze, task.bounds), lists


def _content(
    task: ListOptimization, settings: OptimizerSettings, report: OptimizationReport
) -> dict[str, Any]:
    inputs = [*task.lists, *task.references, *([task.start] if task.start else [])]
    chosen = {
        "optimizer": dataclasses.asdict(settings),
        "objective": str(task.objective),
        "reference_length": task.reference_length,
        "freeze": list(task.freeze),
        "bounds": list(task.bounds),
        "seed": task.seed,
    }
    return {
        "weights": {name: list(values) for name, values in report.weights.items()},
        "bleu": report.bleu,
        "score": report.score,
        "start_score": report.start_score,
        "sentences": report.sentences,
        "candidates": report.candidates,
        "seconds": round(report.seconds, 3),
        "notes": list(report.notes),
        "provenance": provenance(inputs=inputs, settings=chosen),
    }
