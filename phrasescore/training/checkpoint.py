"""The work folder of a training run: what a killed run needs to continue unchanged.

``MODEL.training/`` beside the model to come holds the encoded pairs, ``settings.json``, the curve
and two checkpoints: the latest state and the best model so far. Each is replaced in one step.
Checkpoints are torch files read with ``weights_only``, so a stranger's file can do no harm.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from phrasescore.closed_settings import from_mapping
from phrasescore.errors import InputError, ResumeError, SettingsError
from phrasescore.runs.file_kinds import open_regular
from phrasescore.runs.final_names import write_atomically

LATEST = "checkpoint.pt"
BEST = "best.pt"


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
