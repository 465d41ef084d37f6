"""``make bench``: runs the main benchmarks one by one on the data in PHRASESCORE_SHARED.

If MOSES_BIN names the folder of Moses's binaries, the benchmarks also measure Moses. If JOEYNMT
names a Python that can import joeynmt, they also measure JoeyNMT. PHRASESCORE_MODEL names the model
to score with; the default is an untrained model of the paper's size, which is as fast as a trained
one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
_UNTRAINED = ("--max-epochs", "0")


def _run(module: str, *arguments: object) -> int:
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.run(command, cwd=PROJECT, check=False).returncode


def _model(table: Path, scratch: Path) -> Path:
    """Return the folder of the model to score with."""
    if named := os.environ.get("PHRASESCORE_MODEL"):
        return Path(named).resolve()
    model = scratch / "model"
    if _run("phrasescore", "train", table, model, *_UNTRAINED):
        raise SystemExit(1)
    return model


def _language_model(text: Path, scratch: Path) -> Path:
    """Train a small language model for one epoch; return its folder."""
    model = scratch / "language-model"
    options = ("--kind", "feed-forward-lm", "--self-normalise", "--max-epochs", "1")
    if _run("phrasescore", "train", text, model, *options):
        raise SystemExit(1)
    return model


def main() -> int:
    """Run the benchmarks; return the status of the first that fails."""
    shared = Path(os.environ.get("PHRASESCORE_SHARED", PROJECT.parent / "shared")).resolve()
    data, golden = shared / "data" / "multi30k-enfr", shared / "golden"
    if not data.is_dir():
        print(f"no {data}: set PHRASESCORE_SHARED to the folder that holds data/", file=sys.stderr)
        return 2
    named = {name: os.environ.get(name) for name in ("MOSES_BIN", "JOEYNMT")}
    moses = ["--moses-bin", named["MOSES_BIN"]] if named["MOSES_BIN"] else []
    joeynmt = ["--joeynmt", named["JOEYNMT"]] if named["JOEYNMT"] else []
    text = [data / name for name in ("train.en.gz", "train.fr.gz", "train.aligned.gz")]
    table = data / "phrase-table.gz"
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        model = _model(table, Path(scratch))
        network = _language_model(text[1], Path(scratch))
        plan: list[list[object]] = [
            ["bench_language_model", text[1], *moses],
            ["bench_build", *text, *moses],
            ["bench_decoder", data, *moses],
            ["bench_neural_decoding", data, "--model", network, "--unnormalised", "--lines", 200],
            ["bench_training", table],
            ["bench_training_cores", table],
            ["bench_training", table, "--agreement", "--hidden", 250, "--batch-size", 128],
            ["bench_scoring", model, table, *joeynmt],
            ["bench_training", *text[:2], "--kind", "search", *joeynmt],
            ["bench_cluster", model, table, "--runs", 1],
            ["bench_size", "--sizes", 10**5, 10**6],
        ]
        if moses:
            plan.append(["bench_tuning", golden, *moses])
            plan.append(["bench_tuning", golden, *moses, "--part", "mira", "--copies", 10])
        for script, *arguments in plan:
            print(f"\n{script}", flush=True)
            if status := _run(f"benchmarks.{script}", *arguments):
                return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
