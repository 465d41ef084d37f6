"""Seconds and memory of building a system from aligned text: ours, and Moses's own in turn.

Ours is the whole command `phrasescore build`, reading and cleaning included; Moses's is
train-model.perl, steps 4 to 9, and then lmplz. Fresh processes, in turn, medians; ours with a warm
compile cache, and once more with an empty one. The result is JSON on standard output.

    python benchmarks/bench_build.py SOURCE TARGET ALIGNMENT --moses-bin FOLDER
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
_COMPARED = (
    ("phrase-table.gz", "phrase-table.gz"),
    ("reordering-table.gz", "reordering-table.wbe-msd-bidirectional-fe.gz"),
)


@dataclass(frozen=True)
class Cost:
    """What a command took: wall-clock and CPU seconds, and the peak memory in MiB.

    The memory is that of the largest process of the command.
    """

    wall: float
    cpu: float
    memory: float


def run(command: list[str], *, folder: Path, cache: Path | None = None) -> Cost:
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    log = folder / "log"
    start = time.perf_counter()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, stdout=output, stderr=output, env=environment
        )
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} failed:\n{log.read_text('utf-8', 'replace')[-2000:]}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


@dataclass(frozen=True)
class Bench:
    """The text as plain files corpus.f, corpus.e and aligned.gdfa in a scratch folder."""

    folder: Path
    threads: int
    order: int

    def ours(self, cache: Path | None = None) -> Cost:
        shutil.rmtree(self.folder / "system", ignore_errors=True)
        command = [
            *(sys.executable, "-m", "phrasescore", "build", "corpus.f", "corpus.e", "system"),
            *("--alignment", "aligned.gdfa", "--no-cleaning", "--lmplz", "own"),
            *("--threads", str(self.threads), "--lm-order", str(self.order)),
        ]
        return run(command, folder=self.folder, cache=cache)

    def moses(self, moses_bin: Path) -> Cost:
        model = self.folder / "model"
        shutil.rmtree(model, ignore_errors=True)
        model.mkdir()
        (self.folder / "lm").write_text("only named in the ini\n")
        train = moses_bin.parent / "scripts" / "training" / "train-model.perl"
        steps = (
            f"set -e; {train} -root-dir . -corpus corpus -f f -e e -alignment-file aligned "
            f"-alignment gdfa -first-step 4 -last-step 9 -reordering msd-bidirectional-fe "
            f"-lm 0:{self.order}:{self.folder}/lm:8 -external-bin-dir {moses_bin} "
            f"-cores {self.threads}; "
            f"{moses_bin}/lmplz -o {self.order} --discount_fallback -S 1G < corpus.e > model/arpa"
        )
        return run(["/bin/sh", "-c", steps], folder=self.folder)

    def same_tables(self) -> bool:
        pairs = ((self.folder / "system" / a, self.folder / "model" / b) for a, b in _COMPARED)
        return all(gzip.open(a).read() == gzip.open(b).read() for a, b in pairs)


def median(costs: list[Cost]) -> dict[str, float]:
    rows = [asdict(cost) for cost in costs]
    return {name: round(statistics.median(row[name] for row in rows), 2) for name in rows[0]}


def in_turn(runs: int, *commands: Callable[[], Cost]) -> list[dict[str, float]]:
    costs: list[list[Cost]] = [[] for _ in commands]
    for _ in range(runs):
        for place, command in zip(costs, commands, strict=True):
            place.append(command())
    return [median(place) for place in costs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("source", "target", "alignment"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--moses-bin", type=Path, default=os.environ.get("MOSES_BIN"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=1, help="the text, so many times over")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--order", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-build-") as scratch:
        folder = Path(scratch)
        for path, name in (
            (options.source, "corpus.f"),
            (options.target, "corpus.e"),
            (options.alignment, "aligned.gdfa"),
        ):
            data = path.read_bytes()
            text = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
            (folder / name).write_bytes(text * options.repeat)
        bench = Bench(folder, options.threads, options.order)
        cold = median([bench.ours(folder / "cache")])
        bench.ours()  # so that the compile cache of the installation is warm, too
        result: dict[str, object] = {"ours with an empty compile cache": cold}
        if options.moses_bin is None:
            result["ours"] = in_turn(options.runs, bench.ours)[0]
        else:
            moses = options.moses_bin.resolve()
            ours, theirs = in_turn(options.runs, bench.ours, lambda: bench.moses(moses))
            ratio = round(ours["wall"] / theirs["wall"], 3)
            result |= {"ours": ours, "moses": theirs, "wall ratio": ratio}
            result["same tables"] = bench.same_tables()
        print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
