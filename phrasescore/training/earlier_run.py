"""What an earlier call of ``train`` has left: a model, or a work folder to continue in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phrasescore.errors import ResumeError, SettingsError
from phrasescore.model.folder_names import PROVENANCE
from phrasescore.provenance import write_json
from phrasescore.resuming.comparison import refuse_differences
from phrasescore.training.checkpoint import BEST, LATEST
from phrasescore.training.curves import CURVES

SETTINGS = "settings.json"  # in the work folder, from its beginning
INPUT = "sha256 of the input"


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
        before = dict(json.loads((model / PROVENANCE).read_bytes())["asked"])
    except (OSError, ValueError, KeyError, TypeError):
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

    Raises:
        ResumeError: The earlier run had other settings or another input.
    """
    path = work / SETTINGS
    if path.exists():
        try:
            before = dict(json.loads(path.read_bytes()))
        except (ValueError, TypeError):
            raise ResumeError("not the work folder of a training run", path=work) from None
        remedy = "give the same options and input as before, or start again with --overwrite"
        refuse_differences(before, asked, work, remedy)
    else:
        (work / LATEST).unlink(missing_ok=True)
    if not (work / LATEST).exists():
        for leftover in (BEST, CURVES):
            (work / leftover).unlink(missing_ok=True)
    work.mkdir(exist_ok=True)
    write_json(path, dict(asked))
