"""The work of ``score-text``: ln p of each target, of each of its words, and of whole texts.

As with a phrase table, a command that was killed continues after the last whole block and writes
the same bytes, and memory does not depend on the length of the texts.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import ModelError, counted
from phrasescore.model.folder import LoadedModel
from phrasescore.runs.results import SharedWork
from phrasescore.scoring.probability_column import ln_p_texts
from phrasescore.scoring.shared_scorer import SharedScorer
from phrasescore.table.block import TokenSpans
from phrasescore.table.block_stream import BlockStream, StreamReport
from phrasescore.table.text_blocks import TextBlock, Texts
from phrasescore.words.known_words import unknown_warning
from phrasescore.words.token_sequences import TokenSequences
from phrasescore.words.vocabulary import UNK_ID


@dataclass(frozen=True)
class TextCounts:
    """Counts over the lines so far.

    Args:
        lines: All of them.
        skipped: Those that could not be scored.
        tokens: Tokens of the predicted texts, each ``</s>`` counted.
        unknown: Those outside the model's shortlist.
        ln_p: Their sum.
        work: Steps of the model.
    """

    lines: int = 0
    skipped: int = 0
    tokens: int = 0
    unknown: int = 0
    ln_p: float = 0.0
    work: SharedWork = dataclasses.field(default_factory=SharedWork)

    @property
    def perplexity(self) -> float | None:
        """exp(-ln p / tokens); ``None`` without a token."""
        if not self.tokens:
            return None
        try:
            return math.exp(-self.ln_p / self.tokens)
        except OverflowError:
            return math.inf

    @property
    def figures(self) -> dict[str, int | float | None]:
        """The figures that ``--perplexity`` prints, by name."""
        return {
            "lines": self.lines,
            "skipped": self.skipped,
            "tokens": self.tokens,
            "unknown": self.unknown,
            "ln_p": self.ln_p,
            "perplexity": self.perplexity,
        }


class TextReport(StreamReport[TextCounts]):
    """The result of a run; its lines are pairs of texts."""

    @property
    def figures(self) -> dict[str, int | float | None]:
        """The figures that ``--perplexity`` prints, by name."""
        return self.counts.figures

    @property
    def figures_text(self) -> str:
        """The figures, one a line, for people and for scripts."""
        return figures_text(self.figures)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        work = self.counts.work
        return {
            **self.figures,
            "resumed_lines": self.resumed,
            "seconds": round(self.seconds, 3),
            "pairs_per_second": round(self.per_second, 1),
            "work": dataclasses.asdict(work),
            "savings": work.savings,
            "sha256": list(self.sha256),
        }

    def __str__(self) -> str:
        counts = self.counts
        earlier = f", {self.resumed:,} of them earlier" if self.resumed else ""
        said = f"{counted(counts.lines, 'line')}{earlier}, {self.per_second:,.0f} pairs/s"
        if counts.tokens:
            said += (
                f"; ln p {counts.ln_p / counts.tokens:.4f} a token, {counts.unknown:,} of "
                f"{counts.tokens:,} unknown (</s> counted), perplexity {counts.perplexity:.4f}"
            )
        if counts.skipped:
            said += f"\n{counted(counts.skipped, 'line')} could not be scored: the score is empty"
        words = max(1, counts.tokens - counts.lines + counts.skipped)
        return "\n".join(filter(None, [said, unknown_warning(counts.unknown / words)]))


def figures_text(figures: Mapping[str, int | float | None]) -> str:
    """Return figures, one a line, for people and for scripts."""
    return "\n".join(
        f"{name} {value:.6f}" if isinstance(value, float) else f"{name} {value}".lower()
        for name, value in figures.items()
    )


class TextScorer:
    """Scores blocks of lines.

    Args:
        loaded: The model.
        scorer: Computes with it.
        words: Whether to write ln p of each word, too.
    """

    def __init__(self, loaded: LoadedModel, scorer: SharedScorer, words: bool) -> None:
        self._loaded, self._scorer, self._words = loaded, scorer, words

    def score(self, block: TextBlock, before: TextCounts) -> tuple[bytes, TextCounts]:
        """Score one block; return its lines with their scores, and the counts up to its end.

        Args:
            block: The lines.
            before: The counts up to the line before them.

        Raises:
            ModelError: The model gives something that is not a log-probability.
        """
        _, _, columns, counts = self.columns(block, before)
        return block.with_columns(columns), counts

    def columns(
        self, block: TextBlock, before: TextCounts
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], list[list[bytes]], TextCounts]:
        """Score one block, as :meth:`score` does, without writing its lines.

        Returns:
            ``(rows,)`` ln p of each line that can be scored; ``(rows,)`` its tokens, ``</s>``
            counted; the new columns of all lines; the counts up to the end of the block.
        """
        rows = np.flatnonzero(~block.faulty)
        sources, targets = (
            ids.select(rows) for ids in encode_texts(self._loaded, block.tokens, len(block))
        )
        work_before = self._scorer.work
        ln_p = self._scorer.score_words(sources, targets)
        ln_p, lengths = self._loaded.target_vocabulary.sums_of_words(ln_p, targets)
        begins = np.cumsum(lengths) - lengths
        totals = np.add.reduceat(ln_p, begins) if len(rows) else np.empty(0)
        wrong = np.flatnonzero(~np.isfinite(totals))
        if len(wrong):
            raise ModelError(
                f"the model {self._loaded.path} gives no number for this pair",
                path=block.path,
                line=block.first_line + int(rows[wrong[0]]),
                remedy="train it again; its parameters are not finite",
            )
        columns = [spread(ln_p_texts(totals), rows, len(block))]
        if self._words:
            fields = _joined(ln_p_texts(ln_p), lengths)
            columns.append(spread(fields, rows, len(block)))
        counts = TextCounts(
            lines=before.lines + len(block),
            skipped=before.skipped + len(block) - len(rows),
            tokens=before.tokens + len(ln_p),
            unknown=before.unknown + int((targets.tokens == UNK_ID).sum()),
            ln_p=before.ln_p + float(totals.sum()),
            work=before.work + (self._scorer.work - work_before),
        )
        return totals, lengths, columns, counts


def encode_texts(
    loaded: LoadedModel, tokens: Sequence[TokenSpans], count: int
) -> tuple[TokenSequences, TokenSequences]:
    """Return the ids of what a model reads, which may be nothing, and of what it predicts.

    Args:
        loaded: The model.
        tokens: Of sources and targets, or of the texts alone for a model without a source.
        count: How many texts each has.
    """
    *read, predicted = tokens[::-1] if loaded.direction == "target-source" else tokens
    sources = TokenSequences(np.empty(0, np.int32), np.zeros(count + 1, np.int64))
    for spans in read:
        sources = loaded.source_vocabulary.encode_spans(spans)
    return sources, loaded.target_vocabulary.encode_spans(predicted)


def _joined(texts: list[bytes], counts: NDArray[np.int64]) -> list[bytes]:
    stops = np.cumsum(counts).tolist()
    return [
        b" ".join(texts[stop - count : stop])
        for stop, count in zip(stops, counts.tolist(), strict=True)
    ]


def spread(fields: list[bytes], rows: NDArray[np.int64], lines: int) -> list[bytes]:
    """Return a column with the given rows' fields and empty fields elsewhere."""
    column = [b""] * lines
    for row, field in zip(rows.tolist(), fields, strict=True):
        column[row] = field
    return column


