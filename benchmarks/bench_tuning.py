"""Measures BLEU and seconds of optimising weights over given lists, by us and by Moses's tools.

"Ours" is the whole command `phrasescore optimize`, including reading lists and counting matches.
"Moses" is `mert` or `kbmira` alone; `extractor` has counted the matches before, and its time is
reported separately. Both run with one thread in fresh processes, alternately for each seed.
sacrebleu recomputes BLEU from the translations that the weights choose. The result is JSON on
standard output.

    python -m benchmarks.bench_tuning GOLDEN --moses-bin FOLDER
    python -m benchmarks.bench_tuning GOLDEN --moses-bin FOLDER --part mira --copies 10
    python -m benchmarks.bench_tuning GOLDEN --moses-bin FOLDER --part loop --loop INI DEV.EN
        DEV.FR --scripts mosesdecoder/scripts

GOLDEN has `tuning/` (run1.best100.gz to run3.best100.gz, refs.fr, init.opt) and
`system/moses.ini`. `--copies` repeats the sentences of the lists.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import sacrebleu

from benchmarks.costs import Cost, run

ROUNDS = (1, 2, 3)


@dataclass(frozen=True)
class Result:
    """The BLEU of weights, the cost of the command, and the seconds of our optimiser alone."""

    bleu: float
    cost: Cost
    optimizer: float | None = None


def copied(golden: Path, copies: int, scratch: Path) -> Path:
    """Return a folder like GOLDEN whose lists have this number of copies of each sentence."""
    if copies == 1:
        return golden
    folder = scratch / "copied"
    (folder / "tuning").mkdir(parents=True)
    (folder / "system").symlink_to(golden / "system")
    (folder / "tuning" / "init.opt").symlink_to(golden / "tuning" / "init.opt")
    references = (golden / "tuning" / "refs.fr").read_bytes()
    (folder / "tuning" / "refs.fr").write_bytes(references * copies)
    count = references.count(b"\n")
    for number in ROUNDS:
        name = f"run{number}.best100.gz"
        text = gzip.decompress((golden / "tuning" / name).read_bytes())
        columns = [line.partition(b" ") for line in text.removesuffix(b"\n").split(b"\n")]
        rows = [(int(sentence), rest) for sentence, _, rest in columns]
        with gzip.open(folder / "tuning" / name, "wb", 1) as stream:
            for copy in range(copies):
                stream.writelines(
                    b"%d %s\n" % (sentence + copy * count, rest) for sentence, rest in rows
                )
    return folder


class Lists:
    """All candidates of all rounds, read and chosen independently of the project's code."""

    def __init__(self, folder: Path) -> None:
        self.words: list[list[str]] = []
        values: list[list[list[float]]] = []
        for number in ROUNDS:
            text = gzip.decompress((folder / f"run{number}.best100.gz").read_bytes())
            for line in text.decode("utf-8").removesuffix("\n").split("\n"):
                sentence, words, features = line.split(" ||| ")[:3]
                while len(values) <= int(sentence):
                    self.words.append([])
                    values.append([])
                self.words[int(sentence)].append(words.strip(" "))
                tokens = [token for token in features.split(" ") if token]
                self.names = [token[:-1] for token in tokens if token.endswith("=")]
                values[int(sentence)].append([float(t) for t in tokens if not t.endswith("=")])
        self.features = [np.array(rows) for rows in values]
        references = (folder / "refs.fr").read_text("utf-8")
        self.references = references.removesuffix("\n").split("\n")

    def bleu(self, weights: list[float]) -> float:
        """Recompute BLEU, 0 to 1, of the best candidates under weights (the first, if equal)."""
        best = [
            words[int(np.argmax(rows @ np.array(weights)))]
            for words, rows in zip(self.words, self.features, strict=True)
        ]
        metric = sacrebleu.BLEU(tokenize="none", force=True, smooth_method="none")
        return float(metric.corpus_score(best, [self.references]).score) / 100


