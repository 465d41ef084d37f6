"""Measures the seconds and memory of decoding with one thread, by us, Moses and moses2 alternately.

The searches are stack decoding and cube pruning with the limits of the ini, except the pop limit,
which is an option here. Ours runs without stored tables, with stored tables, and once with an empty
compile cache. moses2 reads the same text but its own tables, made beforehand. The
time of the search alone is the whole run minus a run on the first sentence. Mean model scores show
whether all decoders search equally well. The text is ``--lines`` sentences, evenly spread over the
input. With ``--side-by-side``, the benchmark instead compares the rates of two threads in one
process and of two processes with one thread each. The result is JSON on standard output.

    python -m benchmarks.bench_decoder SYSTEM --ini moses.tuned.ini --input test2016.en.gz --moses-bin FOLDER
    python -m benchmarks.bench_decoder SYSTEM --moses-bin FOLDER --lines 0 --peers moses2 --searches "cube pruning"
    python -m benchmarks.bench_decoder SYSTEM --side-by-side

SYSTEM is the system's folder; paths in the ini are relative to it. ARPA files in gzip are unpacked.
"""  # noqa: E501

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.costs import PROJECT, Cost, in_turn, median, run
from phrasescore.table.input_files import open_input, read_lines

_SEARCHES = {"stack decoding": (), "cube pruning": ("-search-algorithm", "1")}
_STORED = ("--cache-folder", "tables")
_PEERS = ("moses2", "moses", "moses2-text")  # moses2-text is moses2 with Moses's text tables


# -- inputs of moses2 -----------------------------------------------------------------------
# The work of moses2's script binarize4moses2.perl, without programs that few builds have: the
# scores of the reordering table become a property of each line of the phrase table.


_TABLE, _MODEL, _FOLDER = "table.with-reordering.gz", "lm.probing", "probing-table"
_SEPARATOR = b" |||"


def prepare(folder: Path, ini: str, programs: Path) -> str:
    """Make the inputs of moses2 in a system's folder; return the name of an ini that names them.

    Args:
        folder: The system, with one phrase table, one reordering table and one language model.
        ini: The name of the system's ini.
        programs: The folder of ``CreateProbingPT2`` and ``build_binary``.
    """
    text = (folder / ini).read_text()
    table, scores = _path_and_scores(text, "PhraseDictionaryMemory")
    reordering, reordering_scores = _path_and_scores(text, "LexicalReordering")
    model = re.search(r"^KENLM .*path=(\S+)", text, re.MULTILINE)
    assert model is not None, "the ini has no KenLM language model"
    _join(folder / table, folder / reordering, folder / _TABLE)
    for command in (
        f"CreateProbingPT2 --num-scores {scores} --num-lex-scores {reordering_scores} --log-prob "
        f"--input-pt {_TABLE} --output-dir {_FOLDER}",
        f"build_binary probing {model[1]} {_MODEL}",
    ):
        program, *arguments = command.split()
        subprocess.run(
            [programs / program, *arguments], cwd=folder, check=True, capture_output=True
        )
    text = re.sub(r"^PhraseDictionaryMemory", "ProbingPT", text, flags=re.MULTILINE)
    text = text.replace(f"path={table}", f"path={_FOLDER}").replace(model[1], _MODEL)
    text = text.replace(f"path={reordering}", "property-index=0")
    (folder / "moses2.ini").write_text(text)
    return "moses2.ini"


def _path_and_scores(ini: str, kind: str) -> tuple[str, int]:
    line = next(line for line in ini.splitlines() if line.startswith(f"{kind} "))
    options = dict(part.split("=", 1) for part in line.split()[1:])
    return options["path"], int(options["num-features"])


def _join(table: Path, reordering: Path, joined: Path) -> None:
    scores = {}
    for line in read_lines(reordering):
        *pair, values = (column.strip() for column in line.split(_SEPARATOR))
        scores[tuple(pair)] = values
    with gzip.open(joined, "wb", compresslevel=1) as stream:
        for line in read_lines(table):
            columns = [column.strip() for column in line.split(_SEPARATOR)]
            columns += [b""] * (7 - len(columns))
            columns[6] += b"{{LexRO %s}}" % scores[columns[0], columns[1]]
            stream.write(b" ||| ".join(columns) + b"\n")


# -- the benchmark --------------------------------------------------------------------------


