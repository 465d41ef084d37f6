"""Measures whether the cost per pair is equal for tables of 10^5 to 10^7 pairs.

Generated tables are processed by every step that reads a whole table:
encode, train (for some seconds), score, add the column, filter, prune, doctor. CPU seconds per pair
exclude start-up: the CPU seconds for a table of 1,000 pairs are subtracted. Memory is the peak of
the largest process; disk is the size of the step's output. The result is JSON.

    python -m benchmarks.bench_size [--sizes 100000 1000000 10000000] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zlib_ng import gzip_ng

from benchmarks.costs import Cost, run
from phrasescore.training.encoding import encode
from phrasescore.training.settings import TrainingSettings

_SENTENCES = 1000
_SMALL = ("--hidden", "64", "--embedding", "32", "--rank", "32", "--target-words", "2000")


# -- generated tables -----------------------------------------------------------------------
# The larger a real table is, the more prefixes it shares. Here every thousand pairs form a group.
# All sources of a group begin with the same pair of words, which no other group has, followed by
# a span of up to five words from a few random sentences. So a table of ten million pairs is like
# a hundred tables of a hundred thousand pairs, and the costs per pair can be compared. Groups are
# in the order of `LC_ALL=C sort`.


GROUP = 1000  # pairs
_GROUPS_OF_A_WORD = 1000
_WORDS = 8000  # of each side, without the two words that begin a group
_SENTENCE, _LONGEST = 9, 5  # words
# numbers of targets per source and their frequencies; Multi30k's table has the same mean, 1.33
_TARGETS = (1, 2, 3, 6)
_SHARES = (0.80, 0.13, 0.05, 0.02)


def write_table(path: Path, pairs: int) -> None:
    """Write a gzip phrase table of whole groups, with at least this number of pairs."""
    with gzip_ng.open(path, "wb", compresslevel=3) as stream:
        for group in range(-(-pairs // GROUP)):
            stream.writelines(_lines(group, random.Random(1_000_003 + group)))


def write_ini(path: Path, table: Path) -> None:
    """Write a moses.ini whose only model is the table."""
    path.write_text(
        "[input-factors]\n0\n[mapping]\n0 T 0\n[distortion-limit]\n6\n[feature]\n"
        "UnknownWordPenalty\nWordPenalty\nPhrasePenalty\nDistortion\n"
        "PhraseDictionaryMemory name=TranslationModel0 num-features=4 "
        f"path={table} input-factor=0 output-factor=0\n"
        "[weight]\nUnknownWordPenalty0= 1\nWordPenalty0= -1\nPhrasePenalty0= 0.2\n"
        "Distortion0= 0.3\nTranslationModel0= 0.2 0.2 0.2 0.2\n",
        "ascii",
    )


def write_text(path: Path, lines: int) -> None:
    """Write sentences that begin like the first groups, so that tables have some of the spans."""
    with path.open("w", encoding="ascii") as stream:
        for line in range(lines):
            rng = random.Random(2_000_006 + line)
            stream.write(" ".join([*_beginning(line % 100), *_sentence(rng)]) + "\n")


def _beginning(group: int) -> tuple[str, str]:
    first, second = divmod(group, _GROUPS_OF_A_WORD)
    return f"a{first:04d}", f"b{second:03d}"


def _sentence(rng: random.Random) -> list[str]:
    # a product of two uniform numbers is often small, so a few words are frequent
    return [f"s{int(_WORDS * rng.random() * rng.random()):04d}" for _ in range(_SENTENCE)]


def _lines(group: int, rng: random.Random) -> Iterator[bytes]:
    beginning = _beginning(group)
    pairs: dict[str, list[str]] = {}
    count = 0
    while count < GROUP:
        words = _sentence(rng)
        for first in range(len(words)):
            for end in range(first + 1, min(first + _LONGEST, len(words)) + 1):
                source = " ".join([*beginning, *words[first:end]])
                if source in pairs or count >= GROUP:
                    continue
                targets = _targets([*beginning, *words[first:end]], rng)[: GROUP - count]
                pairs[source] = targets
                count += len(targets)
    for source in sorted(pairs, key=lambda text: f"{text} |||"):
        targets = pairs[source]
        for target in sorted(targets, key=lambda text: f"{text} |||"):
            yield _line(source, target, len(targets), rng)


def _targets(source: list[str], rng: random.Random) -> list[str]:
    literal = [f"t{word}" for word in source]
    found = {" ".join(literal)}
    for _ in range(rng.choices(_TARGETS, _SHARES)[0] - 1):
        words = literal.copy()
        words[rng.randrange(len(words))] = f"ts{rng.randrange(_WORDS):04d}"
        if rng.random() < 0.3:
            words.pop()
        found.add(" ".join(words))
    return list(found)


def _line(source: str, target: str, targets: int, rng: random.Random) -> bytes:
    words = min(source.count(" "), target.count(" ")) + 1
    links = " ".join(f"{word}-{word}" for word in range(words))
    scores = f"{1 / rng.randint(1, 9):.6g} {rng.random():.6g} {1 / targets:.6g} {rng.random():.6g}"
    return f"{source} ||| {target} ||| {scores} ||| {links} ||| 3 {targets} 1 ||| |||\n".encode()


# -- the benchmark --------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """A command over a whole table, and the name of its output."""

    name: str
    arguments: tuple[str, ...]
    writes: str


def steps(seconds: int) -> list[Step]:
    """Return the steps in order; each may read the outputs of earlier steps."""
    ini = ("moses.ini", "-o", "moses.rnn.ini")
    return [
        Step("train", ("train", "table.gz", "model", *_SMALL, "--max-time", f"{seconds}s",
                       "--evaluations", "1", "--overwrite"), "model"),
        Step("score", ("score", "--model", "model", "table.gz", "-o", "table.rnn.gz",
                       "--json-file", "score.json"), "table.rnn.gz"),
        Step("add the column", ("ini", "add-column", *ini, "--table", "table.rnn.gz"),
             "moses.rnn.ini"),
        Step("filter", ("filter", "moses.rnn.ini", "--input", "text", "-o", "filtered"),
             "filtered"),
        Step("prune", ("prune", "table.rnn.gz", "-o", "pruned.gz", "--top", "1", "--column", "5"),
             "pruned.gz"),
        Step("doctor", ("doctor", "moses.rnn.ini"), ""),
    ]  # fmt: skip


def size_of(path: Path) -> int:
    """Return the number of bytes of a file, or of all files in a folder."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size


