"""Figure 3 of Cho et al. (2014): ln p of phrase pairs by a model against ln p by their table.

The difference of the two ln p says little by itself. A pair whose source was seen once has p = 1 in
the table whatever its target is, and the model's ln p falls with every word. Each pair is therefore
compared with similar pairs: a least-squares fit over randomly drawn pairs predicts the model's ln p
as

    a + b * ln p of the table + c * words + d * [p of the table is 1]

with a standard deviation that grows with the square root of the number of words. The strength of a
disagreement is the number of standard deviations between a pair and its prediction. The model is
"higher" on a pair if its ln p exceeds both the prediction and the table's ln p, and "lower" if its
ln p is below both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from phrasescore.analysis.table_lines import LowestItems, logarithms, probabilities, random_numbers
from phrasescore.errors import PhrasescoreError, counted
from phrasescore.runs.file_kinds import refuse_pipe
from phrasescore.runs.progress import Progress
from phrasescore.scoring.block_scoring import ScoringModel, must_be_numbers
from phrasescore.table.block import LINES_PER_BLOCK, TableBlock, checked_block, read_blocks
from phrasescore.table.phrase_table import Entry, Side, TableFormat

NEAR, FAR = 1.0, 5.0  # nats
_PAIRS_AT_ONCE = 8192
# if all pairs lie exactly on the fitted plane, a smaller deviation is rounding error
_MIN_DEVIATION = 1e-9


# -- pairs and their two scores ----------------------------------------------------------------


@dataclass(frozen=True)
class DrawnPairs:
    """Randomly drawn lines of a table.

    Args:
        path: The table.
        format: The format that all its lines share.
        numbers: Line numbers from 1, ascending.
        lines: The bytes of the lines, without line feeds.
        among: Number of lines of the whole table.
    """

    path: str | Path
    format: TableFormat
    numbers: tuple[int, ...]
    lines: tuple[bytes, ...]
    among: int

    def blocks(self, pairs: int = _PAIRS_AT_ONCE) -> Iterator[TableBlock]:
        """Yield the lines in blocks; a block counts its lines among the drawn ones, from 1."""
        for begin in range(0, len(self.lines), pairs):
            lines = self.lines[begin : begin + pairs]
            text = b"".join(line + b"\n" for line in lines)
            yield checked_block(text, len(lines), begin + 1, self.path, self.format)


def draw_pairs(
    table: str | Path, count: int, seed: int, lines_per_block: int = LINES_PER_BLOCK
) -> DrawnPairs:
    """Draw a uniform sample of a table's pairs; all pairs if the table has no more than ``count``.

    Args:
        table: A plain or gzip phrase table, in any order, or ``-``.
        count: Number of pairs to draw.
        seed: Seed of the random numbers.
        lines_per_block: Number of lines to hold in memory at a time.

    Raises:
        InputError: The table cannot be read or breaks its format.
    """
    kept: LowestItems[tuple[int, bytes]] = LowestItems(count)
    among = 0
    with Progress("drawing pairs", unit="lines") as progress:
        for block in read_blocks(table, lines_per_block):
            numbers = random_numbers(block.first_line + np.arange(len(block)), seed)
            rows = kept.candidates(numbers)
            lines = ((block.first_line + row, block.line(row)) for row in rows.tolist())
            kept.add(numbers[rows], lines)
            among, found = among + len(block), block.format
            progress.advance(len(block))
    drawn = sorted(kept.items())
    return DrawnPairs(table, found, tuple(n for n, _ in drawn), tuple(t for _, t in drawn), among)


@dataclass(frozen=True)
class PairScores:
    """ln p of N pairs.

    Args:
        table: (N,) ln p by the table, at least -100.
        model: (N,) ln p by the model, or by another score of the table.
        words: (N,) number of predicted words, </s> included.
    """

    table: NDArray[np.float64]
    model: NDArray[np.float64]
    words: NDArray[np.int64]


@dataclass(frozen=True)
class Scores:
    """The two scores to compare.

    Args:
        column: Number of the table's score, counted from 1.
        model: The model, or the number of a score that a model has written into the table.
        factor: The factor of factored tokens that the model reads.
    """

    column: int
    model: ScoringModel | int
    factor: int = 0

    @property
    def predicted(self) -> Side:
        """The predicted side: p(this side | other side)."""
        return "target" if isinstance(self.model, int) else self.model.sides[1][0]

    def score(self, block: TableBlock) -> PairScores:
        """Return both ln p of each pair of a block.

        Raises:
            SettingsError: The table has no such score.
            PhraseTableError: A score is above 1, or a token lacks the factor.
            ModelError: The model returns a value that is not a log-probability.
        """
        table = logarithms(probabilities(block, self.column))
        words = np.diff(block.token_spans(self.predicted, self.factor).offsets) + 1
        if isinstance(self.model, int):
            return PairScores(table, logarithms(probabilities(block, self.model)), words)
        read, predicted = (
            vocabulary.encode_spans(block.token_spans(side, self.factor))
            for side, vocabulary in self.model.sides
        )
        ln_p = self.model.scorer.score(read, predicted)
        must_be_numbers(ln_p, self.model, block)
        return PairScores(table, ln_p, words)


ScoredBlock: TypeAlias = tuple[TableBlock, PairScores]


def score_drawn(drawn: DrawnPairs, scores: Scores) -> list[ScoredBlock]:
    """Return the drawn pairs in blocks with their scores; errors name the table's own lines."""
    scored = []
    with Progress("scoring pairs", total=len(drawn.lines), unit="pairs") as progress:
        for block in drawn.blocks():
            try:
                scored.append((block, scores.score(block)))
            except PhrasescoreError as error:
                if error.line is not None:
                    error.line = drawn.numbers[error.line - 1]
                raise
            progress.advance(len(block))
    return scored


