"""What every kind of model offers: a loss, scores of given targets, and a step.

Training, evaluation, model folders, scoring and search know this alone. Shapes use the legend of
docs/architecture.md. A kind that reads no source (a language model) is given sources of no words.
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
    """What a model remembers of B prefixes.

    Attributes:
        rows: Tensors whose first dimension is B.
        memory: What all rows share: tensors of one length, such as what an encoder wrote of each
            word. Where there is any, ``rows[0]`` says at which place of it a row's own part begins.
    """

    rows: tuple[Tensor, ...]
    memory: tuple[Tensor, ...] = ()

    def gathered(self, rows: Tensor) -> State:
        """Return the state of some prefixes, ``rows (N,)``, in that order; one may come again."""
        return State(tuple(part[rows] for part in self.rows), self.memory)

    def followed_by(self, others: Sequence[State]) -> State:
        """Return the state of these prefixes and then of others', of the same model."""
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
        lengths: ``(B,)`` source and target lengths; ``None`` where all are S and T.
        words: Target words and final </s>, what the loss is summed over.
    """

    source: Tensor
    target: Tensor
    lengths: tuple[Tensor, Tensor] | None
    words: int

    @property
    def ended(self) -> Tensor:
        """``(B, T + 1)``, the targets with </s> at their ends, shorter ones filled up with it."""
        return torch.cat([self.target, self.target.new_full((len(self.target), 1), END)], dim=1)

    @property
    def counted(self) -> Tensor | None:
        """``(B, T + 1)`` bool, words and final </s>, not the padding; ``None`` without padding."""
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
    """What keeps a model from learning a small text by heart, for one batch of training.

    Attributes:
        dropout: Share of the elements that are set to 0, the others growing by so much.
        label_smoothing: Share of the probability that is wanted of all words alike.
        generator: Draws what is dropped; on the device of the model.
    """

    dropout: float
    label_smoothing: float
    generator: torch.Generator

    def dropped(self, values: Tensor) -> Tensor:
        """Return values of which a share is 0; the expectation stays."""
        if not self.dropout:
            return values
        drawn = torch.empty(values.shape, device=values.device).uniform_(generator=self.generator)
        return values * ((drawn >= self.dropout).to(values.dtype) / (1 - self.dropout))


class StepModel(nn.Module, ABC):
    """What a search asks: ln p of the next word of any prefixes, after a start and step by step."""

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return next(self.parameters()).device

    @abstractmethod
    def start(
        self, source: Tensor, lengths: Tensor | None = None, dtype: torch.dtype | None = None
    ) -> tuple[State, Tensor]:
        """Read sources; return the state before the first word and its ln p, ``(B, V)``.

        Args:
            source: ``(B, S)`` word ids without </s>; S is 0 for a kind that reads no source.
            lengths: ``(B,)`` words of each; ``None`` where all have S.
            dtype: What the recurrent products run in, here and in the steps that follow.
        """

    @abstractmethod
    def step(self, state: State, words: Tensor) -> tuple[State, Tensor]:
        """Read one more word of each prefix; return the state and ln p of the next, ``(B, V)``.

        Args:
            state: Of B prefixes, from ``start`` or ``step``, possibly gathered.
            words: ``(B,)`` word ids.
        """


class SequenceModel(StepModel):
    """p(target | source), or p(target), word by word.

    Attributes:
        settings: Everything that the shape and the meaning of the model depend on.
    """

    settings: ModelSettings

    def initialise(
        self, generator: torch.Generator, initialisation: Initialisation = "paper"
    ) -> None:
        """Draw the initial weights from ``generator``; biases are 0.

        In both ways each recurrent weight is the left singular vectors of a white Gaussian matrix
        (Saxe et al., 2014). The others are normal with deviation 0.01 in the ``paper`` way (section
        4.1.1). In the ``scaled`` way it is 1 for word vectors and 1 / sqrt(inputs) for the rest,
        which passes a signal on at its strength: the decoder begins to listen to the encoder after
        a few hundred updates instead of a few thousand.
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
            dtype: What the matrix products run in, ``None`` for the parameters' own; sums stay in
                float32 or better.
            regularisation: For kinds that learn from sentences.
        """

    def multiplied(self) -> list[nn.Parameter]:
        """Return weights that a loss takes in the type of its products, once, and uses no further.

        Training may keep these in that type; a kind that names none loses nothing but time.
        """
        return []

    def expect_words(self, counts: Tensor) -> None:
        """Let the output begin at how often words stand in the training text, not at all alike.

        Kinds for which this was not tried do nothing.

        Args:
            counts: ``(V,)`` of each word and of </s>.
        """

    def log_normalisers(self, batch: Batch) -> Tensor:
        """Return ln Z of every target word and final </s>, ``(N,)``.

        Only for models whose settings are ``is_self_normalised``, as :meth:`centre`.
        """
        raise NotImplementedError(f"{type(self).__name__} is not self-normalised")

    def centre(self, mean: float) -> None:
        """Take the mean of ln Z from every logit; ln p stays, ln Z has the mean 0 then."""
        raise NotImplementedError(f"{type(self).__name__} is not self-normalised")

    @abstractmethod
    def score(self, batch: Batch, dtype: torch.dtype | None = None) -> Tensor:
        """Return ln p of every target word and of the final </s>, ``(B, T + 1)``, 0 for padding.

        Args:
            batch: On the model's device.
            dtype: What the recurrent products run in, ``None`` for the parameters' own; the output
                layer runs in the parameters' own.
        """


def initial_deviation(name: str, parameter: Tensor, initialisation: Initialisation) -> float:
    """Return the deviation that a weight, no bias and no recurrence, is drawn with.

    0.01 in the ``paper`` way. In the ``scaled`` way 1 for word vectors and 1 / sqrt(inputs) for the
    rest, which passes a signal on at its strength.
    """
    if initialisation == "paper":
        return _PAPER_DEVIATION
    if name.endswith("embedding"):
        return 1.0
    # the output layer has a row for each word, the others for each input
    inputs = parameter.shape[1] if name == "output_words" else parameter.shape[0]
    return float(inputs) ** -0.5


def draw_weights(
    model: nn.Module, generator: torch.Generator, deviation: Callable[[str, Tensor], float]
) -> None:
    """Draw the initial weights: biases 0, recurrences orthogonal, the others normal.

    A recurrence is the left singular vectors of a white Gaussian matrix (Saxe et al., 2014).

    Args:
        model: Whose parameters.
        generator: Where the numbers come from, parameter after parameter.
        deviation: Of a parameter by its name.
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
