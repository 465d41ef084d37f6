"""The feed-forward language model: CSLM (Schwenk, 2007) as in Cho et al. (2014), section 4.1.2.

The n - 1 previous words predict a word. Their vectors of size E are concatenated, the oldest word
first, and pass through two rectified hidden layers and a softmax over the vocabulary. Missing words
before the first word are replaced by the start mark ``<s>``. The vector of ``<s>`` is the last row
of the embedding, but ``<s>`` is not in the vocabulary. ``</s>`` is predicted but never read. Shapes
use the letters of docs/architecture.md, and n is ``order``.

A batch of sentences becomes a batch of n-grams without padding. With ``self_normalise`` the loss
has a term (ln Z)^2 for each word, where Z is the softmax normaliser, so that a logit is close to
ln p (Devlin et al., 2014, section 2.2). In this case, the initial biases make Z about 1.

Cho et al. do not state the order of the words, the use of ``<s>``, or the optimiser (see
``training/recipes.py``).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from phrasescore.model import softmax
from phrasescore.model.kinds import FeedForwardLmSettings
from phrasescore.model.sequence_model import (
    Batch,
    Initialisation,
    Regularisation,
    SequenceModel,
    State,
)

_PAPER_RANGE = 0.01  # initial weights are uniform in [-0.01, 0.01], section 4.1.2


class FeedForwardLm(SequenceModel):
    """A model of p(text), the product of p(word | the n - 1 words before it)."""

    settings: FeedForwardLmSettings

    def __init__(self, settings: FeedForwardLmSettings) -> None:
        super().__init__(settings)
        E, H, H2 = settings.embedding, settings.hidden, settings.second_hidden
        V, read = settings.target_vocabulary, settings.order - 1
        self.embedding = nn.Parameter(torch.empty(V + 1, E))
        self.input_weight = nn.Parameter(torch.empty(read * E, H))
        self.input_bias = nn.Parameter(torch.empty(H))
        self.hidden_weight = nn.Parameter(torch.empty(H, H2))
        self.hidden_bias = nn.Parameter(torch.empty(H2))
        self.output_words = nn.Parameter(torch.empty(V, H2))
        self.output_bias = nn.Parameter(torch.empty(V))

    @torch.no_grad()
    def initialise(self, generator: torch.Generator, initialisation: Initialisation) -> None:
        """Draw the initial weights; with ``paper``, biases are uniform like the other weights."""
        if initialisation == "paper":
            for parameter in self.parameters():
                parameter.uniform_(-_PAPER_RANGE, _PAPER_RANGE, generator=generator)
        else:
            super().initialise(generator, initialisation)
        if self.settings.self_normalise:
            self.output_bias.sub_(math.log(self.settings.target_vocabulary))

    def histories(self, target: Tensor) -> Tensor:
        """Return the history (the n - 1 words before) of each word and </s> of B sentences.

        Args:
            target: ``(B, T)`` word ids.

        Returns:
            ``(B, T + 1, n - 1)`` row numbers in the embedding, the oldest word first.
        """
        begin = target.new_full((len(target), self.settings.order - 1), self._start_mark)
        return torch.cat([begin, target], dim=1).unfold(1, self.settings.order - 1, 1)

    def features(
        self,
        histories: Tensor,
        dtype: torch.dtype | None = None,
        regularisation: Regularisation = Regularisation.NONE,
    ) -> Tensor:
        """Return the input of the output layer for N histories, ``(N, H2)``.

        Args:
            histories: ``(N, n - 1)`` row numbers in the embedding.
            dtype: Type of the matrix products; ``None`` for the type of the parameters.
            regularisation: Dropout of the two hidden layers.
        """
        kind = dtype or self.embedding.dtype
        embedded = functional.embedding(histories, self.embedding).to(kind).flatten(1)
        hidden = torch.relu(embedded @ self.input_weight.to(kind) + self.input_bias.to(kind))
        hidden = regularisation.dropped(hidden)
        hidden = torch.relu(hidden @ self.hidden_weight.to(kind) + self.hidden_bias.to(kind))
        return regularisation.dropped(hidden)

    def log_normalisers(self, batch: Batch) -> Tensor:
        """See :meth:`SequenceModel.log_normalisers`."""
        histories, _ = self._n_grams(batch)
        return softmax.log_normalisers(
            self.features(histories), self.output_words, self.output_bias
        )

    def centre(self, mean: float) -> None:
        """See :meth:`SequenceModel.centre`."""
        with torch.no_grad():
            self.output_bias.sub_(mean)

    # -- the interface of all kinds of model ---------------------------------------------------

    def loss(
        self, batch: Batch, dtype: torch.dtype | None, regularisation: Regularisation
    ) -> Tensor:
        """See :meth:`SequenceModel.loss`; adds ``self_normalise`` times (ln Z)^2 for each word."""
        histories, wanted = self._n_grams(batch)
        features = self.features(histories, dtype, regularisation)
        layer = self.output_words, self.output_bias
        smoothing, weight = regularisation.label_smoothing, self.settings.self_normalise
        return softmax.summed_cross_entropy(
            features, *layer, wanted, smoothing=smoothing, normaliser_weight=weight
        )

    def score(self, batch: Batch, dtype: torch.dtype | None = None) -> Tensor:
        """See :meth:`SequenceModel.score`."""
        histories, wanted = self._n_grams(batch)
        features = self.features(histories, dtype).to(self.output_words.dtype)
        found = softmax.gathered_log_softmax(features, self.output_words, self.output_bias, wanted)
        counted = batch.counted
        if counted is None:
            return found.view(len(batch.target), -1)
        out = found.new_zeros(counted.shape)
        out[counted] = found
        return out

    def start(self, source: Tensor, lengths: Tensor, dtype: torch.dtype) -> tuple[State, Tensor]:
        """See :meth:`SequenceModel.start`; the state is the history of the next word."""
        history = source.new_full((len(source), self.settings.order - 1), self._start_mark)
        return State((history,)), self.next_words(history)

    def step(self, state: State, words: Tensor) -> tuple[State, Tensor]:
        """See :meth:`SequenceModel.step`."""
        (history,) = state.rows
        history = torch.cat([history[:, 1:], words[:, None]], dim=1)
        return State((history,)), self.next_words(history)

    @property
    def _start_mark(self) -> int:
        return self.settings.target_vocabulary

    def next_words(self, histories: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """Return ln p of every word after N histories, ``(N, V)``; see :meth:`features`."""
        features = self.features(histories, dtype).to(self.output_words.dtype)
        return softmax.log_softmax(features, self.output_words, self.output_bias)

    def _n_grams(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the N histories of a batch and the words that follow them, without padding."""
        histories, ended, counted = self.histories(batch.target), batch.ended, batch.counted
        if counted is None:
            return histories.flatten(0, 1), ended.flatten()
        return histories[counted], ended[counted]
