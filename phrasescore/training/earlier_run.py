"""What an earlier call of ``train`` has left: a model, or a work folder to continue in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phrasescore.errors import SettingsError
from phrasescore.files.json_files import read_object
from phrasescore.model.folder_names import PROVENANCE
from phrasescore.provenance import write_json
from phrasescore.resuming.comparison import refuse_differences
from phrasescore.training.checkpoint import BEST, LATEST
from phrasescore.training.curves import CURVES
from phrasescore.training.training_settings import INPUT
from phrasescore.training.work_folder import SETTINGS, known_settings


def check_trained(model: Path, asked: Mapping[str, Any], *, any_precision: bool) -> None:
    """Check that a model is the one that is asked for.

    Args:
        model: Its folder.
        asked: All that its weights depend on.
        any_precision: Whether it may have been trained in another precision.

    Raises:
        ResumeError: It has other settings or another input.
        SettingsError: It does not say what was asked for, or its input came through a pipe.
    """
    remedy = "--overwrite replaces it"
    try:
        before = dict(read_object(model / PROVENANCE)["asked"])
    except (OSError, ValueError, LookupError, TypeError):
        before = {}
    if not (before.get(INPUT) and asked[INPUT]):
        raise SettingsError(
            "a model is there already, and it cannot be told from which options and input",
            path=model,
            remedy=remedy,
        )
    if any_precision:
        before["precision"] = asked["precision"]
    refuse_differences(before, asked, model, remedy)


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
