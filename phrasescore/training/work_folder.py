"""The work folder of a training run; training continues from there, or from a finished model.

``MODEL.training/`` holds ``settings.json`` (written first), the encoded pairs, the learning curve
and two checkpoints: the latest state and the best model so far. Each file is replaced atomically.
Checkpoints are torch files that are read with ``weights_only``, so a file from a stranger cannot
run code.

A folder that contains foreign files is never changed or removed. Before a work folder is removed,
it gets a temporary name. If a run is killed during the removal, the next run removes the rest.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import pickle
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from phrasescore.closed_settings import from_mapping
from phrasescore.errors import InputError, ResumeError, SettingsError, visible
from phrasescore.model.folder import CURVES, PROVENANCE, TrainingRecord
from phrasescore.runs.file_kinds import open_regular
from phrasescore.runs.final_names import scratch_folder, whole_names, write_atomically
from phrasescore.runs.identity import refuse_differences
from phrasescore.runs.json_files import read_object, write_json
from phrasescore.runs.results import RESULT
from phrasescore.training.encoding import FILES_OF_PAIRS
from phrasescore.training.settings import INPUT

LATEST = "checkpoint.pt"
BEST = "best.pt"
SETTINGS = "settings.json"
PAIRS = "pairs"

_OWN = re.compile(
    rf"{re.escape(SETTINGS)}|{re.escape(LATEST)}|{re.escape(BEST)}|{re.escape(CURVES)}"
    rf"|{re.escape(RESULT)}|{PAIRS}(/({FILES_OF_PAIRS}))?"
)
_LIMITS = ("max_epochs", "max_seconds")


@dataclass
class TrainingState:
    """The progress of a run.

    Attributes:
        epoch: Index of the current pass over the data, from 0.
        position: Number of batches of this pass that are done.
        updates: Number of updates over all passes.
        begun: Number of updates of the finished model that is being trained further; the
            optimiser's moments do not cover them.
        words: Number of target words trained on, </s> included.
        seconds: Seconds of training over all resumed runs.
        evaluations: Number of evaluations.
        best_nll: Lowest held-out nats per word.
        since_best: Number of evaluations after the evaluation that found ``best_nll``.
        loss: Loss, summed over all words since the last evaluation.
        loss_words: Number of these words.
    """

    epoch: int = 0
    position: int = 0
    updates: int = 0
    begun: int = 0
    words: int = 0
    seconds: float = 0.0
    evaluations: int = 0
    best_nll: float = float("inf")
    since_best: int = 0
    loss: float = 0.0
    loss_words: int = 0


def save_checkpoint(
    path: Path,
    state: TrainingState,
    weights: dict[str, torch.Tensor],
    moments: torch.Tensor | None = None,
) -> None:
    """Write a checkpoint atomically.

    Args:
        path: The file.
        state: Progress of the run.
        weights: The model's ``state_dict``.
        moments: The optimiser's moments; ``None`` for the best model, as no run resumes from it.
    """
    buffer = io.BytesIO()
    optimizer = None if moments is None else {"moments": moments}
    content = {"state": dataclasses.asdict(state), "weights": weights, "optimizer": optimizer}
    torch.save(content, buffer)
    write_atomically(path, buffer.getvalue())


def load_checkpoint(
    path: Path,
) -> tuple[TrainingState, dict[str, torch.Tensor], torch.Tensor | None]:
    """Read a checkpoint: state, weights, and the optimiser's moments or ``None``.

    Raises:
        ResumeError: The file is missing, damaged or not a checkpoint.
    """
    with another_refused(path), open_regular(path) as stream:
        unpacked = sum(each.file_size for each in zipfile.ZipFile(stream).infolist())
        if unpacked > stream.seek(0, os.SEEK_END):
            raise ValueError("its records are compressed")
        stream.seek(0)
        content = torch.load(stream, map_location="cpu", weights_only=True)
        state = from_mapping(TrainingState, content["state"], where="state")
        optimizer = content["optimizer"]
        return state, content["weights"], None if optimizer is None else optimizer["moments"]


@contextlib.contextmanager
def another_refused(path: Path) -> Iterator[None]:
    """Turn errors about a checkpoint's content into a `ResumeError`.

    Args:
        path: The checkpoint's file.

    Raises:
        ResumeError: The checkpoint is missing, damaged, or belongs to another model.
    """
    try:
        yield
    except FileNotFoundError:
        raise ResumeError("no checkpoint to resume from", path=path) from None
    except _DAMAGES as error:
        reason = str(error).partition("\n")[0]
        raise ResumeError(
            f"not a usable checkpoint ({reason})", path=path, remedy="train again with --overwrite"
        ) from None


_DAMAGES = (
    *(OSError, EOFError, RuntimeError, LookupError, TypeError, ValueError, AttributeError),
    *(InputError, SettingsError, pickle.UnpicklingError, zipfile.BadZipFile),
)


def known_settings(work: Path) -> dict[str, Any] | None:
    """Return the settings of a work folder's run; ``None`` if no run has begun there.

    Raises:
        ResumeError: Something else has this name, or the settings in the folder are damaged.
    """
    if not os.path.lexists(work):
        return None
    if work.is_symlink() or not work.is_dir():
        raise _foreign(work, "it is a file or a link")
    names = set(whole_names(work).values())
    for name in names:
        if not _OWN.fullmatch(name):
            raise _foreign(work, f"{visible(os.fsencode(name), 80)} is not one of its files")
    # A run writes its settings first, atomically, so without settings no run has begun. Any run may
    # use encoded pairs in a folder without settings.
    if (names <= {SETTINGS} or PAIRS in names) and not (work / SETTINGS).exists():
        return None
    try:
        known = read_object(work / SETTINGS)
    except (OSError, ValueError) as error:
        raise _foreign(work, f"its {SETTINGS} cannot be read ({error})") from None
    if INPUT not in known:
        raise _foreign(work, f"its {SETTINGS} comes from another program")
    return known


def remove_work(work: Path) -> None:
    """Remove a work folder.

    Raises:
        ResumeError: The folder contains a foreign file; it is not removed.
    """
    known_settings(work)
    if work.exists():
        with scratch_folder(work) as scratch:
            work.rename(scratch / work.name)


def _foreign(work: Path, why: str) -> ResumeError:
    return ResumeError(
        f"not the work folder of a training run: {why}",
        path=work,
        remedy="move it away, or name another folder for the model",
    )


def asks_for_more(model: Path, asked: Mapping[str, Any], *, any_precision: bool) -> bool:
    """Compare a finished model with the settings of a new run.

    Args:
        model: The model's folder.
        asked: Everything that the new run's weights depend on.
        any_precision: Whether a difference in precision is allowed.

    Returns:
        Whether the new run asks for more epochs or more time, all else being equal; otherwise it
        asks for exactly this model.

    Raises:
        ResumeError: The model has other settings or another input.
        SettingsError: The model's settings are unknown.
    """
    remedy = (
        "give --overwrite to replace it; larger limits (--max-time, --max-epochs) train it further"
    )
    try:
        before = dict(read_object(model / PROVENANCE)["settings"])
    except (OSError, ValueError, LookupError, TypeError):
        before = {}
    if not before.get(INPUT):
        raise SettingsError(
            "this folder holds a model, but not the options and input that it was trained with",
            path=model,
            remedy="give --overwrite to replace it",
        )
    if any_precision:
        before["precision"] = asked["precision"]
    limits = [(before.get(name), asked.get(name)) for name in _LIMITS]
    if all(new is None or (old is not None and old <= new) for old, new in limits):
        before |= {name: asked.get(name) for name in _LIMITS}
    refuse_differences(before, asked, model, remedy)
    return any(old != new for old, new in limits)


def finished_state(model: Path) -> TrainingState:
    """Return the final progress of the run that trained a finished model.

    Raises:
        ResumeError: The record of the run lacks its progress.
    """
    with another_refused(model / PROVENANCE):
        record = read_object(model / PROVENANCE)
        figures = [record["held_out"].get(name) for name in ("held_out_sources", "held_out_pairs")]
        best = next((figure["nll"] for figure in figures if figure), float("inf"))
        names = ("epoch", "position", "updates", "words", "seconds")
        done = {name: record["training"][name] for name in names if name in record["training"]}
        begun = {"begun": done["updates"], "best_nll": best}
        return from_mapping(TrainingState, done | begun, where="training")


def prepare_work(work: Path, asked: Mapping[str, Any]) -> None:
    """Prepare a work folder to continue an earlier run or to begin a new one.

    Args:
        work: The folder. If it exists, it must be the work folder of a training run.
        asked: Everything that the weights depend on.

    Raises:
        ResumeError: The earlier run had other settings or another input.
    """
    before = known_settings(work)
    if before is not None:
        remedy = "give the same options and input as before, or start again with --overwrite"
        refuse_differences(before, asked, work, remedy)
    else:
        (work / LATEST).unlink(missing_ok=True)
    if not (work / LATEST).exists():
        for leftover in (BEST, CURVES):
            (work / leftover).unlink(missing_ok=True)
    work.mkdir(exist_ok=True)
    write_json(work / SETTINGS, dict(asked))
    TrainingRecord().write(work / RESULT)
