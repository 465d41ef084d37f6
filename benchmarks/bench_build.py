"""Measures the seconds and memory of building a system from aligned text, by us and by Moses.

"Ours" is the whole command `phrasescore build`, without cleaning. "Moses" is train-model.perl,
steps 4 to 9, and then lmplz. Both run alternately in fresh processes; the figures are medians. Ours
runs with a warm compile cache, and once with an empty cache. The result is JSON on standard output.

    python -m benchmarks.bench_build SOURCE TARGET ALIGNMENT --moses-bin FOLDER
"""

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
from phrasescore.table.input_files import open_input

_COMPARED = (
    ("phrase-table.gz", "phrase-table.gz"),
    ("reordering-table.gz", "reordering-table.wbe-msd-bidirectional-fe.gz"),
)


@dataclass(frozen=True)
class Bench:
    """A scratch folder with the text as plain files corpus.f, corpus.e and aligned.gdfa."""

    folder: Path
    threads: int
    order: int

    def ours(self, cache: Path | None = None) -> Cost:
        shutil.rmtree(self.folder / "system", ignore_errors=True)
        command = [
            *(sys.executable, "-m", "phrasescore", "build", "corpus.f", "corpus.e", "system"),
            *("--alignment", "aligned.gdfa", "--no-cleaning"),
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("source", "target", "alignment"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--moses-bin", type=Path, default=os.environ.get("MOSES_BIN"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=1, help="copies of the text")
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
            with open_input(path) as stream:
                (folder / name).write_bytes(stream.read() * options.repeat)
        bench = Bench(folder, options.threads, options.order)
        cold = median([bench.ours(folder / "cache")])
        bench.ours()  # warms the compile cache of the installation
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
