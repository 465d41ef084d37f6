"""Targets of any number of sources, in groups on all cores, and in their order again."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from phrasescore.errors import ModelError
from phrasescore.generation.targets import Targets
from phrasescore.model.device import choose_device, each_on_one_core, in_fitting_parts
from phrasescore.model.sequence_model import StepModel
from phrasescore.scoring.pair_order import cut_by_area
from phrasescore.words.token_sequences import TokenSequences

_GROUP = {"cpu": 128, "cuda": 4096}  # sources
_AREA = {"cpu": 4096, "cuda": 65536}  # sources times words of the longest, in a group
_CHUNK = {"cpu": 128, "cuda": 8192}  # prefixes


class Method(Protocol):
    """Beam search or sampling."""

    def targets(
        self, model: StepModel, sources: TokenSequences, numbers: NDArray[np.int64], chunk: int
    ) -> Targets:
        """Return targets of N sources, the ``numbers`` among all, ``chunk`` prefixes at a time."""
        ...


class TargetGenerator:
    """Lets one model write targets.

    Args:
        model: Of any kind, on any device.
        method: How.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        group: Sources at a time; ``None`` for the device's own. Long ones are fewer at a time.
        chunk: Prefixes at a time; ``None`` for the device's own.

    Attributes:
        device: Where it computes.
    """

    def __init__(
        self,
        model: StepModel,
        method: Method,
        device: str = "auto",
        group: int | None = None,
        chunk: int | None = None,
    ) -> None:
        self.device = choose_device(device)
        kind = self.device.type
        self._model = copy.deepcopy(model).to(self.device).eval()
        self._method = method
        self._group, self._area = group or _GROUP[kind], _AREA[kind]
        self._chunk = chunk or _CHUNK[kind]
        threads = torch.get_num_threads() if kind == "cpu" else 1
        # the same threads for all blocks: new ones would each leave memory behind
        self._pool = ThreadPoolExecutor(threads)

    def targets(self, sources: TokenSequences, first: int = 0) -> Targets:
        """Return targets of N sources, in the order of the sources.

        Args:
            sources: Phrases of ids of the side that the model reads, without </s>.
            first: The number of the first among all sources, for their random numbers.

        Raises:
            ModelError: The model gives no numbers.
        """
        # sources of one length have no padding, and end at about the same step
        order = np.argsort(sources.lengths, kind="stable")
        cuts = cut_by_area(sources.lengths[order], self._group, self._area)

        def work(rows: NDArray[np.int64]) -> Targets:
            with torch.inference_mode():
                return self._method.targets(
                    self._model, sources.select(rows), rows + first, self._chunk
                )

        groups = [order[c] for c in cuts]
        parts = each_on_one_core(self._pool, lambda rows: in_fitting_parts(work, rows), groups)
        found = [targets for each in parts for _, targets in each]
        targets = _in_order(found, order)
        if (np.diff(targets.offsets) == 0).any() or np.isnan(targets.ln_p).any():
            raise ModelError(
                "the model gives no numbers for a source",
                remedy="train it again; its parameters are not finite",
            )
        return targets


def _in_order(parts: Sequence[Targets], order: NDArray[np.int64]) -> Targets:
    """Join the targets of sources ``order`` and put them in the order of the sources."""
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    rows = np.argsort(np.repeat(order, counts), kind="stable")
    offsets = np.zeros(len(order) + 1, np.int64)
    offsets[order + 1] = counts
    lengths = np.concatenate([part.words.lengths for part in parts])
    begins = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=begins[1:])
    tokens = np.concatenate([part.words.tokens for part in parts])
    return Targets(
        np.cumsum(offsets),
        TokenSequences(tokens, begins).select(rows),
        np.concatenate([part.ln_p for part in parts])[rows],
        np.concatenate([part.counts for part in parts])[rows],
    )
