"""A model compared with a table over drawn pairs, and where the two disagree most."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from phrasescore.analysis.scatter.agreement import Agreement
from phrasescore.analysis.scatter.disagreement import Disagreement, Expectation, Strongest
from phrasescore.analysis.scatter.pairs import (
    DrawnPairs,
    PairScores,
    Scores,
    draw_pairs,
    score_drawn,
    scored_blocks,
)
from phrasescore.errors import counted
from phrasescore.runs.file_kinds import refuse_pipe


@dataclass(frozen=True)
class ScatterSettings:
    """What to compare, and how much of it to show.

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
    """What was found.

    Args:
        scores: What was compared.
        drawn: The pairs that were drawn.
        drawn_scores: Their ln p.
        searched: How many pairs were searched for disagreements.
        expected: What the model was expected to give.
        higher: Pairs that the model gives more than the table, the strongest disagreement first.
        lower: Pairs that it gives less, likewise.
    """

    scores: Scores
    drawn: DrawnPairs
    drawn_scores: PairScores
    searched: int
    expected: Expectation
    higher: tuple[Disagreement, ...]
    lower: tuple[Disagreement, ...]

    def __str__(self) -> str:
        drawn = len(self.drawn.lines)
        return (
            f"{drawn:,} of {counted(self.drawn.among, 'pair')} drawn, {self.searched:,} searched "
            f"for disagreements\n{Agreement.of(self.drawn_scores)}"
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
    together = PairScores.joined([each for _, each in scored])
    expected = Expectation.of(together)
    strongest = Strongest(settings.disagreements, expected)
    everything = settings.whole_table and drawn.among > len(drawn.lines)
    blocks = scored_blocks(table, scores, drawn.among) if everything else iter(scored)
    searched = 0
    for block, found in blocks:
        strongest.look(block, found)
        searched += len(block)
    lists = tuple(strongest.higher), tuple(strongest.lower)
    return Comparison(scores, drawn, together, searched, expected, *lists)
