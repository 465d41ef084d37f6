"""Scores of a normaliser: word accuracy and character error rate, with intervals.

The measures follow Bollmann (2019), "A Large-Scale Comparison of Historical Text Normalization
Systems", section 4.2. Word accuracy is the share of words with the correct form; the error rate is
the mean over words of the Levenshtein distance divided by the length of the normal form.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rapidfuzz.distance import Levenshtein

from tuning.metrics.metric_settings import TEST_SEED
from tuning.metrics.score_tables import ScoreTable, points
from tuning.normalisation.normaliser import Normaliser
from tuning.normalisation.word_pairs import Words

_DRAWS = 1000


@dataclass(frozen=True)
class Score:
    """A mean over words, with its 95 % interval by the bootstrap (Koehn 2004)."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{points(self.mean)} ({points(self.low)}–{points(self.high)})"


@dataclass(frozen=True)
class WordScores:
    """The scores of a set of words.

    Args:
        name: The name of the set.
        words: The number of words.
        accuracy: The share of words with the correct form.
        cer: The character error rate.
    """

    name: str
    words: int
    accuracy: Score
    cer: Score

    @classmethod
    def from_forms(cls, name: str, found: Sequence[str], wanted: Sequence[str]) -> WordScores:
        """Compare forms with the correct ones."""
        values = np.array(
            [
                (form == right, Levenshtein.distance(form, right) / len(right))
                for form, right in zip(found, wanted, strict=True)
            ],
            np.float64,
        )
        rng, count = np.random.default_rng(TEST_SEED), len(values)
        drawn = [values[rng.integers(count, size=count)].mean(0) for _ in range(_DRAWS)]
        figures = np.stack([values.mean(0), *np.percentile(drawn, [2.5, 97.5], axis=0)])
        accuracy, cer = (Score(*column) for column in figures.T.tolist())
        return cls(name, count, accuracy, cer)


@dataclass(frozen=True)
class Evaluation:
    """The scores of all words, of known and unknown words, and of leaving all words unchanged."""

    scores: tuple[WordScores, ...]

    def to_text(self) -> str:
        """Return the scores as a table."""
        rows = [
            [each.name, f"{each.words:,}", str(each.accuracy), str(each.cer)]
            for each in self.scores
        ]
        return ScoreTable(["", "words", "accuracy", "CER"], rows).to_text()

    def to_json(self) -> dict[str, Any]:
        """Return the scores as JSON values."""
        return {each.name: dataclasses.asdict(each) for each in self.scores}


def evaluate(normaliser: Normaliser, pairs: Words) -> Evaluation:
    """Normalise words, and compare them with their normal forms."""
    best = normaliser.forms(pairs.words)
    found = [best[word][0] for word in pairs.words]
    known = np.array([word in normaliser.memory.forms for word in pairs.words])
    groups = {
        "all words": np.ones(len(known), np.bool_), "known words": known, "unknown words": ~known
    }  # fmt: skip
    scores = [
        WordScores.from_forms(
            name,
            [found[place] for place in np.flatnonzero(chosen)],
            [pairs.forms[place] for place in np.flatnonzero(chosen)],
        )
        for name, chosen in groups.items()
        if chosen.any()
    ]
    return Evaluation((*scores, WordScores.from_forms("unchanged", pairs.words, pairs.forms)))