@dataclass(frozen=True)
class Bench:
    """The optimisers on the lists of a folder, in a scratch folder."""

    golden: Path
    scratch: Path
    moses_bin: Path
    lists: Lists

    def ours(self, optimizer: str, seed: int, cache: Path | None = None) -> Result:
        """Run `phrasescore optimize`."""
        tuning = self.golden / "tuning"
        command = [sys.executable, "-m", "phrasescore", "optimize"]
        for number in ROUNDS:
            command += ["--nbest", str(tuning / f"run{number}.best100.gz")]
        command += ["--reference", str(tuning / "refs.fr"), "-o", "weights.json"]
        command += ["--start", str(self.golden / "system" / "moses.ini")]
        command += ["--optimizer", optimizer, "--seed", str(seed), "--threads", "1"]
        cost = run(command, folder=self.scratch, cache=cache)
        found = json.loads((self.scratch / "weights.json").read_text("utf-8"))
        weights = [value for name in self.lists.names for value in found["weights"][name]]
        return Result(self.lists.bleu(weights), cost, found["seconds"])

    def extract(self) -> dict[str, float]:
        """Count matches with Moses's extractor, for all rounds; return the seconds."""
        costs = []
        for number in ROUNDS:
            tuning = self.golden / "tuning"
            files = ["--scfile", f"run{number}.scores.dat", "--ffile", f"run{number}.features.dat"]
            command = [str(self.moses_bin / "extractor"), "--sctype", "BLEU", *files]
            command += ["--scconfig", "case:true", "-r", str(tuning / "refs.fr")]
            command += ["-n", str(tuning / f"run{number}.best100.gz")]
            costs.append(run(command, folder=self.scratch))
        return {
            "wall": round(sum(cost.wall for cost in costs), 2),
            "cpu": round(sum(cost.cpu for cost in costs), 2),
        }

    def _files(self, kind: str) -> list[str]:
        return [f"run{number}.{kind}.dat" for number in ROUNDS]

    def mert(self, seed: int) -> Result:
        """Run Moses's mert with 20 restarts."""
        command = [str(self.moses_bin / "mert"), "-d", str(self.lists.features[0].shape[1])]
        command += ["--sctype", "BLEU", "--scconfig", "case:true", "-n", "20", "-r", str(seed)]
        command += ["--ffile", ",".join(self._files("features"))]
        command += ["--scfile", ",".join(self._files("scores")), "--threads", "1"]
        command += ["--ifile", str(self.golden / "tuning" / "init.opt")]
        cost = run(command, folder=self.scratch)
        weights = (self.scratch / "weights.txt").read_text().split()
        return Result(self.lists.bleu([float(weight) for weight in weights]), cost)

    def kbmira(self, seed: int) -> Result:
        """Run Moses's kbmira."""
        command = [str(self.moses_bin / "kbmira"), "--sctype", "BLEU", "-r", str(seed)]
        for features, scores in zip(self._files("features"), self._files("scores"), strict=True):
            command += ["--ffile", features, "--scfile", scores]
        command += ["--dense-init", str(self.golden / "tuning" / "init.opt"), "-o", "mira.weights"]
        cost = run(command, folder=self.scratch)
        lines = (self.scratch / "mira.weights").read_text().split("\n")
        found = dict(line.split(" ") for line in lines if line)
        weights = [float(found.get(f"F{i}", 0)) for i in range(self.lists.features[0].shape[1])]
        return Result(self.lists.bleu(weights), cost)


def summary(results: list[Result]) -> dict[str, object]:
    """Return the scores of all seeds and their median costs."""
    bleu = [round(result.bleu, 6) for result in results]
    alone = [result.optimizer for result in results if result.optimizer is not None]
    return {
        "bleu": bleu,
        "least bleu": min(bleu),
        "median bleu": statistics.median(bleu),
        "wall": round(statistics.median(result.cost.wall for result in results), 2),
        "cpu": round(statistics.median(result.cost.cpu for result in results), 2),
        "memory": round(max(result.cost.memory for result in results), 0),
        **({"wall of the optimiser alone": round(statistics.median(alone), 2)} if alone else {}),
    }


