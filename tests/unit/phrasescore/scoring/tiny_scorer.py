"""A real, tiny, deterministic scorer: ln p from a formula over ids, in the place of a network."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.scoring.block_scoring import ScoringModel, ScoringSettings
from phrasescore.scoring.table_rescoring import RescoringReport, rescore_table
from phrasescore.token_sequences import TokenSequences
from phrasescore.vocabulary import Vocabulary


def tiny_ln_p(source: list[int], target: list[int], scale: float = 1.0) -> float:
    """The log-probability of one pair of id lists."""
    return -scale * (0.5 + 0.125 * sum(source) + 0.25 * sum(i * t for i, t in enumerate(target, 1)))


class TinyScorer:
    """Scores by ``tiny_ln_p``; can kill its own process at a given call, as kill -9 would."""

    def __init__(self, scale: float = 1.0, killed_at_call: int | None = None) -> None:
        self.scale, self.killed_at_call, self.calls = scale, killed_at_call, 0

    def score(self, sources: TokenSequences, targets: TokenSequences) -> NDArray[np.float64]:
        self.calls += 1
        if self.calls == self.killed_at_call:
            os.kill(os.getpid(), signal.SIGKILL)
        pairs = zip(range(len(sources)), range(len(targets)), strict=True)
        return np.array(
            [tiny_ln_p(sources[s].tolist(), targets[t].tolist(), self.scale) for s, t in pairs]
        )


def tiny_model(
    name: str = "tiny", scorer: TinyScorer | None = None, **changes: Any
) -> ScoringModel:
    values: dict[str, Any] = {
        "name": name,
        "source_vocabulary": Vocabulary.from_words([b"la", b"maison", b"un"]),
        "target_vocabulary": Vocabulary.from_words([b"the", b"house"]),
        "direction": "source-target",
        "digest": name,
        "scorer": scorer or TinyScorer(),
    }
    return ScoringModel(**{**values, **changes})


def rescore(table: str | Path, output: str | Path, **changes: Any) -> RescoringReport:
    values: dict[str, Any] = {
        "models": [tiny_model()],
        "settings": ScoringSettings(),
        "numerics": {},
        "lines_per_block": 4,
    }
    return rescore_table(table, output, **{**values, **changes})


if __name__ == "__main__":
    table, output, killed_at_call = sys.argv[1:]
    rescore(
        table, output, models=[tiny_model(scorer=TinyScorer(killed_at_call=int(killed_at_call)))]
    )
