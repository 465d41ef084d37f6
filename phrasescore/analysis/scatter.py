"""Figure 3 of Cho et al. (2014): a model's ln p of phrase pairs against that by their table.

The difference of two ln p says little by itself. A pair whose source was seen once has p = 1 in the
table whatever its target, and ln p of a model falls with every word. So a pair is compared with
pairs like it: by least squares over pairs drawn at random, ln p of the model is expected to be

    a + b * ln p of the table + c * words + d * [p of the table is 1]

with a spread that grows with the root of the number of words. A disagreement is as strong as the
number of such standard deviations by which a pair lies above or below. The model disagrees upwards
if it lies above what is expected and above the table, downwards if below both.
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
# where all pairs lie on a line, rounding is all that is left of a deviation
_MIN_DEVIATION = 1e-9


# -- pairs and their two scores ----------------------------------------------------------------


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
    table: str | Path, count: int, seed: int, lines_per_block: int = LINES_PER_BLOCK
) -> DrawnPairs:
    """Draw pairs of a table, each with the same chance; all of them if there are no more.

    Args:
        table: A plain or gzip phrase table, in any order, or ``-``.
        count: How many.
        seed: For the random numbers.
        lines_per_block: How many lines to hold at a time.

    Raises:
        InputError: The table cannot be read or breaks its format.
    """
    kept: LowestItems[tuple[int, bytes]] = LowestItems(count)
    among = 0
    with Progress("drawing pairs", unit="lines") as progress:
        for block in read_blocks(table, lines_per_block):
            numbers = random_numbers(block.first_line + np.arange(len(block)), seed)
            for row in kept.candidates(numbers).tolist():
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


@dataclass(frozen=True)
class Scores:
    """The two scores to compare.

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
        read, predicted = (
            vocabulary.encode_spans(block.token_spans(side, self.factor))
            for side, vocabulary in self.model.sides
        )
        ln_p = self.model.scorer.score(read, predicted)
        must_be_numbers(ln_p, self.model, block)
        return PairScores(table, ln_p, words)


ScoredBlock: TypeAlias = tuple[TableBlock, PairScores]


def score_drawn(drawn: DrawnPairs, scores: Scores) -> list[ScoredBlock]:
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


def _scored_blocks(table: str | Path, scores: Scores, total: int) -> Iterator[ScoredBlock]:
    """Yield a whole table of ``total`` lines in blocks, with ln p of their pairs."""
    with Progress("scoring the table", total=total, unit="pairs") as progress:
        for block in read_blocks(table):
            yield block, scores.of(block)
            progress.advance(len(block))


# -- agreement over all pairs ------------------------------------------------------------------


@dataclass(frozen=True)
class Agreement:
    """Figures over drawn pairs.

    Args:
        pearson: The correlation of the two ln p; ``None`` where one of them is the same for all.
        spearman: That of their ranks, equal values sharing the mean of theirs.
        near: The share of pairs whose ln p differ by at most 1 nat.
        far: The share of those whose differ by more than 5.
        above: The share of those to which the model gives more than the table.
        mean_table: The mean of ln p by the table.
        mean_model: That by the model.
    """

    pearson: float | None
    spearman: float | None
    near: float
    far: float
    above: float
    mean_table: float
    mean_model: float

    @classmethod
    def of(cls, scores: PairScores) -> Agreement:
        """Compare the two ln p of at least one pair."""
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
    """Return (N,) the rank of each value, the mean of theirs for equal ones."""
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
    """The ln p that a model is expected to give a pair.

    Args:
        coefficients: (4,) a, b, c and d.
        deviation: Of a pair of one word.
    """

    coefficients: NDArray[np.float64]
    deviation: float

    @classmethod
    def of(cls, scores: PairScores) -> Expectation:
        """Fit it to pairs drawn at random, at least one."""
        # divided by the root of the words, the residuals of all pairs have one deviation
        roots = np.sqrt(scores.words)
        features = _features(scores) / roots[:, None]
        found = np.linalg.lstsq(features, scores.model / roots, rcond=None)[0]
        coefficients = np.asarray(found, np.float64)
        residuals = scores.model / roots - features @ coefficients
        return cls(coefficients, float(np.sqrt(np.mean(residuals**2))))

    def strengths(self, scores: PairScores) -> NDArray[np.float64]:
        """Return (N,) by how many standard deviations each pair lies above what is expected."""
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


