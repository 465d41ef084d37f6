"""The RNN Encoder-Decoder of Cho et al. (2014), from the word vectors to the softmax.

The file follows the order of the paper. Shapes use the letters of docs/architecture.md: ``B``
phrase pairs, ``S`` and ``T`` source and target words without </s>, ``E`` embedding, ``H`` hidden
units, ``M`` maxout units, ``R`` rank, ``V`` words. Vectors are rows, so a layer is ``x @ W``.

The paper's text and its authors' program differ; ``formulation`` chooses between them
(docs/fidelity.md):

* ``code``: the summary c is the last encoder state, the reset gate does not multiply c, and word 1
  is predicted from the initial state without a step.
* ``appendix``: c is a tanh layer of the last encoder state, the reset gate also multiplies c, and
  a step with a zero word vector precedes word 1.

If ``context`` is ``once``, c only determines the decoder's initial state.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from phrasescore.model.kinds import EncoderDecoderSettings
from phrasescore.model.networks.maxout_readout import MaxoutReadout
from phrasescore.model.sequence_model import END, Batch, Regularisation, State
from phrasescore.model.units import UNITS


class EncoderDecoder(MaxoutReadout):
    """A model of p(target phrase | source phrase), section 2.2 and the appendix."""

    settings: EncoderDecoderSettings

    def __init__(self, settings: EncoderDecoderSettings) -> None:
        super().__init__(settings)
        unit = UNITS[settings.unit]
        E, H, M, R = settings.embedding, settings.hidden, settings.maxout, settings.rank
        V_s, V_t = settings.source_vocabulary, settings.target_vocabulary
        self.source_embedding = nn.Parameter(torch.empty(V_s, E))
        self.source_embedding_bias = nn.Parameter(torch.empty(E))
        self.encoder = unit(E, H)
        if settings.formulation == "appendix":
            self.summary_weight = nn.Parameter(torch.empty(H, H))  # V
        self._add_target_words(V_t, E)
        self._add_start(H, unit.carries * H)  # V'
        self._sees_context = settings.context == "every-step"
        C = H if self._sees_context else 0
        self.decoder = unit(E, H, C)
        self._add_readout(H, E, C, M, R, V_t)

    def expect_words(self, counts: Tensor) -> None:
        """See :meth:`SequenceModel.expect_words`."""
        shares = (counts + 0.5) / (counts.sum() + 0.5 * len(counts))
        with torch.no_grad():
            self.output_bias.copy_(torch.log(shares))

    # -- encoder, section 2.2 ------------------------------------------------------------------

    def summaries(
        self, source: Tensor, lengths: Tensor | None = None, dtype: torch.dtype | None = None
    ) -> Tensor:
        """See :meth:`SequenceModel.summaries`; the encoder appends </s> itself."""
        B = len(source)
        ended = torch.cat([source, source.new_full((B, 1), END)], dim=1).t()  # (S + 1, B)
        embedded = self.source_embedding[ended] + self.source_embedding_bias
        inputs = self.encoder.inputs(embedded.to(dtype or embedded.dtype))
        waiting = None
        if lengths is not None:
            # the encoder reads positions 0 to length (words and </s>), and then keeps its state
            waiting = torch.arange(len(inputs), device=source.device)[:, None] > lengths[None, :]
        start = inputs.new_zeros(B, self.encoder.carries * self.settings.hidden)
        last = self.encoder.states(inputs, start, waiting)[0][-1]
        if self.settings.formulation == "appendix":
            return torch.tanh(last @ self.summary_weight.to(last.dtype))
        return last

    # -- decoder, section 2.2 and the appendix -------------------------------------------------

    def _features(
        self, batch: Batch, dtype: torch.dtype | None, regularisation: Regularisation
    ) -> Tensor:
        # the padding of a shorter target does not change the result at the positions before it, so
        # only the loss needs a mask
        context = self.summaries(batch.source, batch.source_lengths, dtype)  # (B, H)
        embedded = self._embedded(batch.target.t(), context.dtype)  # (T, B, E)
        previous = torch.cat([embedded.new_zeros(1, *embedded.shape[1:]), embedded])
        # do not reorder these calls: their order determines the last bits of the gradient of c
        projected, start = self._projected(context), self._first_state(context)
        if self.settings.formulation == "code":
            # word t is predicted from the state after words 1 .. t-1; word 1 needs no step
            hidden = self._run(embedded, start, projected)[0]
        else:
            hidden = self._run(previous, start, projected)[0][1:]
        return self._readout(hidden, previous, self._read(context), regularisation)

    def _projected(self, context: Tensor) -> Tensor | None:
        """Return the contribution of c to the unit's inputs; ``None`` if the steps do not see c."""
        if not self._sees_context:
            return None
        return context @ self.decoder.context_weight.to(context.dtype)

    def _read(self, context: Tensor) -> Tensor:
        """Return the contribution of c and the bias to the readout."""
        return super()._read(context) if self._sees_context else self.readout_bias.to(context.dtype)

    def _run(self, words: Tensor, start: Tensor, projected: Tensor | None) -> tuple[Tensor, Tensor]:
        """Run the decoder's unit over ``words (L, B, E)``; see :meth:`RecurrentUnit.states`."""
        inputs = self.decoder.inputs(words)
        if self.settings.formulation == "code":
            return self.decoder.states(inputs if projected is None else inputs + projected, start)
        if projected is None:
            projected = inputs.new_zeros(1, inputs.shape[2])
        return self.decoder.states_with_context_inside(inputs, projected, start)

    # -- the interface of all kinds of model ---------------------------------------------------

    def multiplied(self) -> list[nn.Parameter]:
        """See :meth:`SequenceModel.multiplied`: all but the embeddings and the softmax layer."""
        summed = self.source_embedding, self.target_embedding, self.output_words
        known = set(map(id, summed))
        return [each for each in self.parameters() if each.ndim > 1 and id(each) not in known]

    def start(self, source: Tensor, lengths: Tensor, dtype: torch.dtype) -> tuple[State, Tensor]:
        """See :meth:`SequenceModel.start`; a state holds the unit's state and c's contributions."""
        context = self.summaries(source, lengths, dtype)
        # e(y_0) = 0, without the embedding's bias
        none = context.new_zeros(len(context), self.settings.embedding)
        projected, state = self._projected(context), self._first_state(context)
        read = self._read(context)
        if self.settings.formulation == "appendix":
            state = self._run(none[None], state, projected)[1]
        ln_p = self._next_word(self._shown(state), none, read)
        return State((state,) if projected is None else (state, projected, read)), ln_p

    def step(self, state: State, words: Tensor) -> tuple[State, Tensor]:
        """See :meth:`SequenceModel.step`."""
        before, *given = state.rows
        projected, read = given or (None, self._read(before))
        embedded = self._embedded(words, before.dtype)
        after = self._run(embedded[None], before, projected)[1]
        return State((after, *given)), self._next_word(self._shown(after), embedded, read)

    def _shown(self, state: Tensor) -> Tensor:
        """Return the hidden state, without the memory of an LSTM."""
        return state[:, : self.settings.hidden]
