"""CPU seconds and memory of building and loading a 5-gram model: ours, and KenLM's in turn.

Each figure is the least of several fresh processes, start-up included; ours are measured with a
warm compile cache, and once with an empty one. Text and model are plain files, so that no
gzip is measured.

    python -m benchmarks.bench_language_model CORPUS --moses-bin FOLDER

With ``--sentences N``, the text is N new sentences, each made of the pieces of three others;
``--build-only`` loads no model.
"""

from __future__ import annotations

import argparse
import filecmp
import gzip
import os
import random
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
BUILD = (
    "import sys; from moses_integration.language_model.estimation.kneser_ney import write_arpa; "
    "write_arpa(sys.argv[1], int(sys.argv[2]), sys.argv[3])"
)
LOAD = (
    "import sys; from moses_integration.language_model.back_off import read_language_model; "
    "read_language_model(sys.argv[1])"
)
QUERY = (
    "import sys, numpy as np, time; "
    "from moses_integration.language_model.back_off import read_language_model; "
    "from moses_integration.language_model.automaton import score_words; "
    "model = read_language_model(sys.argv[1]); "
    "words = open(sys.argv[2], 'rb').read(2_500_000).split(); "
    "ids = np.array([model.words.id_of(word) or 0 for word in words], np.int32); "
    "log10 = np.zeros(ids.size); "
    "score_words(model.tables, model.begin_state, ids[:1], log10); start = time.process_time(); "
    "score_words(model.tables, model.begin_state, ids, log10); "
    "print(ids.size / (time.process_time() - start) / 1e6)"
)
# options of build_binary
BINARIES = {
    "probing binary": ["probing"],
    "trie binary": ["trie"],
    "EMS's trie binary": ["-q", "8", "-b", "8", "-a", "22", "trie"],
}


@dataclass(frozen=True)
class Cost:
    """What a process took: CPU seconds (user and system), peak memory in MiB."""

    cpu: float
    memory: float


def spliced(text: bytes, sentences: int) -> bytes:
    """Make new sentences: the beginning of one, the middle of another, the end of a third."""
    lines = [line.split() for line in text.splitlines()]
    chance = random.Random(1)
    new = []
    for _ in range(sentences):
        first, second, third = chance.choices(lines, k=3)
        begin, end = (int(chance.random() * (len(side) + 1)) for side in (first, third))
        middle = int(chance.random() * (len(second) + 1))
        new.append(b" ".join(first[:begin] + second[middle // 2 : middle] + third[end:]))
    return b"\n".join(new) + b"\n"


def measure(command: list[str], *, stdin: Path | None = None, cache: Path | None = None) -> Cost:
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    with open(stdin or os.devnull, "rb") as text:  # noqa: PTH123 - os.devnull is a str
        process = subprocess.Popen(
            command,
            stdin=text,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"failed with status {process.returncode}: {command}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def least(costs: list[Cost]) -> Cost:
    return Cost(min(cost.cpu for cost in costs), max(cost.memory for cost in costs))


def show(what: str, cost: Cost) -> None:
    print(f"{what:<44}{cost.cpu:8.2f} CPU s {cost.memory:8.0f} MiB")


def show_binaries(moses_bin: Path, arpa: Path, runs: int) -> None:
    for kind, options in BINARIES.items():
        binary = arpa.with_suffix(".binary")
        build = [moses_bin / "build_binary", "-S", "1G", *options, arpa, binary]
        subprocess.run(build, check=True, capture_output=True)
        load = [sys.executable, "-c", LOAD, str(binary)]
        measure(load)
        show(f"load, ours, {kind}", least([measure(load) for _ in range(runs)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("corpus", type=Path, help="one sentence per line, plain or gzip")
    parser.add_argument("--order", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=1, help="copies of the corpus")
    parser.add_argument("--sentences", type=int, help="new sentences, made of the corpus's")
    parser.add_argument("--build-only", action="store_true", help="load no model")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--moses-bin", type=Path, help="folder with lmplz and query")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus, own, other = (folder / file for file in ("corpus", "own.arpa", "lmplz.arpa"))
        opener = gzip.open if arguments.corpus.suffix == ".gz" else open
        with opener(arguments.corpus, "rb") as source:
            text = source.read() * arguments.repeat
        corpus.write_bytes(spliced(text, arguments.sentences) if arguments.sentences else text)
        order = str(arguments.order)
        python = [sys.executable, "-c"]
        build = [*python, BUILD, str(corpus), order, str(own)]
        load = [*python, LOAD, str(own)]
        cold = folder / "cache"
        show("build, ours, empty compile cache", measure(build, cache=cold))
        if not arguments.build_only:
            show("load, ours, empty compile cache", measure(load, cache=cold))
            measure(load)
        shutil.rmtree(cold)
        measure(build)
        show("python and numba started, nothing done", measure([*python, "import numba"]))
        if arguments.moses_bin is None:
            show("build, ours", least([measure(build) for _ in range(arguments.runs)]))
            if arguments.build_only:
                return
            show("load, ours", least([measure(load) for _ in range(arguments.runs)]))
        else:
            lmplz = [str(arguments.moses_bin / "lmplz"), "-o", order, "-S", "1G", "--arpa"]
            lmplz += [str(other), "--discount_fallback"]
            query = [str(arguments.moses_bin / "query"), "-v", "summary", str(own)]
            pairs = [(measure(build), measure(lmplz, stdin=corpus)) for _ in range(arguments.runs)]
            show("build, ours", least([pair[0] for pair in pairs]))
            show("build, lmplz", least([pair[1] for pair in pairs]))
            print("the same bytes:", filecmp.cmp(own, other, shallow=False))
            if arguments.build_only:
                return
            pairs = [(measure(load), measure(query)) for _ in range(arguments.runs)]
            show("load, ours", least([pair[0] for pair in pairs]))
            show("load, KenLM", least([pair[1] for pair in pairs]))
            show_binaries(arguments.moses_bin, own, arguments.runs)
        rates = [
            float(
                subprocess.run(
                    [*python, QUERY, str(own), str(corpus)],
                    capture_output=True,
                    check=True,
                    env={**os.environ, "PYTHONPATH": str(PROJECT)},
                ).stdout
            )
            for _ in range(arguments.runs)
        ]
        print(f"questions by compiled code: {max(rates):.1f} million per CPU second")


if __name__ == "__main__":
    main()