def strongest_disagreements(
    scored: Iterable[ScoredBlock], count: int, expected: Expectation
) -> tuple[list[Disagreement], list[Disagreement], int]:
    """Find the strongest disagreements each way among pairs that stream past.

    Args:
        scored: Blocks of pairs.
        count: How many to keep of each.
        expected: What the model is expected to give.

    Returns:
        Pairs that the model gives more than the table, those that it gives less, each the strongest
        first, and how many pairs there were.
    """
    higher: LowestItems[Disagreement] = LowestItems(count)
    lower: LowestItems[Disagreement] = LowestItems(count)
    searched = 0
    for block, scores in scored:
        searched += len(block)
        strengths = expected.strengths(scores)
        for sign, kept in ((1.0, higher), (-1.0, lower)):
            agrees = (sign * strengths <= 0) | (sign * (scores.model - scores.table) <= 0)
            numbers = np.where(agrees, np.inf, -sign * strengths)
            for row in kept.candidates(numbers).tolist():
                found = Disagreement(
                    block.entry(row),
                    float(scores.table[row]),
                    float(scores.model[row]),
                    int(scores.words[row]),
                    float(strengths[row]),
                )
                kept.offer(float(numbers[row]), block.first_line + row, found)
    return higher.items(), lower.items(), searched


# -- the comparison ----------------------------------------------------------------------------


@dataclass(frozen=True)
class ScatterSettings:
    """How many pairs to compare, and how many to list.

    Args:
        pairs: How many to draw.
        disagreements: How many to list each way.
        whole_table: Whether all pairs of the table are searched for disagreements; otherwise those
            that were drawn.
        seed: For the draw.
    """

    pairs: int = 100_000
    disagreements: int = 100
    whole_table: bool = False
    seed: int = 1


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison.

    Args:
        scores: What was compared.
        drawn: The pairs that were drawn.
        drawn_scores: Their ln p.
        agreement: How far these agree.
        searched: How many pairs were searched for disagreements.
        expected: What the model was expected to give.
        higher: Pairs that the model gives more than the table, the strongest disagreement first.
        lower: Pairs that it gives less, likewise.
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

    Memory depends on the pairs that are drawn and listed, not on the table.

    Args:
        table: A plain or gzip phrase table, in any order; or ``-``, unless all of it is searched.
        scores: What to compare.
        settings: How much to draw and list.

    Raises:
        InputError: The table cannot be read or breaks its format.
        SettingsError: It has no such score.
        ModelError: The model gives something that is not a log-probability.
    """
    if settings.whole_table:
        refuse_pipe(table)
    drawn = draw_pairs(table, settings.pairs, settings.seed)
    scored = score_drawn(drawn, scores)
    together = PairScores(
        np.concatenate([part.table for _, part in scored]),
        np.concatenate([part.model for _, part in scored]),
        np.concatenate([part.words for _, part in scored]),
    )
    expected = Expectation.of(together)
    if settings.whole_table and drawn.among > len(drawn.lines):
        searched_blocks: Iterable[ScoredBlock] = _scored_blocks(table, scores, drawn.among)
    else:
        searched_blocks = scored
    higher, lower, searched = strongest_disagreements(
        searched_blocks, settings.disagreements, expected
    )
    agreement = Agreement.of(together)
    return Comparison(scores, drawn, together, agreement, searched, expected, higher, lower)
