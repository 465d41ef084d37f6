"""RNNsearch and RNNencdec of Bahdanau, Cho and Bengio (2014), arXiv 1409.0473.

The file follows the order of the paper. Shapes use the letters of docs/architecture.md, and ``J``
for the positions of a source, its </s> included, ``A`` for alignment units, and ``D`` for the size
of a context c_i. In RNNsearch D is 2H, because c_i is a weighted sum of the states of both encoder
directions. In RNNencdec D is H, because every c_i is the last state of the encoder's only
direction.

The paper and its authors' program differ in the decoder's state s_i and the prediction of word i.
The setting ``formulation`` chooses between them (docs/fidelity.md):

* ``code``: s_(i-1), word i - 1 and c_i predict word i; then s_i = f(s_(i-1), word i, c_i).
* ``paper`` (section 3.1): s_i = f(s_(i-1), word i - 1, c_i); then s_i, word i - 1 and c_i predict
  word i.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from phrasescore.model.attention import Attended, AttentiveWeights, attend, run_attentive_unit
from phrasescore.model.kinds import RnnEncdecSettings, RnnSearchSettings
from phrasescore.model.networks.maxout_readout import MaxoutReadout
from phrasescore.model.sequence_model import END, Batch, Initialisation, Regularisation, State
from phrasescore.model.units import GatedUnit

_ALIGNMENT_DEVIATION = 0.001  # standard deviation of the initial W_a and U_a, appendix B.1


class AttentionModel(MaxoutReadout):
    """A model of p(target sentence | source sentence): RNNsearch or RNNencdec."""

    settings: RnnEncdecSettings | RnnSearchSettings

    def __init__(self, settings: RnnEncdecSettings | RnnSearchSettings) -> None:
        super().__init__(settings)
        E, H = settings.embedding, settings.hidden
        self._searches = isinstance(settings, RnnSearchSettings)
        D = 2 * H if self._searches else H
        self.source_embedding = nn.Parameter(torch.empty(settings.source_vocabulary, E))
        self.source_embedding_bias = nn.Parameter(torch.empty(E))
        self.forward_encoder = GatedUnit(E, H)
        if self._searches:
            self.backward_encoder = GatedUnit(E, H)
        self._add_target_words(settings.target_vocabulary, E)
        self._add_start(H, H)  # W_s
        self.decoder = GatedUnit(E, H, D)
        if isinstance(settings, RnnSearchSettings):
            A = settings.alignment
            self.align_state = nn.Parameter(torch.empty(H, A))  # W_a
            self.align_source = nn.Parameter(torch.empty(D, A))  # U_a
            self.align_vector = nn.Parameter(torch.empty(A))  # v_a
        self._add_readout(H, E, D, settings.maxout, settings.rank, settings.target_vocabulary)

    def _initial_deviation(
        self, name: str, parameter: Tensor, initialisation: Initialisation
    ) -> float:
        """See the base class; with ``paper``, v_a, W_a and U_a are as in appendix B.1."""
        if initialisation == "paper" and name.startswith("align"):
            return 0.0 if name == "align_vector" else _ALIGNMENT_DEVIATION
        return super()._initial_deviation(name, parameter, initialisation)

    # -- encoder, section 3.2 and appendix A.2.1 -----------------------------------------------

    def _encode(
        self,
        source: Tensor,
        lengths: Tensor | None,
        dtype: torch.dtype | None,
        regularisation: Regularisation = Regularisation.NONE,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Read sources ``(B, S)``.

        Returns:
            The states h_j at all positions, ``(B * J, 2H)``, or RNNencdec's contexts, ``(B, H)``;
            the number of positions of each source, ``(B,)``; and s_0, ``(B, H)``.
        """
        dtype = dtype or self.source_embedding.dtype
        B, S = source.shape
        ended = torch.cat([source, source.new_full((B, 1), END)], dim=1).t()  # (J, B)
        embedded = (self.source_embedding[ended] + self.source_embedding_bias).to(dtype)
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
            # in reversed order the padding comes first; it does not change the initial zeros
            back = backward.states(backward.inputs(embedded.flip(0)), start, turned)[0]
            last = back[-1]
            written = torch.cat([states[1:], back[1:].flip(0)], dim=2)  # (J, B, 2H)
            context = written.transpose(0, 1).flatten(0, 1)
        context = regularisation.dropped(context)
        return context, positions, self._first_state(last)

    def summaries(
        self, source: Tensor, lengths: Tensor | None = None, dtype: torch.dtype | None = None
    ) -> Tensor:
        """See :meth:`SequenceModel.summaries`: the encoder's last state; RNNencdec only."""
        assert not self._searches, "RNNsearch has a context for each word, no summary"
        return self._encode(source, lengths, dtype)[0]

    # -- alignment and decoder, section 3.1 and appendix A.2.2 ---------------------------------

    def _run(
        self, batch: Batch, dtype: torch.dtype | None, regularisation: Regularisation
    ) -> tuple[Tensor, Tensor | None]:
        """Return the output layer's input ``(T + 1, B, R)``, and the alignments of RNNsearch."""
        read = self._encode(batch.source, batch.source_lengths, dtype, regularisation)
        context, positions, start = read
        # (T, B, E)
        embedded = regularisation.dropped(self._embedded(batch.target.t(), context.dtype))
        # y_0 contributes neither a vector nor a bias
        previous = torch.cat([embedded.new_zeros(1, *embedded.shape[1:]), embedded])
        ahead = self.settings.formulation == "code"
        inputs = self.decoder.inputs(embedded if ahead else previous)
        alignments = None
        if self._searches:
            kind, unit = context.dtype, self.decoder
            gates, candidate = unit.gate_weight.to(kind), unit.candidate_weight.to(kind)
            inner, query = unit.context_weight.to(kind), self.align_state.to(kind)
            weights = AttentiveWeights(gates, candidate, inner, query, self.align_vector)
            begins = torch.arange(0, len(context), len(context) // len(start), device=start.device)
            seen = Attended(context @ self.align_source.to(kind), context, begins, positions)
            hidden, context, alignments = run_attentive_unit(
                inputs, start, seen, weights, len(previous)
            )
        else:
            projected = context @ self.decoder.context_weight.to(context.dtype)
            hidden = self.decoder.states(inputs + projected, start)[0]
        states = hidden if ahead else hidden[1:]
        return self._readout(states, previous, self._read(context), regularisation), alignments

    def alignments(self, batch: Batch) -> Tensor:
        """Return the attention weights of target words and </s>, ``(B, T + 1, J)``; RNNsearch only.

        The weights of a target word sum to 1 over the source's words and </s>. Values beyond the
        end of a source or target have no meaning.
        """
        found = self._run(batch, None, Regularisation.NONE)[1]
        assert found is not None, "RNNencdec aligns nothing"
        return found.permute(1, 0, 2)

    # -- the interface of all kinds of model ---------------------------------------------------

    def _features(
        self, batch: Batch, dtype: torch.dtype | None, regularisation: Regularisation
    ) -> Tensor:
        return self._run(batch, dtype, regularisation)[0]

    def start(self, source: Tensor, lengths: Tensor, dtype: torch.dtype) -> tuple[State, Tensor]:
        """See :meth:`SequenceModel.start`.

        The steps use c_i only in two products, c_i C in the unit and c_i O_c in the readout. In
        RNNsearch, c_i is a weighted sum of the h_j, so both products are weighted sums: of h_j C
        and of h_j O_c. These terms are computed here once for each source. Each h_j consists of a
        forward and a backward state, so each term is a sum of two products. The forward product is
        computed once for each distinct beginning of the sources, and the backward product once for
        each distinct end.
        """
        B, S = source.shape
        ended = torch.cat([source, source.new_full((B, 1), END)], dim=1)  # (B, J)
        positions = lengths + 1
        states, places = self._distinct_states(self.forward_encoder, ended, positions, dtype)
        both = torch.cat([self.decoder.context_weight, self.readout_context], dim=1).to(dtype)
        if not self._searches:
            last = states[places.gather(1, positions[:, None] - 1)[:, 0]]
            return self._first(State((self._first_state(last), last @ both)))
        at = torch.arange(S + 1, device=source.device)
        inside, back = at < positions[:, None], (positions[:, None] - 1 - at).clamp(min=0)
        backward, ends = self._distinct_states(
            self.backward_encoder, ended.gather(1, back), positions, dtype
        )
        ahead, behind = places[inside], ends.gather(1, back)[inside]
        H = self.settings.hidden

        def product(weight: Tensor) -> Tensor:
            """Return h_j times a weight ``(2H, N)`` at all P positions of sources, ``(P, N)``."""
            return (states @ weight[:H])[ahead].add_((backward @ weight[H:])[behind])

        memory = product(self.align_source.to(dtype)), product(both)
        s = self._first_state(backward[ends.gather(1, positions[:, None] - 1)[:, 0]])
        return self._first(State((torch.cumsum(positions, 0) - positions, positions, s), memory))

    def _distinct_states(
        self, unit: GatedUnit, ids: Tensor, positions: Tensor, dtype: torch.dtype
    ) -> tuple[Tensor, Tensor]:
        """Run one direction of the encoder once over each distinct beginning of sequences.

        Args:
            unit: The direction.
            ids: ``(B, J)`` word ids, in the order in which this direction reads them.
            positions: ``(B,)`` the number of words of each sequence.
            dtype: Type of the products.

        Returns:
            The states after the N distinct beginnings, ``(N, H)``; and ``(B, J)`` the row of each
            position's state among them, 0 after the end of a sequence.
        """
        words, ids = torch.unique(ids, return_inverse=True)
        embedded = (self.source_embedding[words] + self.source_embedding_bias).to(dtype)
        inputs, places = unit.inputs(embedded), torch.zeros_like(ids)
        state, states, count = inputs.new_zeros(1, self.settings.hidden), list[Tensor](), 0
        before = ids.new_zeros(len(ids))  # for each sequence, its row of `state`
        for at in range(ids.shape[1]):
            inside = torch.nonzero(positions > at)[:, 0]
            longer = before[inside] * len(words) + ids[inside, at]
            distinct, which = torch.unique(longer, return_inverse=True)
            parents, last = distinct // len(words), distinct % len(words)
            state = unit.states(inputs[None, last], state[parents])[1]
            before[inside], places[inside, at] = which, which + count
            states.append(state)
            count += len(state)
        return torch.cat(states), places

    def _first(self, state: State) -> tuple[State, Tensor]:
        s = self._hidden(state)
        c = self._context(state, s)
        # y_0 contributes neither a vector nor a bias
        if self.settings.formulation == "paper":
            s = self._stepped(s, self.decoder.inputs(s.new_zeros(1, self.settings.embedding)), c)
        return self._state(state, s, c), self._shown(s, c)

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

    def _stepped(self, s: Tensor, inputs: Tensor, c: Tensor) -> Tensor:
        """Return the next states; ``inputs (B, 3H)`` are the contributions of the last words."""
        return self.decoder.states((inputs + c[:, : 3 * self.settings.hidden])[None], s)[1]

    def _shown(self, s: Tensor, c: Tensor, words: Tensor | float = 0.0) -> Tensor:
        """Return ln p of the next word; ``words`` is the readout's input from the last words."""
        read = c[:, 3 * self.settings.hidden :] + self.readout_bias.to(c.dtype)
        return self._next_word(s, None, read + words)

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
        # project each distinct word once, because many prefixes end in the same word
        distinct, which = torch.unique(words, return_inverse=True)
        embedded = self._embedded(distinct, s.dtype)
        inputs, readout = self.decoder.inputs(embedded), embedded @ self.readout_word.to(s.dtype)
        c = state.rows[-1] if ahead else self._context(state, s)
        s = self._stepped(s, inputs[which], c)
        if ahead:
            c = self._context(state, s)
        return self._state(state, s, c), self._shown(s, c, readout[which])
