"""What ``train`` left: what a model is, and how it learned."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from phrasescore.errors import PhrasescoreError
from phrasescore.model.folder import CONFIG, CURVES, PROVENANCE
from tuning.report.contents import CurvePoint, Provenance, Results, Spent, TrainedModel
from tuning.report.readers.reading import (
    Count,
    Number,
    ResultFiles,
    Seconds,
    left_out,
)

_WORK = ".training"


@dataclass(frozen=True)
class _Config:
    """``config.json``, as far as a report shows it; a kind of model has some of the sizes."""

    kind: str = ""
    direction: str = ""
    hidden: Count | None = None
    embedding: Count | None = None
    source_vocabulary: Count | None = None
    target_vocabulary: Count | None = None


@dataclass(frozen=True)
class _HeldOut:
    """The loss on pairs that were set aside."""

    nll: Number


@dataclass(frozen=True)
class _BothHeldOut:
    """The same on both kinds."""

    held_out_sources: _HeldOut | None = None
    held_out_pairs: _HeldOut | None = None


@dataclass(frozen=True)
class _Training:
    """How much was trained."""

    seconds: Seconds | None = None
    words: Count | None = None
    updates: Count = 0


@dataclass(frozen=True)
class _Settings:
    """How it was trained."""

    learns_from: str = "phrases"


@dataclass(frozen=True)
class _ModelProvenance(Provenance):
    """``provenance.json`` of a model."""

    training: _Training = field(default_factory=_Training)
    settings: _Settings = field(default_factory=_Settings)
    held_out: _BothHeldOut | None = None


@dataclass(frozen=True)
class _Point:
    """A line of the learning curve."""

    updates: Count
    epoch: Number
    seconds: Seconds
    training_nll: Number | None = None
    held_out_sources_nll: Number | None = None
    held_out_pairs_nll: Number | None = None


def read_model(folder: Path, name: str, files: ResultFiles) -> Results:
    """Read the folder of a model, or the work folder of a training that goes on.

    Args:
        folder: ``MODEL/`` or ``MODEL.training/``.
        name: What to call it.
        files: Those that may be read.
    """
    finished = not folder.name.endswith(_WORK)
    name = name.removesuffix(_WORK)
    provenance = None
    try:
        config = files.read(_Config, folder / CONFIG) if (folder / CONFIG).exists() else _Config()
        points = files.read_lines(_Point, folder / CURVES)
        if (folder / PROVENANCE).exists():
            provenance = files.read(_ModelProvenance, folder / PROVENANCE)
    except PhrasescoreError as error:
        return Results(name, notes=(left_out(error),))
    made = provenance or _ModelProvenance()
    seconds = made.training.seconds
    if seconds is None and points:
        seconds = points[-1].seconds
    of_text = "phrase" not in made.settings.learns_from
    curve = tuple(
        CurvePoint(
            each.updates, each.epoch, each.seconds,
            each.training_nll, each.held_out_sources_nll, each.held_out_pairs_nll,
        )
        for each in points
    )  # fmt: skip
    model = TrainedModel(name, _facts(config, made), curve, of_text, finished, seconds)
    return Results(
        name,
        models=(model,),
        spent=() if seconds is None else (Spent(f"training {name}", seconds),),
        provenances={f"model {name}": provenance} if provenance else {},
        unfinished=() if finished else (f"The training of {name} has not come to its end.",),
    )


def _facts(config: _Config, made: _ModelProvenance) -> dict[str, str]:
    """Return what a reader wants to know first, as words."""
    training, held_out = made.training, made.held_out or _BothHeldOut()
    sizes = ((config.hidden, "hidden units"), (config.embedding, "elements of a word"))
    lists = ((config.source_vocabulary, "source"), (config.target_vocabulary, "target"))
    facts = {
        "kind": config.kind,
        "size": ", ".join(f"{size:,} {what}" for size, what in sizes if size is not None),
        "words in its lists": ", ".join(f"{n:,} {side}" for n, side in lists if n is not None),
        "direction": config.direction,
    }
    if training.words is not None:
        facts["words seen"] = f"{training.words:,} in {training.updates:,} updates"
    for found, words in (
        (held_out.held_out_sources, "sources"),
        (held_out.held_out_pairs, "pairs"),
    ):
        if found:
            facts[f"unseen {words}"] = f"{found.nll:.3f} nats per word"
    return {name: text for name, text in facts.items() if text}
