"""What a user may choose about an optimisation, as one closed record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

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
        threads: Of MERT, how many climbs run at a time.
    """

    optimizer: OptimizerName = "mert"
    restarts: int = 20
    threads: int = 1

    def build(self) -> Optimizer:
        """Make the optimiser; only the one asked for is imported."""
        if self.optimizer == "pro":
            from tuning.optimizers.pro import Pro

            return Pro()
        if self.optimizer == "mira":
            from tuning.optimizers.mira import Mira

            return Mira()
        from tuning.optimizers.mert import Mert

        return Mert(self.restarts, self.threads)
