"""The interface of all kinds of model: a loss, scores of given targets, and a decoding step.

Training, evaluation, model folders, scoring and search use only this interface. Shapes follow the
legend of docs/architecture.md. A language model reads no source and is given empty ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from phrasescore.model.model_settings import ModelSettings

END = 0  # the id of </s> on both sides
UNKNOWN = 1  # the id of <unk> on both sides

Initialisation = Literal["paper", "scaled"]

_PAPER_DEVIATION = 0.01  # section 4.1.1
_RECURRENCES = ("gate_weight", "candidate_weight", "recurrent_weight")


@dataclass(frozen=True)
class State:
    """The decoding state of B prefixes.

    Attributes:
        rows: Tensors whose first dimension is B.
        memory: Tensors of one length that all rows share, such as the encoder's states of all
            source words. If there is a memory, ``rows[0]`` holds the offset of each row's part.
    """

    rows: tuple[Tensor, ...]
    memory: tuple[Tensor, ...] = ()

    def gathered(self, rows: Tensor) -> State:
        """Return the state of the prefixes ``rows (N,)``, in this order, with repetitions."""
        return State(tuple(part[rows] for part in self.rows), self.memory)

    def followed_by(self, others: Sequence[State]) -> State:
        """Concatenate states of the same model."""
        if not others:
            return self
        states = [self, *others]
        parts = [state.rows for state in states]
        memory = self.memory
        if memory and any(state.memory is not memory for state in others):
            sizes = [len(state.memory[0]) for state in states]
            moves = [sum(sizes[:at]) for at in range(len(sizes))]
            parts = [(rows[0] + move, *rows[1:]) for rows, move in zip(parts, moves, strict=True)]
            memory = tuple(
                torch.cat(each) for each in zip(*(s.memory for s in states), strict=True)
            )
        return State(tuple(torch.cat(each) for each in zip(*parts, strict=True)), memory)


@dataclass(frozen=True)
class Batch:
    """Pairs as tensors.

    Attributes:
        source: ``(B, S)`` word ids without </s>; S is 0 for a kind that reads no source.
        target: ``(B, T)`` likewise; shorter phrases are padded with </s>.
        lengths: ``(B,)`` source and target lengths; ``None`` if all are S and T.
        words: Number of target words and final </s>, over which the loss is summed.
    """

    source: Tensor
    target: Tensor
    lengths: tuple[Tensor, Tensor] | None
    words: int

    @property
    def ended(self) -> Tensor:
        """``(B, T + 1)``, the targets with </s> appended; shorter ones are padded with </s>."""
        return torch.cat([self.target, self.target.new_full((len(self.target), 1), END)], dim=1)

    @property
    def counted(self) -> Tensor | None:
        """``(B, T + 1)`` mask of words and final </s>; ``None`` if there is no padding."""
        if self.lengths is None:
            return None
        T = self.target.shape[1]
        return torch.arange(T + 1, device=self.target.device) <= self.lengths[1][:, None]

    def to(self, device: torch.device) -> Batch:
        """Return the batch on another device."""
        lengths = self.lengths and (self.lengths[0].to(device), self.lengths[1].to(device))
        return Batch(self.source.to(device), self.target.to(device), lengths, self.words)


@dataclass(frozen=True)
class Regularisation:
    """Dropout and label smoothing for one batch of training.

    Attributes:
        dropout: Share of the elements that are set to 0; the others are scaled up.
        label_smoothing: Share of the target probability that is spread evenly over all words.
        generator: Random numbers for dropout, on the device of the model.
    """

    dropout: float
    label_smoothing: float
    generator: torch.Generator

    def dropped(self, values: Tensor) -> Tensor:
        """Apply dropout; the expectation stays the same."""
        if not self.dropout:
            return values
        drawn = torch.empty(values.shape, device=values.device).uniform_(generator=self.generator)
        return values * ((drawn >= self.dropout).to(values.dtype) / (1 - self.dropout))


class StepModel(nn.Module, ABC):
    """The part of a model that a search uses: ln p of the next word, step by step."""

    @property
    def device(self) -> torch.device:
        """The device of the parameters."""
        return next(self.parameters()).device

    @abstractmethod
    def start(
        self, source: Tensor, lengths: Tensor | None = None, dtype: torch.dtype | None = None
    ) -> tuple[State, Tensor]:
        """Encode sources; return the state before the first word and its ln p, ``(B, V)``.

        Args:
            source: ``(B, S)`` word ids without </s>; S is 0 for a kind that reads no source.
            lengths: ``(B,)`` numbers of words; ``None`` if all sources have S.
            dtype: Type of the recurrent products, here and in the steps that follow.
        """

    @abstractmethod
    def step(self, state: State, words: Tensor) -> tuple[State, Tensor]:
        """Read one more word of each prefix; return the state and ln p of the next, ``(B, V)``.

        Args:
            state: State of B prefixes, from ``start`` or ``step``, possibly gathered.
            words: ``(B,)`` word ids.
        """


class SequenceModel(StepModel):
    """p(target | source), or p(target), word by word.

    Attributes:
        settings: Everything that determines the shape and the meaning of the model.
    """

    settings: ModelSettings

    def initialise(
        self, generator: torch.Generator, initialisation: Initialisation = "paper"
    ) -> None:
        """Draw the initial weights from ``generator``; biases are 0.

        Recurrent weights are always the left singular vectors of a white Gaussian matrix (Saxe et
        al., 2014). The other weights are normal. Their standard deviation is 0.01 with ``paper``
        (section 4.1.1); with ``scaled`` it is 1 for word vectors and 1 / sqrt(inputs) for the rest,
        which keeps the strength of a signal: the decoder begins to use the encoder after a few
        hundred updates instead of a few thousand.
        """
        draw_weights(self, generator, lambda name, of: initial_deviation(name, of, initialisation))

    @abstractmethod
    def loss(
        self,
        batch: Batch,
        dtype: torch.dtype | None = None,
        regularisation: Regularisation | None = None,
    ) -> Tensor:
        """Return the negative ln p summed over pairs, words and final </s>, a scalar.

        Args:
            batch: On the model's device.
            dtype: Type of the matrix products, ``None`` for the parameters' own; sums stay in
                float32 or better.
            regularisation: Dropout and label smoothing, for kinds that learn from sentences.
        """

    def multiplied(self) -> list[nn.Parameter]:
        """Return the weights that the loss only uses after conversion to the type of its products.

        Training may keep these weights in that type. A model that returns none only trains more
        slowly.
        """
        return []

    def expect_words(self, counts: Tensor) -> None:
        """Initialise the output's bias with the word frequencies of the training text.

        Kinds for which this was not tried do nothing.

        Args:
            counts: ``(V,)`` occurrences of each word and of </s>.
        """

    def summaries(
        self, source: Tensor, lengths: Tensor | None = None, dtype: torch.dtype | None = None
    ) -> Tensor:
        """Encode sources into their summaries c, ``(B, H)``; only for kinds that ``summarise``.

        Args:
            source: ``(B, S)`` word ids without </s>, padded with </s>.
            lengths: ``(B,)`` numbers of words; ``None`` if all sources have S.
            dtype: Type of the matrix products; ``None`` for the parameters' own.
        """
        raise NotImplementedError(f"{type(self).__name__} has no summaries")

    def log_normalisers(self, batch: Batch) -> Tensor:
        """Return ln Z of every target word and final </s>, ``(N,)``.

        Only for models whose settings are ``is_self_normalised``, like :meth:`centre`.
        """
        raise NotImplementedError(f"{type(self).__name__} is not self-normalised")

    def centre(self, mean: float) -> None:
        """Subtract the mean of ln Z from every logit; ln p stays, the mean of ln Z becomes 0."""
        raise NotImplementedError(f"{type(self).__name__} is not self-normalised")

    @abstractmethod
    def score(self, batch: Batch, dtype: torch.dtype | None = None) -> Tensor:
        """Return ln p of every target word and of the final </s>, ``(B, T + 1)``, 0 for padding.

        Args:
            batch: On the model's device.
            dtype: Type of the recurrent products, ``None`` for the parameters' own; the output
                layer always runs in the parameters' own.
        """


def initial_deviation(name: str, parameter: Tensor, initialisation: Initialisation) -> float:
    """Return the initial standard deviation of a weight that is neither bias nor recurrent.

    See :meth:`SequenceModel.initialise`.
    """
    if initialisation == "paper":
        return _PAPER_DEVIATION
    if name.endswith("embedding"):
        return 1.0
    # the output layer has a row for each word, other weights have a row for each input
    inputs = parameter.shape[1] if name == "output_words" else parameter.shape[0]
    return float(inputs) ** -0.5


def draw_weights(
    model: nn.Module, generator: torch.Generator, deviation: Callable[[str, Tensor], float]
) -> None:
    """Draw the initial weights: biases 0, recurrent weights orthogonal, the others normal.

    Args:
        model: The model.
        generator: Random numbers, drawn parameter by parameter.
        deviation: Returns the standard deviation of a parameter.
    """
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
            elif name.endswith(_RECURRENCES):
                H, columns = parameter.shape
                for first in range(0, columns, H):
                    white = torch.empty(H, H).normal_(generator=generator)
                    parameter[:, first : first + H] = torch.linalg.svd(white)[0]
            else:
                parameter.normal_(0, deviation(name, parameter), generator=generator)
