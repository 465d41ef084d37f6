"""RNNsearch and RNNencdec of Bahdanau, Cho and Bengio (2014), arXiv 1409.0473.

Read top to bottom in the order of the paper. Shapes use the legend of docs/architecture.md, with
``J`` for the positions of a source, its </s> included, ``A`` for alignment units, and ``D`` for the
size of a context c_i. In RNNsearch D is 2H: c_i is a sum over the words of the states of both
encoder directions. In RNNencdec D is H: every c_i is the last state of one direction.

The paper and its authors' program differ; ``formulation`` chooses (docs/fidelity.md):

* ``code``: word i comes from s_(i-1), word i - 1 and c_i; then s_i = f(s_(i-1), word i, c_i).
* ``paper`` (section 3.1): s_i = f(s_(i-1), word i - 1, c_i); word i from s_i, word i - 1 and c_i.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from phrasescore.model.attention import Attended, AttentiveWeights, attend, run_attentive_unit
from phrasescore.model.model_settings import RnnEncdecSettings, RnnSearchSettings
from phrasescore.model.networks.maxout_readout import MaxoutReadout
from phrasescore.model.sequence_model import (
    END,
    Batch,
    Initialisation,
    Regularisation,
    State,
    draw_weights,
    initial_deviation,
)
from phrasescore.model.units import GatedUnit

_ALIGNMENT_DEVIATION = 0.001  # of W_a and U_a, appendix B.1


class AttentionModel(MaxoutReadout):
    """p(target sentence | source sentence); one class for both models and both formulations."""

    settings: RnnEncdecSettings | RnnSearchSettings

    def __init__(self, settings: RnnEncdecSettings | RnnSearchSettings) -> None:
        super().__init__()
        self.settings = settings
        E, H = settings.embedding, settings.hidden
        self._searches = isinstance(settings, RnnSearchSettings)
        D = 2 * H if self._searches else H
        self.source_embedding = nn.Parameter(torch.empty(settings.source_vocabulary, E))
        self.source_embedding_bias = nn.Parameter(torch.empty(E))
        self.forward_encoder = GatedUnit(E, H)
        if self._searches:
            self.backward_encoder = GatedUnit(E, H)
        self._add_target_words(settings.target_vocabulary, E)
        self.start_weight = nn.Parameter(torch.empty(H, H))  # W_s
        self.start_bias = nn.Parameter(torch.empty(H))
        self.decoder = GatedUnit(E, H, D)
        if isinstance(settings, RnnSearchSettings):
            A = settings.alignment
            self.align_state = nn.Parameter(torch.empty(H, A))  # W_a
            self.align_source = nn.Parameter(torch.empty(D, A))  # U_a
            self.align_vector = nn.Parameter(torch.empty(A))  # v_a
        self._add_readout(H, E, D, settings.maxout, settings.rank, settings.target_vocabulary)

    def initialise(
        self, generator: torch.Generator, initialisation: Initialisation = "paper"
    ) -> None:
        """Draw the initial weights from ``generator``: appendix B.1, or ``scaled``.

        With ``paper``, W_a and U_a have the deviation 0.001, v_a is 0, and other weights have 0.01.
        With ``scaled``, every weight keeps the strength of a signal.
        """

        def deviation(name: str, parameter: Tensor) -> float:
            if initialisation == "paper" and name.startswith("align"):
                return 0.0 if name == "align_vector" else _ALIGNMENT_DEVIATION
            return initial_deviation(name, parameter, initialisation)

        draw_weights(self, generator, deviation)

    # -- encoder, section 3.2 and appendix A.2.1 -----------------------------------------------

    def _encode(
        self,
        source: Tensor,
        lengths: Tensor | None,
        dtype: torch.dtype | None,
        regularisation: Regularisation | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Read sources ``(B, S)``.

        Returns:
            The annotations h_j of all positions, ``(B * J, 2H)``, or in RNNencdec the contexts
            ``(B, H)``; the number of positions of each source, ``(B,)``; and s_0 ``(B, H)``.
        """
        dtype = dtype or self.source_embedding.dtype
        B, S = source.shape
        ended = torch.cat([source, source.new_full((B, 1), END)], dim=1).t()  # (J, B)
        embedded = (self.source_embedding[ended] + self.source_embedding_bias).to(dtype)
        if regularisation is not None:
            embedded = regularisation.dropped(embedded)
        positions = source.new_full((B,), S + 1) if lengths is None else lengths + 1
        waiting = None
        if lengths is not None:
            waiting = torch.arange(S + 1, device=source.device)[:, None] >= positions[None, :]
        start = embedded.new_zeros(B, self.settings.hidden)
        forward = self.forward_encoder
        states = forward.states(forward.inputs(embedded), start, waiting)[0]
        if not self._searches:
            context, last = states[-1], states[-1]
        else:
            backward = self.backward_encoder
            turned = None if waiting is None else waiting.flip(0)
            # reversed, the padding comes first and leaves the initial zeros unchanged
            back = backward.states(backward.inputs(embedded.flip(0)), start, turned)[0]
            last = back[-1]
            written = torch.cat([states[1:], back[1:].flip(0)], dim=2)  # (J, B, 2H)
            context = written.transpose(0, 1).flatten(0, 1)
        if regularisation is not None:
            context = regularisation.dropped(context)
        s = torch.tanh(last @ self.start_weight.to(dtype) + self.start_bias.to(dtype))
        return context, positions, s

    def summaries(
        self, source: Tensor, lengths: Tensor | None = None, dtype: torch.dtype | None = None
    ) -> Tensor:
        """See :meth:`SequenceModel.summaries`: the encoder's last state; RNNencdec only."""
        assert not self._searches, "RNNsearch has a context for each word, no summary"
        return self._encode(source, lengths, dtype)[0]

    # -- alignment and decoder, section 3.1 and appendix A.2.2 ---------------------------------

    def _seen(self, written: Tensor, positions: Tensor) -> Attended:
        J = len(written) // len(positions)
        begins = torch.arange(len(positions), device=positions.device) * J
        return Attended(written @ self.align_source.to(written.dtype), written, begins, positions)

    def _weights(self, dtype: torch.dtype) -> AttentiveWeights:
        return AttentiveWeights(
            self.decoder.gate_weight.to(dtype),
            self.decoder.candidate_weight.to(dtype),
            self.decoder.context_weight.to(dtype),
            self.align_state.to(dtype),
            self.align_vector,
        )

    def _run(
        self, batch: Batch, dtype: torch.dtype | None, regularisation: Regularisation | None
    ) -> tuple[Tensor, Tensor | None]:
        """Return the input of the output layer, ``(T + 1, B, R)``, and the alignments."""
        lengths = batch.lengths
        source_lengths = lengths[0] if lengths else None
        context, positions, start = self._encode(
            batch.source, source_lengths, dtype, regularisation
        )
        embedded = self._embedded(batch.target.t(), context.dtype)  # (T, B, E)
        if regularisation is not None:
            embedded = regularisation.dropped(embedded)
        # y_0 contributes neither a vector nor a bias
        none = embedded.new_zeros(1, len(batch.target), embedded.shape[2])
        previous = torch.cat([none, embedded])
        ahead = self.settings.formulation == "code"
        inputs = self.decoder.inputs(embedded if ahead else previous)
        alignments = None
        if self._searches:
            given = inputs, start, self._seen(context, positions), self._weights(context.dtype)
            hidden, context, alignments = run_attentive_unit(*given, len(previous))
        else:
            projected = context @ self.decoder.context_weight.to(context.dtype)
            hidden = self.decoder.states(inputs + projected, start)[0]
        states = hidden if ahead else hidden[1:]
        features = self._readout(states, previous, self._read(context), regularisation)
        return features, alignments

    def alignments(self, batch: Batch) -> Tensor:
        """Return alpha of every target word and </s>, ``(B, T + 1, J)``; RNNsearch only.

        Each row sums to 1 over the source's words and its </s>. Values beyond the end of a source
        or target have no meaning.
        """
        found = self._run(batch, None, None)[1]
        assert found is not None, "RNNencdec aligns nothing"
        return found.permute(1, 0, 2)

    # -- what every kind of model offers -------------------------------------------------------

    def _features(
        self,
        batch: Batch,
        dtype: torch.dtype | None = None,
        regularisation: Regularisation | None = None,
    ) -> Tensor:
        return self._run(batch, dtype, regularisation)[0]

    def start(
        self, source: Tensor, lengths: Tensor | None = None, dtype: torch.dtype | None = None
    ) -> tuple[State, Tensor]:
        """See :meth:`SequenceModel.start`.

        The steps need c_i only in two products, c_i [C, O_c]. As c_i is a weighted sum of h_j,
        they are weighted sums of h_j [C, O_c], which are computed here once for each source.
        """
        context, positions, s = self._encode(source, lengths, dtype)
        dtype = context.dtype
        both = torch.cat([self.decoder.context_weight, self.readout_context], dim=1).to(dtype)
        products = context @ both
        none = s.new_zeros(len(s), self.settings.embedding)
        if not self._searches:
            return self._first(State((s, products)), none)
        seen = self._seen(context, positions)
        inside = torch.arange(len(context) // len(s), device=s.device) < positions[:, None]
        begins = torch.cumsum(positions, 0) - positions
        kept = inside.flatten()  # drops the padding
        state = State((begins, positions, s), (seen.keys[kept], products[kept]))
        return self._first(state, none)

    def _first(self, state: State, none: Tensor) -> tuple[State, Tensor]:
        s = self._hidden(state)
        c = self._context(state, s)
        if self.settings.formulation == "paper":
            s = self._stepped(s, none, c)
        return self._state(state, s, c), self._shown(s, none, c)

    def _hidden(self, state: State) -> Tensor:
        return state.rows[2 if self._searches else 0]

    def _context(self, state: State, s: Tensor) -> Tensor:
        """Return c_i [C, O_c] for the states s, ``(B, 3H + 2M)``."""
        if not self._searches:
            return state.rows[1]
        begins, positions = state.rows[:2]
        keys, products = state.memory
        seen = Attended(keys, products, begins, positions)
        query = s @ self.align_state.to(s.dtype)
        return attend(query, seen, self.align_vector, int(positions.max()))[0]

    def _stepped(self, s: Tensor, embedded: Tensor, c: Tensor) -> Tensor:
        inputs = self.decoder.inputs(embedded[None]) + c[None, :, : 3 * self.settings.hidden]
        return self.decoder.states(inputs, s)[1]

    def _shown(self, s: Tensor, previous: Tensor, c: Tensor) -> Tensor:
        read = c[:, 3 * self.settings.hidden :] + self.readout_bias.to(c.dtype)
        return self._next_word(s, previous, read)

    def _state(self, state: State, s: Tensor, c: Tensor) -> State:
        if not self._searches:
            return State((s, state.rows[1]))
        # in the `code` formulation the next step reuses the context that predicted this word
        carried = (s, c) if self.settings.formulation == "code" else (s,)
        return State((*state.rows[:2], *carried), state.memory)

    def step(self, state: State, words: Tensor) -> tuple[State, Tensor]:
        """See :meth:`SequenceModel.step`."""
        ahead = self.settings.formulation == "code"
        s = self._hidden(state)
        embedded = self._embedded(words, s.dtype)
        c = state.rows[-1] if ahead else self._context(state, s)
        s = self._stepped(s, embedded, c)
        if ahead:
            c = self._context(state, s)
        return self._state(state, s, c), self._shown(s, embedded, c)
