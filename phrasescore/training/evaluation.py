"""How well a model predicts held-out pairs, its learning curve, and advice that follows from both.

Figures are exact: negative ln p per word, and perplexity. The curve is a line of JSON for each
evaluation, and TensorBoard events if asked for.

Advice on sizes was measured with recipe fast (docs/performance.md): a run that made 0.8 passes over
its pairs with 400 units, or 1.2 with 1000, ended with a worse model than one of half the units in
the same time or less, which saw about twice as many words. 128 units were no better than 200.
Longer runs were not compared.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from phrasescore.errors import MissingDependencyError, ModelError
from phrasescore.model.model_settings import EncoderDecoderSettings, ModelSettings
from phrasescore.model.networks.feed_forward_lm import FeedForwardLm
from phrasescore.model.sequence_model import END, SequenceModel
from phrasescore.runs.file_kinds import read_regular
from phrasescore.runs.final_names import own_file, write_atomically
from phrasescore.runs.json_files import parse_object
from phrasescore.training.batches import Indices, Plan, make_batch, uniform_plan, word_counts
from phrasescore.training.pairs import EncodedPairs, PhraseSide, Remainder

_BATCH = 512
_LARGEST_EXPONENT = 709.0  # of e, in a float


@dataclass(frozen=True)
class HeldOutFigure:
    """The negative ln p of held-out pairs.

    Attributes:
        pairs: How many pairs.
        words: How many target words, a final </s> counted for each pair.
        nll: Nats per word.
    """

    pairs: int
    words: int
    nll: float

    @property
    def perplexity(self) -> float:
        """The exponential of the nats per word; infinity where no number is as large."""
        return math.exp(self.nll) if self.nll < _LARGEST_EXPONENT else math.inf


def refuse_divergence(
    folder: Path, model: SequenceModel, figures: Iterable[HeldOutFigure | None]
) -> None:
    """See whether a trained model gives numbers at all.

    Args:
        folder: Where it was to be written, for the error.
        model: On any device.
        figures: How well it predicts what was held out, if anything was.

    Raises:
        ModelError: A weight or a perplexity is not finite.
    """
    finite = all(bool(torch.isfinite(each).all()) for each in model.parameters())
    if not finite or any(each and not math.isfinite(each.perplexity) for each in figures):
        raise ModelError(
            "training came to numbers that are not finite, so there is no model",
            path=folder,
            remedy="train again with a lower --learning-rate, and with --overwrite",
        )


def score_share(
    model: SequenceModel,
    pairs: EncodedPairs,
    rows: Indices,
    plan: Plan = uniform_plan,
    dtype: torch.dtype | None = None,
    at: int = 0,
    count: int = 1,
) -> tuple[float, int]:
    """Score a share of held-out pairs; return the sum of their negative ln p, and their words.

    Args:
        model: On any device.
        pairs: Where the rows come from.
        rows: ``(N,)`` which pairs are held out.
        plan: How to cut them into batches.
        dtype: What the recurrent products run in; the output layer runs in the model's own type.
        at: Which share, from 0.
        count: Of how many.
    """
    parts = plan(*pairs.lengths(rows), _BATCH, np.random.default_rng(0))
    total, words = 0.0, 0
    with torch.no_grad():
        for part in parts[at::count]:
            batch = make_batch(pairs.source, pairs.target, rows[part]).to(model.device)
            total -= float(model.score(batch, dtype).sum(dtype=torch.float64))
            words += batch.words
    return total, words


def normalisers(
    model: FeedForwardLm, pairs: EncodedPairs, rows: Indices, plan: Plan
) -> tuple[float, float]:
    """Return mean and deviation of ln Z over the target words and </s> of some pairs.

    Args:
        model: On any device.
        pairs: Where the rows come from.
        rows: ``(N,)`` which pairs, one at least.
        plan: How to cut them into batches.
    """
    parts = plan(*pairs.lengths(rows), _BATCH, np.random.default_rng(0))
    with torch.no_grad():
        found = [
            model.log_normalisers(
                make_batch(pairs.source, pairs.target, rows[part]).to(model.device)
            )
            for part in parts
        ]
    every = torch.cat(found).double()
    return float(every.mean()), float(every.std(correction=0))


CURVES = "curves.jsonl"


class Curves:
    """Append points to ``curves.jsonl``; a resumed run forgets the points after its checkpoint.

    Args:
        path: The file.
        updates: Updates of the run so far: later points are dropped.
        tensorboard: A folder for TensorBoard events, or ``None``.
    """

    def __init__(self, path: Path, updates: int, tensorboard: Path | None = None) -> None:
        self._path = path
        kept = [point for point in _points(path) if point["updates"] <= updates]
        text = "".join(json.dumps(point) + "\n" for point in kept)
        write_atomically(path, text.encode())
        self._board = _board(tensorboard, updates) if tensorboard else None

    def add(self, point: dict[str, Any]) -> None:
        """Write one point; ``updates`` is its place, and what is not finite becomes ``None``."""
        point = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in point.items()
        }
        with own_file(self._path, os.O_APPEND) as stream:
            stream.write(json.dumps(point).encode() + b"\n")
        if self._board is not None:
            for name, value in point.items():
                if isinstance(value, float):
                    self._board.add_scalar(name, value, point["updates"])
            self._board.flush()


def _points(path: Path) -> list[dict[str, Any]]:
    """Return the points of a file up to the first line that is not whole: a kill may cut one."""
    points: list[dict[str, Any]] = []
    lines = read_regular(path).split(b"\n") if path.exists() else []
    for line in lines[:-1]:
        try:
            point = parse_object(line)
        except ValueError:
            break
        if type(point.get("updates")) is not int:
            break
        points.append(point)
    return points


def _board(folder: Path, updates: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingDependencyError.extra("tensorboard", "tensorboard") from None
    # a resumed run hides what an interrupted one drew after its last checkpoint
    return SummaryWriter(str(folder), purge_step=updates + 1 if updates else None)


def described(point: dict[str, Any], of_text: bool) -> str:
    """Write a point of the curve as a line for the user.

    Args:
        point: As :meth:`Curves.add` takes it.
        of_text: Whether what is held out are sentences of a text.
    """
    text = f"epoch {point['epoch']:.2f}, {point['seconds']:,.0f} s: nll {point['training_nll']:.3f}"
    for name, what in (
        ("sources", f"unseen {'sentences' if of_text else 'sources'}"),
        ("pairs", "unseen pairs"),
    ):
        nll = point[f"held_out_{name}_nll"]
        if nll is not None:
            text += f", {what} {nll:.3f}"
    return f"{text} ({point['words_per_second']:,} words/s)"


_ENOUGH = 1.5  # passes over the pairs
_SMALLEST = 200
_FASTER = 2.0  # times as many words in the same time, with half the units
_LEARNT = 0.95  # of the nats per word that word frequencies give: a model of use has far fewer
_BUSY = 0.6  # of the time with a core: a process that is left less shares it with others


def better_size(model: ModelSettings, passes: float) -> int | None:
    """Return how many hidden units would do better in the same time; ``None`` for no fewer.

    Args:
        model: What is trained.
        passes: How often the run will have seen each pair when its time is over.

    >>> sizes = {"source_vocabulary": 9, "target_vocabulary": 9}
    >>> [better_size(EncoderDecoderSettings(**sizes), passes) for passes in (0.5, 1.2, 1.6)]
    [250, 500, None]
    """
    if not isinstance(model, EncoderDecoderSettings):
        return None
    hidden = model.hidden
    while passes < _ENOUGH and hidden // 2 >= _SMALLEST:
        hidden, passes = hidden // 2, passes * _FASTER
    return hidden if hidden < model.hidden else None


def frequency_nll(side: PhraseSide, training: Remainder, held_out: NDArray[np.int64]) -> float:
    """Return the nats per held-out word, </s> counted, that word frequencies alone give.

    Args:
        side: The target side of all pairs.
        training: The rows whose words are counted.
        held_out: The rows that are predicted.
    """
    seen, asked = word_counts(side, training), word_counts(side, held_out)
    seen[END], asked[END] = len(training), len(held_out)
    ln_p = np.log((seen + 1) / (seen.sum() + len(seen)))
    return float(-(asked @ ln_p) / asked.sum())


def warning_of(
    passes: float, figures: tuple[float, float] | None, *, timed: bool, processor_share: float
) -> str | None:
    """Say that the time was too short; ``None`` if it was not.

    Args:
        passes: How often the run saw each pair.
        figures: Nats per held-out word, of the model and of word frequencies alone; ``None`` where
            nothing is held out.
        timed: Whether the run ends after some time.
        processor_share: The part of that time when this process had a core.
    """
    few = timed and passes < 1
    hardly = figures is not None and figures[0] > _LEARNT * figures[1]
    if not hardly and not few:
        return None
    said = []
    if hardly and figures is not None:
        said.append(
            f"the model has hardly learnt anything: {figures[0]:.3f} nats per word, where word "
            f"frequencies alone give {figures[1]:.3f}"
        )
    if few:
        said.append(f"the time was over after {passes:.2f} passes over the pairs")
        if processor_share < _BUSY:
            said.append(f"other programs left this one {processor_share:.0%} of it")
    remedy = "the same command with a larger --max-time trains it further"
    if not timed:
        remedy = "the same command with a larger --max-epochs trains it further"
    return f"{'; '.join(said)}; {remedy}"