def _scored_blocks(table: str | Path, scores: Scores, total: int) -> Iterator[ScoredBlock]:
    """Yield a whole table of ``total`` lines in blocks, with the scores of their pairs."""
    with Progress("scoring the table", total=total, unit="pairs") as progress:
        for block in read_blocks(table):
            yield block, scores.score(block)
            progress.advance(len(block))


# -- agreement over all pairs ------------------------------------------------------------------


@dataclass(frozen=True)
class Agreement:
    """Statistics over the drawn pairs.

    Args:
        pearson: Correlation of the two ln p; ``None`` if one of them is constant.
        spearman: Rank correlation; equal values share their mean rank.
        near: Share of pairs whose two ln p differ by at most 1 nat.
        far: Share of pairs whose two ln p differ by more than 5 nats.
        above: Share of pairs to which the model gives a higher probability than the table.
        mean_table: Mean ln p by the table.
        mean_model: Mean ln p by the model.
    """

    pearson: float | None
    spearman: float | None
    near: float
    far: float
    above: float
    mean_table: float
    mean_model: float

    @classmethod
    def from_scores(cls, scores: PairScores) -> Agreement:
        """Compare the two ln p of one or more pairs."""
        difference = scores.model - scores.table
        return cls(
            _correlation(scores.table, scores.model),
            _correlation(_ranks(scores.table), _ranks(scores.model)),
            float((np.abs(difference) <= NEAR).mean()),
            float((np.abs(difference) > FAR).mean()),
            float((difference > 0).mean()),
            float(scores.table.mean()),
            float(scores.model.mean()),
        )

    def __str__(self) -> str:
        pearson, spearman = (
            "undefined" if value is None else f"{value:.3f}"
            for value in (self.pearson, self.spearman)
        )
        return (
            f"correlation {pearson}, of ranks {spearman}\n"
            f"{self.near:.1%} of the pairs differ by at most {NEAR:g} nat, {self.far:.1%} by more "
            f"than {FAR:g}; to {self.above:.1%} the model gives more than the table"
        )


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (N,) the rank of each value; equal values share their mean rank."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[places])


def _correlation(left: NDArray[np.float64], right: NDArray[np.float64]) -> float | None:
    if np.ptp(left) == 0 or np.ptp(right) == 0:
        return None
    return float(np.corrcoef(left, right)[0, 1])


# -- disagreement about single pairs -----------------------------------------------------------


@dataclass(frozen=True)
class Expectation:
    """The fitted prediction of a model's ln p (see the module's docstring).

    Args:
        coefficients: (4,) a, b, c and d.
        deviation: Standard deviation of the residual of a pair of one word.
    """

    coefficients: NDArray[np.float64]
    deviation: float

    @classmethod
    def fit(cls, scores: PairScores) -> Expectation:
        """Fit the prediction to one or more randomly drawn pairs."""
        # weighted least squares: dividing by sqrt(words) gives all residuals the same deviation
        roots = np.sqrt(scores.words)
        features = _features(scores) / roots[:, None]
        found = np.linalg.lstsq(features, scores.model / roots, rcond=None)[0]
        coefficients = np.asarray(found, np.float64)
        residuals = scores.model / roots - features @ coefficients
        return cls(coefficients, float(np.sqrt(np.mean(residuals**2))))

    def strengths(self, scores: PairScores) -> NDArray[np.float64]:
        """Return (N,) how many standard deviations each pair lies above its prediction."""
        residuals = scores.model - _features(scores) @ self.coefficients
        if self.deviation < _MIN_DEVIATION:
            return np.zeros(len(residuals))
        return np.asarray(residuals / np.sqrt(scores.words) / self.deviation)


