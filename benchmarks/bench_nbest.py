"""Measures candidates per second of `phrasescore nbest` with RNNsearch, and of a plain scorer.

Ours scores the first candidates of a real n-best list; the decoder computes each distinct prefix of
a sentence's candidates once. A model trained with --direction target-source reads the candidates
instead: its encoder computes each distinct beginning and end of the candidates once, and its
decoder shares no prefixes. The peer (plain_attention.py) scores every pair separately, in batches
of 64. Both run alternately as commands, and their scores are compared. The floor is the time of the
matrix products for the distinct beginnings, ends and prefixes at this machine's best rate, plus a
log-sum-exp for each prefix (floor.py).

    python -m benchmarks.bench_nbest MODEL LIST SOURCE [--lines N] [--runs N] [--threads N]
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.costs import Cost, in_turn, run
from benchmarks.floor import measure_floors
from phrasescore.table.input_files import read_lines


def cut(nbest: Path, source: Path, lines: int, folder: Path, direction: str) -> int:
    """Write the first lines of a list, and the pairs to score; return the number of sentences."""
    sentences, last = list(read_lines(source)), 0
    with (folder / "list").open("wb") as kept, (folder / "pairs").open("wb") as pairs:
        for line in itertools.islice(read_lines(nbest), lines):
            number, words = line.split(b"|||", 2)[:2]
            last = int(number)
            kept.write(line + b"\n")
            pair = sentences[last], b" ".join(word for word in words.split(b" ") if word)
            pairs.write(b" ||| ".join(pair if direction == "source-target" else pair[::-1]))
            pairs.write(b" ||| \n")
    return last + 1


def multiply_adds(folder: Path, config: dict[str, int]) -> tuple[float, int, int]:
    """Return the multiply-adds of the shared work, and the numbers of distinct and all prefixes.

    Products of word vectors are not counted, because they can be computed once per word.
    """
    H, A, M, R = (config[n] for n in ("hidden", "alignment", "maxout", "rank"))
    V = config["target_vocabulary"]
    asked, sources, beginnings, ends, prefixes = 0, set(), set(), set(), set()
    for line in (folder / "pairs").read_bytes().split(b"\n")[:-1]:
        source, target = line.split(b" ||| ")[:2]
        if source not in sources:
            sources.add(source)
            read = (*source.split(b" "), b"</s>")
            beginnings.update(read[: at + 1] for at in range(len(read)))
            ends.update(read[at:] for at in range(len(read)))
        words = target.split(b" ") if target else []
        asked += len(words) + 1
        prefixes.update((source, *words[:length]) for length in range(len(words) + 1))
    encoder = 3 * H * H + H * (A + 3 * H + 2 * M)
    step = H * A + 3 * H * H + H * 2 * M + M * R + R * V
    work = (len(beginnings) + len(ends)) * encoder + len(prefixes) * step
    return float(work), len(prefixes), asked


def ours(model: Path, source: Path, folder: Path, threads: int) -> Cost:
    command = [sys.executable, "-m", "phrasescore", "nbest", "list", "--model", str(model)]
    command += ["--source", str(source), "-o", "ours", "--threads", str(threads)]
    return run(command, folder=folder)


def plain(model: Path, folder: Path, threads: int) -> Cost:
    command = [sys.executable, "-m", "benchmarks.plain_attention", str(model), "pairs", "plain"]
    return run([*command, "--threads", str(threads)], folder=folder)


def largest_difference(folder: Path) -> float:
    texts = (folder / "ours").read_bytes().split(b"\n")[:-1]
    found = [float(text.split(b"AttentionModel0= ")[1].split(b" ")[0]) for text in texts]
    expected = [float(text) for text in (folder / "plain").read_bytes().split()]
    return float(np.abs(np.array(found) - np.array(expected)).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    for name in ("model", "list", "source"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    model, source = options.model.resolve(), options.source.resolve()
    with tempfile.TemporaryDirectory(prefix="bench-nbest-") as scratch:
        folder = Path(scratch)
        config = json.loads((model / "config.json").read_bytes())
        sentences = cut(options.list, source, options.lines, folder, config["direction"])
        lines = (folder / "list").read_bytes().count(b"\n")
        work, prefixes, asked = multiply_adds(folder, config)
        ours(model, source, folder, options.threads)  # warms the compile cache
        V = config["target_vocabulary"]
        floors = [measure_floors(V)["fp32"]]
        costs = in_turn(
            options.runs,
            lambda: ours(model, source, folder, options.threads),
            lambda: plain(model, folder, options.threads),
        )
        floor = floors[0].better_of(measure_floors(V)["fp32"])
        seconds = 2 * work / floor.flops + prefixes * floor.row_seconds
        result: dict[str, Any] = {
            "candidates": lines,
            "sentences": sentences,
            "prefixes asked": asked,
            "prefixes distinct": prefixes,
            "ours": costs[0],
            "plain, batches of 64": costs[1],
            "times plain, by CPU": round(costs[1]["cpu"] / costs[0]["cpu"], 2),
            "candidates per CPU second": round(lines / costs[0]["cpu"], 1),
            "floor, core seconds": round(seconds, 2),
            "share of the floor": round(seconds / costs[0]["cpu"], 3),
            "largest difference in ln p": largest_difference(folder),
        }
        print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
