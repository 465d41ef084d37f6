"""Measures the cost of a neural language model in the search, compared with decoding without it.

The benchmark decodes alternately with and without the model, with one thread, by stack decoding and
by cube pruning; the figures include start-up and loading. The floor is the time of the network's
matrix products: the operations of all distinct histories divided by numpy's best rate on this core,
measured in the same run. The seconds in the network are measured by decoding once more, in this
process. The result is JSON on standard output.

    python -m benchmarks.bench_neural_decoding FOLDER --model lm7/ --lines 200

FOLDER has the system, as for `bench_decoder`. The model gets a third of the weight of the first
n-gram model, which keeps two thirds.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.bench_decoder import unpack_system
from benchmarks.costs import Cost, in_turn, run
from moses_integration.decoder.decoder import Decoder
from moses_integration.decoder.settings import SearchSettings
from moses_integration.ini.edits import with_language_model
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.language_model.neural import InputNetwork
from phrasescore.model.folder import load_weights
from phrasescore.model.kinds import FeedForwardLmSettings

_SEARCHES = {"stack decoding": 0, "cube pruning": 1}
_TRIES = 10


@dataclass(frozen=True)
class Bench:
    """A scratch folder with the text and two inis, one without the model and one with it."""

    folder: Path
    settings: FeedForwardLmSettings
    normalised: bool

    def decode(self, ini: str, search: int) -> Cost:
        command = [sys.executable, "-m", "phrasescore", "decode", ini, "-i", "text", "-o", "out"]
        options = ["--threads", "1", "--cache-folder", "tables", "--search-algorithm", str(search)]
        return run([*command, *options], folder=self.folder)

    def inside(self, search: int) -> dict[str, Any]:
        """Decode in this process; return the histories and the seconds spent in the network."""
        os.chdir(self.folder)  # paths in the ini are relative to this folder
        ini = MosesIni.read("with.ini")
        settings = replace(SearchSettings.from_ini(ini), search_algorithm=search)
        decoder = Decoder(ini, settings=settings, cache=Path("tables"))
        lines = (self.folder / "text").read_bytes().split(b"\n")[:-1]
        loaded = decoder.load([tuple(line.split()) for line in lines])
        with _timed_network() as spent:
            start = time.process_time()
            list(decoder.decode(loaded))
            seconds = time.process_time() - start
        return {
            "distinct histories": sum(histories for histories, _ in spent),
            "search seconds": round(seconds, 2),
            "of these in the network": round(sum(seconds for _, seconds in spent), 2),
        }

    def operations(self, histories: int) -> float:
        """Return the floating-point operations of the products for this number of histories."""
        sizes = self.settings
        each = 2 * sizes.hidden * sizes.second_hidden
        if self.normalised:
            each += 2 * sizes.second_hidden * sizes.target_vocabulary
        return float(each) * histories


@contextmanager
def _timed_network() -> Iterator[list[tuple[int, float]]]:
    """Collect the number of histories and the CPU seconds of every call of the network."""
    spent: list[tuple[int, float]] = []
    read = InputNetwork.read

    def timed(self: InputNetwork, *arrays: Any) -> None:
        start = time.process_time()
        read(self, *arrays)
        spent.append((len(arrays[0]), time.process_time() - start))

    InputNetwork.read = timed  # type: ignore[method-assign]
    try:
        yield spent
    finally:
        InputNetwork.read = read  # type: ignore[method-assign]


def product_rate() -> float:
    """Return the best operations per second of one core in numpy's matrix product."""
    left, right = np.ones((2048, 1024), np.float32), np.ones((1024, 1024), np.float32)
    out = np.empty((2048, 1024), np.float32)
    best = float("inf")
    with threadpool_limits(1, user_api="blas"):
        for _ in range(_TRIES):
            start = time.process_time()
            np.matmul(left, right, out=out)
            best = min(best, time.process_time() - start)
    return 2 * left.size * right.shape[1] / best


def prepare(options: argparse.Namespace, folder: Path) -> Bench:
    """Write both inis and the text."""
    unpack_system(options.system, options.system / options.input, folder)
    lines = (folder / "text").read_bytes().split(b"\n")[: options.lines]
    (folder / "text").write_bytes(b"".join(line + b"\n" for line in lines))
    before = MosesIni.read(options.system / options.ini)
    (folder / "without.ini").write_bytes(before.to_bytes())
    ngrams = next(line.name for line in before.features if line.kind == "KENLM")
    (weight,) = before.weights[ngrams]
    folder_name, whole = str(options.model.resolve()), not options.unnormalised
    written = {"path": folder_name} | ({} if whole else {"normalised": "false"})
    after, _ = with_language_model(before, "FeedForwardLM", "NeuralLM0", written)
    after = after.with_weights({"NeuralLM0": (weight / 3,), ngrams: (weight * 2 / 3,)})
    (folder / "with.ini").write_bytes(after.to_bytes())
    settings = load_weights(options.model).settings
    if not isinstance(settings, FeedForwardLmSettings):
        raise SystemExit(f"{options.model} is not a feed-forward language model")
    return Bench(folder, settings, not options.unnormalised)


def measure(bench: Bench, search: int, runs: int, rate: float) -> dict[str, Any]:
    """Measure one kind of search."""
    for ini in ("without.ini", "with.ini"):
        bench.decode(ini, search)  # compiles, and stores the tables
    without, with_model = in_turn(
        runs, lambda: bench.decode("without.ini", search), lambda: bench.decode("with.ini", search)
    )
    inside = bench.inside(search)
    floor = bench.operations(inside["distinct histories"]) / rate
    return {
        "without": without,
        "with": with_model,
        "CPU ratio": round(with_model["cpu"] / without["cpu"], 2),
        **inside,
        "floor of its products": round(floor, 2),
        "share of the floor": round(floor / inside["of these in the network"], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("system", type=Path)
    parser.add_argument("--ini", default="moses.tuned.ini")
    parser.add_argument("--input", default="test2016.en.gz")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--unnormalised", action="store_true")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    rate = product_rate()
    with tempfile.TemporaryDirectory(prefix="bench-neural-") as scratch:
        bench = prepare(options, Path(scratch))
        result: dict[str, Any] = {"operations per second": f"{rate:.3g}"}
        for name, search in _SEARCHES.items():
            result[name] = measure(bench, search, options.runs, rate)
        print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
