"""Compares decoding with the folder of a system that rescores with the same in three commands.

FOLDER is what `tune --rescore` or `improve` leaves: moses.ini and rescoring.json. The benchmark
runs in turn, with one thread,

* `decode FOLDER`, and
* `decode FOLDER/moses.ini` with an n-best list, `nbest` with the models of the folder, and `rerank`
  with its second weights,

and checks that both, and `Decoder.translate`, give the same translations. Then it translates one
sentence at a time in a process that has translated all of them before. The result is JSON on
standard output; seconds are CPU seconds of whole commands, but wall-clock seconds for a sentence.

    python -m benchmarks.bench_system_folder FOLDER TEXT [--lines N] [--runs N] [--sentences N]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.costs import Cost, in_turn, run
from moses_integration.decoder.decoder import Decoder
from moses_integration.ini.rescoring_file import RESCORING


def commands(system: Path, candidates: int, models: list[str]) -> list[list[str]]:
    """Return the three commands: decoding, scoring, choosing."""
    decode = ["decode", str(system / "moses.ini"), "-i", "text", "-o", "searched", "--threads", "1"]
    size = ["--nbest", "list", "--nbest-size", str(candidates), "--distinct"]
    named = [word for model in models for word in ("--model", str(system / model))]
    score = ["nbest", *named, "--source", "text", "--threads", "1", "list", "-o", "scored"]
    choose = ["rerank", "--weights", "weights.json", "--source", "text", "scored", "-o", "chosen"]
    return [[*decode, *size], score, choose]


def phrasescore(folder: Path, *arguments: str) -> Cost:
    """Run a command, with tables stored in the folder."""
    cache = ["--cache-folder", "tables"] if arguments[0] == "decode" else []
    return run([sys.executable, "-m", "phrasescore", *arguments, *cache], folder=folder)


def in_steps(folder: Path, steps: list[list[str]]) -> Cost:
    """Run the commands; return their seconds together, and the largest memory."""
    costs = [phrasescore(folder, *step) for step in steps]
    wall, cpu = (sum(getattr(cost, name) for cost in costs) for name in ("wall", "cpu"))
    return Cost(wall, cpu, max(cost.memory for cost in costs))


def seconds_of_sentences(decoder: Decoder, lines: list[str]) -> dict[str, float]:
    """Translate one sentence at a time; return the wall-clock seconds of a sentence."""
    seconds = []
    for line in lines:
        start = time.perf_counter()
        decoder.translate([line])
        seconds.append(time.perf_counter() - start)
    low, high = np.percentile(seconds, [50, 95])
    return {"median": round(low, 3), "95 %": round(high, 3), "longest": round(max(seconds), 3)}


def measure(system: Path, folder: Path, runs: int, sentences: int) -> dict[str, Any]:
    record = json.loads((system / RESCORING).read_bytes())
    (folder / "weights.json").write_text(json.dumps(record["weights"]), "utf-8")
    steps = commands(system, record["candidates"], [model["folder"] for model in record["models"]])
    whole = ["decode", str(system), "-i", "text", "-o", "translated", "--threads", "1"]
    phrasescore(folder, *whole)  # compiles, and stores the tables
    one, three = in_turn(runs, lambda: phrasescore(folder, *whole), lambda: in_steps(folder, steps))
    torch.set_num_threads(1)
    lines, searched, chosen, translated = (
        # decode writes a blank after the last word, as Moses does
        [line.rstrip(" ") for line in (folder / name).read_text("utf-8").split("\n")[:-1]]
        for name in ("text", "searched", "chosen", "translated")
    )
    decoder = Decoder(system)
    found = [candidates[0].text if candidates else "" for candidates in decoder.translate(lines)]
    return {
        "models": [model["name"] for model in record["models"]],
        "sentences": len(lines),
        "the same translations in three steps": translated == chosen,
        "the same translations from Python": translated == found,
        "lines that rescoring changes": sum(map(str.__ne__, searched, translated)),
        "folder": one,
        "three steps": three,
        "CPU ratio": round(one["cpu"] / three["cpu"], 2),
        "seconds of one sentence": seconds_of_sentences(decoder, lines[:sentences]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("system", type=Path)
    parser.add_argument("text", type=Path, help="prepared like the training text")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=100, help="to translate one at a time")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory(prefix="bench-folder-") as scratch:
        folder, text = Path(scratch), options.text.read_bytes().splitlines()[: options.lines]
        (folder / "text").write_bytes(b"".join(line + b"\n" for line in text))
        result = measure(options.system.resolve(), folder, options.runs, options.sentences)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
