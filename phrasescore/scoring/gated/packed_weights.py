"""A model's weights as scoring wants them: packed side by side, words projected beforehand.

What a word adds to the gates and to the readout depends on the word alone, so it is a row of a
table; what a source adds is one product with all its weights side by side.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch
from torch import Tensor

from phrasescore.model.device import each_on_one_core
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.model.units import GatedUnit

_ROWS = 1024  # of a table projected at a time


@dataclass(frozen=True)
class PackedUnit:
    """A gated unit over a table of words.

    Args:
        table: (V, 3H) or more: what each word adds to candidate, update, reset and further on.
        gate_weight: (H, 2H): update, reset; with c inside the reset product (H, 3H), the
            candidate's last.
        candidate_weight: (H, H); ``None`` where it is part of ``gate_weight``.
    """

    table: Tensor
    gate_weight: Tensor
    candidate_weight: Tensor | None


@dataclass(frozen=True)
class PackedWeights:
    """All of a model.

    Args:
        encoder: Its table has 3H columns.
        summary_weight: (H, H), V of the appendix, or ``None``.
        context_weight: (H, 3H + 2M + H): candidate, update, reset, readout, first state.
        start_bias: (H,) float32.
        decoder: Its table has 3H + 2M columns, the readout's bias in them, and a last row for the
            word before the first.
        readout_weight: (H, 2M), O_h.
        inner_weight: (M, R) float32, G_r.
        panels: The words of the output layer, (R, up to ``panel`` words) each, in their order.
        output_words: (V, R) float32, G_l; ``None`` where the panels are float32 themselves.
        output_bias: (V,) float32.
    """

    encoder: PackedUnit
    summary_weight: Tensor | None
    context_weight: Tensor
    start_bias: Tensor
    decoder: PackedUnit
    readout_weight: Tensor
    inner_weight: Tensor
    panels: tuple[Tensor, ...]
    output_words: Tensor | None
    output_bias: Tensor

    @property
    def no_word(self) -> int:
        """The row of the decoder's table for the word before the first."""
        return len(self.decoder.table) - 1


def pack(
    model: EncoderDecoder, device: torch.device, dtype: torch.dtype, panel: int
) -> PackedWeights:
    """Pack a model's weights.

    Args:
        model: On any device, float32.
        device: Where they are wanted.
        dtype: Of the large products, float32 or bfloat16.
        panel: How many words of the output layer to take at a time.
    """
    with torch.inference_mode():
        inside = model.settings.formulation == "appendix"
        encoder, decoder = model.encoder, model.decoder
        assert isinstance(encoder, GatedUnit)
        assert isinstance(decoder, GatedUnit)
        source = model.source_embedding + model.source_embedding_bias
        target = model.target_embedding + model.target_embedding_bias
        # e(y_0) = 0, the embedding's bias left out as well
        target = torch.cat([target, target.new_zeros(1, target.shape[1])])
        H, M2 = model.readout_state.shape
        contexts: tuple[Tensor, ...] = target.new_zeros(H, 3 * H), target.new_zeros(H, M2)
        if model.settings.context == "every-step":
            contexts = decoder.context_weight, model.readout_context
        contexts = *contexts, model.start_weight

        def placed(weight: Tensor) -> Tensor:
            return weight.to(device, dtype).contiguous()

        def exact(weight: Tensor) -> Tensor:
            return weight.to(device, torch.float32).contiguous()

        def table(words: Tensor, unit: GatedUnit, *further: Tensor) -> Tensor:
            weight = torch.cat([unit.input_weight, *further[:1]], dim=1)
            gates = unit.input_bias.new_zeros(2 * len(unit.input_bias))  # they have no bias
            bias = torch.cat([unit.input_bias, gates, *further[1:]])
            rows = torch.empty(len(words), len(bias), dtype=dtype, device=device)
            _project(words, weight, bias, rows)
            return rows

        encoder_unit = PackedUnit(
            table(source, encoder),
            placed(encoder.gate_weight),
            placed(encoder.candidate_weight),
        )
        decoder_table = table(target, decoder, model.readout_word, model.readout_bias)
        gates, candidate = decoder.gate_weight, decoder.candidate_weight
        if inside:
            decoder_unit = PackedUnit(
                decoder_table, placed(torch.cat([gates, candidate], dim=1)), None
            )
        else:
            decoder_unit = PackedUnit(decoder_table, placed(gates), placed(candidate))
        return PackedWeights(
            encoder=encoder_unit,
            summary_weight=placed(model.summary_weight) if inside else None,
            context_weight=placed(torch.cat(contexts, dim=1)),
            start_bias=exact(model.start_bias),
            decoder=decoder_unit,
            readout_weight=placed(model.readout_state),
            inner_weight=exact(model.output_inner),
            panels=tuple(placed(rows.t()) for rows in torch.split(model.output_words, panel)),
            output_words=None if dtype == torch.float32 else exact(model.output_words),
            output_bias=exact(model.output_bias),
        )


def _project(words: Tensor, weight: Tensor, bias: Tensor, rows: Tensor) -> None:
    """Fill a table, part by part: scores must not depend on ``--threads``."""

    def project(part: tuple[Tensor, Tensor]) -> None:
        known, into = part
        with torch.inference_mode():
            into.copy_(torch.addmm(bias, known, weight))

    parts = zip(torch.split(words, _ROWS), torch.split(rows, _ROWS), strict=True)
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        list(each_on_one_core(pool, project, parts))
