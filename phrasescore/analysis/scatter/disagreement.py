"""How strongly a model disagrees with a table about a pair.

The difference of two ln p says little by itself. A pair whose source was seen once has p = 1 in the
table whatever its target, and ln p of a model falls with every word. So a pair is compared with
pairs like it: by least squares over pairs drawn at random, ln p of the model is expected to be

    a + b * ln p of the table + c * words + d * [p of the table is 1]

with a spread that grows with the root of the number of words. What counts is by how many such
standard deviations a pair lies above or below. The model disagrees upwards if it lies above what is
expected and above the table, downwards if below both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from phrasescore.analysis.drawing import Least
from phrasescore.analysis.scatter.pairs import PairScores
from phrasescore.table.block import TableBlock
from phrasescore.table.phrase_table import Entry

_LEAST_DEVIATION = 1e-9


@dataclass(frozen=True)
class Expectation:
    """What ln p a model is expected to give a pair.

    Args:
        coefficients: (4,) a, b, c and d.
        deviation: Of a pair of one word.
    """

    coefficients: NDArray[np.float64]
    deviation: float

    @classmethod
    def of(cls, scores: PairScores) -> Expectation:
        """Fit it to pairs drawn at random, at least one."""
        roots = np.sqrt(scores.words)
        features = _features(scores) / roots[:, None]
        found = np.linalg.lstsq(features, scores.model / roots, rcond=None)[0]
        coefficients = np.asarray(found, np.float64)
        residuals = scores.model / roots - features @ coefficients
        return cls(coefficients, float(np.sqrt(np.mean(residuals**2))))

    def strengths(self, scores: PairScores) -> NDArray[np.float64]:
        """Return (N,) by how many standard deviations each pair lies above what is expected."""
        residuals = scores.model - _features(scores) @ self.coefficients
        # where all pairs lie on a line, rounding is all that is left of a deviation
        if self.deviation < _LEAST_DEVIATION:
            return np.zeros(len(residuals))
        return np.asarray(residuals / np.sqrt(scores.words) / self.deviation)


def _features(scores: PairScores) -> NDArray[np.float64]:
    one = np.ones(len(scores.table))
    return np.column_stack([one, scores.table, scores.words, scores.table == 0.0])


@dataclass(frozen=True)
class Disagreement:
    """A pair about which model and table disagree.

    Args:
        entry: Its line.
        table: ln p by the table.
        model: ln p by the model.
        words: Predicted words, </s> counted.
        strength: Standard deviations above what is expected.
    """

    entry: Entry
    table: float
    model: float
    words: int
    strength: float

    @property
    def per_word(self) -> float:
        """The difference of the two ln p, for each predicted word."""
        return (self.model - self.table) / self.words


class Strongest:
    """The strongest disagreements each way among pairs that stream past.

    Args:
        most: How many to keep of each.
        expected: What the model is expected to give.
    """

    def __init__(self, most: int, expected: Expectation) -> None:
        self._expected = expected
        self._higher: Least[Disagreement] = Least(most)
        self._lower: Least[Disagreement] = Least(most)

    def look(self, block: TableBlock, scores: PairScores) -> None:
        """Look at the pairs of the next block."""
        strengths = self._expected.strengths(scores)
        for sign, kept in ((1.0, self._higher), (-1.0, self._lower)):
            agrees = (sign * strengths <= 0) | (sign * (scores.model - scores.table) <= 0)
            numbers = np.where(agrees, np.inf, -sign * strengths)
            for row in kept.below(numbers).tolist():
                found = Disagreement(
                    block.entry(row),
                    float(scores.table[row]),
                    float(scores.model[row]),
                    int(scores.words[row]),
                    float(strengths[row]),
                )
                kept.offer(float(numbers[row]), block.first_line + row, found)

    @property
    def higher(self) -> list[Disagreement]:
        """Pairs that the model gives more than the table, the strongest first."""
        return self._higher.items()

    @property
    def lower(self) -> list[Disagreement]:
        """Pairs that the model gives less than the table, the strongest first."""
        return self._lower.items()
