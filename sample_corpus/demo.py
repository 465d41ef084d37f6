"""Builds, tunes and compares systems on the sample corpus; ``make demo`` runs this script.

The demo turns two text files into a Moses system, adds a score to its phrase table, tunes the
weights, and compares BLEU before and after. Then a neural language model chooses among the system's
translations; this step gained most on the dev set. Every step is a command that a user would type,
and the demo shows each command before it runs.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

# a checkout that is not installed finds itself
sys.path.append(str(Path(__file__).resolve().parents[1]))
from phrasescore.runs import processes

HERE = Path(__file__).resolve().parent
OUTPUT = Path("demo-output")
ROUNDS = "4"
LIST = "50"  # translations of a sentence to choose from
SYSTEMS = {
    "column": "with the phrase model's score",
    "nlm": "a neural language model's choice",
}
SOON = 60  # seconds; if the steps before tuning take less, each system is tuned three times


def step(title: str) -> None:
    """Print the purpose of the next commands."""
    print(f"\n== {title}", flush=True)


def run(*arguments: str | Path) -> None:
    """Show a ``phrasescore`` command and run it; stop the demo if it fails."""
    words = [str(argument) for argument in arguments]
    print(f"\n$ phrasescore {' '.join(words)}", flush=True)
    done = processes.run(processes.phrasescore_command(words))
    if done.returncode:
        sys.exit(f"the demo stops here: that command ended with status {done.returncode}")


def read_json(path: Path) -> Any:
    """Return the value in a JSON file."""
    return json.loads(path.read_text("utf-8"))


def main() -> None:
    """Build, train, score, tune, translate, rescore, compare; then print the results."""
    start = time.monotonic()
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir()
    corpus = HERE.relative_to(Path.cwd()) if HERE.is_relative_to(Path.cwd()) else HERE
    system, model, language_model = (OUTPUT / name for name in ("system", "model", "lm7"))
    scored, ini = OUTPUT / "phrase-table.rnn.gz", OUTPUT / "moses.rnn.ini"
    step("Build a Moses system from parallel text, and prepare dev and test sets as its text was")
    build_options = ["--tokenize", "en", "fr", "--lowercase"]
    run("build", corpus / "train.en", corpus / "train.fr", system, *build_options)
    for part in ("dev", "test"):
        for language, side in (("en", "source"), ("fr", "target")):
            run("preprocess", corpus / f"{part}.{language}", "--system", system,
                "--side", side, "-o", OUTPUT / f"{part}.{language}")  # fmt: skip
    step("Learn p(target | source) from the phrase table, and add it to the table as a fifth score")
    run("train", system / "phrase-table.gz", model, "--hidden", "200", "--max-time", "28s",
        "--evaluations", "2")  # fmt: skip
    run("score", "--model", model, system / "phrase-table.gz", "-o", scored,
        "--json-file", OUTPUT / "score.json")  # fmt: skip
    run("ini", "add-column", system / "moses.ini", "--table", scored, "-o", ini)
    seeds = 3 if time.monotonic() - start < SOON else 1
    parts = [f"seed{seed}" for seed in range(1, seeds + 1)] if seeds > 1 else [""]
    translations: list[str | Path] = []
    for name, untuned, title in (
        ("baseline", system / "moses.ini", "Tune the weights of the system as it was, and"),
        ("column", ini, "Tune all weights again with the new score, and"),
    ):
        step(f"{title} translate the test set")
        tuned = OUTPUT / f"tuned.{name}"
        run("tune", untuned, "--source", OUTPUT / "dev.en", "--reference", OUTPUT / "dev.fr",
            "--rounds", ROUNDS, "--seeds", str(seeds), "-o", tuned)  # fmt: skip
        for part in parts:
            output = OUTPUT / dotted("test", name, part, "fr")
            lists: list[str | Path] = []
            if name == "baseline":
                lists = ["--nbest", OUTPUT / dotted("test", part, "nbest"), "--nbest-size", LIST]
            run("decode", tuned / part / "moses.ini", "-i", OUTPUT / "test.en", "-o", output,
                *lists)  # fmt: skip
            translations += named(name, output)
    step("Learn a neural language model, which chooses among the first system's 50 best")
    run("train", system / "corpus.target.gz", language_model, "--kind", "feed-forward-lm",
        "--max-epochs", "6")  # fmt: skip
    for part in parts:
        output = OUTPUT / dotted("test", "nlm", part, "fr")
        choose(OUTPUT / "tuned.baseline" / part / "moses.ini", language_model, part, output)
        translations += named("nlm", output)
    step("Compare on the test set, and draw a page to look at")
    run("compare", "--reference", OUTPUT / "test.fr", "--metric", "bleu", *translations,
        "--json-file", OUTPUT / "comparison.json")  # fmt: skip
    run("report", OUTPUT, "-o", OUTPUT / "report.html")
    report(model, seeds, time.monotonic() - start)


def choose(ini: Path, language_model: Path, part: str, output: Path) -> None:
    """Weigh a language model on lists of the dev set; choose from lists of the test set."""
    weights = OUTPUT / dotted("nlm", part, "json")
    run("decode", ini, "-i", OUTPUT / "dev.en", "-o", OUTPUT / dotted("dev.baseline", part, "fr"),
        "--nbest", OUTPUT / dotted("dev", part, "nbest"), "--nbest-size", LIST)  # fmt: skip
    rescored = {}
    for name in ("dev", "test"):
        rescored[name] = OUTPUT / dotted(name, part, "nlm", "nbest")
        run("nbest", OUTPUT / dotted(name, part, "nbest"), "--model", language_model,
            "-o", rescored[name])  # fmt: skip
    run("optimize", "--nbest", rescored["dev"], "--reference", OUTPUT / "dev.fr", "-o", weights)
    run("rerank", rescored["test"], "--weights", weights, "--source", OUTPUT / "test.en",
        "-o", output)  # fmt: skip


def dotted(*parts: str) -> str:
    """Join the parts of a file's name that are not empty."""
    return ".".join(filter(None, parts))


