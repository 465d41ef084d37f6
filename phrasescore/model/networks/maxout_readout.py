"""The readout of Cho et al. and Bahdanau et al. (2014), from a decoder's state to the softmax.

Maxout units read the state, the previous word and the context (Cho et al., appendix; Bahdanau et
al., appendix A.2.2). The output matrix after them is the product of two matrices, as in the
authors' programs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from phrasescore.model.sequence_model import Batch, Regularisation, SequenceModel
from phrasescore.model.softmax import gathered_log_softmax, log_softmax, summed_cross_entropy


def maxout(values: Tensor) -> Tensor:
    """Return the larger number of each pair of neighbours (Goodfellow et al., 2013).

    The larger of a number and NaN is NaN. Two equal neighbours share the gradient.

    Args:
        values: ``(..., 2M)``.

    Returns:
        ``(..., M)``.
    """
    return values.reshape(*values.shape[:-1], values.shape[-1] // 2, 2).amax(-1)


class MaxoutReadout(SequenceModel, ABC):
    """A model with this readout; subclasses determine the order of the parameters."""

    def _add_target_words(self, V: int, E: int) -> None:
        self.target_embedding = nn.Parameter(torch.empty(V, E))
        self.target_embedding_bias = nn.Parameter(torch.empty(E))

    def _add_start(self, H: int, state: int) -> None:
        """Add the parameters of a decoder's first state, which has this size."""
        self.start_weight = nn.Parameter(torch.empty(H, state))
        self.start_bias = nn.Parameter(torch.empty(state))

    def _add_readout(self, H: int, E: int, C: int, M: int, R: int, V: int) -> None:
        """Add the parameters of the readout; C is the size of a context, or 0 for none."""
        self.readout_state = nn.Parameter(torch.empty(H, 2 * M))  # O_h
        self.readout_bias = nn.Parameter(torch.empty(2 * M))
        self.readout_word = nn.Parameter(torch.empty(E, 2 * M))  # O_y
        if C:
            self.readout_context = nn.Parameter(torch.empty(C, 2 * M))  # O_c
        self.output_inner = nn.Parameter(torch.empty(M, R))  # G_r
        self.output_words = nn.Parameter(torch.empty(V, R))  # G_l, a row for each word
        self.output_bias = nn.Parameter(torch.empty(V))

    @abstractmethod
    def _features(
        self, batch: Batch, dtype: torch.dtype | None, regularisation: Regularisation
    ) -> Tensor:
        """Return the input of ``output_words`` at each position of a batch, ``(T + 1, B, R)``.

        Args:
            batch: As in :meth:`loss`.
            dtype: Type of the matrix products; ``None`` for the type of the parameters.
            regularisation: Dropout of word vectors, contexts and maxout units.
        """

    def _embedded(self, words: Tensor, dtype: torch.dtype) -> Tensor:
        return (self.target_embedding[words] + self.target_embedding_bias).to(dtype)

    def _first_state(self, encoded: Tensor) -> Tensor:
        """Return the decoder's first states from what the encoder has made of B sources."""
        dtype = encoded.dtype
        return torch.tanh(encoded @ self.start_weight.to(dtype) + self.start_bias.to(dtype))

    def _read(self, context: Tensor) -> Tensor:
        """Return the contribution of contexts ``(..., C)`` and the bias to the maxout units."""
        dtype = context.dtype
        return context @ self.readout_context.to(dtype) + self.readout_bias.to(dtype)

    def _readout(
        self, hidden: Tensor, previous: Tensor | None, read: Tensor, regularisation: Regularisation
    ) -> Tensor:
        """Return the input of the matrix ``output_words`` at each position, ``(L, B, R)``.

        Args:
            hidden: ``(L, B, H)`` states.
            previous: ``(L, B, E)`` vectors of the previous words; ``None`` if ``read`` includes
                their contribution.
            read: Contribution of context and bias, ``(B, 2M)`` or ``(L, B, 2M)``.
            regularisation: Dropout for a training batch.
        """
        dtype = hidden.dtype
        readout = hidden @ self.readout_state.to(dtype)
        if previous is not None:
            readout = readout + previous @ self.readout_word.to(dtype)
        larger = regularisation.dropped(maxout(readout + read))  # (L, B, M)
        return larger @ self.output_inner.to(dtype)

    def loss(
        self, batch: Batch, dtype: torch.dtype | None, regularisation: Regularisation
    ) -> Tensor:
        """See :meth:`SequenceModel.loss`."""
        features = self._features(batch, dtype, regularisation).flatten(0, 1)
        counted = None if batch.counted is None else batch.counted.t().flatten()
        smoothing = regularisation.label_smoothing
        layer = self.output_words, self.output_bias
        return summed_cross_entropy(features, *layer, batch.ended.t().flatten(), counted, smoothing)

    def score(self, batch: Batch, dtype: torch.dtype | None = None) -> Tensor:
        """See :meth:`SequenceModel.score`."""
        features = self._features(batch, dtype, Regularisation.NONE).to(self.output_words.dtype)
        layer, ended = (self.output_words, self.output_bias), batch.ended
        found = gathered_log_softmax(features, *layer, ended.t()).t()
        counted = batch.counted
        return found if counted is None else found.masked_fill(~counted, 0.0)

    def _next_word(self, hidden: Tensor, previous: Tensor | None, read: Tensor) -> Tensor:
        """Return ln p of the next word, ``(B, V)``; arguments are as in ``_readout``, without L."""
        features = self._readout(hidden, previous, read, Regularisation.NONE)
        layer = self.output_words, self.output_bias
        return log_softmax(features.to(self.output_words.dtype), *layer)
