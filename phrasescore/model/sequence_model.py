"""The interface of all kinds of model: a loss, scores of given targets, and a decoding step.

Training, evaluation, model folders, scoring and search use only this interface. Shapes use the
letters of docs/architecture.md. A language model reads no source; callers pass empty sources.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from phrasescore.model.kinds import ModelSettings, kind_named

END = 0  # the id of </s> on both sides
UNKNOWN = 1  # the id of <unk> on both sides

Initialisation = Literal["paper", "scaled"]

_PAPER_DEVIATION = 0.01  # Cho et al. (2014), section 4.1.1
_RECURRENCES = ("gate_weight", "candidate_weight", "recurrent_weight")


@dataclass(frozen=True)
class State:
    """The decoding state of B prefixes.

    Attributes:
        rows: Tensors whose first dimension is B.
        memory: Tensors of equal length for all prefixes together, such as the encoder's states
            of all source words. If present, ``rows[0]`` says where each prefix's part begins.
    """

    rows: tuple[Tensor, ...]
    memory: tuple[Tensor, ...] = ()

    def gathered(self, rows: Tensor) -> State:
        """Return the state of the prefixes ``rows (N,)`` in this order; prefixes may repeat."""
        return State(tuple(part[rows] for part in self.rows), self.memory)

    def followed_by(self, others: Sequence[State]) -> State:
        """Append the states of further prefixes, from the same model."""
        if not others:
            return self
        states = [self, *others]
        parts = [state.rows for state in states]
        memory = self.memory
        if memory and any(state.memory is not memory for state in others):
            sizes = [len(state.memory[0]) for state in states]
            moves = [sum(sizes[:at]) for at in range(len(sizes))]
            parts = [(rows[0] + move, *rows[1:]) for rows, move in zip(parts, moves, strict=True)]
            memories = zip(*(state.memory for state in states), strict=True)
            memory = tuple(map(torch.cat, memories))
        return State(tuple(map(torch.cat, zip(*parts, strict=True))), memory)


@dataclass(frozen=True)
class Batch:
    """B pairs as tensors.

    Attributes:
        source: ``(B, S)`` word ids without </s>; S is 0 for a kind that reads no source.
        target: ``(B, T)`` word ids without </s>. Shorter sources and targets are padded with </s>.
        lengths: ``(B,)`` source lengths and target lengths; ``None`` if there is no padding.
    """

    source: Tensor
    target: Tensor
    lengths: tuple[Tensor, Tensor] | None

    @property
    def source_lengths(self) -> Tensor | None:
        """``(B,)`` source lengths; ``None`` if there is no padding."""
        return None if self.lengths is None else self.lengths[0]

    @property
    def ended(self) -> Tensor:
        """``(B, T + 1)``: the targets with </s> appended, and padded with </s>."""
        return torch.cat([self.target, self.target.new_full((len(self.target), 1), END)], dim=1)

    @property
    def counted(self) -> Tensor | None:
        """``(B, T + 1)`` mask of target words and final </s>; ``None`` if there is no padding."""
        if self.lengths is None:
            return None
        T = self.target.shape[1]
        return torch.arange(T + 1, device=self.target.device) <= self.lengths[1][:, None]

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The words of both sides, then the lengths if there is padding."""
        return self.source, self.target, *(self.lengths or ())

    def to(self, device: torch.device, *, copy: bool = False) -> Batch:
        """Return the batch on another device, or a copy of it."""
        source, target, *lengths = (each.to(device, copy=copy) for each in self.tensors)
        return Batch(source, target, (lengths[0], lengths[1]) if lengths else None)


@dataclass(frozen=True)
class Regularisation:
    """Dropout and label smoothing for one batch of training.

    Attributes:
        dropout: Share of the elements that are set to 0; the others are scaled up.
        label_smoothing: Share of the target probability that is spread evenly over all words.
        generator: Random numbers for this batch, on the device of the model.
        NONE: Neither dropout nor label smoothing.
    """

    NONE: ClassVar[Regularisation]

    dropout: float
    label_smoothing: float
    generator: torch.Generator

    def dropped(self, values: Tensor) -> Tensor:
        """Apply dropout; the expected values stay the same."""
        if not self.dropout:
            return values
        drawn = torch.empty(values.shape, device=values.device).uniform_(generator=self.generator)
        return values * ((drawn >= self.dropout).to(values.dtype) / (1 - self.dropout))


Regularisation.NONE = Regularisation(0.0, 0.0, torch.Generator())


