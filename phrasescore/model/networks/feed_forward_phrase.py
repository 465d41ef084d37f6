"""The feed-forward phrase model of Schwenk (2012), with which Cho et al. compare their model.

The model reads up to K source words and predicts up to K target words, which are independent of
each other given the source. A shorter source is padded with zero vectors; a shorter target ends
with ``</s>``. Cho et al. object that such a model cannot read or write more than K words, and that
its target words do not depend on each other.

Shapes use the letters of docs/architecture.md, and K is ``phrase_length``. The vectors of the
source's words, of size E each, are concatenated and pass through two tanh layers of H units. Each
target position has its own R features, and all positions share one output vector for each word.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from phrasescore.model.kinds import FeedForwardPhraseSettings
from phrasescore.model.sequence_model import END, Batch, Regularisation, SequenceModel, State
from phrasescore.model.softmax import gathered_log_softmax, log_softmax, summed_cross_entropy

# ln p of a word after position K: the lowest score in Moses
_IMPOSSIBLE = -100.0


class FeedForwardPhrase(SequenceModel):
    """A model of p(target phrase | source phrase) with independent target words."""

    settings: FeedForwardPhraseSettings

    def __init__(self, settings: FeedForwardPhraseSettings) -> None:
        super().__init__(settings)
        E, H, R, K = settings.embedding, settings.hidden, settings.rank, settings.phrase_length
        V_s, V_t = settings.source_vocabulary, settings.target_vocabulary
        self.source_embedding = nn.Parameter(torch.empty(V_s, E))
        self.input_weight = nn.Parameter(torch.empty(K * E, H))
        self.input_bias = nn.Parameter(torch.empty(H))
        self.hidden_weight = nn.Parameter(torch.empty(H, H))
        self.hidden_bias = nn.Parameter(torch.empty(H))
        self.place_weight = nn.Parameter(torch.empty(H, K * R))
        self.place_bias = nn.Parameter(torch.empty(K * R))
        self.output_words = nn.Parameter(torch.empty(V_t, R))
        self.output_bias = nn.Parameter(torch.empty(V_t))

    def features(self, source: Tensor, lengths: Tensor | None, dtype: torch.dtype | None) -> Tensor:
        """Return the input of the output layer at each position, ``(B, K, R)``.

        Args:
            source: ``(B, S)`` word ids without </s>; words after the K-th are not read.
            lengths: ``(B,)`` words in each source; ``None`` if all sources have S words.
            dtype: Type of the matrix products; ``None`` for the type of the parameters.
        """
        K, kind = self.settings.phrase_length, dtype or self.source_embedding.dtype
        B, S = len(source), min(source.shape[1], K)
        embedded = self.source_embedding[source[:, :S]].to(kind)
        if lengths is not None:
            there = torch.arange(S, device=source.device) < lengths[:, None]
            embedded = embedded * there[:, :, None]
        words = torch.cat([embedded, embedded.new_zeros(B, K - S, embedded.shape[2])], dim=1)
        given = words.flatten(1)
        hidden = torch.tanh(given @ self.input_weight.to(kind) + self.input_bias.to(kind))
        hidden = torch.tanh(hidden @ self.hidden_weight.to(kind) + self.hidden_bias.to(kind))
        places = hidden @ self.place_weight.to(kind) + self.place_bias.to(kind)
        return places.view(B, K, self.settings.rank)

    # -- the interface of all kinds of model ---------------------------------------------------

    def loss(
        self, batch: Batch, dtype: torch.dtype | None, regularisation: Regularisation
    ) -> Tensor:
        """See :meth:`SequenceModel.loss`."""
        features, ended, counted = self._inputs_of(batch, dtype)
        K = self.settings.phrase_length
        beyond = counted[:, K:] & (ended[:, K:] != END)
        given, wanted = features[:, : ended.shape[1]].flatten(0, 1), ended[:, :K].flatten()
        inside = None if batch.lengths is None else counted[:, :K].flatten()
        loss = summed_cross_entropy(given, self.output_words, self.output_bias, wanted, inside)
        return loss - _IMPOSSIBLE * beyond.sum()

    def score(self, batch: Batch, dtype: torch.dtype | None = None) -> Tensor:
        """See :meth:`SequenceModel.score`."""
        features, ended, counted = self._inputs_of(batch, dtype)
        K, kind = self.settings.phrase_length, self.output_words.dtype
        features = features[:, : ended.shape[1]].to(kind).contiguous()
        first = ended[:, :K].contiguous()
        found = gathered_log_softmax(features, self.output_words, self.output_bias, first)
        beyond = torch.where(ended[:, K:] == END, 0.0, _IMPOSSIBLE).to(kind)
        return torch.cat([found, beyond], dim=1).masked_fill(~counted, 0.0)

    def start(self, source: Tensor, lengths: Tensor, dtype: torch.dtype) -> tuple[State, Tensor]:
        """See :meth:`SequenceModel.start`; the state holds the features and the next position."""
        features = self.features(source, lengths, dtype)
        state = State((features, source.new_zeros(len(source))))
        return state, self._next_word(state)

    def step(self, state: State, words: Tensor) -> tuple[State, Tensor]:
        """See :meth:`SequenceModel.step`; the previous words do not influence the result."""
        features, place = state.rows
        state = State((features, place + 1))
        return state, self._next_word(state)

    def _inputs_of(self, batch: Batch, dtype: torch.dtype | None) -> tuple[Tensor, Tensor, Tensor]:
        """Return features, targets with </s>, ``(B, T + 1)``, and the mask of words and </s>."""
        features = self.features(batch.source, batch.source_lengths, dtype)
        ended, counted = batch.ended, batch.counted
        if counted is None:
            counted = torch.ones_like(ended, dtype=torch.bool)
        return features, ended, counted

    def _next_word(self, state: State) -> Tensor:
        """Return ln p of the words at a position; after position K only </s> is possible."""
        features, place = state.rows
        last = self.settings.phrase_length - 1
        rows = torch.arange(len(place), device=place.device)
        here = features[rows, place.clamp(max=last)].to(self.output_words.dtype)
        ln_p = log_softmax(here, self.output_words, self.output_bias)
        end = ln_p.new_full((ln_p.shape[1],), _IMPOSSIBLE)
        end[END] = 0.0
        return torch.where((place > last)[:, None], end, ln_p)
