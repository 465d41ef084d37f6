"""What further cores bring to training: one core and several, in turn.

Each run is a process of its own that repeats the same updates of recipe fast for some seconds;
words are target words and </s>. Medians are printed as JSON.

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
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.bench_training import fast_updates, one_update
from phrasescore.model.device import has_fast_bf16
from phrasescore.model.model_settings import EncoderDecoderSettings
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.training.batches import uniform_plan
from phrasescore.training.encoding import encode_table
from phrasescore.training.pairs import EncodedPairs, PairSettings, load_pairs
from phrasescore.training.recipes import batch_size_for
from phrasescore.training.settings import TrainingSettings

# batches that are repeated; each goes by once before the clock starts, because torch's library of
# products compiles code for each shape that it meets in bfloat16, for 10 ms and more
_BATCHES = 24
_RATE = 1e-3
_KINDS = {"fp32": None, "bf16": torch.bfloat16}


def sizes_of(pairs: EncodedPairs, hidden: int) -> EncoderDecoderSettings:
    return EncoderDecoderSettings(
        source_vocabulary=len(pairs.source.vocabulary),
        target_vocabulary=len(pairs.target.vocabulary),
        hidden=hidden,
        maxout=max(1, hidden // 2),
    )


def run(pairs: EncodedPairs, hidden: int, threads: int, precision: str, seconds: float) -> float:
    """Train for some seconds; return words a second, the first update of each batch not counted."""
    torch.set_num_threads(threads)
    model = EncoderDecoder(sizes_of(pairs, hidden))
    model.initialise(torch.Generator().manual_seed(1), "scaled")
    updates = fast_updates(model, pairs, TrainingSettings(max_epochs=1), _KINDS[precision], threads)
    update = one_update(updates, pairs, _RATE)
    lengths = pairs.lengths(np.arange(len(pairs)))
    plan = uniform_plan(*lengths, batch_size_for(len(pairs)), np.random.default_rng(1))
    plan = plan[:_BATCHES]
    for rows in plan:
        update(rows)
    words = done = 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        rows = plan[done % len(plan)]
        update(rows)
        done += 1
        words += int(lengths[1][rows].sum()) + len(rows)
    rate = words / (time.perf_counter() - start)
    updates.close()
    return rate


def measure(folder: Path, options: argparse.Namespace, hidden: int, precision: str) -> Any:
    command = [sys.executable, "-m", "benchmarks.bench_training_cores", str(folder), "--run"]
    command += ["--hidden", str(hidden), "--precision", precision]
    command += ["--seconds", str(options.seconds), "--threads"]
    found: dict[int, list[float]] = {1: [], options.threads: []}
    for _ in range(options.runs):
        for threads, rates in found.items():
            done = subprocess.run([*command, str(threads)], stdout=subprocess.PIPE, check=True)
            rates.append(float(done.stdout))
    one, several = (statistics.median(rates) for rates in found.values())
    return {
        "words/s, one core": round(one),
        f"words/s, {options.threads} cores": round(several),
        "cores, times one": round(several / one, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("table", type=Path, help="a phrase table, or its encoded pairs with --run")
    parser.add_argument("--hidden", type=int, nargs="+", default=[200, 500, 1000])
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=15.0, help="of each run")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--precision", choices=[*_KINDS, "auto"], default="auto")
    parser.add_argument("--run", action="store_true", help="one run alone, in this process")
    options = parser.parse_args()
    if options.run:
        given = options.hidden[0], options.threads, options.precision, options.seconds
        print(run(load_pairs(options.table), *given))
        return
    fast = "bf16" if has_fast_bf16(torch.device("cpu")) else "fp32"
    precision = fast if options.precision == "auto" else options.precision
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="bench-training-cores-") as scratch:
        encode_table(options.table, Path(scratch), PairSettings())
        result = {
            f"hidden {hidden}, {precision}": measure(Path(scratch), options, hidden, precision)
            for hidden in options.hidden
        }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
