"""Measures training on one core, on several cores, and as several simultaneous runs of one core.

Simultaneous runs of one core share only memory and clock rate, so their sum shows the capacity of
the machine. Each run is a process that repeats the same updates of the fast recipe for some
seconds; words are target words and </s>. The three ways alternate. The result is JSON with medians,
and with the share of the floor in the time. To get the floor, the products of the forward pass are
counted three times (the gradient has two products for each), and divided by the best rate of a
large product, measured on one core in the same run.

    python -m benchmarks.bench_training_cores TABLE [--hidden 200 500 1000] [--threads N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.bench_training import fast_updates, one_update, phrase_sizes
from benchmarks.floor import product_rate
from benchmarks.shared_work import Steps
from phrasescore.model.device import has_fast_bf16
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.training.batches import Indices, uniform_plan
from phrasescore.training.encoding import encode
from phrasescore.training.pairs import EncodedPairs, load_pairs
from phrasescore.training.recipes import batch_size_for
from phrasescore.training.settings import TrainingSettings

# the number of batches to repeat; each runs once before the clock starts, because torch's matrix
# library compiles code for each new shape in bfloat16, which takes 10 ms or more
_BATCHES = 24
_RATE = 1e-3
_KINDS = {"fp32": None, "bf16": torch.bfloat16}
_PASSES = 3  # one product in the forward pass, two in the backward pass


@dataclass(frozen=True)
class Rate:
    """One run: its words, multiply-adds, wall-clock seconds, and CPU seconds of all cores."""

    words: int
    multiply_adds: int
    wall: float
    cpu: float


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of the processes that it has started."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split()
    # the ids of the processes' CPU clocks, computed like clock_getcpuclockid(3)
    clocks = [(~int(process) << 3) | 2 for process in children]
    return time.process_time() + sum(map(time.clock_gettime, clocks))


def run(pairs: EncodedPairs, hidden: int, threads: int, precision: str, seconds: float) -> Rate:
    """Train for some seconds; the first update of each batch is not counted."""
    torch.set_num_threads(threads)
    sizes = phrase_sizes(pairs, hidden)
    model = EncoderDecoder(sizes)
    model.initialise(torch.Generator().manual_seed(1), "scaled")
    updates = fast_updates(model, pairs, TrainingSettings(max_epochs=1), _KINDS[precision], threads)
    update = one_update(updates, pairs, _RATE)
    lengths = pairs.lengths(np.arange(len(pairs)))
    plan = uniform_plan(*lengths, batch_size_for(len(pairs)), np.random.default_rng(1))
    plan = plan[:_BATCHES]
    for rows in plan:
        update(rows)
    before, start = cpu_seconds(), time.perf_counter()
    words = multiply_adds = done = 0
    while time.perf_counter() - start < seconds:
        rows = plan[done % len(plan)]
        update(rows)
        done += 1
        steps = _steps(lengths, rows)
        words += steps.rows
        multiply_adds += _PASSES * steps.multiply_adds(sizes)
    rate = Rate(words, multiply_adds, time.perf_counter() - start, cpu_seconds() - before)
    updates.close()
    return rate


def _steps(lengths: tuple[Indices, Indices], rows: Indices) -> Steps:
    pairs = len(rows)
    source, target = (int(side[rows].sum()) for side in lengths)
    return Steps(encoder=source + pairs, sources=pairs, decoder=target, rows=target + pairs)


def side_by_side(arguments: list[str], count: int) -> list[Rate]:
    """Run ``count`` processes at the same time, and return the rate of each."""
    command = [sys.executable, "-m", "benchmarks.bench_training_cores", *arguments]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(count)]
    outputs = [process.communicate()[0] for process in started]
    return [Rate(**json.loads(output)) for output in outputs]


def measure(folder: Path, options: argparse.Namespace, hidden: int, precision: str) -> Any:
    common = [str(folder), "--hidden", str(hidden), "--precision", precision]
    common += ["--seconds", str(options.seconds), "--run"]
    contenders = {"one": (1, 1), "several": (options.threads, 1), "beside": (1, options.threads)}
    found: dict[str, list[float]] = {name: [] for name in contenders}
    shares: list[float] = []
    costs: list[float] = []
    flops = product_rate(_KINDS[precision] or torch.float32)
    for _ in range(options.runs):
        for name, (threads, count) in contenders.items():
            rates = side_by_side([*common, "--threads", str(threads)], count)
            found[name].append(sum(rate.words / rate.wall for rate in rates))
            if name == "several":
                costs += [rate.words / rate.cpu for rate in rates]
                shares += [2 * rate.multiply_adds / flops / threads / rate.wall for rate in rates]
    one, several, beside = (statistics.median(rates) for rates in found.values())
    return {
        "words/s, one core": round(one),
        f"words/s, {options.threads} cores": round(several),
        f"words/s, {options.threads} runs of one core side by side": round(beside),
        f"words per CPU second, {options.threads} cores": round(statistics.median(costs)),
        "cores, times one": round(several / one, 2),
        "side by side, times one": round(beside / one, 2),
        "GFLOP/s of a core": round(flops / 1e9, 1),
        "share of the floor, all cores": round(statistics.median(shares), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("table", type=Path, help="a phrase table, or its encoded pairs with --run")
    parser.add_argument("--hidden", type=int, nargs="+", default=[200, 500, 1000])
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=15.0, help="of each run")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--precision", choices=[*_KINDS, "auto"], default="auto")
    parser.add_argument("--run", action="store_true", help="do one run in this process")
    options = parser.parse_args()
    if options.run:
        given = options.hidden[0], options.threads, options.precision, options.seconds
        print(json.dumps(asdict(run(load_pairs(options.table), *given))))
        return
    fast = "bf16" if has_fast_bf16(torch.device("cpu")) else "fp32"
    precision = fast if options.precision == "auto" else options.precision
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="bench-training-cores-") as scratch:
        encode(TrainingSettings(inputs=(options.table,)), Path(scratch))
        result = {
            f"hidden {hidden}, {precision}": measure(Path(scratch), options, hidden, precision)
            for hidden in options.hidden
        }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
