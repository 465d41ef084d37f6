"""What a GPU can do at best: bytes a second of a copy, operations a second of matrix products.

They are ceilings to compare runs on a GPU with (docs/performance.md). Medians of 20 tries,
timed on the device; numbers are random, because zeros go faster.

    python -m benchmarks.gpu_rates [--device cuda:N]
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable

import torch

from phrasescore.model.device import choose_device

_TRIES = 20
_COPIED = 1 << 29  # float32 numbers
_LARGE = 8192, 8192, 8192
_STEP = 8192, 1000, 3000  # the recurrences of so many prefixes at the paper's size


def seconds(work: Callable[[], object]) -> float:
    """Return the median time of a call on the current device."""
    work()
    times = []
    for _ in range(_TRIES):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return statistics.median(times)


def product_rate(shape: tuple[int, int, int], kind: torch.dtype, device: torch.device) -> float:
    M, K, N = shape
    left, right = (torch.randn(size, device=device).to(kind) for size in ((M, K), (K, N)))
    out = torch.empty(M, N, dtype=kind, device=device)
    return 2 * M * K * N / seconds(lambda: torch.mm(left, right, out=out))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--device", default="cuda", help="[default: cuda]")
    device = choose_device(parser.parse_args().device)
    torch.cuda.set_device(device.index or 0)  # a device without a number is refused
    numbers = torch.randn(_COPIED, device=device)
    copy = torch.empty_like(numbers)
    copied = 2 * 4 * _COPIED / seconds(lambda: copy.copy_(numbers))
    rates: dict[str, object] = {
        "device": torch.cuda.get_device_name(device),
        "torch": torch.__version__,
        "copy, TB/s": round(copied / 1e12, 2),
    }
    for name, kind in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        for what, shape in (("large product", _LARGE), ("8192 x 1000 x 3000", _STEP)):
            rate = product_rate(shape, kind, device)
            rates[f"{what}, {name}, TFLOP/s"] = round(rate / 1e12, 1)
    print(json.dumps(rates, indent=2))


if __name__ == "__main__":
    main()
