r"""Builds and tunes systems on real text of several language pairs, by us and by Moses's tools.

Each pair is a folder with train, dev and test texts of two languages (``train.en.gz``; a dev set
may also be called ``val``, and a test set ``test2016``). All systems are lower-cased, have a
language model of order 5, and search with cube pruning. Our optimisers run in `phrasescore tune`,
Moses's in `mert-moses.pl`, which decides itself when to stop. Both start from the weights of the
new system. The embedded decoder translates the test set with all tuned systems, as real Moses
would.

With --aligner (such as fast_align or fast_align+eflomal) or --mgiza-bin, systems with other word
alignments are built from the same prepared text, and tuned with two seeds by our default. MGIZA is
run by Moses's `train-model.perl`. At the end, translations of all pairs are compared together.

Finished runs are read from the result file and not repeated; each stores the digests of its tables.

    python -m benchmarks.bench_field FOLDER --output field-tuning.json
    python -m benchmarks.bench_field FOLDER --output field-tuning.json --moses-bin BIN --scripts DIR
    python -m benchmarks.bench_field FOLDER --output field-tuning.json --aligner fast_align \
        --mgiza-bin MGIZA --scripts DIR
    python -m benchmarks.bench_field --tokenised MULTI30K --output field-tuning.json
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import statistics
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.costs import Cost, run
from moses_integration.system_building.build_settings import DEFAULT_ALIGNERS
from phrasescore.runs.identity import sha256_of
from phrasescore.runs.json_files import write_json

_PARTS = {"train": ("train",), "dev": ("dev", "val"), "test": ("test", "test2016")}
_SEARCH = {"search-algorithm": "1", "cube-pruning-pop-limit": "500"}
# what mert-moses.pl calls our optimisers
_MOSES_OPTIONS = {"mert": [], "mira": ["--batch-mira"], "pro": ["--pairwise-ranked"]}
_COMMANDS = {"phrasescore": "tune", "moses": "mert-moses.pl"}
_DEFAULT = "mert"
_DEFAULT_ALIGNMENT = "+".join(DEFAULT_ALIGNERS)
_MGIZA = "mgiza"
_SEEDS_COMPARED = 2


@dataclass(frozen=True)
class Run:
    """One tuning.

    Args:
        pair: The name of the language pair.
        program: ``phrasescore`` or ``moses``.
        optimizer: The optimiser.
        seed: The seed; 0 for Moses, which runs once.
        dev: BLEU of the decoded dev set with the best weights, from 0 to 100.
        test: BLEU of the test set with these weights.
        length_ratio: The words of the test translations per word of the reference.
        curve: BLEU of the dev set in each round; of Moses, BLEU of the lists of all rounds.
        cpu: CPU seconds of tuning.
        tables: The digests of the phrase table, the reordering table and the language model.
        alignment: The word aligners, joined by ``+``, or ``mgiza``.
    """

    pair: str
    program: str
    optimizer: str
    seed: int
    dev: float = 0.0
    test: float = 0.0
    length_ratio: float = 0.0
    curve: tuple[float, ...] = ()
    cpu: float = 0.0
    tables: tuple[str, ...] = ()
    alignment: str = _DEFAULT_ALIGNMENT

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """The fields that tell this run from others."""
        return self.pair, self.alignment, self.program, self.optimizer, self.seed

    @property
    def folder(self) -> str:
        """The name of the folder of the run."""
        return f"{self.program}-{self.optimizer}-{self.seed}"


@dataclass(frozen=True)
class Pair:
    """The system and the texts of one language pair.

    Args:
        source: The folder of the texts.
        folder: The folder for the system and all runs.
        base: The folder of the system with the default alignment, and of the prepared texts.
        tokenised: Whether the texts are tokenised already.
        threads: The number of threads of decoders and optimisers.
    """

    source: Path
    folder: Path
    base: Path
    tokenised: bool
    threads: int

    @property
    def languages(self) -> tuple[str, str]:
        """The codes of source and target; English is the source."""
        found = sorted({path.name.split(".")[1] for path in self.source.glob("train.*.gz")})
        others = [code for code in found if code not in ("en", "aligned")]
        return "en", others[0]

    def text(self, part: str, language: str) -> Path:
        """Return the given text."""
        names = [self.source / f"{name}.{language}.gz" for name in _PARTS[part]]
        return next(path for path in names if path.exists())

    def prepared(self, part: str, language: str) -> Path:
        """Return the text as the system wants it."""
        return self.base / f"{part}.{language}"

    @property
    def ini(self) -> Path:
        """The untuned system."""
        return self.folder / "moses.ini"

    def _phrasescore(self, *words: object) -> Cost:
        return run([sys.executable, "-m", "phrasescore", *map(str, words)], folder=self.folder)

    def build(self) -> None:
        """Build the system and prepare the texts, unless an earlier call has done it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        system, languages = self.folder / "system", self.languages
        texts = [self.text("train", language).resolve() for language in languages]
        options = [] if self.tokenised else ["--tokenize", *languages, "--lowercase"]
        self._phrasescore("build", *texts, system, "--lm-order", 5, *options)
        for part in ("dev", "test"):
            for side, language in zip(("source", "target"), languages, strict=True):
                given, output = self.text(part, language).resolve(), self.prepared(part, language)
                self._phrasescore(
                    "preprocess", given, "--system", system, "--side", side, "-o", output
                )
        self._write_ini()

    def build_otherwise(self, alignment: str, mgiza: Path | None, scripts: Path | None) -> None:
        """Build a system from the cleaned text of the default one, with another alignment."""
        self.folder.mkdir(parents=True, exist_ok=True)
        texts = [self.base / "system" / f"corpus.{side}.gz" for side in ("source", "target")]
        options = [word for name in alignment.split("+") for word in ("--aligner", name)]
        if alignment == _MGIZA:
            assert mgiza is not None
            assert scripts is not None, "--mgiza-bin needs --scripts"
            links = self.folder / "model" / "aligned.grow-diag-final-and"
            if not links.exists():
                self._run_mgiza(texts, mgiza, scripts)
            options = ["--alignment", str(links)]
        system = self.folder / "system"
        self._phrasescore("build", *texts, system, "--lm-order", 5, "--no-cleaning", *options)
        self._write_ini()

    def _run_mgiza(self, texts: list[Path], mgiza: Path, scripts: Path) -> None:
        """Align with Moses's default settings: models 1, HMM, 3 and 4 in both directions."""
        for path, ending in zip(texts, "fe", strict=True):
            (self.folder / f"corpus.{ending}").write_bytes(gzip.decompress(path.read_bytes()))
        command = [str(scripts / "training" / "train-model.perl"), "-root-dir", ".", "-f", "f"]
        command += ["-e", "e", "-corpus", "corpus", "-first-step", "1", "-last-step", "3"]
        command += ["-alignment", "grow-diag-final-and", "-external-bin-dir", str(mgiza)]
        cost = run([*command, "-mgiza", "-mgiza-cpus", "1"], folder=self.folder)
        print(f"{self.folder}: mgiza {cost.cpu:.0f} CPU s, {cost.memory:.0f} MiB", flush=True)

    def _write_ini(self) -> None:
        system = self.folder / "system"
        sections = "".join(f"\n[{name}]\n{value}\n" for name, value in _SEARCH.items())
        text = (system / "moses.ini").read_text("utf-8")
        text = re.sub(r"(?<= path=)\S+", lambda found: str(self.folder / found[0]), text)
        self.ini.write_text(text + sections, "utf-8")

    def tables(self) -> tuple[str, ...]:
        """Return the digests of the system's models."""
        paths = re.findall(r"(?<= path=)\S+", self.ini.read_text("utf-8"))
        return tuple(sha256_of(path) for path in paths)

    def tune(self, one: Run) -> Run:
        """Tune with `phrasescore tune`."""
        output, (source, target) = self.folder / one.folder, self.languages
        cost = self._phrasescore(
            "tune", self.ini, "--source", self.prepared("dev", source), "--reference",
            self.prepared("dev", target), "--optimizer", one.optimizer, "--seed", one.seed,
            "--threads", self.threads, "-o", output,
        )  # fmt: skip
        content = json.loads((output / "result.json").read_text("utf-8"))
        curve = tuple(round(100 * each["bleu"], 2) for each in content["curve"])
        return replace(one, dev=round(100 * content["bleu"], 2), curve=curve, cpu=cost.cpu)

    def tune_with_moses(self, one: Run, binaries: Path, scripts: Path) -> Run:
        """Tune with `mert-moses.pl`."""
        output, (source, target) = self.folder / one.folder, self.languages
        command = ["perl", str(scripts / "training" / "mert-moses.pl"), "--predictable-seeds"]
        command += ["--working-dir", str(output), "--mertdir", str(binaries), "--nbest", "100"]
        command += ["--rootdir", str(scripts), f"--threads={self.threads}", "--return-best-dev"]
        command += [f"--decoder-flags=-threads {self.threads}", *_MOSES_OPTIONS[one.optimizer]]
        command += [str(self.prepared("dev", source)), str(self.prepared("dev", target))]
        cost = run([*command, str(binaries / "moses"), str(self.ini)], folder=self.folder)
        curve = []
        for number in range(1, 100):
            ini = output / f"run{number}.moses.ini"
            if ini.exists() and (found := re.search(r"^# BLEU ([\d.]+)", ini.read_text(), re.M)):
                curve.append(round(100 * float(found[1]), 2))
        best = re.search(r"^# BLEU ([\d.]+)", (output / "moses.ini").read_text("utf-8"), re.M)
        assert best is not None, f"{output}/moses.ini has no BLEU"
        dev = round(100 * float(best[1]), 2)
        return replace(one, dev=dev, curve=tuple(curve), cpu=cost.cpu)

    def test(self, one: Run) -> Run:
        """Translate the test set with the tuned system, and score it."""
        output, (source, target) = self.folder / one.folder, self.languages
        translated, scores = output / f"test.{target}", output / "test.json"
        self._phrasescore(
            "decode", output / "moses.ini", "-i", self.prepared("test", source), "-o", translated,
            "--threads", self.threads,
        )  # fmt: skip
        self._phrasescore(
            "evaluate", translated, "--reference", self.prepared("test", target),
            "--metric", "bleu", "--json-file", scores,
        )  # fmt: skip
        (found,) = json.loads(scores.read_text("utf-8"))["results"]
        ratio = round(found["length_ratio"], 3)
        return replace(one, test=round(100 * found["bleu"], 2), length_ratio=ratio)

    def finish(
        self, one: Run, runs: list[Run], binaries: Path | None, scripts: Path | None
    ) -> list[Run]:
        """Return the runs with this one, which is done unless it is among them."""
        tables = self.tables()
        if any(each.key == one.key and each.tables == tables for each in runs):
            return runs
        if one.program == "phrasescore":
            found = self.tune(one)
        else:
            assert binaries is not None
            assert scripts is not None, "--moses-bin needs --scripts"
            found = self.tune_with_moses(one, binaries.resolve(), scripts)
        found = replace(self.test(found), tables=tables)
        print(found, flush=True)
        return [each for each in runs if each.key != one.key] + [found]