def _features(scores: PairScores) -> NDArray[np.float64]:
    one = np.ones(len(scores.table))
    return np.column_stack([one, scores.table, scores.words, scores.table == 0.0])


@dataclass(frozen=True)
class Disagreement:
    """A pair about which model and table disagree.

    Args:
        entry: The parsed line of the table.
        table: ln p by the table.
        model: ln p by the model.
        words: Number of predicted words, </s> included.
        strength: Standard deviations above the prediction.
    """

    entry: Entry
    table: float
    model: float
    words: int
    strength: float

    @property
    def per_word(self) -> float:
        """The difference of the two ln p per predicted word."""
        return (self.model - self.table) / self.words


def strongest_disagreements(
    scored: Iterable[ScoredBlock], count: int, expected: Expectation
) -> tuple[list[Disagreement], list[Disagreement], int]:
    """Find the strongest disagreements in both directions, in one pass.

    Args:
        scored: Blocks of scored pairs.
        count: Number of pairs to keep in each direction.
        expected: The fitted prediction.

    Returns:
        The pairs on which the model is higher, those on which it is lower, the strongest
        disagreement first in both, and the number of pairs searched.
    """
    higher: LowestItems[Disagreement] = LowestItems(count)
    lower: LowestItems[Disagreement] = LowestItems(count)
    searched = 0
    for block, scores in scored:
        searched += len(block)
        strengths = expected.strengths(scores)
        for sign, kept in ((1.0, higher), (-1.0, lower)):
            agrees = (sign * strengths <= 0) | (sign * (scores.model - scores.table) <= 0)
            keys = np.where(agrees, np.inf, -sign * strengths)
            rows = kept.candidates(keys)
            found = (
                Disagreement(
                    block.entry(row),
                    float(scores.table[row]),
                    float(scores.model[row]),
                    int(scores.words[row]),
                    float(strengths[row]),
                )
                for row in rows.tolist()
            )
            kept.add(keys[rows], found)
    return higher.items(), lower.items(), searched


# -- the comparison ----------------------------------------------------------------------------


@dataclass(frozen=True)
class ScatterSettings:
    """Settings of a comparison.

    Args:
        pairs: Number of pairs to draw.
        disagreements: Number of disagreements to list in each direction.
        whole_table: Whether to search the whole table for disagreements, not only the drawn pairs.
        seed: Seed of the draw.
    """

    pairs: int = 100_000
    disagreements: int = 100
    whole_table: bool = False
    seed: int = 1


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison.

    Args:
        scores: The two scores that were compared.
        drawn: The drawn pairs.
        drawn_scores: The scores of the drawn pairs.
        agreement: Statistics over the drawn pairs.
        searched: Number of pairs that were searched for disagreements.
        expected: The prediction, fitted to the drawn pairs.
        higher: Pairs on which the model is higher, the strongest disagreement first.
        lower: Pairs on which the model is lower, the strongest disagreement first.
    """

    scores: Scores
    drawn: DrawnPairs
    drawn_scores: PairScores
    agreement: Agreement
    searched: int
    expected: Expectation
    higher: list[Disagreement]
    lower: list[Disagreement]

    def __str__(self) -> str:
        drawn = len(self.drawn.lines)
        return (
            f"{drawn:,} of {counted(self.drawn.among, 'pair')} drawn, {self.searched:,} searched "
            f"for disagreements\n{self.agreement}"
        )


def compare(table: str | Path, scores: Scores, settings: ScatterSettings) -> Comparison:
    """Compare ln p of a table's pairs by the table and by a model.

    Memory depends on the number of pairs drawn and listed, not on the size of the table.

    Args:
        table: A plain or gzip phrase table, in any order; or ``-``, unless all of it is searched.
        scores: The two scores to compare.
        settings: Numbers of pairs to draw and to list.

    Raises:
        InputError: The table cannot be read or breaks its format.
        SettingsError: The table has no such score.
        ModelError: The model returns a value that is not a log-probability.
    """
    if settings.whole_table:
        refuse_pipe(table)
    drawn = draw_pairs(table, settings.pairs, settings.seed)
    scored = score_drawn(drawn, scores)
    parts = [part for _, part in scored]
    together = PairScores(
        np.concatenate([part.table for part in parts]),
        np.concatenate([part.model for part in parts]),
        np.concatenate([part.words for part in parts]),
    )
    expected = Expectation.fit(together)
    blocks: Iterable[ScoredBlock] = scored
    if settings.whole_table and drawn.among > len(drawn.lines):
        blocks = _scored_blocks(table, scores, drawn.among)
    higher, lower, searched = strongest_disagreements(blocks, settings.disagreements, expected)
    agreement = Agreement.from_scores(together)
    return Comparison(scores, drawn, together, agreement, searched, expected, higher, lower)
