"""Counts the scores of a phrase table that Moses changes when it takes their logarithms.

Moses reads a score as float32, takes its natural logarithm and raises lower logarithms to -100.
This changes zero and every score below 3.715e-44. A few such scores are normal, but a column full
of them does not contain probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from phrasescore.errors import PhraseTableError
from phrasescore.runs.progress import Progress
from phrasescore.table.block import TableBlock, read_blocks
from phrasescore.table.phrase_table import FLOOR_LN


@dataclass
class ScoreSurvey:
    """For each score, counts of zero, floored and infinite values, and the range.

    Args:
        scores: The number of scores of a phrase pair.

    Attributes:
        lines: The number of phrase pairs.
        zeros: (scores,) int64, in how many lines each score is zero.
        floored: (scores,) in how many lines the score's logarithm is floored, zeros included.
        infinite: (scores,) in how many lines the score exceeds the largest float32, so that it is
            infinite for Moses.
        lowest: (scores,) float64, the lowest value of each score.
        highest: (scores,) float64, the highest value of each score.
    """

    scores: int
    lines: int = 0

    def __post_init__(self) -> None:
        self.zeros, self.floored, self.infinite = np.zeros((3, self.scores), np.int64)
        self.lowest, self.highest = np.full((2, self.scores), [[np.inf], [-np.inf]])

    def add(self, block: TableBlock) -> None:
        """Count the scores of some lines."""
        values = block.score_values
        with np.errstate(over="ignore", divide="ignore"):
            singles = values.astype(np.float32)
            self.floored += (np.log(singles) <= FLOOR_LN).sum(axis=0)
        self.infinite += np.isinf(singles).sum(axis=0)
        self.zeros += (values == 0).sum(axis=0)
        self.lowest = np.minimum(self.lowest, values.min(axis=0))
        self.highest = np.maximum(self.highest, values.max(axis=0))
        self.lines += len(block)

    def warnings(self) -> tuple[str, ...]:
        """Return one sentence for each score that is floored in some lines."""
        counts = zip(self.zeros.tolist(), self.floored.tolist(), strict=True)
        return tuple(
            f"score {number} {floored_share(floored, zeros, self.lines)}"
            for number, (zeros, floored) in enumerate(counts, 1)
            if floored
        )


def floored_share(floored: int, zeros: int, lines: int) -> str:
    """Describe how often a score is floored."""
    share = f"is floored at -100 by Moses in {floored:,} of {lines:,} lines ({floored / lines:.1%})"
    return share + (f", {zeros:,} of them zero" if zeros else "")


def survey_scores(path: str | Path) -> ScoreSurvey:
    """Read a whole phrase table, check every line, and count zero and floored scores.

    Raises:
        InputError: The file cannot be read.
        PhraseTableError: A line violates the format or has another number of scores, or a score is
            negative or not a finite float32; the error names the line.
    """
    survey = ScoreSurvey(0)
    with Progress("checking the table", unit="lines") as progress:
        for block in read_blocks(path):
            refuse_infinite(block)
            if not survey.lines:
                survey = ScoreSurvey(block.format.scores)
            survey.add(block)
            progress.advance(len(block))
    return survey


def refuse_infinite(block: TableBlock) -> None:
    """Refuse a score that is infinite for Moses.

    Raises:
        PhraseTableError: There is one; the error names the line.
    """
    with np.errstate(over="ignore"):
        infinite = np.isinf(block.score_values.astype(np.float32))
    for row, column in np.argwhere(infinite)[:1].tolist():
        text = block.entry(row).scores.split()[column].decode()
        raise PhraseTableError(
            f"score {column + 1} is {text}, which is infinite for Moses",
            path=block.path,
            line=block.first_line + row,
            remedy="write probabilities, which are at most 1, into the scores",
        )
