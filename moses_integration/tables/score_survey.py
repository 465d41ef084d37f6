"""A look at every score of a phrase table: what Moses's logarithm would make of it.

Moses reads a score as float32, takes the natural logarithm and floors it at -100; zero is floored,
and so is all below 3.715e-44. A few such scores are normal. A column full of them says that
something else than probabilities was written.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import PhraseTableError
from phrasescore.runs.progress import Progress
from phrasescore.table.block import TableBlock, read_blocks

_FLOOR_LN = -100.0


@dataclass(frozen=True)
class ScoreSurvey:
    """What the scores of a whole table are like.

    Args:
        lines: How many phrase pairs there are.
        scores: How many scores each has.
        zeros: For each score, in how many lines it is zero.
        floored: For each score, in how many lines its logarithm is floored, zeros included.
    """

    lines: int
    scores: int
    zeros: tuple[int, ...]
    floored: tuple[int, ...]

    def warnings(self) -> tuple[str, ...]:
        """Say which scores are floored, one sentence for each."""
        return tuple(
            f"score {number} {floored_share(floored, zeros, self.lines)}"
            for number, (zeros, floored) in enumerate(zip(self.zeros, self.floored, strict=True), 1)
            if floored
        )


def floored_share(floored: int, zeros: int, lines: int) -> str:
    """Say in how many of the lines a score is floored."""
    share = f"is floored at -100 by Moses in {floored:,} of {lines:,} lines ({floored / lines:.1%})"
    return share + (f", {zeros:,} of them zero" if zeros else "")


def survey_scores(path: str | Path) -> ScoreSurvey:
    """Read a whole phrase table, check every line, and count zero and floored scores.

    Raises:
        InputError: The file cannot be read.
        PhraseTableError: A line breaks the format or has another number of scores, or a score is
            negative or not a finite float32; the error names the line.
    """
    lines = 0
    zeros = floored = np.zeros(0, np.int64)
    with Progress("checking the table", unit="lines") as progress:
        for block in read_blocks(path):
            refuse_infinite(block)
            if not lines:
                zeros = floored = np.zeros(block.format.scores, np.int64)
            values = block.score_values
            zeros, floored = zeros + (values == 0).sum(axis=0), floored + floored_counts(values)
            lines += len(block)
            progress.advance(len(block))
    return ScoreSurvey(lines, len(zeros), tuple(zeros.tolist()), tuple(floored.tolist()))


def floored_counts(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """(scores,) int64: in how many lines Moses floors each score, given (lines, scores) float64."""
    with np.errstate(over="ignore", divide="ignore"):
        floored = np.log(values.astype(np.float32)) <= _FLOOR_LN
    counts: NDArray[np.int64] = floored.sum(axis=0)
    return counts


def infinite_scores(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which scores are beyond the largest float32, which Moses takes for infinite."""
    with np.errstate(over="ignore"):
        return np.isinf(values.astype(np.float32))


def refuse_infinite(block: TableBlock) -> None:
    """Refuse a score that is infinite for Moses.

    Raises:
        PhraseTableError: There is one; the error names the line.
    """
    for row, column in np.argwhere(infinite_scores(block.score_values))[:1].tolist():
        text = block.entry(row).scores.split()[column].decode()
        raise PhraseTableError(
            f"score {column + 1} is {text}, which is infinite for Moses",
            path=block.path,
            line=block.first_line + row,
            remedy="write probabilities, which are at most 1, into the scores",
        )
