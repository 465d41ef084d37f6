"""What ``tune`` left: rounds, weights before and after, and whether it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from phrasescore.errors import counted
from phrasescore.files.json_files import read_object
from tuning.report.contents import Results, Round, Spent, TunedSystem, TuningRun
from tuning.report.readers.reading import DAMAGE, flat, json_lines, optional, why_not
from tuning.report.readers.result_folders import round_folders, seed_folders


def read_tuning(folder: Path, name: str) -> Results:
    """Read the folder of a tuning, with one seed or several.

    Args:
        folder: As ``tune -o`` names it.
        name: What to call its system.
    """
    several = seed_folders(folder)
    runs: list[TuningRun] = []
    notes: list[str] = []
    for path in several or (folder,):
        try:
            runs.append(_run(path, f"seed {path.name[4:]}" if several else ""))
        except (OSError, *DAMAGE) as error:
            notes.append(why_not(path, error))
    shown = tuple(run for run in runs if run.rounds)
    result = _object(folder / "weights.json")
    provenance = result.get("provenance") if result else None
    return Results(
        name,
        tunings=(TunedSystem(name, shown),) if shown else (),
        spent=tuple(_spent(name, run) for run in shown),
        provenances={f"tuning {name}": provenance} if isinstance(provenance, dict) else {},
        unfinished=tuple(_unfinished(name, run, folder) for run in runs if not run.why),
        notes=tuple(notes),
    )


def _run(folder: Path, run: str) -> TuningRun:
    settings = read_object(folder / "run.json") if (folder / "run.json").exists() else {}
    curve = folder / "curve.jsonl"
    lines = [*json_lines(curve)] if curve.exists() else []
    rounds = tuple(_round(line) for line in lines)
    result = _object(folder / "weights.json")
    before = flat(lines[0]["weights"]) if lines else {}
    last = _object(folder / f"round{len(rounds):02d}" / "optimized.json")
    after = flat((result or last or {"weights": before})["weights"])
    return TuningRun(
        run,
        rounds,
        before,
        # weights that tuning leaves alone are not in the curve
        {name: weight for name, weight in after.items() if name in before},
        str(settings.get("objective", "bleu")),
        str(result["why"]) if result else "",
        int(result["round"]) if result else None,
        sum(float(line["optimized"]["seconds"]) for line in lines if "optimized" in line),
    )


def _round(line: dict[str, Any]) -> Round:
    return Round(
        int(line["number"]),
        float(line["score"]),
        float(line["bleu"]),
        float(line["length_ratio"]),
        int(line["new"]),
        int(line["candidates"]),
        optional(line.get("optimized", {}).get("score")),
    )


def _object(path: Path) -> dict[str, Any] | None:
    """What is in a file that is written at the end; none before."""
    return read_object(path) if path.exists() else None


def _spent(name: str, run: TuningRun) -> Spent:
    which = f" ({run.run})" if run.run else ""
    return Spent(f"finding weights for {name}{which}, without decoding", run.seconds)


def _unfinished(name: str, run: TuningRun, folder: Path) -> str:
    which = f" ({run.run})" if run.run else ""
    begun = len(round_folders(folder)) > len(run.rounds) and not run.run
    more = f"; round {len(run.rounds) + 1} is under way" if begun else ""
    done = counted(len(run.rounds), "round")
    return f"The tuning {name}{which} has not come to its end: {done} done{more}."
