"""What a killed or an earlier run of ``train`` has left: its work folder, or a finished model.

``MODEL.training/`` beside the model to come holds ``settings.json``, which is written first, the
encoded pairs, the curve and two checkpoints: the latest state and the best model so far. Each file
is replaced in one step. Checkpoints are torch files read with ``weights_only``, so a stranger's
file can do no harm.

A folder with anything else in it is somebody's, and stays as it is. To be removed, the folder
leaves its name at once; what a kill leaves of it then is a part, which the next run sweeps away.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import pickle
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from phrasescore.closed_settings import from_mapping
from phrasescore.errors import InputError, ResumeError, SettingsError, visible
from phrasescore.model.folder import CURVES, PROVENANCE
from phrasescore.runs.file_kinds import open_regular
from phrasescore.runs.final_names import part_path, remove, whole_names, write_atomically
from phrasescore.runs.identity import refuse_differences
from phrasescore.runs.json_files import read_object, write_json
from phrasescore.runs.results import RESULT, TrainingRecord
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
    """How far a run has come.

    Attributes:
        epoch: The pass over the data under way, from 0.
        position: Batches of this pass already trained on.
        updates: Updates so far, over all passes.
        begun: Of these, updates of a finished model that is trained further: the optimiser
            remembers nothing of them.
        words: Target words and final </s> trained on so far.
        seconds: Time spent training so far, over all resumed runs.
        evaluations: Evaluations so far.
        best_nll: The lowest held-out figure so far.
        since_best: Evaluations since then.
        loss: Loss summed since the last evaluation, and over how many words (``loss_words``).
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
    optimizer: dict[str, Any] | None = None,
) -> None:
    """Write a checkpoint atomically.

    Args:
        path: Its file.
        state: How far the run has come.
        weights: The model's ``state_dict``.
        optimizer: The optimiser's ``state_dict``; left out for a model that only is kept.
    """
    buffer = io.BytesIO()
    content = {"state": dataclasses.asdict(state), "weights": weights, "optimizer": optimizer}
    torch.save(content, buffer)
    write_atomically(path, buffer.getvalue())


def load_checkpoint(path: Path) -> tuple[TrainingState, dict[str, torch.Tensor], Any]:
    """Read a checkpoint: state, weights, and the optimiser's ``state_dict`` or ``None``.

    Raises:
        ResumeError: It is missing, damaged or not a checkpoint.
    """
    with another_refused(path), open_regular(path) as stream:
        content = torch.load(stream, map_location="cpu", weights_only=True)
        state = from_mapping(TrainingState, content["state"], where="state")
        return state, content["weights"], content["optimizer"]


@contextlib.contextmanager
def another_refused(path: Path) -> Iterator[None]:
    """Say of whatever goes wrong with a checkpoint's content that it is not a usable one.

    Args:
        path: Its file.

    Raises:
        ResumeError: It is missing, damaged, not a checkpoint, or that of another model.
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
    *(InputError, SettingsError, pickle.UnpicklingError),
)


def is_begun(work: Path) -> bool:
    """Tell whether an earlier run has left its work folder, possibly before it said what it is.

    Raises:
        ResumeError: Something else is there.
    """
    if not os.path.lexists(work):
        return False
    if work.is_symlink() or not work.is_dir():
        raise _foreign(work, "it is no folder of its own")
    names = set(whole_names(work).values())
    for name in names:
        if not _OWN.fullmatch(name):
            raise _foreign(work, f"{visible(os.fsencode(name), 80)} is no file of one")
    if SETTINGS in names:
        known_settings(work)
    elif names and PAIRS not in names and not _has_checkpoint(work):
        raise _foreign(work, f"it has no {SETTINGS}")
    return True


def known_settings(work: Path) -> dict[str, Any] | None:
    """Return what the run of a work folder was asked for; ``None`` if it has not said it yet.

    Raises:
        ResumeError: The file is damaged, or no run has written it.
    """
    try:
        known = read_object(work / SETTINGS)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise _foreign(work, f"its {SETTINGS} is no JSON ({error})") from None
    if INPUT not in known:
        raise _foreign(work, f"its {SETTINGS} is another program's")
    return known


def remove_work(work: Path) -> None:
    """Remove a work folder.

    Raises:
        ResumeError: Something is in it that no run has written; then it stays.
    """
    if not is_begun(work):
        return
    gone = part_path(work)
    work.rename(gone)
    try:
        # what came into it meanwhile has moved along, and must move back
        is_begun(gone)
    except ResumeError as error:
        gone.rename(work)
        error.path = work
        raise
    remove(gone)


def _has_checkpoint(work: Path) -> bool:
    for name in (LATEST, BEST):
        try:
            load_checkpoint(work / name)
        except ResumeError:
            continue
        return True
    return False


def _foreign(work: Path, why: str) -> ResumeError:
    return ResumeError(
        f"not the work folder of a training run: {why}",
        path=work,
        remedy="move it away, or name another folder for the model",
    )


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
    TrainingRecord().write(work / RESULT)