class StepModel(nn.Module, ABC):
    """The part of a model that a search uses: ln p of the next word, step by step."""

    @property
    def device(self) -> torch.device:
        """The device of the parameters."""
        return next(self.parameters()).device

    @abstractmethod
    def start(self, source: Tensor, lengths: Tensor, dtype: torch.dtype) -> tuple[State, Tensor]:
        """Encode sources; return the state before word 1, and ln p of word 1, ``(B, V)``.

        Args:
            source: ``(B, S)`` word ids without </s>; S is 0 for a kind that reads no source.
            lengths: ``(B,)`` words in each source.
            dtype: Type of the recurrent products, here and in the steps that follow.
        """

    @abstractmethod
    def step(self, state: State, words: Tensor) -> tuple[State, Tensor]:
        """Append a word to each prefix; return the state and ln p of the next word, ``(B, V)``.

        Args:
            state: State of B prefixes, from ``start`` or ``step``, possibly gathered.
            words: ``(B,)`` word ids.
        """


class SequenceModel(StepModel):
    """A model of p(target | source), or of p(target), word by word.

    Attributes:
        settings: Everything that determines the shapes and the meaning of the weights.
    """

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.settings = settings

    def initialise(self, generator: torch.Generator, initialisation: Initialisation) -> None:
        """Draw the initial weights from ``generator``; biases are 0.

        Recurrent weights are always the left singular vectors of a white Gaussian matrix (Saxe et
        al., 2014). The other weights are Gaussian. Their standard deviation is 0.01 with ``paper``
        (Cho et al., 2014, section 4.1.1). With ``scaled`` it is 1 for word vectors and
        1 / sqrt(inputs) for other weights, so that the layers preserve the magnitude of a signal.
        The decoder then begins to use the encoder after hundreds of updates, not thousands.
        """
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if name.endswith("bias"):
                    parameter.zero_()
                elif name.endswith(_RECURRENCES):
                    H, columns = parameter.shape
                    for first in range(0, columns, H):
                        white = torch.empty(H, H).normal_(generator=generator)
                        parameter[:, first : first + H] = torch.linalg.svd(white)[0]
                else:
                    deviation = self._initial_deviation(name, parameter, initialisation)
                    parameter.normal_(0, deviation, generator=generator)

    def _initial_deviation(
        self, name: str, parameter: Tensor, initialisation: Initialisation
    ) -> float:
        """Return the initial standard deviation of a weight that is no bias and not recurrent."""
        if initialisation == "paper":
            return _PAPER_DEVIATION
        if name.endswith("embedding"):
            return 1.0
        # the output layer has a row for each word, other weights have a row for each input
        inputs = parameter.shape[1] if name == "output_words" else parameter.shape[0]
        return float(inputs) ** -0.5

    @abstractmethod
    def loss(
        self, batch: Batch, dtype: torch.dtype | None, regularisation: Regularisation
    ) -> Tensor:
        """Return the negative ln p, summed over all target words and final </s> of the batch.

        Args:
            batch: A batch on the model's device.
            dtype: Type of the matrix products; ``None`` for the type of the parameters. Sums are
                computed in float32 or better.
            regularisation: Dropout and label smoothing, for kinds that learn from sentences.
        """

    def multiplied(self) -> list[nn.Parameter]:
        """Return weights that the loss always converts to the type of its matrix products.

        Training may keep these weights in the type of the products. If a model returns none, its
        training is slower but still correct.
        """
        return []

    def expect_words(self, counts: Tensor) -> None:
        """Initialise the output's bias from the word frequencies of the training data.

        By default, this method does nothing.

        Args:
            counts: ``(V,)`` how often each word and </s> occurs.
        """

    def summaries(
        self, source: Tensor, lengths: Tensor | None = None, dtype: torch.dtype | None = None
    ) -> Tensor:
        """Encode sources into summaries c, ``(B, H)``; only kinds with ``summarises`` can do so.

        Args:
            source: ``(B, S)`` word ids without </s>, padded with </s>.
            lengths: ``(B,)`` words in each source; ``None`` if all sources have S words.
            dtype: Type of the matrix products; ``None`` for the type of the parameters.
        """
        raise NotImplementedError(f"{type(self).__name__} has no summaries")

    def log_normalisers(self, batch: Batch) -> Tensor:
        """Return ln Z at every target word and final </s>, ``(N,)``; Z normalises the softmax.

        Only self-normalised models (``is_self_normalised``) have this method and :meth:`centre`.
        """
        raise NotImplementedError(f"{type(self).__name__} is not self-normalised")

    def centre(self, mean: float) -> None:
        """Subtract ``mean``, the mean of ln Z, from every logit; ln p does not change."""
        raise NotImplementedError(f"{type(self).__name__} is not self-normalised")

    @abstractmethod
    def score(self, batch: Batch, dtype: torch.dtype | None = None) -> Tensor:
        """Return ln p of every target word and of the final </s>, ``(B, T + 1)``, 0 for padding.

        Args:
            batch: A batch on the model's device.
            dtype: Type of the recurrent products; ``None`` for the type of the parameters. The
                output layer always computes in the type of the parameters.
        """


def build(settings: ModelSettings) -> SequenceModel:
    """Return an uninitialised model of the kind that the settings name."""
    module, _, name = kind_named(settings.kind).network.partition(":")
    networks = importlib.import_module(f"phrasescore.model.networks.{module}")
    return getattr(networks, name)(settings)
