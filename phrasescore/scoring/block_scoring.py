"""Scores one block of phrase-table lines with one or more models, and counts the work."""

from __future__ import annotations

import operator
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from phrasescore.errors import SettingsError
from phrasescore.model.folder import LoadedModel
from phrasescore.scoring.probability_column import count_texts, probability_texts
from phrasescore.scoring.shared_scorer import SharedScorer
from phrasescore.table.block import TableBlock
from phrasescore.table.phrase_table import FLOOR_LN, SIDES
from phrasescore.words import Unknown
from phrasescore.words.vocabulary import NO_OUTSIDE_WORDS, OutsideWords, unknown_counts


@dataclass(frozen=True)
class ScoringModel:
    """A model ready to score.

    Args:
        name: The folder as the user named it, for messages.
        loaded: The model.
        scorer: The scorer that computes with the model.
        outside: The words outside the vocabulary of the side that the model predicts.
    """

    name: str
    loaded: LoadedModel
    scorer: SharedScorer
    outside: OutsideWords = NO_OUTSIDE_WORDS


@dataclass(frozen=True)
class ScoringSettings:
    """Settings of the scores that go into the table.

    Args:
        average: Whether to write one column for all models, from their mean ln p.
        unknown_column: Whether to add a last column, exp(number of words outside the first model's
            shortlists).
        replace_column: The first score to replace, counted from 1; ``None`` appends the scores.
        factor: The factor to score in tokens such as ``surface|tag``, counted from 0.
        unknown: The probability of a predicted word outside the shortlist. ``whole``: p(<unk>),
            which is the probability of all such words together. ``share``: the word's part of
            p(<unk>).
    """

    average: bool = False
    unknown_column: bool = False
    replace_column: int | None = None
    factor: int = 0
    unknown: Unknown = "whole"


@dataclass(frozen=True)
class ScoringCounts:
    """Counts over the scored lines of one block, or of all blocks so far.

    Args:
        lines: Scored lines.
        source_tokens: Tokens of the source phrases.
        source_unknown: Source tokens outside the first model's shortlist.
        target_tokens: Tokens of the target phrases.
        target_unknown: Target tokens outside the first model's shortlist.
        ln_p_sums: The sum of ln p over the lines, for each model.
        floor_hits: For each column of probabilities, how many are at Moses's floor of ln p = -100.
        processors: The kinds of processors that scored, sorted.
    """

    lines: int = 0
    source_tokens: int = 0
    source_unknown: int = 0
    target_tokens: int = 0
    target_unknown: int = 0
    ln_p_sums: tuple[float, ...] = ()
    floor_hits: tuple[int, ...] = ()
    processors: tuple[str, ...] = ()

    def __add__(self, block: ScoringCounts) -> ScoringCounts:
        """Return the counts up to the end of the next block."""
        if not self.lines:
            return block
        return ScoringCounts(
            lines=self.lines + block.lines,
            source_tokens=self.source_tokens + block.source_tokens,
            source_unknown=self.source_unknown + block.source_unknown,
            target_tokens=self.target_tokens + block.target_tokens,
            target_unknown=self.target_unknown + block.target_unknown,
            ln_p_sums=tuple(map(operator.add, self.ln_p_sums, block.ln_p_sums)),
            floor_hits=tuple(map(operator.add, self.floor_hits, block.floor_hits)),
            processors=tuple(sorted({*self.processors, *block.processors})),
        )


# the lines of a block with their new scores, as text or as a gzip member, and the block's counts
Scored: TypeAlias = tuple[bytes, ScoringCounts]


class BlockScorer:
    """Scores blocks on this machine.

    Several threads may share a scorer. One thread at a time computes, on all cores, while other
    threads read lines and format numbers.

    Args:
        models: The models, in the order of their columns.
        settings: The settings of the scores.
        processor: The kind of processor, for the counts.
    """

    def __init__(
        self, models: Sequence[ScoringModel], settings: ScoringSettings, processor: str = ""
    ) -> None:
        self._models, self._settings, self._processor = models, settings, processor
        self._computing = threading.Lock()

    def score(self, block: TableBlock) -> Scored:
        """Score one block.

        Raises:
            PhraseTableError: A token lacks the factor that is scored.
            SettingsError: The column to replace does not exist.
            ModelError: A result of a model is not a log-probability.
        """
        settings, models = self._settings, self._models
        spans = {side: block.token_spans(side, settings.factor) for side in SIDES}
        ids = [model.loaded.encode(list(spans.values())) for model in models]
        with self._computing:
            ln_p = [model.scorer.score(*each) for model, each in zip(models, ids, strict=True)]
        if settings.unknown == "share":
            for number, (model, (_, predicted)) in enumerate(zip(models, ids, strict=True)):
                texts = spans[model.loaded.predicted]
                ln_p[number] = ln_p[number] + model.outside.ln_shares(texts, predicted.tokens)
        written = [np.mean(ln_p, axis=0)] if settings.average else ln_p
        columns = [probability_texts(values) for values in written]
        source, target = ids[0] if models[0].loaded.direction == "source-target" else ids[0][::-1]
        unknown_source, unknown_target = unknown_counts(source), unknown_counts(target)
        if settings.unknown_column:
            columns.append(count_texts(unknown_source + unknown_target))
        counts = ScoringCounts(
            lines=len(block),
            source_tokens=len(source.tokens),
            source_unknown=int(unknown_source.sum()),
            target_tokens=len(target.tokens),
            target_unknown=int(unknown_target.sum()),
            ln_p_sums=tuple(float(values.sum()) for values in ln_p),
            floor_hits=tuple(int((values <= FLOOR_LN).sum()) for values in written),
            processors=(self._processor,) if self._processor else (),
        )
        return with_columns(block, columns, settings.replace_column), counts


def with_columns(
    block: TableBlock, columns: Sequence[Sequence[bytes]], replace_column: int | None
) -> bytes:
    """Return the lines of a block with new scores.

    Args:
        block: The lines.
        columns: One sequence of scores, as long as the block, for each new column.
        replace_column: The first score to replace, counted from 1; ``None`` appends the scores.

    Raises:
        SettingsError: There are not enough scores to replace.
    """
    if replace_column is None:
        return block.with_appended_scores(columns)
    last = replace_column + len(columns) - 1
    if last > block.format.scores:
        raise SettingsError(
            f"there is no score {last} to replace: each line has {block.format.scores}",
            path=block.path,
            remedy="leave out --replace-column to append the scores",
        )
    return block.with_replaced_scores(replace_column, columns)
