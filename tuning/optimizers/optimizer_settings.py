"""What a user may choose about an optimisation; imports nothing heavy, so that help is instant."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from phrasescore.runs.processes import usable_cores
from tuning.metrics.metric_settings import LengthName, Objective

if TYPE_CHECKING:
    from tuning.optimizers.optimizer import Optimizer

OptimizerName = Literal["mert", "pro", "mira"]
OPTIMIZERS: tuple[OptimizerName, ...] = ("mert", "pro", "mira")


@dataclass(frozen=True)
class OptimizerSettings:
    """Which optimiser, and how hard it tries.

    Args:
        optimizer: Minimum error rate training, pairwise ranking, or batch MIRA.
        restarts: Of MERT, how many climbs follow the first two.
        threads: Of MERT, how many search at a time; ``None`` for all cores.
    """

    optimizer: OptimizerName = "mert"
    restarts: int = 20
    threads: int | None = None

    def build(self) -> Optimizer:
        """Make the optimiser; only the one asked for is imported."""
        if self.optimizer == "pro":
            from tuning.optimizers.pro import Pro

            return Pro()
        if self.optimizer == "mira":
            from tuning.optimizers.mira import Mira

            return Mira()
        from tuning.optimizers.mert import Mert

        return Mert(self.restarts, self.threads or usable_cores())


@dataclass(frozen=True, kw_only=True)
class OptimizationSettings:
    """What is optimised, within which bounds, and by what.

    Args:
        references: Files with translations of the same text.
        optimizer: Finds weights for given lists.
        objective: What is maximised.
        reference_length: Which of several reference lengths counts in BLEU.
        freeze: Names of features or components whose weights stay.
        bounds: Bounds of weights, ``NAME=LOW..HIGH``.
        seed: Of all that is random.
    """

    references: tuple[str, ...]
    optimizer: OptimizerSettings = OptimizerSettings()
    objective: Objective = field(default_factory=Objective)
    reference_length: LengthName = "closest"
    freeze: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    seed: int = 1
