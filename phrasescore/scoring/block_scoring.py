"""Loads the models that score a table, scores one block of its lines, and counts the work.

Whether bfloat16 is precise enough is checked on some lines of the table.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import SettingsError
from phrasescore.model.device import choose_device, has_fast_bf16
from phrasescore.model.folder import LoadedModel, load_model, load_outside
from phrasescore.model.kinds import Direction
from phrasescore.runs.json_files import JsonObject
from phrasescore.runs.stream import LineCounts
from phrasescore.scoring.probability_column import count_texts, probability_texts
from phrasescore.scoring.shared_scorer import Precision, SharedScorer
from phrasescore.table.block import TableBlock
from phrasescore.table.phrase_table import FLOOR_LN, SIDES
from phrasescore.words import Unknown
from phrasescore.words.token_sequences import TokenSequences
from phrasescore.words.vocabulary import NO_OUTSIDE_WORDS, OutsideWords, unknown_counts

# limits of the mean and of the maximum, over pairs, of |ln p in bfloat16 - ln p in float32| per
# word, </s> counted
MAX_MEAN, MAX_DIFFERENCE = 0.01, 0.05
_STRETCH, _STRETCHES = 16, 40  # the sample consists of 40 stretches of 16 lines


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
class ComputeSettings:
    """Settings of the computation.

    Args:
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        precision: ``auto``: bfloat16 if it is faster and the differences are within the limits,
            otherwise float32.
        batch_size: Number of pairs at a time; ``None`` for the default of the device.
    """

    device: str = "auto"
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    batch_size: int | None = None

    @property
    def wants_sample(self) -> bool:
        """Whether bfloat16 may be chosen, so that it must be checked on a sample of pairs."""
        if self.precision == "auto":
            return has_fast_bf16(choose_device(self.device))
        return self.precision == "bf16"


@dataclass(frozen=True)
class PrecisionCheck:
    """The differences between ln p in bfloat16 and ln p in float32, for some pairs.

    Args:
        pairs: The number of pairs.
        mean_per_word: The mean of |difference| / words, ``</s>`` counted.
        largest_per_word: The largest |difference| / words.
    """

    pairs: int
    mean_per_word: float
    largest_per_word: float

    @property
    def is_within_bounds(self) -> bool:
        """Whether bfloat16 may replace float32; false if a difference is NaN."""
        return self.mean_per_word <= MAX_MEAN and self.largest_per_word <= MAX_DIFFERENCE

    def __str__(self) -> str:
        return (
            f"bf16 against fp32 on {self.pairs:,} pairs of the table: |difference of ln p| per "
            f"word mean {self.mean_per_word:.4f}, largest {self.largest_per_word:.4f}"
        )


@dataclass(frozen=True)
class ReadyModels:
    """The description of models that are ready to score, in plain values that a worker can send.

    Args:
        identities: The digest and the direction of each model, in the order of the columns.
        factor: The factor that the models read.
        numerics: Every setting of the computation that can change digits of scores, as JSON
            values; ``precision`` has an entry for each distinct folder.
        checks: The precision check of each model that was checked.
        notes: Lines for the user.
    """

    identities: tuple[tuple[str, Direction], ...]
    factor: int
    numerics: JsonObject
    checks: tuple[PrecisionCheck, ...] = ()
    notes: tuple[str, ...] = ()


def load_models(
    folders: Sequence[str],
    settings: ComputeSettings,
    factor: int | None = None,
    sample: TableBlock | None = None,
    precisions: Sequence[Precision] | None = None,
) -> tuple[tuple[ScoringModel, ...], ReadyModels]:
    """Load models and choose the precision that they compute in.

    Args:
        folders: One or more model folders.
        settings: The settings of the computation.
        factor: The factor to read; ``None`` for the factor of the models.
        sample: Lines to compare precisions on; ``None``: do not compare, and use float32 for
            ``auto``.
        precisions: The precision of each distinct folder, to repeat an earlier choice.

    Raises:
        ModelError: A folder is not a complete model, or its model does not score phrases.
        SettingsError: Models read different factors, or the device does not exist.
    """
    loaded = {folder: load_model(folder) for folder in folders}
    for each in loaded.values():
        each.must_be_of_phrases()
    factors = {name: each.model.settings.factor for name, each in loaded.items()}
    if factor is None and len(set(factors.values())) > 1:
        which = ", ".join(f"{folder} reads factor {number}" for folder, number in factors.items())
        raise SettingsError(
            f"the models read different factors: {which}", remedy="choose one with --factor"
        )
    chosen = factors[folders[0]] if factor is None else factor
    scoring: dict[str, ScoringModel] = {}
    checks, notes, used = [], [], []
    for place, (folder, each) in enumerate(loaded.items()):
        if precisions is not None:
            scorer, check = _scorer(each, settings, precisions[place]), None
        else:
            scorer, check = _compared_scorer(each, settings, chosen, sample)
        scoring[folder] = ScoringModel(folder, each, scorer, load_outside(folder))
        used.append(scorer.precision)
        if check is not None:
            checks.append(check)
            notes.append(f"{folder}: {check}: {_verdict(check, scorer.precision)}")
    device = choose_device(settings.device).type
    numerics = {"batch_size": settings.batch_size, "device": device, "precision": used}
    models = tuple(scoring[folder] for folder in folders)
    identities = tuple((each.loaded.digest, each.loaded.direction) for each in models)
    return models, ReadyModels(identities, chosen, numerics, tuple(checks), tuple(notes))


def _verdict(check: PrecisionCheck, used: str) -> str:
    if check.is_within_bounds:
        return f"{used} is used"
    if used == "fp32":
        return "above the bound, so fp32 is used"
    return "above the bound, but used because it was asked for"


def _scorer(loaded: LoadedModel, settings: ComputeSettings, precision: Precision) -> SharedScorer:
    return SharedScorer(loaded.model, settings.device, precision, settings.batch_size)


def _compared_scorer(
    loaded: LoadedModel, settings: ComputeSettings, factor: int, sample: TableBlock | None
) -> tuple[SharedScorer, PrecisionCheck | None]:
    """Return the scorer of a model, and the comparison of precisions if there was one."""
    if sample is None or not settings.wants_sample:
        return _scorer(loaded, settings, "bf16" if settings.precision == "bf16" else "fp32"), None
    near, exact = (_scorer(loaded, settings, precision) for precision in ("bf16", "fp32"))
    rows = sample_rows(len(sample))
    ids = loaded.encode([sample.token_spans(side, factor) for side in SIDES])
    sources, targets = (side.select(rows) for side in ids)
    check = compare(exact.score(sources, targets), near.score(sources, targets), targets)
    return near if check.is_within_bounds or settings.precision == "bf16" else exact, check


def compare(
    exact: NDArray[np.float64], near: NDArray[np.float64], targets: TokenSequences
) -> PrecisionCheck:
    """Compare ln p of the same pairs.

    Args:
        exact: ``(N,)`` ln p in float32.
        near: ``(N,)`` ln p in bfloat16.
        targets: The N target phrases.
    """
    per_word = np.abs(near - exact) / (targets.lengths + 1)
    return PrecisionCheck(len(exact), float(per_word.mean()), float(per_word.max()))


def sample_rows(lines: int) -> NDArray[np.int64]:
    """Choose up to 640 of a block's lines: stretches of 16 lines, evenly spread.

    In a stretch, lines with the same source are neighbours, as in scoring.

    >>> sample_rows(3).tolist()
    [0, 1, 2]
    """
    if lines <= _STRETCH * _STRETCHES:
        return np.arange(lines)
    begins = np.linspace(0, lines - _STRETCH, _STRETCHES).astype(np.int64)
    return np.unique(begins[:, None] + np.arange(_STRETCH))


# -- one block ---------------------------------------------------------------------------------


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
class ScoringCounts(LineCounts):
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
        return replace(
            super().__add__(block),
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
        self, models: Sequence[ScoringModel], settings: ScoringSettings, processor: str
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
            processors=(self._processor,),
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
    return block.with_replaced_scores(replace_column, columns)
