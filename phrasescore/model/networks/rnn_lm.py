"""A recurrent language model: the decoder of Cho et al. (2014) without a source.

A hidden layer (equations (5) to (8) of the paper, or another unit) reads the words. Its state and
the last word predict the next word through maxout units and a factored output layer, as in the
paper's appendix. The first word is predicted from a zero state and a zero word vector.
docs/architecture.md defines the letters in shapes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from phrasescore.model.kinds import RnnLmSettings
from phrasescore.model.networks.maxout_readout import MaxoutReadout
from phrasescore.model.sequence_model import Batch, Regularisation, State
from phrasescore.model.units import UNITS


class RnnLm(MaxoutReadout):
    """A model of p(text), the product of p(word | all previous words)."""

    settings: RnnLmSettings

    def __init__(self, settings: RnnLmSettings) -> None:
        super().__init__(settings)
        E, H, V = settings.embedding, settings.hidden, settings.target_vocabulary
        self._add_target_words(V, E)
        self.unit = UNITS[settings.unit](E, H)
        self._add_readout(H, E, 0, settings.maxout, settings.rank, V)

    def _features(
        self, batch: Batch, dtype: torch.dtype | None, regularisation: Regularisation
    ) -> Tensor:
        # padding comes last, so it does not change the states of real words
        words = self._embedded(batch.target.t(), dtype or self.target_embedding.dtype)  # (T, B, E)
        words = regularisation.dropped(words)
        previous = torch.cat([words.new_zeros(1, *words.shape[1:]), words])
        hidden = self.unit.states(self.unit.inputs(words), self._zeros(previous[0]))[0]
        return self._readout(hidden, previous, self.readout_bias.to(hidden.dtype), regularisation)

    # -- the interface of all kinds of model ---------------------------------------------------

    def start(self, source: Tensor, lengths: Tensor, dtype: torch.dtype) -> tuple[State, Tensor]:
        """See :meth:`SequenceModel.start`; the state is the unit's carried state."""
        none = self.target_embedding.new_zeros(len(source), self.settings.embedding, dtype=dtype)
        return self._after(self._zeros(none), none)

    def step(self, state: State, words: Tensor) -> tuple[State, Tensor]:
        """See :meth:`SequenceModel.step`."""
        (before,) = state.rows
        embedded = self._embedded(words, before.dtype)
        _, after = self.unit.states(self.unit.inputs(embedded[None]), before)
        return self._after(after, embedded)

    def _zeros(self, words: Tensor) -> Tensor:
        """Return the zero state before the first word, ``(B, carries * H)``, for B words."""
        return words.new_zeros(len(words), self.unit.carries * self.settings.hidden)

    def _after(self, state: Tensor, last: Tensor) -> tuple[State, Tensor]:
        """Return the :class:`State` for a ``state (B, carries * H)``, and ln p of the next word."""
        hidden = state[:, : self.settings.hidden]
        return State((state,)), self._next_word(hidden, last, self.readout_bias.to(last.dtype))
