"""Whether a pair costs the same in a table of ten million as in one of a hundred thousand.

Generated tables (``generated_tables``) go through every step that reads a whole table: encode,
train (for some seconds), score, add the column, filter, prune, doctor. Seconds are CPU seconds
less those of a table of one group, so what starting takes does not count. Memory is the peak of the
largest process. The result is JSON.

    python -m benchmarks.bench_size [--sizes 100000 1000000 10000000] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.costs import Cost, run
from benchmarks.generated_tables import GROUP, write_ini, write_table, write_text
from phrasescore.training.encoding import encode_table
from phrasescore.training.pairs import PairSettings

_SENTENCES = 1000
_SMALL = ("--hidden", "64", "--embedding", "32", "--rank", "32", "--target-words", "2000")


def steps(seconds: int) -> dict[str, tuple[str, ...]]:
    """Return the arguments of each step, in order; each may use what those before it wrote."""
    ini = ("moses.ini", "-o", "moses.rnn.ini")
    return {
        "train": ("train", "table.gz", "model", *_SMALL, "--max-time", f"{seconds}s",
                  "--evaluations", "1", "--overwrite"),
        "score": ("score", "--model", "model", "table.gz", "-o", "table.rnn.gz"),
        "add the column": ("ini", "add-column", *ini, "--table", "table.rnn.gz"),
        "filter": ("filter", "moses.rnn.ini", "--input", "text", "-o", "filtered"),
        "prune": ("prune", "table.rnn.gz", "-o", "pruned.gz", "--top", "1", "--column", "5"),
        "doctor": ("doctor", "moses.rnn.ini"),
    }  # fmt: skip


def pass_through(folder: Path, pairs: int, seconds: int) -> dict[str, Cost]:
    """Make a table, take it through every step; return what each cost."""
    folder.mkdir()
    write_table(folder / "table.gz", pairs)
    write_ini(folder / "moses.ini", Path("table.gz"))
    write_text(folder / "text", _SENTENCES)
    encode = [sys.executable, "-m", "benchmarks.bench_size", "--encode", "table.gz", "encoded"]
    found = {"encode": run(encode, folder=folder)}
    for name, arguments in steps(seconds).items():
        cost = run([sys.executable, "-m", "phrasescore", *arguments], folder=folder)
        found[name] = cost
        spent = f"{cost.wall:.1f} s, {cost.cpu:.2f} CPU s, {cost.memory:.0f} MiB"
        print(f"{pairs:,} pairs, {name}: {spent}", file=sys.stderr, flush=True)
    return found


def compared(sizes: list[int], folder: Path, seconds: int) -> dict[str, Any]:
    """Measure all sizes; return a row for each step."""
    pass_through(folder / "compiling", GROUP, 1)
    start = pass_through(folder / "start", GROUP, seconds)
    found = {size: pass_through(folder / str(size), size, seconds) for size in sizes}
    rows: dict[str, Any] = {}
    for name, least in start.items():
        row: dict[str, Any] = {f"{size:,} pairs": _figures(found[size][name]) for size in sizes}
        rows[name] = row
        costs = [(found[size][name].cpu - least.cpu) / size for size in sizes]
        if name == "train":  # for as long as it was told to
            for size in sizes:
                made = folder / str(size) / "model" / "provenance.json"
                learned = json.loads(made.read_text("utf-8"))["training"]
                rate = round(learned["words"] / learned["seconds"])
                row[f"{size:,} pairs"]["words a second"] = rate
            continue
        for size, cost in zip(sizes, costs, strict=True):
            row[f"{size:,} pairs"]["microseconds of CPU a pair"] = round(1e6 * cost, 2)
        row["a pair, the largest table by the smallest"] = round(costs[-1] / costs[0], 2)
    return rows


def _figures(cost: Cost) -> dict[str, float]:
    return {"wall seconds": round(cost.wall, 1), "memory, MiB": round(cost.memory)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--folder", type=Path, help="where there is room: 4 GB for 10^7 pairs")
    parser.add_argument("--seconds", type=int, default=30, help="of training, at each size")
    parser.add_argument("--encode", type=Path, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.encode:
        table, folder = options.encode
        folder.mkdir()
        encode_table(table, folder, PairSettings())
        return
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="bench-size-", dir=options.folder) as scratch:
        rows = compared(options.sizes, Path(scratch), options.seconds)
    rows["seconds in all"] = round(time.perf_counter() - begin)
    print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
