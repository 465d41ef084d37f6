"""Score one block of phrase-table lines with one or more models, and count what happened."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import ModelError, SettingsError
from phrasescore.model.model_settings import Direction
from phrasescore.scoring.pair_order import SharedWork
from phrasescore.scoring.probability_column import FLOOR_LN, count_texts, probability_texts
from phrasescore.table.block import TableBlock, TokenSpans
from phrasescore.table.phrase_table import Side
from phrasescore.words import Unknown
from phrasescore.words.token_sequences import TokenSequences
from phrasescore.words.vocabulary import NO_OUTSIDE_WORDS, UNK_ID, OutsideWords, Vocabulary


class PairScorer(Protocol):
    """Gives ln p of pairs of id sequences; how it groups them is its own affair."""

    @property
    def work(self) -> SharedWork:
        """What it has done since it was made."""
        ...

    def score(self, sources: TokenSequences, targets: TokenSequences) -> NDArray[np.float64]:
        """Return (N,) ln p(target, end of sentence | source) of N pairs, in their order."""
        ...


@dataclass(frozen=True)
class ScoringModel:
    """A model ready to score; its source is the side it reads, whichever side of the table.

    Args:
        name: What to call it, its folder as given.
        source_vocabulary: Ids of the side it reads.
        target_vocabulary: Ids of the side it predicts.
        direction: ``target-source`` if it reads the table's target side.
        digest: What identifies its parameters and vocabularies.
        scorer: What computes.
        outside: The words outside the vocabulary of the side it predicts.
    """

    name: str
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    direction: Direction
    digest: str
    scorer: PairScorer
    outside: OutsideWords = NO_OUTSIDE_WORDS

    @property
    def sides(self) -> tuple[tuple[Side, Vocabulary], tuple[Side, Vocabulary]]:
        """Which side of the table it reads and which it predicts, each with its vocabulary."""
        read: Side = "source" if self.direction == "source-target" else "target"
        predicted: Side = "target" if self.direction == "source-target" else "source"
        return (read, self.source_vocabulary), (predicted, self.target_vocabulary)


@dataclass(frozen=True)
class ScoringSettings:
    """What goes into the table.

    Args:
        average: Merge the models into one column, the mean of their ln p.
        unknown_column: Add exp(number of words outside the first model's shortlists) at the end.
        replace_column: The first score to replace, counted from 1; ``None`` appends.
        factor: Which factor of a factored token counts, from 0.
        unknown: What a word outside the shortlist is given on the side that a model predicts: the
            ``whole`` p(<unk>), the sum over all such words, or its ``share`` of it.
    """

    average: bool = False
    unknown_column: bool = False
    replace_column: int | None = None
    factor: int = 0
    unknown: Unknown = "whole"

    def __post_init__(self) -> None:
        if self.replace_column is not None and self.replace_column < 1:
            raise SettingsError("scores are counted from 1: --replace-column must be 1 or more")
        if self.factor < 0:
            raise SettingsError("factors are counted from 0: --factor must be 0 or more")


@dataclass(frozen=True)
class ScoringCounts:
    """What happened in the lines scored so far.

    Args:
        lines: Scored lines.
        source_runs: Lines whose source is not that of the line before: the distinct sources of a
            table that is grouped by source, as Moses's are.
        source_tokens: Tokens of the source phrases.
        source_unknown: Those outside the first model's shortlist.
        target_tokens: Tokens of the target phrases.
        target_unknown: Those outside the first model's shortlist.
        ln_p_sums: The sum of ln p over the lines, for each model.
        floor_hits: How many probabilities were at the floor, for each column of probabilities.
        last_source: The source phrase of the last line, as Latin-1 (any byte fits).
        work: Steps asked for and done, over all models.
        processors: The kinds of processors that scored, sorted.
    """

    lines: int
    source_runs: int
    source_tokens: int
    source_unknown: int
    target_tokens: int
    target_unknown: int
    ln_p_sums: tuple[float, ...]
    floor_hits: tuple[int, ...]
    last_source: str
    work: SharedWork
    processors: tuple[str, ...] = ()

    @classmethod
    def none(cls, models: int, columns: int) -> ScoringCounts:
        """Return the counts before the first line."""
        return cls(0, 0, 0, 0, 0, 0, (0.0,) * models, (0,) * columns, "", SharedWork())

    def followed_by(self, block: ScoredBlock) -> ScoringCounts:
        """Return the counts up to the end of the next block."""
        own = block.counts
        continues = block.first_source == self.last_source
        return ScoringCounts(
            lines=self.lines + own.lines,
            source_runs=self.source_runs + own.source_runs - continues,
            source_tokens=self.source_tokens + own.source_tokens,
            source_unknown=self.source_unknown + own.source_unknown,
            target_tokens=self.target_tokens + own.target_tokens,
            target_unknown=self.target_unknown + own.target_unknown,
            ln_p_sums=_added(self.ln_p_sums, own.ln_p_sums),
            floor_hits=_added(self.floor_hits, own.floor_hits),
            last_source=own.last_source,
            work=self.work + own.work,
            processors=tuple(sorted({*self.processors, *own.processors})),
        )


@dataclass(frozen=True)
class ScoredBlock:
    """A block's lines with their new scores.

    Args:
        text: The lines; they may be a whole gzip member already.
        first_source: The source phrase of the first line, as Latin-1.
        counts: Of this block alone.
    """

    text: bytes
    first_source: str
    counts: ScoringCounts

    def __len__(self) -> int:
        return self.counts.lines


class BlockScorer:
    """Scores blocks on this machine; a `TableScorer`.

    Several threads may share it: one at a time computes, with all cores, while others read lines
    and write digits.

    Args:
        models: One column each, in this order.
        settings: What goes into the table.
        processor: The kind of what computes.
    """

    def __init__(
        self, models: Sequence[ScoringModel], settings: ScoringSettings, processor: str = ""
    ) -> None:
        self._models, self._settings, self._processor = models, settings, processor
        self._computing = threading.Lock()

    def ahead(self, blocks: Iterator[TableBlock]) -> Iterator[TableBlock]:
        """See `TableScorer`; nothing is done ahead."""
        return blocks

    def note(self) -> str:
        """See `TableScorer`."""
        return ""

    def score(self, block: TableBlock) -> ScoredBlock:
        """Score one block.

        Args:
            block: Its lines.

        Raises:
            PhraseTableError: A token lacks the factor wanted.
            SettingsError: The column to replace is not there.
            ModelError: A model gives something that is not a log-probability.
        """
        settings = self._settings
        ids = BlockIds(block, settings.factor)
        with self._computing:
            done = self._work()
            ln_p = [_ln_p(model, block, ids, settings.unknown) for model in self._models]
            work = self._work() - done
        written = [np.mean(ln_p, axis=0)] if settings.average else ln_p
        columns = [probability_texts(values) for values in written]
        shortlists = dict(self._models[0].sides)
        source = ids.of("source", shortlists["source"])
        target = ids.of("target", shortlists["target"])
        unknown_source, unknown_target = _unknown_words(source), _unknown_words(target)
        if settings.unknown_column:
            columns.append(count_texts(unknown_source + unknown_target))
        counts = ScoringCounts(
            lines=len(block),
            source_runs=len(block.run_offsets) - 1,
            source_tokens=len(source.tokens),
            source_unknown=int(unknown_source.sum()),
            target_tokens=len(target.tokens),
            target_unknown=int(unknown_target.sum()),
            ln_p_sums=tuple(float(values.sum()) for values in ln_p),
            floor_hits=tuple(int((values <= FLOOR_LN).sum()) for values in written),
            last_source=block.source(len(block) - 1).decode("latin-1"),
            work=work,
            processors=(self._processor,) if self._processor else (),
        )
        first_source = block.source(0).decode("latin-1")
        return ScoredBlock(self._with_columns(block, columns), first_source, counts)

    def _work(self) -> SharedWork:
        return sum((model.scorer.work for model in self._models), SharedWork())

    def _with_columns(self, block: TableBlock, columns: list[list[bytes]]) -> bytes:
        number = self._settings.replace_column
        if number is None:
            return block.with_appended_scores(columns)
        last = number + len(columns) - 1
        if last > block.format.scores:
            raise SettingsError(
                f"there is no score {last} to replace: the table has {block.format.scores}",
                path=block.path,
                remedy="leave out --replace-column to append",
            )
        return block.with_replaced_scores(number, columns)


class BlockIds:
    """The ids of a block's phrases, found once for each side and vocabulary."""

    def __init__(self, block: TableBlock, factor: int) -> None:
        self.spans: dict[Side, TokenSpans] = {
            "source": block.token_spans("source", factor),
            "target": block.token_spans("target", factor),
        }
        self._ids: dict[tuple[Side, int], TokenSequences] = {}

    def of(self, side: Side, vocabulary: Vocabulary) -> TokenSequences:
        """Return the ids of one side in one vocabulary."""
        # the models keep their vocabularies alive, so id() names one of them
        key = side, id(vocabulary)
        if key not in self._ids:
            self._ids[key] = vocabulary.encode_spans(self.spans[side])
        return self._ids[key]


def must_be_numbers(ln_p: NDArray[np.float64], model: ScoringModel, block: TableBlock) -> None:
    """Refuse the scores of a model whose parameters are not finite.

    Args:
        ln_p: (lines,) of the pairs of the block.
        model: What gave them.
        block: Whose pairs these are, for the error.

    Raises:
        ModelError: One is no number.
    """
    wrong = np.flatnonzero(np.isnan(ln_p))
    if len(wrong):
        raise ModelError(
            f"the model {model.name} gives no number for this pair",
            path=block.path,
            line=block.first_line + int(wrong[0]),
            remedy="train it again; its parameters are not finite",
        )


def _ln_p(
    model: ScoringModel, block: TableBlock, ids: BlockIds, unknown: Unknown
) -> NDArray[np.float64]:
    read, predicted = (ids.of(side, vocabulary) for side, vocabulary in model.sides)
    ln_p = model.scorer.score(read, predicted)
    must_be_numbers(ln_p, model, block)
    if unknown == "share":
        ln_p = ln_p + model.outside.ln_shares(ids.spans[model.sides[1][0]], predicted.tokens)
    return ln_p


def _unknown_words(ids: TokenSequences) -> NDArray[np.int64]:
    """(lines,) how many tokens of each phrase are outside the shortlist."""
    before = np.zeros(len(ids.tokens) + 1, np.int64)
    np.cumsum(ids.tokens == UNK_ID, out=before[1:])
    return np.diff(before[ids.offsets])


def _added(left: Sequence[Any], right: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(a + b for a, b in zip(left, right, strict=True))
