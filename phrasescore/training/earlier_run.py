"""What an earlier call of ``train`` has left: a model, or a work folder to continue in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phrasescore.errors import SettingsError
from phrasescore.model.folder import PROVENANCE
from phrasescore.runs.identity import refuse_differences
from phrasescore.runs.json_files import read_object, write_json
from phrasescore.training.checkpoint import BEST, LATEST, TrainingState
from phrasescore.training.evaluation import CURVES
from phrasescore.training.training_settings import INPUT
from phrasescore.training.work_folder import SETTINGS, known_settings

_LIMITS = ("max_epochs", "max_seconds")


def is_longer_asked(model: Path, asked: Mapping[str, Any], *, any_precision: bool) -> bool:
    """Compare a finished model with the one that is asked for.

    Args:
        model: Its folder.
        asked: All that its weights depend on.
        any_precision: Whether it may have been trained in another precision.

    Returns:
        Whether it is to be trained further: more epochs or more time are asked for, and all else
        is the same. Otherwise it is the one that is asked for.

    Raises:
        ResumeError: It has other settings or another input.
        SettingsError: It does not say what was asked for, or its input came through a pipe.
    """
    remedy = "--overwrite replaces it; with more --max-time or --max-epochs it is trained further"
    try:
        before = dict(read_object(model / PROVENANCE)["asked"])
    except (OSError, ValueError, LookupError, TypeError):
        before = {}
    if not (before.get(INPUT) and asked[INPUT]):
        raise SettingsError(
            "a model is there already, and it cannot be told from which options and input",
            path=model,
            remedy="--overwrite replaces it",
        )
    if any_precision:
        before["precision"] = asked["precision"]
    limits = [(before.get(name), asked.get(name)) for name in _LIMITS]
    if all(new is None or (old is not None and old <= new) for old, new in limits):
        before |= {name: asked.get(name) for name in _LIMITS}
    refuse_differences(before, asked, model, remedy)
    return any(old != new for old, new in limits)


def finished_state(model: Path) -> TrainingState:
    """Return how far the run of a finished model came; its weights count as the best so far."""
    record = read_object(model / PROVENANCE)
    done = record["training"]
    figures = [record["held_out"].get(name) for name in ("held_out_sources", "held_out_pairs")]
    return TrainingState(
        epoch=done.get("epoch", 0),
        position=done.get("position", 0),
        updates=done["updates"],
        begun=done["updates"],
        words=done["words"],
        seconds=done["seconds"],
        best_nll=next((figure["nll"] for figure in figures if figure), float("inf")),
    )


def go_on_or_begin(work: Path, asked: Mapping[str, Any]) -> None:
    """Find a work folder in the state of an earlier run, or make it ready for a new one.

    Args:
        work: The folder; if there is one, it is that of a training run.
        asked: All that the weights depend on; the digest of the input is ``None`` where it comes
            through a pipe and is not known yet.

    Raises:
        ResumeError: The earlier run had other settings or another input.
    """
    before = known_settings(work)
    if before is not None:
        if before[INPUT] is None or asked[INPUT] is None:
            before[INPUT] = asked[INPUT]
        remedy = "give the same options and input as before, or start again with --overwrite"
        refuse_differences(before, asked, work, remedy)
        if asked[INPUT] is None:
            return
    else:
        (work / LATEST).unlink(missing_ok=True)
    if not (work / LATEST).exists():
        for leftover in (BEST, CURVES):
            (work / leftover).unlink(missing_ok=True)
    work.mkdir(exist_ok=True)
    write_json(work / SETTINGS, dict(asked))