def in_turn(seeds: int, *commands: Callable[[int], Result]) -> list[list[Result]]:
    """Run each command with the first seed, then each with the second, and so on."""
    found: list[list[Result]] = [[] for _ in commands]
    for seed in range(1, seeds + 1):
        for place, command in zip(found, commands, strict=True):
            place.append(command(seed))
    return found


def compared(bench: Bench, seeds: int, optimizer: str, moses: Callable[[int], Result]) -> object:
    """Measure one of our optimisers and its counterpart in Moses alternately."""
    ours, theirs = in_turn(seeds, partial(bench.ours, optimizer), moses)
    ratios = {
        what: round(
            statistics.median(
                getattr(a.cost, what) / getattr(b.cost, what)
                for a, b in zip(ours, theirs, strict=True)
            ),
            3,
        )
        for what in ("wall", "cpu")
    }
    return {"ours": summary(ours), "moses": summary(theirs), "ours by moses": ratios}


def optimizers(bench: Bench, seeds: int, with_moses: bool) -> dict[str, object]:
    """Measure each of our optimisers, and its counterpart in Moses."""
    cold = bench.ours("mert", 1, bench.scratch / "cache")
    for optimizer in ("mert", "mira", "pro"):
        bench.ours(optimizer, 1)  # warms the compile cache of the installation
    result: dict[str, object] = {"mert, empty compile cache": summary([cold])}
    if with_moses:
        result["moses extractor"] = bench.extract()
        result["mert"] = compared(bench, seeds, "mert", bench.mert)
        result["mira"] = compared(bench, seeds, "mira", bench.kbmira)
    else:
        for optimizer in ("mert", "mira"):
            (found,) = in_turn(seeds, partial(bench.ours, optimizer))
            result[optimizer] = {"ours": summary(found)}
    (pro,) = in_turn(seeds, partial(bench.ours, "pro"))
    result["pro"] = {"ours": summary(pro)}
    return result


# -- the whole outer loop -------------------------------------------------------------------
# `phrasescore tune` and Moses's `mert-moses.pl` tune the same ini on the same dev set with MERT,
# with the same number of rounds of 100-best lists and 20 restarts each, and filter the tables
# themselves. Ours decodes once more, to score the last weights. mert-moses.pl asks the decoder
# for a list of its features. moses2 cannot print one, so the script gets the list in moses2's
# order: that of the ini.


_PATH = re.compile(r"(?<= path=)[^\s]+")


@dataclass(frozen=True)
class Loop:
    """A system to tune, and the programs and settings of tuning.

    Args:
        ini: The system; its paths are relative to the current directory.
        source: The dev set.
        reference: The reference translation of the dev set.
        moses_bin: The folder of Moses's programs.
        scripts: The folder of Moses's scripts.
        scratch: A scratch folder.
        rounds: The number of optimisations.
        threads: The number of threads of decoders and optimisers.
    """

    ini: Path
    source: Path
    reference: Path
    moses_bin: Path
    scripts: Path
    scratch: Path
    rounds: int
    threads: int

    def _absolute(self) -> Path:
        """Write the ini with absolute paths."""
        text = self.ini.read_text("utf-8")
        whole = _PATH.sub(lambda found: str(Path(found[0]).resolve()), text)
        path = self.scratch / "moses.ini"
        path.write_text(whole, "utf-8")
        return path

    def ours(self, number: int) -> tuple[Cost, float]:
        """Run `phrasescore tune`; return its cost, and BLEU of the best round."""
        folder = self.scratch / f"ours{number}"
        command = [sys.executable, "-m", "phrasescore", "tune", str(self._absolute())]
        command += ["--source", str(self.source), "--reference", str(self.reference)]
        command += ["--rounds", str(self.rounds), "-o", str(folder)]
        cost = run([*command, "--threads", str(self.threads)], folder=self.scratch)
        return cost, float(json.loads((folder / "weights.json").read_text("utf-8"))["bleu"])

    def _features(self, ini: Path) -> str:
        """Return the output of `-show-weights` for tuneable features, in the order of the ini."""
        command = [str(self.moses_bin / "moses"), "-f", str(ini), "-show-weights"]
        shown = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        lines = {line.partition("=")[0]: line for line in shown.splitlines() if "=" in line}
        kinds = re.findall(r"^(\w+)(?: .*?name=(\S+))?", ini.read_text("utf-8"), re.MULTILINE)
        names = [name or f"{kind}0" for kind, name in kinds]
        return "".join(f"{lines[name]}\n" for name in dict.fromkeys(names) if name in lines)

    def moses(self, decoder: str, number: int) -> tuple[Cost, float]:
        """Run `mert-moses.pl` with moses or moses2; return its cost, and BLEU of the best round."""
        folder, ini = self.scratch / f"{decoder}{number}", self._absolute()
        folder.mkdir()
        if decoder == "moses2":
            (folder / "features.list").write_text(self._features(ini), "utf-8")
        script = self.scripts / "training" / "mert-moses.pl"
        command = ["perl", str(script), "--working-dir", str(folder), "--predictable-seeds"]
        command += ["--mertdir", str(self.moses_bin), "--rootdir", str(self.scripts)]
        command += ["--nbest", "100", "--maximum-iterations", str(self.rounds)]
        command += [f"--threads={self.threads}", f"--decoder-flags=-threads {self.threads}"]
        command += ["--return-best-dev", str(self.source), str(self.reference)]
        command += [str(self.moses_bin / decoder), str(ini)]
        cost = run(command, folder=self.scratch)
        best = re.search(r"^# BLEU ([0-9.]+)", (folder / "moses.ini").read_text("utf-8"), re.M)
        return cost, float(best[1]) if best else float("nan")


