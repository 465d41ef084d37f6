"""Seconds and memory of decoding: ours, and Moses's own in turn, one thread, loading included.

Stack decoding and cube pruning with the limits of the ini, except the pop limit, an option here.
Ours starts without stored tables, with them, and once with an empty compile cache. Mean model
scores say whether both searched equally well. The result is JSON on standard output.

    python -m benchmarks.bench_decoder FOLDER --ini moses.tuned.ini --input test2016.en.gz --moses-bin FOLDER

FOLDER holds the system; paths in the ini are relative to it. An ARPA file that exists as .gz only is
unpacked.
"""  # noqa: E501

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.costs import Cost, in_turn, median, run

_SEARCHES = {"stack decoding": (), "cube pruning": ("-search-algorithm", "1")}


@dataclass(frozen=True)
class Bench:
    """The system, unpacked, and the text to translate, in a scratch folder."""

    folder: Path
    ini: str
    pop_limit: int

    def options(self, search: str) -> list[str]:
        """Return the options of a search as Moses spells them."""
        chosen = list(_SEARCHES[search])
        return [*chosen, "-cube-pruning-pop-limit", str(self.pop_limit)] if chosen else []

    def ours(self, search: str, *more: str, cache: Path | None = None) -> Cost:
        command = [
            *(sys.executable, "-m", "phrasescore", "decode", self.ini, "-i", "text", "-o", "ours"),
            *("--output-hypo-score", *more, *(f"-{word}" if word.startswith("-") else word
                                              for word in self.options(search))),
        ]  # fmt: skip
        return run(command, folder=self.folder, cache=cache)

    def moses(self, search: str, program: Path) -> Cost:
        command = (
            f"{program} -f {self.ini} -input-file text -threads 1 -v 0 -output-hypo-score "
            f"{' '.join(self.options(search))} > theirs"
        )
        return run(["/bin/sh", "-c", f"exec {command}"], folder=self.folder)

    def mean_score(self, name: str) -> float:
        """Return the mean of the model scores that begin the lines of an output."""
        lines = (self.folder / name).read_bytes().split(b"\n")[:-1]
        scores = [float(line.split(b" ")[0]) for line in lines if line.strip()]
        return round(sum(scores) / len(scores), 4)


def unpack_system(system: Path, text: Path, folder: Path) -> None:
    """Link the files of a system into a folder, unpack its ARPA files, and copy the text."""
    for path in system.resolve().iterdir():
        (folder / path.name).symlink_to(path)
        plain = folder / path.name.removesuffix(".gz")
        if path.name.endswith(".arpa.gz") and not plain.exists():
            with gzip.open(path) as packed, plain.open("wb") as stream:
                shutil.copyfileobj(packed, stream)
    data = text.read_bytes()
    (folder / "text").write_bytes(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data)


def measure(bench: Bench, search: str, runs: int, moses: Path | None) -> dict[str, object]:
    """Measure one kind of search."""
    commands = [
        lambda: bench.ours(search, "--no-cache"),
        lambda: bench.ours(search, "--cache-folder", "tables"),
    ]
    bench.ours(search, "--cache-folder", "tables")  # stores the tables
    if moses is not None:
        commands.append(lambda: bench.moses(search, moses))
    costs = in_turn(runs, *commands)
    result: dict[str, object] = {"ours": costs[0], "ours, stored tables": costs[1]}
    result["our mean model score"] = bench.mean_score("ours")
    if moses is not None:
        result["moses"] = costs[2]
        result["moses's mean model score"] = bench.mean_score("theirs")
        result["CPU ratio"] = round(costs[0]["cpu"] / costs[2]["cpu"], 3)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("system", type=Path)
    parser.add_argument("--ini", default="moses.tuned.ini")
    parser.add_argument("--input", default="test2016.en.gz")
    parser.add_argument("--pop-limit", type=int, default=1000)
    parser.add_argument("--moses-bin", type=Path, default=os.environ.get("MOSES_BIN"))
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    moses = None if options.moses_bin is None else Path(options.moses_bin).resolve() / "moses"
    with tempfile.TemporaryDirectory(prefix="bench-decoder-") as scratch:
        folder = Path(scratch)
        unpack_system(options.system, options.system / options.input, folder)
        bench = Bench(folder, options.ini, options.pop_limit)
        cold = bench.ours("stack decoding", "--no-cache", cache=folder / "compiled")
        result: dict[str, object] = {"ours with an empty compile cache": median([cold])}
        bench.ours("stack decoding", "--no-cache")  # the cache of the installation is warm, too
        for search in _SEARCHES:
            result[search] = measure(bench, search, options.runs, moses)
        print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
