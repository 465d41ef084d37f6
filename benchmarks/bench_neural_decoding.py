"""What a neural language model inside the search costs, beside the same decode without it.

Both run in turn, loading and the start of the process included, one thread, for stack decoding and
cube pruning. JSON on standard output.

    python -m benchmarks.bench_neural_decoding FOLDER --model lm7/ --lines 200

FOLDER holds the system, as for `bench_decoder`. The model's weight is a third of that of the first
n-gram model, which loses as much.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.bench_decoder import unpack_system
from benchmarks.costs import Cost, in_turn, run
from moses_integration.ini.edits import with_language_model
from moses_integration.ini.moses_ini import MosesIni

_SEARCHES = {"stack decoding": 0, "cube pruning": 1}


def decode(folder: Path, ini: str, search: int) -> Cost:
    """Decode the text in a folder with one of its two inis."""
    command = [sys.executable, "-m", "phrasescore", "decode", ini, "-i", "text", "-o", "out"]
    options = ["--threads", "1", "--cache-folder", "tables", "--search-algorithm", str(search)]
    return run([*command, *options], folder=folder)


def prepare(options: argparse.Namespace, folder: Path) -> None:
    """Write both inis, without the model and with it, and the text."""
    unpack_system(options.system, options.system / options.input, folder)
    lines = (folder / "text").read_bytes().split(b"\n")[: options.lines]
    (folder / "text").write_bytes(b"".join(line + b"\n" for line in lines))
    before = MosesIni.read(options.system / options.ini)
    (folder / "without.ini").write_bytes(before.to_bytes())
    ngrams = next(line.name for line in before.features if line.kind == "KENLM")
    (weight,) = before.weights[ngrams]
    written = {"path": str(options.model.resolve())}
    written |= {"normalised": "false"} if options.unnormalised else {}
    change = with_language_model(before, "FeedForwardLM", None, weight / 3, written)
    after = change.ini.with_weights({ngrams: (weight * 2 / 3,)})
    (folder / "with.ini").write_bytes(after.to_bytes())


def measure(folder: Path, search: int, runs: int) -> dict[str, Any]:
    """Measure one kind of search."""
    decode(folder, "with.ini", search)  # compiles, and stores the tables
    inis = ("without.ini", "with.ini")
    without, with_model = in_turn(runs, *(partial(decode, folder, ini, search) for ini in inis))
    ratio = round(with_model["cpu"] / without["cpu"], 2)
    return {"without": without, "with": with_model, "CPU ratio": ratio}


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
    with tempfile.TemporaryDirectory(prefix="bench-neural-") as scratch:
        folder = Path(scratch)
        prepare(options, folder)
        searches = _SEARCHES.items()
        result = {name: measure(folder, search, options.runs) for name, search in searches}
        print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
