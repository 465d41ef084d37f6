"""``results.json``: its content, and the rows of earlier calls that are still valid."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from phrasescore.errors import CorpusError, InputError, ResumeError, SettingsError
from phrasescore.runs.json_files import write_json
from phrasescore.runs.ledger import Entry, Ledger, write_entry
from tuning.experiment.experiment_settings import (
    GIVEN,
    LEFT_OUT,
    ExperimentData,
    ExperimentModel,
    ExperimentSettings,
    ExperimentSystem,
    ExperimentText,
    ExperimentTuning,
)
from tuning.experiment.plan import Plan
from tuning.experiment.results import KEPT, KeptResults, ResultsKeeper, SystemRun

SECRET = "un homme porte un chapeau"
WEIGHTS = {"LM0": [0.5], "TM": [0.2, -0.1]}
INI = """\
[feature]
PhraseDictionaryMemory name=TM num-features=2 path=table
[weight]
TM= 0.2 0.2
"""


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """Return a plan of two systems and models alone, with all translations made."""
    (tmp_path / "moses.ini").write_text(INI)
    for name in ("table", "dev.en", "old.en", "new.en", "train.en", "train.fr"):
        (tmp_path / name).write_text(f"{name}\n")
    for name in ("dev", "old", "new"):
        (tmp_path / f"{name}.fr").write_text(f"{SECRET}\n{name} de la rue\n\n")
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "config.json").write_text('{"kind": "rnn-search", "format": 1}')
    tests = tuple(ExperimentText(name, f"{name}.en", f"{name}.fr") for name in ("old", "new"))
    data = ExperimentData(str(tmp_path), "moses.ini", "dev.en", "dev.fr", test=tests)
    systems = (
        ExperimentSystem("Baseline"),
        ExperimentSystem("Reranked", rerank=("search",)),
        ExperimentSystem("Alone", translate=("search",)),
        ExperimentSystem("CSLM", not_run="it is not there yet"),
    )
    models = {"search": ExperimentModel("given")}
    settings = ExperimentSettings(
        "kept", data, systems, (1, 2), models=models, file=tmp_path / "experiment.toml"
    )
    plan = Plan(settings, tmp_path / "results")
    for system in systems[:3]:
        plan.folder(system).mkdir(parents=True)
        for run in plan.runs(system):
            for text in plan.texts:
                lines = [SECRET, f"{text.name} de rue", ""]
                run.translation(text.name).write_text("\n".join(lines) + "\n")
            if run.seed is not None:
                run.weights.parent.mkdir(exist_ok=True)
                write_json(run.weights, {"weights": WEIGHTS})
    return plan


def done(plan: Plan) -> set[str]:
    """Return the names of all steps."""
    return {step.name for step in plan.steps()}


def keeper(plan: Plan, *given: Path) -> ResultsKeeper:
    """Return the results keeper of a call of the experiment."""
    return ResultsKeeper(plan, Ledger(plan.results / "steps"), given)


def write(plan: Plan, steps: set[str] | None = None) -> dict[str, list[int | None]]:
    """Write the results as at the end of a call; return the seeds in the table by row."""
    kept, runs = keeper(plan).collect(done(plan) if steps is None else steps)
    kept.write(plan.results / KEPT)
    return {name: [run.seed for run in each] for name, each in runs.items()}


def runs_of(plan: Plan, steps: set[str]) -> dict[str, tuple[SystemRun, ...]]:
    """Return the runs in the table when some steps are done, by row."""
    return keeper(plan).collect(steps)[1]


def with_rows(plan: Plan, **changes: dict[str, object]) -> Plan:
    """Return the plan with changed settings of some rows, by name."""
    systems = tuple(
        dataclasses.replace(system, **changes.get(system.name, {}))  # type: ignore[arg-type]
        for system in plan.settings.systems
    )
    return dataclasses.replace(plan, settings=dataclasses.replace(plan.settings, systems=systems))


ALL = {"Baseline": [1, 2], "Reranked": [1, 2], "Alone": [None]}
ONLY_BASELINE = {"Reranked": {"not_run": LEFT_OUT}, "Alone": {"not_run": LEFT_OUT}}


def test_everything_but_the_text_is_kept(plan: Plan) -> None:
    """The file has scores, statistics, weights, times and the machine, but no text."""
    ledger = Ledger(plan.results / "steps")
    write_entry(ledger.path("reranked.seed2.new"), Entry({}, finished=True, seconds=12.5))
    assert write(plan) == ALL
    content = (plan.results / KEPT).read_text("utf-8")
    assert "homme" not in content
    record = json.loads(content)
    run = record["rows"]["Reranked"]["runs"][1]
    assert run["seed"] == 2
    assert run["weights"] == WEIGHTS
    assert run["seconds"] == {"reranked.seed2.new": 12.5}
    assert run["texts"]["new"]["length"] == "5 3 0"
    assert run["texts"]["new"]["matches"] == ["5 3 0", "4 1 0", "3 0 0", "2 0 0"]
    assert 0 < run["texts"]["new"]["bleu"] < 1
    assert record["texts"]["new"]["reference_lengths"] == "5 4 0"
    assert run["provenance"]["processor"]
    assert {"command", "cores", "libraries", "python"} < set(run["provenance"])
    assert record["rows"]["Alone"]["runs"][0]["weights"] == {}


def test_what_is_kept_is_what_was_counted(plan: Plan) -> None:
    """Statistics and weights are read back correctly; a second call changes no byte."""
    write(plan)
    before = (plan.results / KEPT).read_bytes()
    fresh = runs_of(plan, done(plan))
    kept = runs_of(plan, set())
    for name, runs in fresh.items():
        for run, old in zip(runs, kept[name], strict=True):
            assert old.texts == run.texts
            assert old.weights == run.weights
    assert write(plan) == ALL
    assert (plan.results / KEPT).read_bytes() == before


def test_rows_that_are_left_out_stay(plan: Plan) -> None:
    """Rows that are left out are kept, even without translations; unrun rows have no runs."""
    only = with_rows(plan, **ONLY_BASELINE)
    assert write(only) == {"Baseline": [1, 2]}
    assert write(plan) == ALL
    plan.runs(plan.settings.systems[1])[0].translation("new").unlink()
    assert write(only) == ALL
    assert set(json.loads((plan.results / KEPT).read_bytes())["rows"]) == set(ALL)


def test_seeds_that_are_not_reached_yet(plan: Plan) -> None:
    """During a call, the remaining seeds are those of the previous call, or missing."""
    first = {name for name in done(plan) if "seed2" not in name and name != "alone.new"}
    assert write(plan, first) == {"Baseline": [1], "Reranked": [1]}
    write(plan)
    changed = plan.runs(plan.settings.systems[0])[0].translation("dev")
    changed.write_text(f"{SECRET}\nautre chose\n\n")
    runs = runs_of(plan, first)["Baseline"]
    assert [run.seed for run in runs] == [1, 2]
    assert runs[0].texts["dev"] != runs[1].texts["dev"]


def test_rows_that_the_file_describes_otherwise(plan: Plan) -> None:
    """Rows with changed settings are not in the table, but stay in the file until run again."""
    write(plan)
    tuning = dataclasses.replace(plan.settings, tuning=ExperimentTuning(rounds=2))
    other = dataclasses.replace(with_rows(plan, **ONLY_BASELINE), settings=tuning)
    other = with_rows(other, **ONLY_BASELINE)
    assert write(other) == {"Baseline": [1, 2], "Alone": [None]}
    assert set(json.loads((plan.results / KEPT).read_bytes())["rows"]) == set(ALL)
    assert write(with_rows(plan, **ONLY_BASELINE)) == ALL


@pytest.mark.parametrize(
    ("changed", "left"),
    [
        ("table", {"Baseline": [1, 2], "Alone": [None]}),
        ("moses.ini", {"Baseline": [1, 2], "Alone": [None]}),
        ("given/config.json", {"Baseline": [1, 2]}),
        ("dev.fr", {"Baseline": [1, 2]}),
        ("dev.en", {"Baseline": [1, 2]}),
        ("new.en", ALL),
    ],
)
def test_other_data_end_old_rows(
    plan: Plan, tmp_path: Path, changed: str, left: dict[str, list[int | None]]
) -> None:
    """A changed system or dev set removes rows; a changed test set removes only its scores."""
    write(plan)
    path = tmp_path / changed
    path.write_text(path.read_text() + "\n")
    if changed == "dev.fr":
        for seed in (1, 2):
            translation = plan.runs(plan.settings.systems[0])[seed - 1].translation("dev")
            translation.write_text(translation.read_text() + "\n")
    only = with_rows(plan, **ONLY_BASELINE)
    runs = runs_of(only, done(only))
    assert {name: [run.seed for run in each] for name, each in runs.items()} == left
    if changed == "new.en":
        assert set(runs["Alone"][0].texts) == {"dev", "old"}
        assert set(runs["Baseline"][0].texts) == {"dev", "old", "new"}


def test_results_in_another_place(plan: Plan, tmp_path: Path) -> None:
    """The results file is enough in another place, with a copy of the data."""
    write(plan)
    other = tmp_path / "elsewhere"
    shutil.copytree(tmp_path, other, ignore=shutil.ignore_patterns("results", "given"))
    settings = dataclasses.replace(
        plan.settings, data=dataclasses.replace(plan.settings.data, folder=str(other))
    )
    moved = with_rows(Plan(settings, other / "results"), **ONLY_BASELINE)
    moved.results.mkdir()
    (moved.results / KEPT).write_bytes((plan.results / KEPT).read_bytes())
    assert {name: len(runs) for name, runs in runs_of(moved, set()).items()} == {
        "Baseline": 2, "Reranked": 2, "Alone": 1
    }  # fmt: skip


def in_folder(plan: Plan, folder: str, **changes: object) -> Plan:
    """Return the plan in another results folder, with no row to run and other settings."""
    rows = {system.name: {"not_run": GIVEN} for system in plan.settings.systems[:3]}
    changed = with_rows(plan, **rows)
    settings = dataclasses.replace(changed.settings, **changes)  # type: ignore[arg-type]
    return Plan(settings, plan.results.parent / folder)


def test_rows_of_other_folders(plan: Plan, tmp_path: Path) -> None:
    """Rows and seeds of several files make one table, and are kept without the files."""
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    for path, steps in (
        (first, {name for name in done(plan) if "seed2" not in name and "alone" not in name}),
        (second, {name for name in done(plan) if "seed1" not in name}),
    ):
        write(plan, steps)
        (plan.results / KEPT).rename(path)
    new = in_folder(plan, "new")
    kept, runs = keeper(new, first, second).collect(set())
    assert {name: [run.seed for run in each] for name, each in runs.items()} == ALL
    assert runs == runs_of(plan, done(plan)) | {"Alone": runs["Alone"]}
    new.results.mkdir(exist_ok=True)
    kept.write(new.results / KEPT)
    assert write(new, set()) == ALL


@pytest.mark.parametrize(
    ("changes", "file", "sentence"),
    [
        ({"tuning": ExperimentTuning(rounds=2)}, None, "tuning.rounds was 8 and is now 2"),
        ({"models": {"search": ExperimentModel("given", kind="search")}}, None,
         "models.search.kind was .phrase. and is now"),
        ({}, "table", "Baseline was made with other.*: table has changed"),
        ({}, "given/config.json", "Reranked was made .*: the model search has changed"),
        ({}, "dev.en", "the text dev had different content"),
        ({}, "new.fr", "the text new had different content"),
    ],
)  # fmt: skip
def test_rows_that_were_made_otherwise_are_refused(
    plan: Plan, tmp_path: Path, changes: dict[str, object], file: str | None, sentence: str
) -> None:
    """The error names the file, the row, and the differences."""
    write(plan)
    if file is not None:
        path = tmp_path / file
        path.write_text(path.read_text() + "\n")
    with pytest.raises(SettingsError, match=f"results.json: the row .*{sentence}"):
        keeper(in_folder(plan, "new", **changes), plan.results / KEPT)


def test_files_without_rows_of_the_experiment(plan: Plan, tmp_path: Path) -> None:
    """A missing file, or a file with other rows, is an error."""
    with pytest.raises(InputError, match=r"none.json: no such file"):
        keeper(plan, tmp_path / "none.json")
    KeptResults().write(tmp_path / "empty.json")
    with pytest.raises(SettingsError, match=r"empty.json: no row of this experiment"):
        keeper(plan, tmp_path / "empty.json")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"version": 1', '"version": 2'),
        ('"version": 1', '"version": true'),
        ("{", ""),
        ("{", "[" * 200_000),
        ('"length": "5 3 0"', '"length": "5"'),
        ('"length": "5 3 0"', '"length": "5 3 1000000000000"'),
        ('"length": "5 3 0"', f'"length": "5 3 {"1" * 5000}"'),
    ],
)
def test_a_damaged_file(plan: Plan, old: str, new: str) -> None:
    """A damaged file is an error with its name."""
    write(plan)
    path = plan.results / KEPT
    path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")
    with pytest.raises(ResumeError, match=r"results.json: not the results of earlier runs"):
        keeper(plan)


def test_a_translation_with_lines_missing(plan: Plan) -> None:
    """A translation with missing lines is refused by name."""
    plan.runs(plan.settings.systems[0])[0].translation("dev").write_text("one\n")
    with pytest.raises(CorpusError, match=r"seed1.dev.txt: 1 translations of 3 sentences"):
        runs_of(plan, done(plan))
