"""Evaluation on held-out pairs, and learning curves.

Nats per word and perplexity come from the softmax over the whole vocabulary. The file of a learning
curve has a line of JSON for each evaluation.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from phrasescore.errors import ModelError
from phrasescore.model.folder import CurvePoint
from phrasescore.model.sequence_model import END, SequenceModel
from phrasescore.runs.file_kinds import read_regular
from phrasescore.runs.final_names import own_file, write_atomically
from phrasescore.runs.json_files import parse_object
from phrasescore.training.batches import Indices, Plan, make_batch, word_counts
from phrasescore.training.pairs import EncodedPairs, PhraseSide, Remainder

_BATCH = 512
_LARGEST_EXPONENT = 709.0  # e^710 is infinite in a float


@dataclass(frozen=True)
class HeldOutFigure:
    """The mean negative ln p of held-out pairs.

    Attributes:
        pairs: Number of pairs.
        words: Number of target words, </s> included.
        nll: Nats per word.
    """

    pairs: int
    words: int
    nll: float

    @property
    def perplexity(self) -> float:
        """Perplexity per word: e to the power of ``nll``, or infinity if that overflows."""
        return math.exp(self.nll) if self.nll < _LARGEST_EXPONENT else math.inf


def refuse_divergence(
    folder: Path, model: SequenceModel, figures: Iterable[HeldOutFigure | None]
) -> None:
    """Refuse a model whose training has diverged.

    Args:
        folder: The model's folder, for the error.
        model: The trained model.
        figures: The model's figures on held-out pairs, if any were held out.

    Raises:
        ModelError: A weight or a perplexity is not finite.
    """
    finite = all(bool(torch.isfinite(each).all()) for each in model.parameters())
    if not finite or any(each and not math.isfinite(each.perplexity) for each in figures):
        problem = "the training diverged: some numbers are not finite, so no model is written"
        remedy = "train again with a lower --learning-rate, and with --overwrite"
        raise ModelError(problem, path=folder, remedy=remedy)


def normalisers(
    model: SequenceModel, pairs: EncodedPairs, rows: Indices, plan: Plan
) -> tuple[float, float]:
    """Return mean and standard deviation of ln Z over the target words and </s> of some pairs.

    Args:
        model: A model on any device.
        pairs: All pairs.
        rows: ``(N,)`` one or more rows.
        plan: Cuts the rows into batches.
    """
    with torch.no_grad():
        found = [
            model.log_normalisers(make_batch(pairs, part).to(model.device))
            for part in fixed_batches(pairs, rows, plan)
        ]
    every = torch.cat(found).double()
    return float(every.mean()), float(every.std(correction=0))


def fixed_batches(pairs: EncodedPairs, rows: Indices, plan: Plan) -> list[Indices]:
    """Cut rows into batches, always in the same way."""
    return [rows[part] for part in plan(*pairs.lengths(rows), _BATCH, np.random.default_rng(0))]


def begin_curve(path: Path, updates: int) -> None:
    """Begin or continue the learning curve of a run.

    Args:
        path: The file.
        updates: Number of updates of the run so far; later points are dropped, and all from the
            first damaged line.
    """
    kept = []
    lines = read_regular(path).split(b"\n") if path.exists() else []
    for line in lines[:-1]:
        try:
            point = parse_object(line)
        except ValueError:  # a killed run may have left half a line
            break
        if type(point.get("updates")) is not int:
            break
        if point["updates"] <= updates:
            kept.append(point)
    write_atomically(path, "".join(json.dumps(point) + "\n" for point in kept).encode())


def add_point(path: Path, point: CurvePoint) -> None:
    """Append a point to the curve; values that are not finite become ``null``."""
    values = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in dataclasses.asdict(point).items()
    }
    with own_file(path, os.O_APPEND) as stream:
        stream.write(json.dumps(values).encode() + b"\n")


def described(point: CurvePoint, of_text: bool) -> str:
    """Format a point of the curve as a line for the user.

    Args:
        point: A point as in :func:`add_point`.
        of_text: Whether the model learns from one text instead of pairs.
    """
    text = f"epoch {point.epoch:.2f}, {point.seconds:,.0f} s: nll {point.training_nll:.3f}"
    if (nll := point.held_out_sources_nll) is not None:
        text += f", unseen {'sentences' if of_text else 'sources'} {nll:.3f}"
    if (nll := point.held_out_pairs_nll) is not None:
        text += f", unseen pairs {nll:.3f}"
    return f"{text} ({point.words_per_second:,} words/s)"


def frequency_nll(side: PhraseSide, training: Remainder, held_out: NDArray[np.int64]) -> float:
    """Return the nats per held-out word, </s> included, of a unigram model.

    Args:
        side: The target side of all pairs.
        training: Rows to count words in.
        held_out: Rows to predict.
    """
    seen, asked = word_counts(side, training), word_counts(side, held_out)
    seen[END], asked[END] = len(training), len(held_out)
    ln_p = np.log((seen + 1) / (seen.sum() + len(seen)))
    return float(-(asked @ ln_p) / (side.words(held_out) + len(held_out)))