def named(system: str, translation: Path) -> list[str]:
    """Return the options that name a translation of a system for ``compare``."""
    if system == "baseline":
        return ["--baseline", str(translation)]
    # a name may have no slash before its =
    return ["--system", f"{system}={translation}"]


def report(model: Path, seeds: int, seconds: float) -> None:
    """Print a summary of each part, then the gain of each system."""
    learned = read_json(model / "provenance.json")
    scored = read_json(OUTPUT / "score.json")
    held_out = learned["held_out"]
    curve = (model / "curves.jsonl").read_text("utf-8").splitlines()
    passes = float(json.loads(curve[-1])["epoch"])
    rows = [
        ("corpus", f"{count_lines(HERE / 'train.en'):,} sentence pairs, English-French"),
        ("phrase table", f"{scored['pairs']:,} pairs, now with a fifth score: p(target | source)"),
        ("phrase model", f"{learned['training']['words']:,} words seen in "
                         f"{learned['training']['seconds']:,.0f} s, each pair {passes:.1f} times"),
        ("  unseen pairs", f"{held_out['held_out_pairs']['nll']:.3f} nats per word"),
        ("  unseen sources", f"{held_out['held_out_sources']['nll']:.3f} nats per word"),
        ("scoring", f"{scored['pairs_per_second']:,.0f} pairs/s"),
        ("for Moses", f"moses -f {OUTPUT / 'tuned.column' / 'moses.ini'}"),
        ("to look at", f"{OUTPUT / 'report.html'}, in a browser"),
        ("time", f"{seconds:,.0f} s"),
    ]  # fmt: skip
    print()
    for name, text in rows:
        print(f"{name:<17} {text}")
    baseline, *others = read_json(OUTPUT / "comparison.json")["metrics"]["bleu"]
    print(f"\n{'test BLEU':<36}             gain              95 %       p")
    print(f"{'four scores':<36}{100 * baseline['mean']:6.2f}")
    for found in others:
        low, high = (100 * found[name] for name in ("low", "high"))
        p = "<0.001" if found["p_bootstrap"] < 0.001 else f"{found['p_bootstrap']:.3f}"
        print(f"{SYSTEMS[found['system']]:<36}{100 * found['mean']:6.2f}      "
              f"{100 * found['gain']:+5.2f}  {f'{low:+.2f} to {high:+.2f}':>16}  "
              f"{p:>6}")  # fmt: skip
    print()
    for line in in_words(others, passes, seeds):
        print(line)


def in_words(others: Sequence[Mapping[str, Any]], passes: float, seeds: int) -> Iterator[str]:
    """Yield sentences that explain the table of gains."""
    for found in others:
        gain, low, high = (100 * found[name] for name in ("gain", "low", "high"))
        said = f"{SYSTEMS[found['system']]}: {gain:+.2f} BLEU,"
        if low > 0 or high < 0:
            yield f"{said} a {'gain' if gain > 0 else 'loss'} that chance hardly explains."
        else:
            yield f"{said} which chance may explain: neither a gain nor its absence is shown."
    if passes < 1:
        yield (
            "The phrase model has hardly learnt: in its time it has not seen every pair once, as "
            "on a slow or busy machine.\nA longer --max-time would give its score a fair trial."
        )
    runs = f" and {seeds} tuning runs of each"
    if seeds == 1:
        runs = " and one tuning run of each, so other runs may show something else"
    yield (
        f"This was a test on {count_lines(OUTPUT / 'test.fr')} sentences{runs}; there is "
        "one model of each kind.\ndocs/results.md is about a larger corpus."
    )


def count_lines(path: Path) -> int:
    """Return the number of lines of a file."""
    return path.read_bytes().count(b"\n")


if __name__ == "__main__":
    main()