def pass_through(folder: Path, pairs: int, seconds: int) -> dict[str, tuple[Cost, int]]:
    """Make a table and run every step; return the cost and the output size of each step."""
    folder.mkdir()
    write_table(folder / "table.gz", pairs)
    write_ini(folder / "moses.ini", Path("table.gz"))
    write_text(folder / "text", _SENTENCES)
    encode = [sys.executable, "-m", "benchmarks.bench_size", "--encode", "table.gz", "encoded"]
    found = {"encode": (run(encode, folder=folder), size_of(folder / "encoded"))}
    for step in steps(seconds):
        command = [sys.executable, "-m", "phrasescore", *step.arguments]
        cost = run(command, folder=folder)
        found[step.name] = (cost, size_of(folder / step.writes) if step.writes else 0)
        spent = f"{cost.wall:.1f} s, {cost.cpu:.2f} CPU s, {cost.memory:.0f} MiB"
        print(f"{pairs:,} pairs, {step.name}: {spent}", file=sys.stderr, flush=True)
    return found


def compared(sizes: list[int], folder: Path, seconds: int) -> dict[str, Any]:
    """Measure all sizes; return a row for each step."""
    pass_through(folder / "compiling", GROUP, 1)
    start = pass_through(folder / "start", GROUP, seconds)
    found = {size: pass_through(folder / str(size), size, seconds) for size in sizes}
    rows: dict[str, Any] = {}
    for name, (least, _) in start.items():
        rows[name] = {f"{size:,} pairs": _figures(*found[size][name], size) for size in sizes}
        costs = [(found[size][name][0].cpu - least.cpu) / size for size in sizes]
        if name == "train":  # training time is fixed, so report the rate instead
            for size in sizes:
                learned = _read(folder / str(size) / "model" / "provenance.json")["training"]
                rate = round(learned["words"] / learned["seconds"])
                rows[name][f"{size:,} pairs"]["words a second"] = rate
            continue
        for size, cost in zip(sizes, costs, strict=True):
            rows[name][f"{size:,} pairs"]["microseconds of CPU a pair"] = round(1e6 * cost, 2)
        rows[name]["a pair, the largest table by the smallest"] = round(costs[-1] / costs[0], 2)
    return rows


def _figures(cost: Cost, disk: int, size: int) -> dict[str, float]:
    return {
        "wall seconds": round(cost.wall, 1),
        "memory, MiB": round(cost.memory),
        "disk, bytes a pair": round(disk / size, 1),
    }


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--folder", type=Path, help="for scratch files: 4 GB for 10^7 pairs")
    parser.add_argument("--seconds", type=int, default=30, help="of training for each size")
    parser.add_argument("--encode", type=Path, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.encode:
        table, folder = options.encode
        folder.mkdir()
        encode(TrainingSettings(inputs=(table,)), folder)
        return
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="bench-size-", dir=options.folder) as scratch:
        rows = compared(options.sizes, Path(scratch), options.seconds)
    rows["seconds in all"] = round(time.perf_counter() - begin)
    print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
