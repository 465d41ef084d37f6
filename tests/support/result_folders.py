"""Small results folders as commands write them, made without running a command."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from moses_integration.system_building.build_settings import BuildRecord
from phrasescore.model.folder import TrainingRecord
from phrasescore.runs.identity import provenance
from phrasescore.runs.json_files import write_json
from tuning.metrics.metric_settings import TextScoring
from tuning.metrics.system_comparison import compare_systems

WORDS = ("le", "la", "chat", "chien", "mange", "voit", "rouge", "bleu", "vite", "ici")
# the systems of an experiment, and their shares of wrong words
SYSTEMS = {"Baseline": 0.4, "RNN + WP": 0.3}


def write_lines(path: Path, lines: Sequence[str]) -> Path:
    """Write a text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def sentences(count: int, seed: int = 1) -> list[str]:
    """Return random sentences of words from ``WORDS``."""
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(5, 12))) for _ in range(count)]


def worse(lines: Sequence[str], share: float, seed: int) -> list[str]:
    """Return a translation in which this share of the words is wrong."""
    rng = random.Random(seed)
    return [
        " ".join("faux" if rng.random() < share else word for word in line.split(" "))
        for line in lines
    ]


def write_comparison(
    folder: Path, count: int = 40, *, runs: int = 1, metrics: Sequence[str] = ("bleu",)
) -> dict[str, Any]:
    """Write texts and the JSON of comparing them with ``compare``; return the JSON.

    The name of the second system contains HTML.
    """
    reference = sentences(count)
    files: dict[str, list[Path]] = {}
    path = write_lines(folder / "test.ref", reference)
    for place, (name, share) in enumerate((("baseline", 0.3), ("a <b>system</b>", 0.2))):
        for run in range(runs):
            lines = worse(reference, share, seed=100 * run + len(name))
            file = write_lines(folder / f"test.{place}.{run}", lines)
            files.setdefault(name, []).append(file)
    found = compare_systems([path], files, scoring=TextScoring(tuple(metrics)), trials=500)
    write_json(folder / "comparison.json", found.to_json())
    content: dict[str, Any] = json.loads((folder / "comparison.json").read_bytes())
    return content


def write_tuning(folder: Path, rounds: int = 3, *, finished: bool = True) -> list[dict[str, Any]]:
    """Write the record of a tuning; return its rounds."""
    folder.mkdir(parents=True)
    lines = []
    for number in range(1, rounds + 1):
        weights = {"LM0": 0.5 / number, "TM0_0": 0.1 * number, "TM0_1": -0.2}
        optimized = {"score": 0.4 + number / 90, "seconds": 0.5, "start_score": 0.3}
        lines.append({
            "number": number, "score": 0.3 + number / 100, "bleu": 0.3 + number / 100,
            "length_ratio": 0.99, "new": 1000 // number, "candidates": 1000 * number,
            "weights": weights, "optimized": optimized,
        })  # fmt: skip
    record: dict[str, Any] = {
        "kind": "tune", "version": 1, "objective": "bleu", "curve": lines,
        "weights": {"LM0": [0.5 / (rounds + 1)], "TM0": [0.1 * (rounds + 1), -0.2]},
        # the second weight of TM0 belongs to the model of write_scoring
    }  # fmt: skip
    if finished:
        record["weights"] = {"LM0": [0.25], "TM0": [0.3, -0.4]}
        record |= {"bleu": 0.33, "score": 0.33, "round": rounds, "rounds": rounds}
        record |= {"why": "no new candidates", "provenance": provenance()}
        write_json(folder / "weights.json", record | {"curve": []})
    write_json(folder / "result.json", record)
    return lines


def write_model(folder: Path, points: int = 4) -> list[dict[str, Any]]:
    """Write the files of a model that a report reads; return the points of its learning curve."""
    folder.mkdir(parents=True)
    lines = [
        {
            "updates": 100 * place, "epoch": place / 10, "seconds": 2.5 * place,
            "words_per_second": 100, "learning_rate": 0.001, "training_nll": 5 / place,
            "held_out_sources_nll": 6 / place, "held_out_pairs_nll": None,
        }
        for place in range(1, points + 1)
    ]  # fmt: skip
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "curves.jsonl").write_text(text)
    made = {**provenance(), "training": {"seconds": 10.0, "updates": 400, "words": 4000}}
    config = {"kind": "rnn-encoder-decoder", "hidden": 8, "format": 1}
    TrainingRecord(config, made).write(folder / "result.json")
    return lines


def write_scoring(folder: Path, scores: Sequence[float]) -> dict[str, Any]:
    """Write a scored table and the record of its scoring; return the record."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"s{n} ||| t{n} ||| 0.5 0.25 {score}" for n, score in enumerate(scores)]
    write_lines(folder / "table.rnn", lines)
    content = {
        "kind": "score", "version": 1, "output": "old/table.rnn",
        "columns": [{"name": "model", "floor_hits": 0}],
        "models": [{"name": "model", "mean_ln_p": -1.25}],
        "pairs": len(scores), "pairs_per_second": 12.5, "seconds": 3.5, "resumed_pairs": 0,
        "processors": [],
        "source_unknown_rate": 0.125, "target_unknown_rate": 0.0, "unknown": "whole",
        "provenance": provenance(), "table_sha256": None,
    }  # fmt: skip
    write_json(folder / "score.json", content)
    return content


def write_experiment(folder: Path, count: int = 30, *, with_tunings: bool = True) -> dict[str, Any]:
    """Write ``results/`` of two systems with two seeds, and its texts; return the record."""
    results = folder / "results"
    reference = sentences(count)
    source_file = write_lines(folder / "test.src", sentences(count, seed=2))
    file = write_lines(folder / "test.ref", reference)
    files: dict[str, list[Path]] = {}
    for place, (name, share) in enumerate(SYSTEMS.items()):
        system = results / "systems" / ("baseline", "rnn-wp")[place]
        for seed in (1, 2):
            lines = worse(reference, share, seed=10 * place + seed)
            path = write_lines(system / f"seed{seed}.test.txt", lines)
            files.setdefault(name, []).append(path)
            if with_tunings:
                write_tuning(system / f"seed{seed}")
    compared = compare_systems([file], files, scoring=TextScoring(("bleu",)), trials=500).to_json()
    test = {**compared, "source": str(source_file), "signatures": {}}
    rows = [{"name": name, "not_run": "", "runs": 2, "seeds": [1, 2]} for name in SYSTEMS]
    record = {
        "kind": "experiment", "version": 1, "name": "Ex",
        "settings": {"decoder": {"kind": "embedded"}, "seeds": [1, 2]},
        "systems": [*rows, {**rows[0], "name": "Later", "not_run": "not yet", "seeds": []}],
        "texts": {"dev": test, "test": test}, "provenance": provenance(),
    }  # fmt: skip
    write_json(results / "result.json", record)
    content: dict[str, Any] = json.loads((results / "result.json").read_bytes())
    return content


def write_system(folder: Path) -> None:
    """Write the files of a built system that a report reads."""
    folder.mkdir(parents=True)
    corpus = {"pairs_kept": 50, "source_words": 400, "target_words": 500, "seconds": 1.5}
    steps = {"corpus": corpus, "score": {"phrase_pairs": 1000, "seconds": 0.5}}
    BuildRecord(steps, provenance()).write(folder / "result.json")
