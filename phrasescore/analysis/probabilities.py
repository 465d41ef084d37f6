"""A score of a table as a probability, and its logarithm as Moses takes it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import PhraseTableError
from phrasescore.scoring.probability_column import FLOOR_LN
from phrasescore.table.block import TableBlock

# digits were rounded when a table was written
_MOST = 1.0001


def probabilities(block: TableBlock, column: int) -> NDArray[np.float64]:
    """Return (lines,) the score ``column``, counted from 1, of each line.

    Raises:
        SettingsError: The table has no such score.
        PhraseTableError: One is above 1.
    """
    values = block.score_column(column)
    above = np.flatnonzero(values > _MOST)
    if len(above):
        row = int(above[0])
        raise PhraseTableError(
            f"score {column} is {values[row]:g}, which is no probability",
            path=block.path,
            line=block.first_line + row,
            remedy="name another score",
        )
    return values


def logarithms(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (N,) ln p of probabilities, at least Moses's floor of -100 and at most 0."""
    with np.errstate(divide="ignore"):
        return np.clip(np.log(p), FLOOR_LN, 0.0)
