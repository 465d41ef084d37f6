"""The whole story on the sample corpus: what ``make demo`` runs.

From two text files to a Moses-format system, a phrase table with one more score, new weights, and
BLEU before and after. Every step is a command that a user would type; each is shown before it runs.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

# a checkout that is not installed finds itself
sys.path.append(str(Path(__file__).resolve().parents[1]))
from phrasescore.resuming import child_processes

HERE = Path(__file__).resolve().parent
OUTPUT = Path("demo-output")
ROUNDS = "4"
SOON = 60  # seconds


def run(*arguments: str | Path) -> None:
    """Show a ``phrasescore`` command and run it; stop the demo if it fails."""
    words = [str(argument) for argument in arguments]
    print(f"\n$ phrasescore {' '.join(words)}", flush=True)
    done = child_processes.run(child_processes.phrasescore_command(words))
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
    # tuning is random: where there is time, it is done more than once
    seeds = 3 if time.monotonic() - start < SOON else 1
    translations: list[str | Path] = []
    for name, untuned in (("baseline", system / "moses.ini"), ("system", ini)):
        tuned = OUTPUT / f"tuned.{name}"
        run("tune", untuned, "--source", OUTPUT / "dev.en", "--reference", OUTPUT / "dev.fr",
            "--rounds", ROUNDS, "--seeds", str(seeds), "-o", tuned)  # fmt: skip
        for part in [f"seed{seed}" for seed in range(1, seeds + 1)] if seeds > 1 else [""]:
            output = OUTPUT / ".".join(filter(None, ["test", name, part, "fr"]))
            run("decode", tuned / part / "moses.ini", "-i", OUTPUT / "test.en", "-o", output)
            translations += [f"--{name}", output]
    run("compare", "--reference", OUTPUT / "test.fr", "--metric", "bleu", *translations,
        "--json-file", OUTPUT / "comparison.json")  # fmt: skip
    run("report", OUTPUT, "--source", OUTPUT / "test.en", "-o", OUTPUT / "report.html")
    report(model, seeds, time.monotonic() - start)


def report(model: Path, seeds: int, seconds: float) -> None:
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
        ("for Moses", f"moses -f {OUTPUT / 'tuned.system' / 'moses.ini'}"),
        ("to look at", f"{OUTPUT / 'report.html'}, in a browser"),
        ("time", f"{seconds:,.0f} s"),
    ]  # fmt: skip
    print()
    for name, text in rows:
        print(f"{name:<17} {text}")
    tuned = [dev_bleu(OUTPUT / f"tuned.{name}") for name in ("baseline", "system")]
    baseline, rescored = read_json(OUTPUT / "comparison.json")["metrics"]["bleu"]
    gain, low, high = (100 * rescored[name] for name in ("gain", "low", "high"))
    p = rescored["p_randomization"]
    print(f"\n{'system':<21}dev BLEU  test BLEU   gain              95 %     p")
    print(f"{'four scores':<21}{tuned[0]:8.2f}  {100 * baseline['mean']:9.2f}")
    print(f"{'and the new score':<21}{tuned[1]:8.2f}  {100 * rescored['mean']:9.2f}  "
          f"{gain:+5.2f}  {f'{low:+.2f} to {high:+.2f}':>16}  {p:.2f}")  # fmt: skip
    print("\n" + in_words(gain, p, seeds))


def dev_bleu(tuned: Path) -> float:
    """Return BLEU x 100 of the dev set after tuning, the mean of all runs."""
    weights = read_json(tuned / "weights.json")
    runs = [run["bleu"] for run in weights.get("seeds", [weights])]
    return 100 * sum(runs) / len(runs)


def in_words(gain: float, p: float, seeds: int) -> str:
    """Say what the table shows, and what it does not."""
    runs = f", the mean of {seeds} tuning runs of each" if seeds > 1 else ""
    moved = f"With the new score test BLEU moves by {gain:+.2f}{runs}."
    chance = f"Chance alone would move it as far in {100 * p:.0f} of 100 tests"
    sentences = f"these {count_lines(OUTPUT / 'test.fr')} sentences"
    if p < 0.05:
        moves = "gain" if gain > 0 else "loss"
        shown = f"so {sentences} show a {moves}; other tuning runs may show another."
    else:
        shown = f"so {sentences} do not show a gain."
    return f"{moved} {chance}, {shown}\ndocs/results.md is about a larger corpus."


def count_lines(path: Path) -> int:
    """Return how many lines a file has."""
    return path.read_bytes().count(b"\n")


if __name__ == "__main__":
    main()