@dataclass(frozen=True)
class Bench:
    """A scratch folder with the unpacked system and the text to translate."""

    folder: Path
    ini: str
    pop_limit: int

    def options(self, search: str) -> list[str]:
        """Return the options of a search in Moses's spelling."""
        chosen = list(_SEARCHES[search])
        return [*chosen, "-cube-pruning-pop-limit", str(self.pop_limit)] if chosen else []

    def our_command(self, search: str, *more: str, text: str = "text") -> list[str]:
        """Return our command, which writes the translations of TEXT to ``ours.TEXT``."""
        return [
            *(sys.executable, "-m", "phrasescore", "decode", self.ini, "-i", text),
            *("-o", f"ours.{text}", "--output-hypo-score", *more),
            *(f"-{word}" if word.startswith("-") else word for word in self.options(search)),
        ]

    def ours(self, search: str, *more: str, text: str = "text", cache: Path | None = None) -> Cost:
        command = self.our_command(search, "--threads", "1", *more, text=text)
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

    def together(self, commands: list[list[str]]) -> float:
        """Run commands at the same time; return the seconds until the last one has ended."""
        environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
        start = time.perf_counter()
        running = [
            subprocess.Popen(command, cwd=self.folder, env=environment, stderr=subprocess.DEVNULL)
            for command in commands
        ]
        ended = [process.wait() for process in running]
        if any(ended):
            raise SystemExit(f"one of {commands} failed")
        return time.perf_counter() - start


def unpack_system(system: Path, text: Path, folder: Path, lines: int = 0) -> None:
    """Link the files of a system into a folder, unpack its ARPA files, and copy part of the text.

    Args:
        system: The folder of the system.
        text: The text.
        folder: The folder for all files.
        lines: The number of lines of the text, evenly spread; 0 for all.
    """
    for path in system.resolve().iterdir():
        (folder / path.name).symlink_to(path)
        plain = folder / path.name.removesuffix(".gz")
        if path.name.endswith(".arpa.gz") and not plain.exists():
            with gzip.open(path) as packed, plain.open("wb") as stream:
                shutil.copyfileobj(packed, stream)
    with open_input(text) as stream:
        sentences = list(stream)
    data = b"".join(sentences[:: max(1, len(sentences) // lines)][:lines] if lines else sentences)
    for name in ("text", "other"):
        (folder / name).write_bytes(data)
    for name in ("one", "another"):
        (folder / name).write_bytes(data[: data.index(b"\n") + 1])


def measure(
    bench: Bench, search: str, runs: int, peers: dict[str, tuple[Path, str]]
) -> dict[str, object]:
    """Measure one kind of search.

    Args:
        bench: The system.
        search: The name of the search.
        runs: The number of runs of each command.
        peers: The program and the ini of each peer, by name.
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


def side_by_side(bench: Bench, search: str, runs: int) -> dict[str, object]:
    """Compare the rates of two threads and of two processes, without loading."""

    def threads(text: str) -> float:
        return bench.together([bench.our_command(search, *_STORED, "--threads", "2", text=text)])

    def processes(*texts: str) -> float:
        options = *_STORED, "--threads", "1"
        return bench.together([bench.our_command(search, *options, text=text) for text in texts])

    ways = {
        "one thread": (1, lambda: processes("text"), lambda: processes("one")),
        "two threads": (1, lambda: threads("text"), lambda: threads("one")),
        "two processes": (
            2,
            lambda: processes("text", "other"),
            lambda: processes("one", "another"),
        ),
    }
    processes("text")  # stores the tables
    processes("one")
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(runs):
        for name, (texts, whole, one) in ways.items():
            seconds[name].append((whole() - one()) / texts)
    each = {name: round(statistics.median(values), 2) for name, values in seconds.items()}
    return {
        "seconds of search for the text": each,
        "two threads by one": round(each["one thread"] / each["two threads"], 3),
        "two threads by two processes": round(each["two processes"] / each["two threads"], 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("system", type=Path)
    parser.add_argument("--ini", default="moses.tuned.ini")
    parser.add_argument("--input", default="test2016.en.gz")
    parser.add_argument("--pop-limit", type=int, default=1000)
    parser.add_argument("--moses-bin", type=Path, default=os.environ.get("MOSES_BIN"))
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--lines", type=int, default=200, help="0 for the whole text")
    parser.add_argument("--peers", nargs="*", choices=_PEERS, default=_PEERS[:2])
    parser.add_argument("--searches", nargs="*", choices=_SEARCHES, default=[*_SEARCHES])
    parser.add_argument("--side-by-side", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-decoder-") as scratch:
        folder = Path(scratch)
        unpack_system(options.system, options.system / options.input, folder, options.lines)
        bench = Bench(folder, options.ini, options.pop_limit)
        if options.side_by_side:
            rates = {
                search: side_by_side(bench, search, options.runs) for search in options.searches
            }
            print(json.dumps(rates, indent=2))
            return
        peers = {}
        if options.moses_bin is not None:
            programs = Path(options.moses_bin).resolve()
            inis = {"moses": options.ini, "moses2-text": options.ini}
            if "moses2" in options.peers:
                inis["moses2"] = prepare(folder, options.ini, programs)
            peers = {
                name: (programs / name.removesuffix("-text"), inis[name]) for name in options.peers
            }
        cold = bench.ours("stack decoding", "--no-cache", cache=folder / "compiled")
        result: dict[str, object] = {"ours with an empty compile cache": median([cold])}
        bench.ours("stack decoding", "--no-cache")  # warms the compile cache of the installation
        for search in options.searches:
            result[search] = measure(bench, search, options.runs, peers)
        print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
