"""Settings of an optimisation; imports no heavy library, so that ``--help`` is fast."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

from phrasescore.runs.processes import usable_cores
from tuning.metrics.metric_settings import LengthName, Objective

if TYPE_CHECKING:
    from tuning.optimizers.optimizer import Optimizer

OptimizerName = Literal["mert", "pro", "mira"]
OPTIMIZERS: tuple[OptimizerName, ...] = ("mert", "pro", "mira")


@dataclass(frozen=True, kw_only=True)
class OptimizationSettings:
    """Settings of an optimisation: the objective, the frozen weights, and the optimiser.

    Args:
        references: The reference files; all translate the same text.
        optimizer: Minimum error rate training, pairwise ranking, or batch MIRA.
        restarts: The number of MERT's climbs after the first two.
        objective: The score to maximise.
        reference_length: The rule that picks BLEU's reference length from several references.
        freeze: Names of features or components whose weights must not change.
        seed: The seed of everything random.
        threads: The number of threads; ``None`` for all cores.
    """

    references: tuple[str, ...]
    optimizer: OptimizerName = "mert"
    restarts: int = 20
    objective: Objective = field(default_factory=Objective)
    reference_length: LengthName = "closest"
    freeze: tuple[str, ...] = ()
    seed: int = 1
    threads: int | None = None

    def choose_optimizer(self, *, near: bool = False) -> Optimizer:
        """Return the chosen optimiser; import only its module.

        Args:
            near: Whether MERT stays near the start weights.
        """
        if self.optimizer == "pro":
            from tuning.optimizers.pro import run_pro

            return run_pro
        if self.optimizer == "mira":
            from tuning.optimizers.mira import run_mira

            return run_mira
        from tuning.optimizers.mert import run_mert

        threads = self.threads or usable_cores()
        return partial(run_mert, restarts=self.restarts, threads=threads, near=near)
