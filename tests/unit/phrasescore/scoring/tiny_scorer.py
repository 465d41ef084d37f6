"""A tiny deterministic scorer that computes ln p from a formula over ids instead of a network."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.model.kinds import Direction
from phrasescore.scoring.block_scoring import (
    BlockScorer,
    ReadyModels,
    ScoringModel,
    ScoringSettings,
)
from phrasescore.scoring.table_rescoring import Rescoring
from phrasescore.words.token_sequences import TokenSequences
from phrasescore.words.vocabulary import NO_OUTSIDE_WORDS, OutsideWords, Vocabulary
from tests.support.random_models import words_alone


def tiny_ln_p(source: list[int], target: list[int], scale: float = 1.0) -> float:
    """Return the log-probability of one pair of id lists."""
    return -scale * (0.5 + 0.125 * sum(source) + 0.25 * sum(i * t for i, t in enumerate(target, 1)))


class TinyScorer:
    """A scorer with ``tiny_ln_p`` that can kill its process at a given call, like SIGKILL."""

    def __init__(self, scale: float = 1.0, killed_at_call: int | None = None) -> None:
        self.scale, self.killed_at_call, self.calls = scale, killed_at_call, 0

    def score(self, sources: TokenSequences, targets: TokenSequences) -> NDArray[np.float64]:
        self.calls += 1
        if self.calls == self.killed_at_call:
            os.kill(os.getpid(), signal.SIGKILL)
        positions = np.arange(len(targets.tokens)) - np.repeat(
            targets.offsets[:-1], targets.lengths
        )
        predicted = _sums((positions + 1.0) * targets.tokens, targets)
        read = _sums(sources.tokens.astype(np.float64), sources)
        return -self.scale * (0.5 + 0.125 * read + 0.25 * predicted)


def _sums(values: NDArray[np.float64], sequences: TokenSequences) -> NDArray[np.float64]:
    # sums of small multiples of 1 are exact, and so are differences of running sums
    return np.diff(np.r_[0.0, np.cumsum(values)][sequences.offsets])


def tiny_model(
    name: str = "tiny",
    scorer: Any = None,
    words: Sequence[Sequence[bytes]] = ((b"la", b"maison", b"un"), (b"the", b"house")),
    direction: Direction = "source-target",
    outside: OutsideWords = NO_OUTSIDE_WORDS,
) -> ScoringModel:
    loaded = words_alone(*map(Vocabulary.from_words, words), direction, name)
    return ScoringModel(name, loaded, scorer or TinyScorer(), outside)


def rescore(table: str | Path, output: str | Path, **changes: Any) -> dict[str, Any]:
    """Score a table; return the figures of the run."""
    models = changes.pop("models", [tiny_model()])
    settings = changes.pop("settings", ScoringSettings())
    identities = tuple((each.loaded.digest, each.loaded.direction) for each in models)
    ready = ReadyModels(identities, 0, changes.pop("numerics", {}))
    names, scorer = [each.name for each in models], BlockScorer(models, settings)
    rescoring = Rescoring(table, output, names, ready, settings, scorer)
    return rescoring.figures(rescoring.run(**{"lines_per_block": 4, **changes}))


if __name__ == "__main__":
    # TABLE OUTPUT LINES-PER-BLOCK KILLED-AT-CALL (0: not at all); prints the peak memory in KiB
    table, output, lines_per_block, killed_at_call = sys.argv[1:]
    scorer = TinyScorer(killed_at_call=int(killed_at_call))
    models = [tiny_model(scorer=scorer)]
    rescore(table, output, models=models, lines_per_block=int(lines_per_block))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
