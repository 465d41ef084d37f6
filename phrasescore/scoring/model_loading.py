"""From model folders to models that score, in a precision that the table itself has confirmed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from phrasescore.errors import SettingsError
from phrasescore.model.device import choose_device, has_fast_bf16, processor_of
from phrasescore.model.folder import LoadedModel, load_model, load_outside
from phrasescore.model.kinds import must_be_of_phrases
from phrasescore.scoring.block_scoring import PairScorer, ScoringModel
from phrasescore.scoring.pair_order import SharedWork
from phrasescore.scoring.precision import Precision, PrecisionCheck, compare, sample_rows
from phrasescore.scoring.shared_scorer import SharedScorer
from phrasescore.scoring.unshared_scorer import UnsharedScorer
from phrasescore.table.block import TableBlock
from phrasescore.table.phrase_table import Side
from phrasescore.words.token_sequences import TokenSequences
from phrasescore.words.vocabulary import NO_OUTSIDE_WORDS, OutsideWords


@dataclass(frozen=True)
class ComputeSettings:
    """How to compute.

    Args:
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        precision: ``auto``: bfloat16 where it is faster and within the bounds, else float32.
        batch_size: Pairs at a time; ``None`` for the device's own.
        shared: Whether pairs share the work of their common prefixes.
    """

    device: str = "auto"
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    batch_size: int | None = None
    shared: bool = True

    def __post_init__(self) -> None:
        if not self.shared and self.precision == "bf16":
            raise SettingsError(
                "without sharing there is only fp32", remedy="leave out --precision bf16"
            )

    @property
    def wants_sample(self) -> bool:
        """Whether bfloat16 comes into question, so that pairs to try it on are wanted."""
        if not self.shared or self.precision == "fp32":
            return False
        return self.precision == "bf16" or has_fast_bf16(choose_device(self.device))


@dataclass(frozen=True)
class ReadyModels:
    """Models, and what the report says about them.

    Args:
        models: In the order of their folders.
        factor: The factor that they read.
        numerics: What of their arithmetic decides the digits, as JSON values.
        checks: The comparison of precisions for each model that had one.
        notes: What to tell the user.
        processor: The kind of what computes.
    """

    models: tuple[ScoringModel, ...]
    factor: int
    numerics: dict[str, Any]
    checks: tuple[PrecisionCheck, ...]
    notes: tuple[str, ...]
    processor: str


def load_models(
    folders: Sequence[str],
    settings: ComputeSettings,
    factor: int | None,
    sample: TableBlock | None,
) -> ReadyModels:
    """Load models and choose what they compute in.

    Args:
        folders: One or more.
        settings: How to compute.
        factor: The factor to read; ``None`` for the models' own.
        sample: Lines to compare precisions on; ``None``: float32.

    Raises:
        ModelError: A folder is not a whole model, or its model is one of sentences.
        SettingsError: Models read different factors, or there is no such device.
    """
    loaded = {folder: load_model(folder) for folder in folders}
    for folder, each in loaded.items():
        must_be_of_phrases(each.model.settings, folder)
    chosen = _factor(factor, {name: each.model.settings.factor for name, each in loaded.items()})
    models, checks, notes, precisions = [], [], [], []
    for folder, each in loaded.items():
        scorer, check = _scorer(each, settings, chosen, sample)
        models.append(scoring_model(folder, each, scorer, load_outside(folder)))
        precisions.append(scorer.precision)
        if check is not None:
            checks.append(check)
            notes.append(f"{folder}: {check}: {_verdict(check, scorer.precision)}")
    numerics = {
        "batch_size": settings.batch_size,
        "shared": settings.shared,
        "device": choose_device(settings.device).type,
        "precision": precisions,
    }
    by_folder = {model.name: model for model in models}
    ready = tuple(by_folder[folder] for folder in folders)
    processor = processor_of(choose_device(settings.device))
    return ReadyModels(ready, chosen, numerics, tuple(checks), tuple(notes), processor)


def scoring_model(
    name: str, loaded: LoadedModel, scorer: PairScorer, outside: OutsideWords = NO_OUTSIDE_WORDS
) -> ScoringModel:
    """Return a loaded model with what computes its scores."""
    return ScoringModel(
        name,
        loaded.source_vocabulary,
        loaded.target_vocabulary,
        loaded.direction,
        loaded.digest,
        scorer,
        outside,
    )


def _verdict(check: PrecisionCheck, used: str) -> str:
    if check.is_within_bounds:
        return f"{used} is used"
    if used == "fp32":
        return "above the bound, so fp32 is used"
    return "above the bound, but used because it was asked for"


def _scorer(
    loaded: LoadedModel, settings: ComputeSettings, factor: int, sample: TableBlock | None
) -> tuple[SharedScorer | UnsharedScorer, PrecisionCheck | None]:
    """Return what scores with a model, and the comparison if there was one."""
    if not settings.shared:
        return UnsharedScorer(loaded.model, settings.device, settings.batch_size), None

    def scorer(precision: Precision) -> SharedScorer:
        return SharedScorer(loaded.model, settings.device, precision, settings.batch_size)

    if sample is None or not settings.wants_sample:
        return scorer("bf16" if settings.precision == "bf16" else "fp32"), None
    sources, targets = _phrases(loaded, sample, factor)
    near = scorer("bf16")
    found = near.score(sources, targets)
    exact = UnsharedScorer(loaded.model, settings.device).score(sources, targets)
    check = compare(exact, found, sources, targets)
    if check.is_within_bounds or settings.precision == "bf16":
        near.work = SharedWork()  # the sample is not the table
        return near, check
    return scorer("fp32"), check


def _phrases(
    loaded: LoadedModel, block: TableBlock, factor: int
) -> tuple[TokenSequences, TokenSequences]:
    """Return the sampled pairs as the model reads them."""
    rows = sample_rows(len(block))
    sides: list[Side] = ["source", "target"]
    if loaded.direction == "target-source":
        sides.reverse()
    vocabularies = loaded.source_vocabulary, loaded.target_vocabulary
    source, target = (
        vocabulary.encode_spans(block.token_spans(side, factor)).select(rows)
        for side, vocabulary in zip(sides, vocabularies, strict=True)
    )
    return source, target


def _factor(asked: int | None, factors: dict[str, int]) -> int:
    """Return the factor to score: the one asked for, or the one that all models read."""
    if asked is not None:
        return asked
    if len(set(factors.values())) > 1:
        which = ", ".join(f"{folder} reads factor {factor}" for folder, factor in factors.items())
        raise SettingsError(
            f"the models read different factors: {which}", remedy="choose one with --factor"
        )
    return next(iter(factors.values()))