def planned(name: str, seeds: int, binaries: Path | None) -> Iterator[Run]:
    """Yield the runs of a pair: all seeds of the default, two of the others, one of Moses's.

    Moses's PRO needs megam, which `mert-moses.pl` would download from an address that may be gone.
    """
    for optimizer in _MOSES_OPTIONS:
        for seed in range(1, (seeds if optimizer == _DEFAULT else min(2, seeds)) + 1):
            yield Run(name, "phrasescore", optimizer, seed)
        if binaries and (optimizer != "pro" or (binaries / "megam_i686.opt").exists()):
            yield Run(name, "moses", optimizer, 0)


def aligned_otherwise(name: str, alignment: str) -> Iterator[Run]:
    """Yield the runs of a pair with another alignment."""
    for seed in range(1, _SEEDS_COMPARED + 1):
        yield Run(name, "phrasescore", _DEFAULT, seed, alignment=alignment)


def compare_together(alignment: str, runs: list[Run], work: Path) -> None:
    """Print the difference of the default to another alignment, over the texts of all pairs.

    The test sets of all pairs count as one text.
    """
    folder = work / "together"
    folder.mkdir(exist_ok=True)
    seeds = range(1, _SEEDS_COMPARED + 1)
    keys = {one.key for one in runs}
    bases = [
        work / name
        for name in sorted({one.pair for one in runs})
        if all(one.key in keys for one in aligned_otherwise(name, alignment))
    ]
    names = [path.name for base in bases for path in base.glob("test.*") if path.suffix != ".en"]
    command = [sys.executable, "-m", "phrasescore", "compare", "--metric", "bleu"]
    for kind, place in (("baseline", alignment), ("system", ".")):
        for seed in seeds:
            run_folder = Run("", "phrasescore", _DEFAULT, seed).folder
            texts = [
                base / place / run_folder / name for base, name in zip(bases, names, strict=True)
            ]
            command += [f"--{kind}", str(_joined(folder / f"{kind}{seed}", texts))]
    references = [base / name for base, name in zip(bases, names, strict=True)]
    command += ["--reference", str(_joined(folder / "reference", references))]
    run(command, folder=folder)
    print(f"default over {alignment}:", (folder / "log").read_text("utf-8"), sep="\n")


