"""What a user may choose about tuning; imports nothing heavy, so that help is instant."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from phrasescore.runs.identity import provenance, sha256_of
from tuning.optimizers.optimizer_settings import OptimizationSettings

if TYPE_CHECKING:
    from moses_integration.ini.moses_ini import MosesIni

DecoderName = Literal["embedded", "moses"]


@dataclass(frozen=True)
class DecoderSettings:
    """Which decoder, and how it searches.

    Args:
        name: The embedded one or real Moses.
        moses: The binary of real Moses or its folder; ``None`` to look for it.
        threads: How many sentences at a time; ``None`` for as many as there are cores.
        sections: Settings of the search that replace those of the system, by section.
    """

    name: DecoderName = "embedded"
    moses: str | None = None
    threads: int | None = None
    sections: Mapping[str, str] | None = None


@dataclass(frozen=True)
class StopRules:
    """When tuning ends.

    Besides, it ends when a round finds no new candidate.

    Args:
        rounds: After this many optimisations.
        patience: After this many rounds without a better score on the dev set; 0 for no such rule.
        weights: Whether to end when no weight moves by 0.00001, as Moses does.
    """

    rounds: int = 25
    patience: int = 5
    weights: bool = True


@dataclass(frozen=True, kw_only=True)
class TuningSettings(OptimizationSettings):
    """What to tune, and how; ``seed`` is that of the first run, the next have the next ones.

    Args:
        ini: The system; its paths resolve against the current directory.
        source: The dev set, tokenised.
        decoder: Makes lists.
        stop: When a run ends.
        nbest_size: How many different translations of a sentence a round asks for.
        runs: How many runs.
    """

    ini: str
    source: str
    decoder: DecoderSettings = DecoderSettings()
    stop: StopRules = StopRules()
    nbest_size: int = 100
    runs: int = 1

    @property
    def seeds(self) -> tuple[int, ...]:
        """One for each run."""
        return tuple(range(self.seed, self.seed + self.runs))

    def identity(self, ini: MosesIni) -> dict[str, Any]:
        """Return what makes a run this run, as JSON values.

        When to stop, how many runs there are and how many threads work is not part of it: a
        folder may be gone on with for longer.
        """
        from moses_integration.ini.model_files import path_keys

        models = {
            f"{line.name} {key}": _size(line.options[key])
            for line in ini.features
            for key in path_keys(line)
        }
        return {
            "moses.ini": sha256_of(self.ini),
            "source": sha256_of(self.source),
            "references": [sha256_of(path) for path in self.references],
            "sizes of tables and models": models,
            "optimizer": self.optimizer.optimizer,
            "number of restarts": self.optimizer.restarts,
            "decoder": self.decoder.name,
            "settings of the search": dict(self.decoder.sections or {}),
            "n-best size": self.nbest_size,
            "seed": self.seed,
            "objective": str(self.objective),
            "reference length": self.reference_length,
            "frozen weights": list(self.freeze),
            "bounds": list(self.bounds),
        }

    def provenance(self) -> dict[str, Any]:
        """Return where the result comes from."""
        settings = dataclasses.asdict(self)
        for path in ("ini", "source", "references"):
            del settings[path]
        return provenance(inputs=[self.ini, self.source, *self.references], settings=settings)


def _size(path: str) -> int | None:
    return Path(path).stat().st_size if Path(path).is_file() else None
