"""Seconds and memory of decoding: ours, Moses's and moses2's in turn, one thread.

Stack decoding and cube pruning with the limits of the ini, except the pop limit, an option here.
Ours starts without stored tables, with them, and once with an empty compile cache; moses2 has its
own inputs (`moses2_inputs`), made beforehand, and the texts that the others read. What the search
takes alone is the whole run less a run of the first sentence. Mean model scores say whether all
searched equally well. Of the text ``--lines`` sentences are taken, evenly spread. The result is JSON
on standard output.

    python -m benchmarks.bench_decoder FOLDER --ini moses.tuned.ini --input test2016.en.gz --moses-bin FOLDER
    python -m benchmarks.bench_decoder FOLDER --moses-bin FOLDER --lines 0 --peers moses2 --searches "cube pruning"

FOLDER holds the system; paths in the ini are relative to it. An ARPA file that exists as .gz only is
unpacked.
"""  # noqa: E501

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.costs import Cost, in_turn, median, run
from benchmarks.moses2_inputs import prepare

_SEARCHES = {"stack decoding": (), "cube pruning": ("-search-algorithm", "1")}
_STORED = ("--cache-folder", "tables")
_PEERS = ("moses2", "moses")


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

    def ours(self, search: str, *more: str, text: str = "text", cache: Path | None = None) -> Cost:
        """Decode; translations go to ``ours.`` and the name of the text."""
        command = [
            *(sys.executable, "-m", "phrasescore", "decode", self.ini, "-i", text),
            *("-o", f"ours.{text}", "--output-hypo-score", *more),
            *(f"-{word}" if word.startswith("-") else word for word in self.options(search)),
        ]
        return run(command, folder=self.folder, cache=cache)

    def theirs(self, search: str, program: Path, ini: str, text: str = "text") -> Cost:
        """Run Moses or moses2."""
        command = (
            f"{program} -f {ini} -input-file {text} -threads 1 -v 0 -output-hypo-score "
            f"{' '.join(self.options(search))} > {program.name}.{text}"
        )
        return run(["/bin/sh", "-c", f"exec {command}"], folder=self.folder)

    def mean_score(self, name: str) -> float:
        """Return the mean of the model scores that begin the lines of an output."""
        lines = (self.folder / name).read_bytes().split(b"\n")[:-1]
        scores = [float(line.split(b" ")[0]) for line in lines if line.strip()]
        return round(sum(scores) / len(scores), 4)


def unpack_system(system: Path, text: Path, folder: Path, lines: int = 0) -> None:
    """Link the files of a system into a folder, unpack its ARPA files, and copy part of the text.

    Args:
        system: The folder of the system.
        text: The text.
        folder: Where it all goes.
        lines: How many of its lines, evenly spread; 0 for all.
    """
    for path in system.resolve().iterdir():
        (folder / path.name).symlink_to(path)
        plain = folder / path.name.removesuffix(".gz")
        if path.name.endswith(".arpa.gz") and not plain.exists():
            with gzip.open(path) as packed, plain.open("wb") as stream:
                shutil.copyfileobj(packed, stream)
    data = text.read_bytes()
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    sentences = list(io.BytesIO(data))
    data = b"".join(sentences[:: max(1, len(sentences) // lines)][:lines] if lines else sentences)
    (folder / "text").write_bytes(data)
    (folder / "one").write_bytes(data[: data.index(b"\n") + 1])


def measure(
    bench: Bench, search: str, runs: int, peers: dict[str, tuple[Path, str]]
) -> dict[str, object]:
    """Measure one kind of search.

    Args:
        bench: The system.
        search: Its name.
        runs: How often everything runs.
        peers: The program and the ini of each peer by name.
    """
    bench.ours(search, *_STORED)  # stores the tables of the text
    bench.ours(search, *_STORED, text="one")
    names, commands = [], []
    for name, more in (("ours", ("--no-cache",)), ("ours, stored tables", _STORED)):
        names.append(name)
        commands += [partial(bench.ours, search, *more, text=text) for text in ("text", "one")]
    for name, (program, ini) in peers.items():
        names.append(name)
        commands += [partial(bench.theirs, search, program, ini, text) for text in ("text", "one")]
    costs = in_turn(runs, *commands)
    result: dict[str, object] = {}
    for name, whole, one in zip(names, costs[::2], costs[1::2], strict=True):
        alone = round(whole["cpu"] - one["cpu"], 2)
        result[name] = {**whole, "CPU of one sentence": one["cpu"], "CPU of the search": alone}
        if name in peers:
            ours = costs[2]["cpu"] - costs[3]["cpu"]
            result[name] |= {
                "CPU by ours": round(whole["cpu"] / costs[0]["cpu"], 2),
                "by ours, stored tables": round(whole["cpu"] / costs[2]["cpu"], 2),
                "search by ours": round(alone / ours, 2),
                "mean model score": bench.mean_score(f"{peers[name][0].name}.text"),
            }
    result["our mean model score"] = bench.mean_score("ours.text")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("system", type=Path)
    parser.add_argument("--ini", default="moses.tuned.ini")
    parser.add_argument("--input", default="test2016.en.gz")
    parser.add_argument("--pop-limit", type=int, default=1000)
    parser.add_argument("--moses-bin", type=Path, default=os.environ.get("MOSES_BIN"))
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--lines", type=int, default=200, help="0 for the whole text")
    parser.add_argument("--peers", nargs="*", choices=_PEERS, default=_PEERS)
    parser.add_argument("--searches", nargs="*", choices=_SEARCHES, default=[*_SEARCHES])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-decoder-") as scratch:
        folder = Path(scratch)
        unpack_system(options.system, options.system / options.input, folder, options.lines)
        bench = Bench(folder, options.ini, options.pop_limit)
        peers = {}
        if options.moses_bin is not None:
            programs = Path(options.moses_bin).resolve()
            inis = {"moses": options.ini}
            if "moses2" in options.peers:
                inis["moses2"] = prepare(folder, options.ini, programs)
            peers = {name: (programs / name, inis[name]) for name in options.peers}
        cold = bench.ours("stack decoding", "--no-cache", cache=folder / "compiled")
        result: dict[str, object] = {"ours with an empty compile cache": median([cold])}
        bench.ours("stack decoding", "--no-cache")  # the cache of the installation is warm, too
        for search in options.searches:
            result[search] = measure(bench, search, options.runs, peers)
        print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
