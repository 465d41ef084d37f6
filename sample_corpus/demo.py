"""The whole story on the sample corpus: what ``make demo`` runs.

From two text files to a Moses-format system, a phrase table with one more score, new weights, and
BLEU before and after. Every step is a command that a user would type; each is shown before it runs.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
OUTPUT = Path("demo-output")
ROUNDS = "4"


def run(*arguments: str | Path) -> None:
    """Show a ``phrasescore`` command and run it; stop the demo if it fails."""
    words = [str(argument) for argument in arguments]
    print(f"\n$ phrasescore {' '.join(words)}", flush=True)
    done = subprocess.run([sys.executable, "-m", "phrasescore", *words], check=False)
    if done.returncode:
        sys.exit(f"the demo stops here: that command ended with status {done.returncode}")


def read_json(path: Path) -> Any:
    """Return the value in a JSON file."""
    return json.loads(path.read_text("utf-8"))


def main() -> None:
    """Build, train, score, tune, decode, compare; then say what came out."""
    start = time.monotonic()
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir()
    corpus = HERE.relative_to(Path.cwd()) if HERE.is_relative_to(Path.cwd()) else HERE
    system, model = OUTPUT / "system", OUTPUT / "model"
    rescored, ini = OUTPUT / "phrase-table.rnn.gz", OUTPUT / "moses.rnn.ini"
    build_options = ["--tokenize", "en", "fr", "--lowercase"]
    run("build", corpus / "train.en", corpus / "train.fr", system, *build_options)
    run("train", system / "phrase-table.gz", model, "--hidden", "200", "--max-time", "38s",
        "--evaluations", "2")  # fmt: skip
    run("score", "--model", model, system / "phrase-table.gz", "-o", rescored,
        "--report", OUTPUT / "score.json")  # fmt: skip
    run("ini", "add-column", system / "moses.ini", "--table", rescored, "-o", ini)
    for part in ("dev", "test"):
        for language, side in (("en", "source"), ("fr", "target")):
            run("preprocess", corpus / f"{part}.{language}", "--system", system,
                "--side", side, "-o", OUTPUT / f"{part}.{language}")  # fmt: skip
    for name, untuned in (("baseline", system / "moses.ini"), ("rnn", ini)):
        run("tune", untuned, "--source", OUTPUT / "dev.en", "--reference", OUTPUT / "dev.fr",
            "--rounds", ROUNDS, "-o", OUTPUT / f"tuned.{name}")  # fmt: skip
        run("decode", OUTPUT / f"tuned.{name}" / "moses.ini", "-i", OUTPUT / "test.en",
            "-o", OUTPUT / f"test.{name}.fr")  # fmt: skip
    run("compare", "--reference", OUTPUT / "test.fr", "--metric", "bleu",
        "--baseline", OUTPUT / "test.baseline.fr", "--system", OUTPUT / "test.rnn.fr",
        "--json-file", OUTPUT / "comparison.json")  # fmt: skip
    run("report", OUTPUT, "--source", OUTPUT / "test.en", "-o", OUTPUT / "report.html")
    report(model, time.monotonic() - start)


def report(model: Path, seconds: float) -> None:
    """Print what a newcomer wants to know of each part, then what the new score gained."""
    learned = read_json(model / "provenance.json")
    scored = read_json(OUTPUT / "score.json")
    held_out = learned["held_out"]
    rows = [
        ("corpus", f"{count_lines(HERE / 'train.en'):,} sentence pairs, English-French"),
        ("phrase table", f"{scored['pairs']:,} pairs, now with a fifth score: p(target | source)"),
        ("model", f"{learned['training']['words']:,} words seen in "
                  f"{learned['training']['seconds']:,.0f} s"),
        ("  unseen pairs", f"{held_out['held_out_pairs']['nll']:.3f} nats per word"),
        ("  unseen sources", f"{held_out['held_out_sources']['nll']:.3f} nats per word"),
        ("scoring", f"{scored['pairs_per_second']:,.0f} pairs/s"),
        ("for Moses", f"moses -f {OUTPUT / 'tuned.rnn' / 'moses.ini'}"),
        ("to look at", f"{OUTPUT / 'report.html'}, in a browser"),
        ("time", f"{seconds:,.0f} s"),
    ]  # fmt: skip
    print()
    for name, text in rows:
        print(f"{name:<17} {text}")
    tuned = [100 * read_json(OUTPUT / f"tuned.{name}" / "weights.json")["bleu"]
             for name in ("baseline", "rnn")]  # fmt: skip
    baseline, rescored = read_json(OUTPUT / "comparison.json")["metrics"]["bleu"]
    gain, low, high = (100 * rescored[name] for name in ("gain", "low", "high"))
    p = rescored["p_randomization"]
    print(f"\n{'system':<21}dev BLEU  test BLEU   gain              95 %     p")
    print(f"{'four scores':<21}{tuned[0]:8.2f}  {100 * baseline['mean']:9.2f}")
    print(f"{'and the new score':<21}{tuned[1]:8.2f}  {100 * rescored['mean']:9.2f}  "
          f"{gain:+5.2f}  {f'{low:+.2f} to {high:+.2f}':>16}  {p:.2f}")  # fmt: skip
    print("\n" + in_words(gain, p))


def in_words(gain: float, p: float) -> str:
    """Say what the table shows, and what it does not."""
    moved = f"With the new score test BLEU moves by {gain:+.2f}."
    chance = f"Chance alone would move it as far in {100 * p:.0f} of 100 tests"
    if p < 0.05:
        shown = "so the score did it, in this tuning run; another may move it elsewhere."
    else:
        shown = f"so these {count_lines(OUTPUT / 'test.fr')} sentences do not show a gain."
    size = "Nor do more tuning runs on so small a corpus; docs/results.md is about a larger one."
    return f"{moved} {chance}, {shown}\n{size}"


def count_lines(path: Path) -> int:
    """Return how many lines a file has."""
    return path.read_bytes().count(b"\n")


if __name__ == "__main__":
    main()
