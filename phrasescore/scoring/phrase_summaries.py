"""The summary c of many phrases: equal ones once, and where a kind has faster steps, prefixes once.

Phrases are sorted and cut into groups, as for scores; cores work on groups of their own.
"""

from __future__ import annotations

import copy
import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from phrasescore.model.device import choose_device, each_on_one_core, in_fitting_parts
from phrasescore.model.networks.attention_model import AttentionModel
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.model.sequence_model import END, SequenceModel
from phrasescore.scoring.gated.gated_steps import GatedSteps
from phrasescore.scoring.gated.packed_weights import pack
from phrasescore.scoring.pair_order import cut_by_area, cut_in_groups, is_new, pair_order
from phrasescore.words.token_sequences import TokenSequences, as_matrix

_GROUP = {"cpu": 2048, "cuda": 16384}
_CHUNK = {"cpu": 256, "cuda": 4096}
_PANEL = 1024
# words that a chunk is padded to at most
_LONG = 64

# what reads sorted, distinct phrases into their summaries, (N, H)
Encode = Callable[[TokenSequences], Tensor]
Rows = NDArray[np.int64]


class PhraseSummaries:
    """Reads phrases into their summaries with one model.

    Args:
        model: Of a kind that has summaries (``Kind.summarises``), on any device.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.

    Attributes:
        size: H, the numbers of a summary.
    """

    def __init__(self, model: SequenceModel, device: str = "auto") -> None:
        assert isinstance(model, EncoderDecoder | AttentionModel)
        place = choose_device(device)
        self.size = model.settings.hidden
        self._group = _GROUP[place.type]
        threads = torch.get_num_threads() if place.type == "cpu" else 1
        self._pool = ThreadPoolExecutor(threads)
        self._free: queue.SimpleQueue[Encode] = queue.SimpleQueue()
        make = _maker(model, place)
        with torch.inference_mode():
            for _ in range(threads):
                self._free.put(make())

    def of(self, phrases: TokenSequences) -> NDArray[np.float32]:
        """Return the summaries of N phrases of ids, without </s>, ``(N, H)``, in their order."""
        found = np.empty((len(phrases), self.size), np.float32)
        nothing = TokenSequences(np.empty(0, np.int32), np.zeros(len(phrases) + 1, np.int64))
        order = pair_order(phrases, nothing)

        def work(rows: Rows) -> None:
            in_fitting_parts(lambda part: self._read(phrases, part, found), rows)

        groups = [order[cut] for cut in cut_in_groups(order, phrases, self._group)]
        list(each_on_one_core(self._pool, work, groups))
        return found

    def _read(self, phrases: TokenSequences, rows: Rows, found: NDArray[np.float32]) -> None:
        """Fill in the summaries of sorted rows."""
        part = phrases.select(rows)
        new = is_new(part)
        encode = self._free.get()
        try:
            with torch.inference_mode():
                summaries = encode(part.select(np.flatnonzero(new))).cpu().numpy()
                found[rows] = summaries[np.cumsum(new) - 1]
        finally:
            self._free.put(encode)


def _maker(model: EncoderDecoder | AttentionModel, device: torch.device) -> Callable[[], Encode]:
    """Return what makes the reader of one thread."""
    group, chunk = _GROUP[device.type], _CHUNK[device.type]
    if isinstance(model, EncoderDecoder) and model.settings.unit == "gated":
        weights = pack(model, device, torch.float32, _PANEL)
        return lambda: GatedSteps(weights, group, chunk).summaries
    placed = copy.deepcopy(model).to(device).eval()
    return lambda: lambda phrases: _in_chunks(placed, phrases, device, chunk)


def _in_chunks(
    model: EncoderDecoder | AttentionModel,
    phrases: TokenSequences,
    device: torch.device,
    chunk: int,
) -> Tensor:
    """Read phrases, those of about one length together."""
    order = np.argsort(phrases.lengths, kind="stable")
    found = torch.empty(len(phrases), model.settings.hidden, device=device)
    for cut in cut_by_area(phrases.lengths[order], chunk, chunk * _LONG):
        rows = order[cut]
        padded = as_matrix(phrases.select(rows), END)
        ids, lengths = (torch.from_numpy(each).to(device) for each in padded)
        found[torch.from_numpy(rows).to(device)] = model.summaries(ids, lengths)
    return found
