"""The state of a training run: the latest checkpoint, the best model so far, the progress.

Checkpoints are torch files that are written atomically, and read with ``weights_only``, so a file
from a stranger cannot run code.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import pickle
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from phrasescore.closed_settings import from_mapping
from phrasescore.errors import InputError, ResumeError, SettingsError
from phrasescore.model.folder import PROVENANCE
from phrasescore.runs.file_kinds import open_regular
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.json_files import read_object

LATEST, BEST = "checkpoint.pt", "best.pt"


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
    content = {"state": dataclasses.asdict(state), "weights": weights, "moments": moments}
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
        return state, content["weights"], content["moments"]


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


def finished_state(model: Path) -> TrainingState:
    """Return the final progress of the run that trained a finished model.

    Raises:
        ResumeError: The record of the run lacks its progress.
    """
    with another_refused(model / PROVENANCE):
        record = read_object(model / PROVENANCE)
        figures = [record["held_out"].get(name) for name in ("held_out_sources", "held_out_pairs")]
        best = next((figure["nll"] for figure in figures if figure), float("inf"))
        done = record["training"]
        begun = {"begun": done["updates"], "best_nll": best}
        return from_mapping(TrainingState, done | begun, where="training", only_known=False)
