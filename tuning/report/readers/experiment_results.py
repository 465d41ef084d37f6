"""What ``experiment`` left: its table, the texts, the tunings, the models it trained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from moses_integration.bleu.statistics import BleuStatistics
from moses_integration.system_building.corpus.text_preparation import read_text
from phrasescore.errors import PhrasescoreError, counted
from phrasescore.files.byte_streams import sha256_of
from phrasescore.files.json_files import read_object
from tuning.experiment.experiment_settings import DEV
from tuning.experiment.result_files import slug
from tuning.experiment.results.kept_results import RESULTS
from tuning.experiment.results.results_format import KeptResults, KeptRow, read_results
from tuning.experiment.results.runs import StepTime, SystemRun
from tuning.metrics.metric_settings import TRIALS
from tuning.report.contents import (
    Gain,
    Results,
    ScoredSystem,
    ScoreSet,
    Spent,
    SystemOutput,
    TranslatedText,
)
from tuning.report.readers.model_results import read_model
from tuning.report.readers.reading import DAMAGE, why_not
from tuning.report.readers.result_folders import (
    find_models,
    folders_in,
    score_reports,
    seed_folders,
)
from tuning.report.readers.scoring_results import read_scoring
from tuning.report.readers.tuning_results import read_tuning
from tuning.report.sentences import words_in

TABLE = "table.json"
# what a step's name says it does
_WORK = {".tune": "tuning", ".score": "scoring", ".rescore": "rescoring", ".optimize": "optimising"}


def read_experiment(folder: Path, name: str) -> Results:
    """Read the folder of an experiment, finished or not.

    Args:
        folder: As ``experiment -o`` names it.
        name: What to call it where it does not say.
    """
    notes: list[str] = []
    table: dict[str, Any] = {}
    kept = KeptResults()
    found = Results(name)
    try:
        if (folder / TABLE).exists():
            table = read_object(folder / TABLE)
        kept = read_results(folder / RESULTS)
        found = _of_table(folder, table, kept, name)
    except (OSError, PhrasescoreError, *DAMAGE) as error:
        notes.append(why_not(folder / TABLE, error))
    if not table and not notes:
        notes.append("No system has translated a text yet, so there is no table.")
    shown = [system.name for scores in found.scores for system in scores.systems]
    names = {slug(name): name for name in (*shown, *kept.rows)}
    parts = [Results(name, notes=tuple(notes))]
    for path in folders_in(folder / "systems"):
        system = names.get(path.name, path.name)
        for file in score_reports(path):
            of_seed = file.name.removesuffix("score.json").rstrip(".")
            scored = read_scoring(file, f"{system}, {of_seed}" if of_seed else system)
            # the time of the step is told already
            parts.append(replace(scored, spent=()))
        if seed_folders(path):
            parts.append(read_tuning(path, system))
    parts += [read_model(path, label) for path, label in find_models(folder / "models")]
    return reduce(Results.joined, parts, found)


def _of_table(folder: Path, table: Mapping[str, Any], kept: KeptResults, name: str) -> Results:
    if not table:
        return Results(kept.name or name, unfinished=("The experiment is at its beginning.",))
    places = table.get("texts", {})
    names = dict.fromkeys(text for system in table["systems"] for text in system["texts"])
    tests = [text for text in names if text != DEV]
    scores = [
        _score_set(table, text) for text in (*tests, *(text for text in names if text == DEV))
    ]
    texts = [_text(folder, table, kept, text, places.get(text)) for text in tests]
    return Results(
        str(table["name"]),
        facts=_facts(table),
        scores=tuple(scores),
        texts=tuple(text for text in texts if text is not None),
        spent=tuple(_spent(kept)),
        provenances={
            f"experiment {table['name']}": table["provenance"],
            **{
                f"{row_name}, {_run_name(run)}": run.provenance
                for row_name, row in kept.rows.items()
                for run in row.runs
            },
        },
        unfinished=tuple(_unfinished(table)),
        notes=tuple(_not_run(table)),
    )


def _facts(table: Mapping[str, Any]) -> dict[str, str]:
    decoder = "real Moses" if table["decoder"] == "moses" else "the embedded decoder"
    sections = ", ".join(f"{name} {value}" for name, value in table["sections"].items())
    optimizer = str(table["optimizer"]).upper()
    facts = {
        "decoder": decoder + (f" ({sections})" if sections else ""),
        "tuning": f"{optimizer}, at most {counted(table['rounds'], 'round')}, "
        f"{table['nbest_size']}-best lists",
        "seeds": ", ".join(map(str, table["seeds"])),
    }
    if table["per_seed"]:
        facts["another model for each seed"] = ", ".join(map(str, table["per_seed"]))
    return facts


def _score_set(table: Mapping[str, Any], text: str) -> ScoreSet:
    return ScoreSet(
        text=text,
        metric="bleu",
        systems=tuple(
            _system(str(system["name"]), system["texts"][text])
            for system in table["systems"]
            if text in system["texts"]
        ),
        trials=TRIALS,
        is_dev=text == DEV,
    )


def _system(name: str, scores: Mapping[str, Any]) -> ScoredSystem:
    gain, deviation = scores["gain"], scores["deviation"]
    return ScoredSystem(
        name,
        tuple(map(float, scores["bleu"])),
        float(scores["mean"]),
        None if deviation is None else float(deviation),
        gain
        and Gain(
            *(
                float(gain[key])
                for key in ("bleu", "low", "high", "p_value", "randomization_p_value")
            )
        ),
    )


def _text(
    folder: Path, table: Mapping[str, Any], kept: KeptResults, name: str, places: Any
) -> TranslatedText | None:
    """Return what the systems made of a text; none if no run is kept."""
    outputs, notes = [], []
    for system in (str(row["name"]) for row in table["systems"]):
        runs = [run for run in kept.rows.get(system, _NO_ROW).runs if name in run.statistics]
        if runs:
            output, note = _output(folder, system, runs, name)
            outputs.append(output)
            notes += note
    if not outputs:
        return None
    text = kept.texts[name]
    sides: dict[str, tuple[str, ...] | None] = {"source": None, "reference": None}
    if places is None:
        notes.append(_OLD_TABLE)
    for side in sides if places is not None else ():
        path = Path(places[side])
        try:
            if sha256_of(path) == getattr(text, side):
                sides[side] = tuple(read_text(path))
            else:
                notes.append(f"{path} has changed since {name} was translated.")
        except (OSError, PhrasescoreError) as error:
            notes.append(why_not(path, error))
    lengths = np.array(text.reference_lengths)
    return TranslatedText(name, "bleu", tuple(outputs), lengths, **sides, notes=tuple(notes))


_NO_ROW = KeptRow({}, {})
_OLD_TABLE = (
    "The table does not say where its texts are, as that of an earlier version; the same "
    "experiment command says it, without running a step again."
)


def _output(
    folder: Path, system: str, runs: list[SystemRun], text: str
) -> tuple[SystemOutput, list[str]]:
    statistics = np.stack([run.statistics[text] for run in runs])
    seed = "" if runs[0].seed is None else f"seed{runs[0].seed}."
    path = folder / "systems" / slug(system) / f"{seed}{text}.txt"
    lines, notes = None, []
    try:
        read = tuple(read_text(path))
        lengths = [len(words_in(line)) for line in read]
        # of the text it was when it was scored
        if lengths == BleuStatistics.from_matrix(statistics[0]).totals[:, 0].tolist():
            lines = read
        else:
            notes.append(f"{path} has changed since it was scored.")
    except PhrasescoreError as error:
        notes.append(why_not(path, error))
    return SystemOutput(system, statistics, _run_name(runs[0]), lines), notes


def _run_name(run: SystemRun) -> str:
    return "one run" if run.seed is None else f"seed {run.seed}"


def _spent(kept: KeptResults) -> Iterator[Spent]:
    yield from _sums("all systems", kept.steps)
    for name, row in kept.rows.items():
        steps = dict(row.steps)
        for run in row.runs:
            steps.update(run.steps)
        yield from _sums(name, steps)


def _sums(name: str, steps: Mapping[str, StepTime]) -> Iterator[Spent]:
    kinds: dict[str, list[StepTime]] = {}
    for step, time in steps.items():
        kinds.setdefault(_work(step), []).append(time)
    for kind, times in kinds.items():
        several = f", {len(times)} steps" if len(times) > 1 else ""
        seconds = sum(time.seconds for time in times)
        yield Spent(f"{name}: {kind}{several}", seconds, sum(time.cpu_seconds for time in times))


def _work(step: str) -> str:
    if step.startswith("train."):
        return "training"
    if step == "filter":
        return "filtering"
    known = (kind for ending, kind in _WORK.items() if ending in f"{step}.")
    return next(known, "columns" if ".ini" in step else "translating")


def _unfinished(table: Mapping[str, Any]) -> Iterator[str]:
    wanted = len(table["seeds"])
    for system in table["systems"]:
        if system["not_run"]:
            continue
        done = len(system["seeds"])
        if not system["texts"]:
            yield f"{system['name']}: no run is done yet."
        elif (done or not system["translate"]) and done < wanted:
            yield f"{system['name']}: {done} of {counted(wanted, 'seed')} are done."


def _not_run(table: Mapping[str, Any]) -> Iterator[str]:
    for system in table["systems"]:
        if system["not_run"] and not system["texts"]:
            yield f"{system['name']} was not run: {system['not_run']}."
