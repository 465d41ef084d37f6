"""Settings of optimisation, tuning and reranking; imports no heavy library."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from phrasescore.runs.identity import provenance, sha256_of
from phrasescore.runs.processes import usable_cores
from tuning.metrics.metric_settings import LengthName, Objective

if TYPE_CHECKING:
    from moses_integration.ini.moses_ini import MosesIni
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


LIMITS = ("rounds", "runs")  # the limits of tuning
DecoderName = Literal["embedded", "moses"]


@dataclass(frozen=True, kw_only=True)
class TuningSettings(OptimizationSettings):
    """Settings of tuning; the first run has seed ``seed``, further runs the seeds after it.

    Args:
        ini: The system; relative paths in it start at the current directory.
        source: The dev set, tokenised.
        decoder: The embedded decoder or real Moses.
        moses: The binary of real Moses or its folder; ``None`` to search for the binary.
        sections: Search settings that override the moses.ini, by section name.
        nbest_size: The maximum number of distinct translations per sentence and round.
        rounds: The maximum number of optimisations.
        runs: The number of runs.
    """

    ini: str
    source: str
    decoder: DecoderName = "embedded"
    moses: str | None = None
    sections: Mapping[str, str] = field(default_factory=dict)
    nbest_size: int = 100
    rounds: int = 8
    runs: int = 1

    @property
    def files(self) -> tuple[str, ...]:
        """The input files other than tables and models."""
        return self.ini, self.source, *self.references

    def recorded(self, ini: MosesIni) -> dict[str, Any]:
        """Return everything that decoding and optimising depend on, except the input files.

        The number of threads changes no result. ``LIMITS`` names the settings that may change.
        """
        from moses_integration.ini.model_files import named_paths

        settings = dataclasses.asdict(self)
        for name in ("ini", "source", "references", "moses", "threads"):
            del settings[name]
        models = {
            f"{line.name} {key}": _size_or_digest(Path(path))
            for line, key, path in named_paths(ini)
        }
        return {
            **settings,
            "objective": str(self.objective),
            "tables and models": models,
            "several seeds": self.runs > 1,
        }

    def provenance(self) -> dict[str, Any]:
        """Return the digests of the inputs, the settings and the program version."""
        settings = dataclasses.asdict(self)
        for path in ("ini", "source", "references"):
            del settings[path]
        return provenance(inputs=self.files, settings=settings)


def _size_or_digest(path: Path) -> int | str | None:
    """Return the size of a file, which may be large, or the digest of a model folder."""
    if path.is_dir():
        from phrasescore.model.folder import DIGESTS

        return sha256_of(path / DIGESTS) if (path / DIGESTS).is_file() else None
    return path.stat().st_size if path.is_file() else None


@dataclass(frozen=True)
class RiskSettings:
    """Settings of minimum-Bayes-risk decoding.

    Args:
        size: The number of distinct candidates to compare.
        scale: The factor of the model scores, 0 or more.
    """

    size: int = 200
    scale: float = 1.0
