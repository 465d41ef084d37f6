"""The RNN Encoder-Decoder of Cho et al. (2014), from the gated unit to the softmax.

Read top to bottom in the order of the paper. Shapes use the legend of docs/architecture.md: ``B``
phrase pairs, ``S`` and ``T`` source and target words without </s>, ``E`` embedding, ``H`` hidden
units, ``M`` maxout units, ``R`` rank, ``V`` words. Row vectors: a layer is ``x @ W``.

The paper's text and the program its authors ran differ; ``formulation`` chooses (docs/fidelity.md):

* ``code``: the summary c is the last encoder state, enters the decoder outside the reset product,
  and word 1 is predicted from the initial state without a step.
* ``appendix``: c = tanh(V h), enters inside the reset product, and a step with a zero word vector
  precedes word 1.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from phrasescore.model.gated_recurrence import run_gated_unit
from phrasescore.model.model_settings import ModelSettings
from phrasescore.model.softmax import gathered_log_softmax, summed_cross_entropy

END = 0  # the id of </s> on both sides
UNKNOWN = 1  # the id of <unk> on both sides

Initialisation = Literal["paper", "scaled"]
_PAPER_DEVIATION = 0.01  # section 4.1.1
# An update gate opened this far keeps the old state exactly: the way a finished phrase waits for
# the longer ones of its batch.
_CLOSED = 1e4


class GatedUnit(nn.Module):
    """The hidden unit with reset and update gates, section 2.3 (equations 5 to 8).

    Differs from ``torch.nn.GRU``, which resets after the product and so cannot express it.

    Args:
        E: Size of a word vector.
        H: Number of units.
        with_context: Whether a summary c enters too (the decoder, section 2.2).
    """

    def __init__(self, E: int, H: int, *, with_context: bool) -> None:
        super().__init__()
        # columns of a 3H weight: candidate (W), update (W_z), reset (W_r)
        self.input_weight = nn.Parameter(torch.empty(E, 3 * H))
        self.input_bias = nn.Parameter(torch.empty(H))  # the candidate's; the gates have none
        self.gate_weight = nn.Parameter(torch.empty(H, 2 * H))  # U_z, U_r
        self.candidate_weight = nn.Parameter(torch.empty(H, H))  # U
        if with_context:
            self.context_weight = nn.Parameter(torch.empty(H, 3 * H))  # C, C_z, C_r

    def inputs(self, words: Tensor) -> Tensor:
        """Project word vectors ``(L, B, E)`` to the three parts ``(L, B, 3H)``."""
        H = self.input_bias.shape[0]
        projected = words @ self.input_weight.to(words.dtype)
        bias = torch.cat([self.input_bias, self.input_bias.new_zeros(2 * H)])
        return projected + bias.to(words.dtype)

    def states(self, inputs: Tensor, start: Tensor) -> Tensor:
        """Return all states ``(L + 1, B, H)`` over ``inputs (L, B, 3H)``, ``start`` first."""
        kind = inputs.dtype
        return run_gated_unit(
            inputs, start, self.gate_weight.to(kind), self.candidate_weight.to(kind)
        )

    def states_with_context_inside(self, inputs: Tensor, context: Tensor, start: Tensor) -> Tensor:
        """Like :meth:`states`, with c inside the reset product: tanh(a + r * (h U + c C)).

        Args:
            inputs: ``(L, B, 3H)``, without c.
            context: ``(B, 3H)``, c projected to candidate, update and reset.
            start: ``(B, H)``.
        """
        H = start.shape[1]
        gate_weight = self.gate_weight.to(inputs.dtype)
        candidate_weight = self.candidate_weight.to(inputs.dtype)
        states = [start]
        for step in inputs:
            h = states[-1]
            gates = torch.sigmoid(step[:, H:] + context[:, H:] + h @ gate_weight)
            update, reset = gates[:, :H], gates[:, H:]
            k = torch.tanh(step[:, :H] + reset * (h @ candidate_weight + context[:, :H]))
            states.append(update * h + (1 - update) * k)
        return torch.stack(states)


class EncoderDecoder(nn.Module):
    """p(target phrase | source phrase), section 2.2 and the appendix."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.settings = settings
        E, H, M, R = settings.embedding, settings.hidden, settings.maxout, settings.rank
        V_s, V_t = settings.source_vocabulary, settings.target_vocabulary
        self.source_embedding = nn.Parameter(torch.empty(V_s, E))
        self.source_embedding_bias = nn.Parameter(torch.empty(E))
        self.encoder = GatedUnit(E, H, with_context=False)
        if settings.formulation == "appendix":
            self.summary_weight = nn.Parameter(torch.empty(H, H))  # V
        self.target_embedding = nn.Parameter(torch.empty(V_t, E))
        self.target_embedding_bias = nn.Parameter(torch.empty(E))
        self.start_weight = nn.Parameter(torch.empty(H, H))  # V'
        self.start_bias = nn.Parameter(torch.empty(H))
        self.decoder = GatedUnit(E, H, with_context=True)
        self.readout_state = nn.Parameter(torch.empty(H, 2 * M))  # O_h
        self.readout_bias = nn.Parameter(torch.empty(2 * M))
        self.readout_word = nn.Parameter(torch.empty(E, 2 * M))  # O_y
        self.readout_context = nn.Parameter(torch.empty(H, 2 * M))  # O_c
        self.output_inner = nn.Parameter(torch.empty(M, R))  # G_r
        self.output_words = nn.Parameter(torch.empty(V_t, R))  # G_l, a row for each word
        self.output_bias = nn.Parameter(torch.empty(V_t))

    def initialise(
        self, generator: torch.Generator, initialisation: Initialisation = "paper"
    ) -> None:
        """Draw the initial weights from ``generator``; biases are 0.

        In both ways each recurrent weight is the left singular vectors of a white Gaussian matrix
        (Saxe et al., 2014). The others are normal with deviation 0.01 in the ``paper`` way (section
        4.1.1). In the ``scaled`` way it is 1 for word vectors and 1 / sqrt(inputs) for the rest,
        which passes a signal on at its strength: the decoder begins to listen to the encoder after
        a few hundred updates instead of some thousand.
        """
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if name.endswith("bias"):
                    parameter.zero_()
                elif name.endswith(("gate_weight", "candidate_weight")):
                    H, columns = parameter.shape
                    for first in range(0, columns, H):
                        parameter[:, first : first + H] = _orthogonal(H, generator)
                else:
                    deviation = _PAPER_DEVIATION
                    if initialisation == "scaled":
                        deviation = _scaled_deviation(name, parameter)
                    parameter.normal_(0, deviation, generator=generator)

    # -- encoder, section 2.2 ------------------------------------------------------------------

    def summaries(
        self, source: Tensor, lengths: Tensor | None = None, dtype: torch.dtype | None = None
    ) -> Tensor:
        """Encode source phrases into their summaries c, ``(B, H)``.

        Args:
            source: ``(B, S)`` word ids without </s>, which is read last all the same.
            lengths: ``(B,)`` number of words of each; ``None`` where all have S. Padding is </s>.
            dtype: What the matrix products run in; ``None`` for the parameters' own.
        """
        dtype = dtype or self.source_embedding.dtype
        B, S = source.shape
        ended = torch.cat([source, source.new_full((B, 1), END)], dim=1).t()  # (S + 1, B)
        embedded = self.source_embedding[ended] + self.source_embedding_bias
        inputs = self.encoder.inputs(embedded.to(dtype))
        if lengths is not None:
            # the words and the first </s> are read, positions 0 .. length; the rest is waited out
            waiting = torch.arange(S + 1, device=source.device)[:, None] > lengths[None, :]
            inputs = _hold(inputs, waiting)
        start = inputs.new_zeros(B, self.settings.hidden)
        last = self.encoder.states(inputs, start)[-1]
        if self.settings.formulation == "appendix":
            return torch.tanh(last @ self.summary_weight.to(dtype))
        return last

    # -- decoder, section 2.2 and the appendix -------------------------------------------------

    def features(self, context: Tensor, target: Tensor) -> Tensor:
        """Return what the output layer sees of each position, ``(T + 1, B, R)``.

        Args:
            context: ``(B, H)`` summaries.
            target: ``(B, T)`` word ids without </s>. What follows the end of a shorter phrase
                changes nothing before it, so padding needs no mask here, only in the loss.
        """
        dtype = context.dtype
        B = len(target)
        embedded = self.target_embedding[target.t()] + self.target_embedding_bias
        embedded = embedded.to(dtype)  # (T, B, E)
        none = embedded.new_zeros(1, B, embedded.shape[2])  # e(y_0) = 0, the bias left out as well
        projected = context @ self.decoder.context_weight.to(dtype)  # (B, 3H)
        start = torch.tanh(context @ self.start_weight.to(dtype) + self.start_bias.to(dtype))
        if self.settings.formulation == "code":
            # word t is predicted from the state after words 1 .. t-1: word 1 without a step
            states = self.decoder.states(self.decoder.inputs(embedded) + projected, start)
        else:
            inputs = self.decoder.inputs(torch.cat([none, embedded]))
            states = self.decoder.states_with_context_inside(inputs, projected, start)[1:]
        previous = torch.cat([none, embedded])
        readout = states @ self.readout_state.to(dtype) + previous @ self.readout_word.to(dtype)
        readout = readout + (context @ self.readout_context.to(dtype) + self.readout_bias.to(dtype))
        maxout = readout.view(len(states), B, self.settings.maxout, 2).amax(3)  # (T + 1, B, M)
        return maxout @ self.output_inner.to(dtype)

    def log_probabilities(
        self, context: Tensor, target: Tensor, logits_dtype: torch.dtype | None = None
    ) -> Tensor:
        """Return ln p of every target word and of the final </s>, ``(B, T + 1)``.

        Args:
            context: ``(B, H)`` summaries; their type is that of the recurrent products.
            target: ``(B, T)`` word ids without </s>.
            logits_dtype: What the output layer runs in; ``None`` for the parameters' own.
        """
        features = self.features(context, target)
        ended = torch.cat([target, target.new_full((target.shape[0], 1), END)], dim=1).t()
        return gathered_log_softmax(
            features.to(logits_dtype or self.output_words.dtype),
            self.output_words,
            self.output_bias,
            ended,
        ).t()

    def loss(
        self,
        source: Tensor,
        target: Tensor,
        lengths: tuple[Tensor, Tensor] | None = None,
        dtype: torch.dtype | None = None,
    ) -> Tensor:
        """Return the negative ln p summed over pairs, words and final </s>, a scalar.

        Args:
            source: ``(B, S)`` word ids without </s>, padded with </s> where ``lengths`` says so.
            target: ``(B, T)`` likewise.
            lengths: ``(B,)`` source and target lengths; ``None`` where all are S and T.
            dtype: What the matrix products run in; sums stay in float32 or better.
        """
        context = self.summaries(source, lengths[0] if lengths else None, dtype)
        features = self.features(context, target)  # (T + 1, B, R)
        B, T = target.shape
        ended = torch.cat([target, target.new_full((B, 1), END)], dim=1).t()
        features, wanted = features.flatten(0, 1), ended.flatten()
        if lengths is not None:
            counted = torch.arange(T + 1, device=target.device)[:, None] <= lengths[1][None, :]
            features, wanted = features[counted.flatten()], wanted[counted.flatten()]
        return summed_cross_entropy(features, self.output_words, self.output_bias, wanted)


def _orthogonal(H: int, generator: torch.Generator) -> Tensor:
    white = torch.empty(H, H).normal_(generator=generator)
    return torch.linalg.svd(white)[0]


def _scaled_deviation(name: str, parameter: Tensor) -> float:
    if name.endswith("embedding"):
        return 1.0
    # the output layer has a row for each word, the others for each input
    inputs = parameter.shape[1] if name == "output_words" else parameter.shape[0]
    return float(inputs) ** -0.5


def _hold(inputs: Tensor, waiting: Tensor) -> Tensor:
    """Close the update gates of ``inputs (L, B, 3H)`` where ``waiting (L, B)`` is true."""
    H = inputs.shape[2] // 3
    update = inputs[:, :, H : 2 * H].masked_fill(waiting[:, :, None], _CLOSED)
    return torch.cat([inputs[:, :, :H], update, inputs[:, :, 2 * H :]], dim=2)
