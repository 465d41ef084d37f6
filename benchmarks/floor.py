"""How fast this machine multiplies matrices and sums exponentials: the floor under any scorer.

The floor of a run is its shared multiply-adds, times two, over the best rate of a matrix product of
4096 x 1000 x 3000 measured in the run, and its rows of the output layer times the best time of a
log-sum-exp. Both are measured on one core in CPU seconds, the least of many tries, so that other
work on the machine changes the floor little; ``cores`` of them do ``cores`` times as much. It is an
estimate: compare a run only with rates measured in the same run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from benchmarks.shared_work import Steps
from phrasescore.model.model_settings import EncoderDecoderSettings
from phrasescore.scoring.gated.step_kernels import add_panel

_M, _K, _N = 4096, 1000, 3000
_LOGITS_AT_ONCE = 128  # rows; 5.7 MB at 11,207 words: they stay in the cache


@dataclass(frozen=True)
class Floor:
    """What one core can do at best.

    Attributes:
        flops: Floating-point operations per second in matrix products, two a multiply-add.
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
    """Return the least CPU time of a call, tried for ``budget`` seconds and five times at least."""
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
    flipped = right.t().contiguous().t()  # some libraries like the weights the other way round
    seconds = min(
        least_seconds(partial(torch.mm, left, weight, out=out)) for weight in (right, flipped)
    )
    return 2 * _M * _K * _N / seconds


def row_seconds(words: int) -> float:
    """Return the seconds of one core for a log-sum-exp over ``words``: torch's or the kernel's."""
    logits = torch.randn(_LOGITS_AT_ONCE, words)
    shift, total = np.empty((2, len(logits)), np.float32)
    panel = logits.numpy(), np.zeros(words, np.float32), 0, shift, total
    seconds = min(
        least_seconds(lambda: torch.logsumexp(logits, 1), 1.0),
        least_seconds(lambda: add_panel(*panel), 1.0),
    )
    return seconds / len(logits)


def measure_floors(words: int) -> dict[str, Floor]:
    """Measure one core in float32 and in bfloat16, for ``words`` in the output layer."""
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