def _joined(path: Path, texts: list[Path]) -> Path:
    path.write_bytes(b"".join(text.read_bytes() for text in texts))
    return path


def table(runs: list[Run]) -> list[str]:
    """Return a Markdown table with a row for each pair, alignment and optimiser: means of seeds."""
    groups: dict[tuple[str, str, str, str], list[Run]] = {}
    for one in runs:
        groups.setdefault(one.key[:4], []).append(one)
    lines = [
        "| pair | word alignment | tuned by | seeds | untuned dev | dev | test | rounds | CPU s |",
        "|---" * 9 + "|",
    ]
    for (name, alignment, program, optimizer), group in sorted(groups.items()):
        scores = [one.dev for one in group]
        spread = f" ({min(scores):.2f} to {max(scores):.2f})" if len(group) > 1 else ""
        cells = [name, alignment, f"`{_COMMANDS[program]}`, {optimizer}", str(len(group))]
        # mert-moses.pl reports scores over its lists, not of its first decoding
        cells += [f"{group[0].curve[0]:.2f}" if program == "phrasescore" else "–"]
        cells += [f"{statistics.mean(scores):.2f}{spread}"]
        cells += [f"{statistics.mean(one.test for one in group):.2f}"]
        cells += [f"{statistics.mean(len(one.curve) for one in group):.0f}"]
        cells += [f"{statistics.median(one.cpu for one in group):.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def read_runs(path: Path) -> list[Run]:
    """Return the finished runs of a result file."""
    if not path.exists():
        return []
    rows = json.loads(path.read_text("utf-8"))["runs"]
    tuples = ("curve", "tables")
    return [Run(**{**row, **{name: tuple(row[name]) for name in tuples}}) for row in rows]


def main() -> None:
    """Run what is not finished, and print a summary."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="has a folder for each pair")
    parser.add_argument("--tokenised", type=Path, help="a folder of one pair, in tokens already")
    parser.add_argument("--output", type=Path, required=True, help="the result file")
    parser.add_argument("--work", type=Path, default=Path("field-work"), help="for all systems")
    parser.add_argument("--moses-bin", type=Path)
    parser.add_argument("--scripts", type=Path, help="Moses's scripts: the folder of training/")
    parser.add_argument("--seeds", type=int, default=5, help="runs of the default optimiser")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--aligner", action="append", default=[], help="joined by + if several")
    parser.add_argument("--mgiza-bin", type=Path, help="mgiza, mkcls, snt2cooc, merge_alignment.py")
    options = parser.parse_args()
    folders = sorted(options.folder.glob("*/train.en.gz")) if options.folder else []
    sources = [(path.parent, False) for path in folders]
    sources += [(options.tokenised, True)] if options.tokenised else []
    mgiza, scripts = (each and each.resolve() for each in (options.mgiza_bin, options.scripts))
    others = [*options.aligner, *([_MGIZA] if mgiza else [])]
    runs = read_runs(options.output)
    for source, tokenised in sources:
        base = options.work.resolve() / source.name
        pair = Pair(source.resolve(), base, base, tokenised, options.threads)
        pair.build()
        plans = [(pair, planned(source.name, options.seeds, options.moses_bin))]
        for alignment in others:
            other = replace(pair, folder=base / alignment)
            other.build_otherwise(alignment, mgiza, scripts)
            plans.append((other, aligned_otherwise(source.name, alignment)))
        for each, wanted in plans:
            for one in wanted:
                runs = each.finish(one, runs, options.moses_bin, scripts)
                write_json(options.output, {"runs": [asdict(every) for every in runs]})
    print("\n".join(table(runs)))
    for alignment in others:
        compare_together(alignment, runs, options.work.resolve())


if __name__ == "__main__":
    main()
