"""Estimates the minimum time of scoring from this machine's rates of products and exponentials.

This floor is twice the number of multiply-adds of the shared work (``shared_work``), divided by the
best rate of a matrix product of 4096 x 1000 x 3000, plus the number of rows of the output layer
times the best time of a log-sum-exp. Both rates are measured on one core in CPU seconds, as the
best of many tries, so that other work on the machine changes the floor little; N cores are assumed
to be N times as fast. Compare a time only with rates measured in the same run of a benchmark.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from benchmarks.shared_work import Steps
from phrasescore.model.kinds import EncoderDecoderSettings
from phrasescore.scoring.gated_kernels import add_panel

_M, _K, _N = 4096, 1000, 3000
_LOGITS_AT_ONCE = 128  # rows; 5.7 MB at 11,207 words, so they fit in the cache


@dataclass(frozen=True)
class Floor:
    """The best rates of one core.

    Attributes:
        flops: Floating-point operations per second in matrix products, two per multiply-add.
        row_seconds: Seconds for the log-sum-exp of a row of the output layer.
    """

    flops: float
    row_seconds: float

    def core_seconds(self, steps: Steps, model: EncoderDecoderSettings) -> float:
        products = 2 * steps.multiply_adds(model) / self.flops
        return products + steps.rows * self.row_seconds

    def better_of(self, other: Floor) -> Floor:
        return Floor(max(self.flops, other.flops), min(self.row_seconds, other.row_seconds))


def least_seconds(work: Callable[[], object], budget: float = 2.0) -> float:
    """Return the minimum CPU time of a call, over ``budget`` seconds and at least five calls."""
    work()
    end = time.process_time() + budget
    times: list[float] = []
    while len(times) < 5 or time.process_time() < end:
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def product_rate(kind: torch.dtype) -> float:
    """Return the floating-point operations per second of one core in a large product."""
    left, right = torch.randn(_M, _K).to(kind), torch.randn(_K, _N).to(kind)
    out = torch.empty(_M, _N, dtype=kind)
    flipped = right.t().contiguous().t()  # some libraries are faster with transposed weights
    seconds = min(
        least_seconds(partial(torch.mm, left, weight, out=out)) for weight in (right, flipped)
    )
    return 2 * _M * _K * _N / seconds


def row_seconds(words: int) -> float:
    """Return the seconds of a log-sum-exp over ``words`` words: the faster of torch and ours."""
    logits = torch.randn(_LOGITS_AT_ONCE, words)
    shift, total = np.empty((2, len(logits)), np.float32)
    panel = logits.numpy(), np.zeros(words, np.float32), 0, shift, total
    seconds = min(
        least_seconds(lambda: torch.logsumexp(logits, 1), 1.0),
        least_seconds(lambda: add_panel(*panel), 1.0),
    )
    return seconds / len(logits)


def measure_floors(words: int) -> dict[str, Floor]:
    """Measure one core in float32 and bfloat16, with ``words`` words in the output layer."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        row = row_seconds(words)
        return {
            "fp32": Floor(product_rate(torch.float32), row),
            "bf16": Floor(product_rate(torch.bfloat16), row),
        }
    finally:
        torch.set_num_threads(before)