def score_texts(
    texts: Texts,
    output: str | Path,
    loaded: LoadedModel,
    scorer: SharedScorer,
    *,
    words: bool = False,
    numerics: dict[str, Any],
) -> TextReport:
    """Write the lines of texts with the model's scores.

    Args:
        texts: The texts to score.
        output: The output; gzip if the name ends in ``.gz``; ``-`` is standard output.
        loaded: The model.
        scorer: Computes with it.
        words: Whether to write ln p of each word, too.
        numerics: Everything else that decides the digits (device, batch size), as JSON values: an
            interrupted run only continues under the same numerics.

    Raises:
        InputError: A file cannot be read, or a line cannot be scored.
        SettingsError: The output is an input, or cannot be written.
        ModelError: The model gives something that is not a log-probability.
    """
    asked = {
        "texts": {**dataclasses.asdict(texts), "paths": None},
        "model": loaded.digest,
        "words": words,
        "numerics": numerics,
    }
    stream = BlockStream(
        texts.paths,
        asked,
        lambda _, done: texts.blocks(skip=done),
        TextScorer(loaded, scorer, words).score,
        TextCounts(),
        check=texts.blocks,
        role="one of the texts",
        unlike="other options, model or texts",
    )
    done = stream.write(output)
    return TextReport(done.counts, done.resumed, done.seconds, done.sha256)
