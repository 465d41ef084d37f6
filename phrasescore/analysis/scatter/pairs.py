"""Pairs of a table drawn at random, and ln p of pairs by the table and by a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phrasescore.analysis.drawing import Least, random_numbers
from phrasescore.analysis.probabilities import logarithms, probabilities
from phrasescore.errors import PhrasescoreError
from phrasescore.runs.progress import Progress
from phrasescore.scoring.block_scoring import ScoringModel, must_be_numbers
from phrasescore.table.block import LINES_PER_BLOCK, TableBlock, checked_block, read_blocks
from phrasescore.table.phrase_table import Side, TableFormat

_PAIRS_AT_ONCE = 8192


@dataclass(frozen=True)
class DrawnPairs:
    """Some lines of a table.

    Args:
        path: The table.
        format: What all its lines have in common.
        numbers: Of the lines, from 1, ascending.
        lines: Their bytes, without line feeds.
        among: How many lines the table has.
    """

    path: str | Path
    format: TableFormat
    numbers: tuple[int, ...]
    lines: tuple[bytes, ...]
    among: int

    def blocks(self, pairs: int = _PAIRS_AT_ONCE) -> Iterator[TableBlock]:
        """Yield them in blocks, whose first lines are places among the drawn ones, from 1."""
        for begin in range(0, len(self.lines), pairs):
            lines = self.lines[begin : begin + pairs]
            text = b"".join(line + b"\n" for line in lines)
            yield checked_block(text, len(lines), begin + 1, self.path, self.format)


def draw_pairs(
    table: str | Path, most: int, seed: int, lines_per_block: int = LINES_PER_BLOCK
) -> DrawnPairs:
    """Draw pairs of a table, each with the same chance; all of them if there are no more.

    Args:
        table: A plain or gzip phrase table, in any order, or ``-``.
        most: How many.
        seed: For the random numbers.
        lines_per_block: How many lines to hold at a time.

    Raises:
        InputError: The table cannot be read or breaks its format.
    """
    kept: Least[tuple[int, bytes]] = Least(most)
    among = 0
    with Progress("drawing pairs", unit="lines") as progress:
        for block in read_blocks(table, lines_per_block):
            numbers = random_numbers(block.first_line + np.arange(len(block)), seed)
            for row in kept.below(numbers).tolist():
                line = block.first_line + row
                kept.offer(float(numbers[row]), line, (line, block.line(row)))
            among, found = among + len(block), block.format
            progress.advance(len(block))
    drawn = sorted(kept.items())
    return DrawnPairs(table, found, tuple(n for n, _ in drawn), tuple(t for _, t in drawn), among)


@dataclass(frozen=True)
class PairScores:
    """ln p of N pairs.

    Args:
        table: (N,) by the table, at least -100.
        model: (N,) by the model, or by another score of the table.
        words: (N,) how many words were predicted, </s> counted.
    """

    table: NDArray[np.float64]
    model: NDArray[np.float64]
    words: NDArray[np.int64]

    @classmethod
    def joined(cls, parts: Sequence[PairScores]) -> PairScores:
        """Return all pairs of some blocks."""
        return cls(
            np.concatenate([part.table for part in parts]),
            np.concatenate([part.model for part in parts]),
            np.concatenate([part.words for part in parts]),
        )


@dataclass(frozen=True)
class Scores:
    """What is compared.

    Args:
        column: The score of the table that is p, counted from 1.
        model: What gives the other p, or the number of a score that a model has written.
        factor: Which factor of a token counts.
    """

    column: int
    model: ScoringModel | int
    factor: int = 0

    @property
    def predicted(self) -> Side:
        """The side whose p is asked for, given the other."""
        return "target" if isinstance(self.model, int) else self.model.sides[1][0]

    def of(self, block: TableBlock) -> PairScores:
        """Return ln p of the pairs of a block.

        Raises:
            SettingsError: The table has no such score.
            PhraseTableError: A score is no probability, or a token lacks the factor.
            ModelError: The model gives something that is not a log-probability.
        """
        table = logarithms(probabilities(block, self.column))
        words = np.diff(block.token_spans(self.predicted, self.factor).offsets) + 1
        if isinstance(self.model, int):
            return PairScores(table, logarithms(probabilities(block, self.model)), words)
        return PairScores(table, _model_ln_p(self.model, block, self.factor), words)


def score_drawn(drawn: DrawnPairs, scores: Scores) -> list[tuple[TableBlock, PairScores]]:
    """Return pairs in blocks, with their ln p; errors name the lines of the table."""
    scored = []
    with Progress("scoring pairs", total=len(drawn.lines), unit="pairs") as progress:
        for block in drawn.blocks():
            try:
                scored.append((block, scores.of(block)))
            except PhrasescoreError as error:
                if error.line is not None:
                    error.line = drawn.numbers[error.line - 1]
                raise
            progress.advance(len(block))
    return scored


def scored_blocks(
    table: str | Path, scores: Scores, total: int, lines_per_block: int = LINES_PER_BLOCK
) -> Iterator[tuple[TableBlock, PairScores]]:
    """Yield a whole table in blocks, with ln p of their pairs.

    Args:
        table: Its file, which has been read before.
        scores: What is compared.
        total: How many lines it has.
        lines_per_block: How many lines to hold at a time.
    """
    with Progress("scoring the table", total=total, unit="pairs") as progress:
        for block in read_blocks(table, lines_per_block):
            yield block, scores.of(block)
            progress.advance(len(block))


def _model_ln_p(model: ScoringModel, block: TableBlock, factor: int) -> NDArray[np.float64]:
    read, predicted = (
        vocabulary.encode_spans(block.token_spans(side, factor)) for side, vocabulary in model.sides
    )
    ln_p = model.scorer.score(read, predicted)
    must_be_numbers(ln_p, model, block)
    return ln_p