def measured(loop: Loop, runs: int) -> dict[str, object]:
    """Run ours, Moses and moses2 alternately; return costs, and ratios of wall and CPU seconds."""
    loop.ours(0)  # warms the compile cache
    found: dict[str, list[tuple[Cost, float]]] = {"ours": [], "moses": [], "moses2": []}
    for number in range(1, runs + 1):
        found["ours"].append(loop.ours(number))
        for decoder in ("moses", "moses2"):
            found[decoder].append(loop.moses(decoder, number))
    result: dict[str, object] = {
        name: [{**asdict(cost), "bleu": round(bleu, 4)} for cost, bleu in rows]
        for name, rows in found.items()
    }
    for decoder in ("moses", "moses2"):
        pairs = list(zip(found[decoder], found["ours"], strict=True))
        result[f"{decoder} by ours"] = {
            what: [round(getattr(a, what) / getattr(b, what), 2) for (a, _), (b, _) in pairs]
            for what in ("wall", "cpu")
        }
    return result


# -- the benchmark --------------------------------------------------------------------------


def parts(options: argparse.Namespace, scratch: Path) -> dict[str, object]:
    """Measure the part that the options select."""
    golden = options.golden.resolve()
    moses = options.moses_bin.resolve() if options.moses_bin else Path()
    if options.part == "loop":
        ini, source, reference = (path.resolve() for path in options.loop)
        scripts = options.scripts.resolve()
        settings = (moses, scripts, scratch, options.rounds, options.threads)
        loop = Loop(ini, source, reference, *settings)
        return measured(loop, options.seeds)
    lists = copied(golden, options.copies, scratch)
    bench = Bench(lists, scratch, moses, Lists(lists / "tuning"))
    if options.part == "optimizers":
        return optimizers(bench, options.seeds, options.moses_bin is not None)
    bench.ours("mira", 1)
    extracting = bench.extract()
    mira = compared(bench, options.seeds, "mira", bench.kbmira)
    return {"moses extractor": extracting, "mira": mira}


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("golden", type=Path)
    parser.add_argument("--moses-bin", type=Path, default=os.environ.get("MOSES_BIN"))
    parser.add_argument("--seeds", type=int, default=5, help="seeds; runs in --part loop")
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--part", choices=["optimizers", "mira", "loop"], default="optimizers")
    parser.add_argument("--loop", type=Path, nargs=3, metavar=("INI", "SOURCE", "REFERENCE"))
    parser.add_argument("--scripts", type=Path, help="Moses's scripts: the folder of training/")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-tuning-") as scratch:
        print(json.dumps(parts(options, Path(scratch)), indent=2))


if __name__ == "__main__":
    main()
