"""A look at every score of a phrase table: what Moses's logarithm would make of it.

Moses reads a score as float32, takes the natural logarithm and floors it at -100; zero is floored,
and so is all below 3.715e-44. A few such scores are normal. A column full of them says that
something else than probabilities was written.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled
from phrasescore.errors import PhraseTableError
from phrasescore.runs.progress import Progress
from phrasescore.table.block import TableBlock, read_blocks
from phrasescore.table.byte_scanning import BLANKS, parse_decimal, token_begin
from phrasescore.table.scanning import SCORES, SCORES_END

_FLOOR_LN = -100.0
# well inside the range of float32 (1e-45 to 3e38), and of what is not floored
_LEAST_ORDINARY, _LARGEST_ORDINARY = 1e-40, 1e37


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
            if not lines:
                zeros = floored = np.zeros(block.format.scores, np.int64)
            small, zero = _extremes(block)
            floored, zeros, lines = floored + small, zeros + zero, lines + len(block)
            progress.advance(len(block))
    return ScoreSurvey(lines, len(zeros), tuple(map(int, zeros)), tuple(map(int, floored)))


def _extremes(block: TableBlock) -> tuple[Any, Any]:
    """Return, for each score, how many are floored and how many of those are zero."""
    found = Extremes.of(block.data, block.spans, block.format.scores)
    if len(infinite := np.flatnonzero(found.infinite)):
        row, column, begin, end = found.places[infinite[0]].tolist()
        raise PhraseTableError(
            f"score {column + 1} is {block.text[begin:end].decode()}, which is infinite for Moses",
            path=block.path,
            line=block.first_line + row,
            remedy="write probabilities, which are at most 1, into the scores",
        )
    return found.count(found.floored), found.count(found.zero)


@dataclass(frozen=True)
class Extremes:
    """The scores of some lines that come near the ends of float32, or may.

    Args:
        scores: How many scores each line has.
        places: (n, 4) int64: line, score (from 0), begin and end of each.
        floored: (n,) bool, whether Moses floors its logarithm, as it does that of zero.
        zero: (n,) bool, whether it is zero.
        infinite: (n,) bool, whether it is beyond the largest float32.
    """

    scores: int
    places: NDArray[np.int64]
    floored: NDArray[np.bool_]
    zero: NDArray[np.bool_]
    infinite: NDArray[np.bool_]

    @classmethod
    def of(cls, data: NDArray[np.uint8], spans: NDArray[np.int64], scores: int) -> Extremes:
        """Look at the scores of checked lines.

        Args:
            data: uint8, their bytes.
            spans: (lines, 6) int64; the last two columns are begin and end of the scores.
            scores: How many scores a line has.
        """
        places = np.empty((len(spans) * scores, 4), np.int64)
        places = places[: find_extremes(data, spans, places)]
        texts = [data[begin:end].tobytes() for _, _, begin, end in places.tolist()]
        exact = np.array([float(text) for text in texts], np.float64)
        with np.errstate(over="ignore", divide="ignore"):
            values = exact.astype(np.float32)
            floored = np.log(values) <= _FLOOR_LN
        return cls(scores, places, floored, exact == 0, np.isinf(values))

    def count(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """(scores,) int64: how many of the chosen ones belong to each score."""
        return np.bincount(self.places[chosen, 1], minlength=self.scores)


@compiled
def find_extremes(data: Any, spans: Any, places: Any) -> int:
    """Find the scores that may be zero, floored or infinite, and return how many there are.

    Args:
        data: uint8, the bytes of checked lines.
        spans: (lines, 6) int64; the last two columns are begin and end of the scores.
        places: (lines * scores, 4) int64, filled: line, score (from 0), begin and end of each.
    """
    data, spans, places = borrowed((data, spans, places))
    count = 0
    for line in range(len(spans)):
        begin, end = spans[line, SCORES], spans[line, SCORES_END]
        score = 0
        while begin < end:
            value, stop, _ = parse_decimal(data, begin, end)
            if not _LEAST_ORDINARY < value < _LARGEST_ORDINARY:
                places[count, 0], places[count, 1] = line, score
                places[count, 2], places[count, 3] = begin, stop
                count += 1
            score += 1
            begin = token_begin(data, stop, end, BLANKS)
    return count
