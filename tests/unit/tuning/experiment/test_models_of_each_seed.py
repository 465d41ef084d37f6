"""Rows that decode with language models, and models that each seed has its own of."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from phrasescore.errors import IniError, SettingsError
from phrasescore.runs.json_files import write_json
from phrasescore.runs.ledger import Ledger
from tuning.experiment.experiment_settings import (
    LEFT_OUT,
    ExperimentData,
    ExperimentDecoder,
    ExperimentModel,
    ExperimentSettings,
    ExperimentSystem,
    ExperimentText,
)
from tuning.experiment.plan import Plan
from tuning.experiment.results import KEPT, ResultsKeeper
from tuning.experiment.session import planned
from tuning.experiment.table import experiment_record, markdown

TABLE = "PhraseDictionaryMemory name=TM num-features=2 input-factor=0 output-factor=0 path=table"
INI = f"[feature]\n{TABLE}\n[weight]\nTM= 1 1\n"
BASELINE = ExperimentSystem("Baseline")


@pytest.fixture
def settings(tmp_path: Path) -> ExperimentSettings:
    """Return settings with one system, and each kind of model, shared and per seed."""
    (tmp_path / "moses.ini").write_text(INI)
    for name in ("table", "train.en", "train.fr"):
        (tmp_path / name).write_text(f"{name}\n")
    for side in ("en", "fr"):
        (tmp_path / f"dev.{side}").write_text("un homme\n")
        (tmp_path / f"test.{side}").write_text("un homme\n")
    for seed in (1, 2, 3):
        (tmp_path / f"lm-{seed}").mkdir()
        (tmp_path / f"lm-{seed}" / "config.json").write_text(
            '{"kind": "feed-forward-lm", "format": 1}'
        )
    data = ExperimentData(
        str(tmp_path), "moses.ini", "dev.en", "dev.fr",
        (ExperimentText("test", "test.en", "test.fr"),), "table", "train.en", "train.fr",
    )  # fmt: skip
    models = {
        "rnn": ExperimentModel(),
        "rnns": ExperimentModel(train=("--max-time", "1m"), per_seed=True),
        "cslm": ExperimentModel(kind="feed-forward-lm"),
        "given": ExperimentModel("lm-{seed}", per_seed=True),
        "search": ExperimentModel(kind="search", per_seed=True),
    }
    return ExperimentSettings(
        "seeds", data, (BASELINE,), (1, 2), models=models, file=tmp_path / "experiment.toml"
    )


@pytest.fixture
def moses(settings: ExperimentSettings, tmp_path: Path) -> ExperimentSettings:
    """Return an experiment with real Moses."""
    program = tmp_path / "moses"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return dataclasses.replace(settings, decoder=ExperimentDecoder("moses", str(program)))


def test_real_moses_leaves_such_rows_out(moses: ExperimentSettings, tmp_path: Path) -> None:
    """Rows with language models have a reason; lists of real Moses are rescored."""
    rows = (
        BASELINE,
        ExperimentSystem("CSLM", language_models=("cslm",)),
        ExperimentSystem("Listed", rerank=("given",)),
        ExperimentSystem("Both", language_models=("cslm",), rerank=("given",)),
    )
    plan = planned(dataclasses.replace(moses, systems=rows), tmp_path / "results")
    assert "train.cslm" not in [step.name for step in plan.steps()]
    assert "listed.seed1.test" in [step.name for step in plan.steps()]
    said = markdown(plan.settings, experiment_record(plan, {}, {}))
    assert (
        "CSLM: not run; real Moses cannot use a neural language model while it decodes; use" in said
    )
    with pytest.raises(SettingsError, match="the first system has language_models, which real"):
        planned(dataclasses.replace(moses, systems=rows[1:]), tmp_path / "results")


def test_a_system_that_real_moses_cannot_read(moses: ExperimentSettings, tmp_path: Path) -> None:
    """A system that real Moses cannot read is refused before any step."""
    asks = "[feature]\nFeedForwardLM name=NeuralLM0 path=lm-1\n"
    (tmp_path / "moses.ini").write_text(INI.replace("[feature]\n", asks))
    with pytest.raises(IniError, match="real Moses has no FeedForwardLM"):
        planned(moses, tmp_path / "results")


def test_given_models_are_asked_what_they_are(settings: ExperimentSettings, tmp_path: Path) -> None:
    """The kind of an existing model is read from its folder."""
    rows = (BASELINE, ExperimentSystem("RNN", ("given",)))
    with pytest.raises(SettingsError, match="RNN has given in models, but its kind is feed-"):
        planned(dataclasses.replace(settings, systems=rows), tmp_path / "results")


def kept(plan: Plan) -> ResultsKeeper:
    """Return the results of a call after all steps."""
    for system in plan.settings.systems:
        for run in plan.runs(system):
            for text in plan.texts:
                path = run.translation(text.name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("un homme\n")
            run.weights.parent.mkdir(parents=True, exist_ok=True)
            write_json(run.weights, {"weights": {"TM": [0.5, 0.5]}})
    return ResultsKeeper(plan, Ledger(plan.results / "steps"))


def seeds(plan: Plan, keeper: ResultsKeeper, done: set[str]) -> dict[str, list[int | None]]:
    """Return the seeds in the table by row."""
    return {name: [run.seed for run in runs] for name, runs in keeper.collect(done)[1].items()}


def test_results_of_each_seed_are_kept(settings: ExperimentSettings, tmp_path: Path) -> None:
    """Results are kept when a seed is added, but not when a model changes."""
    row = ExperimentSystem("CSLM", language_models=("given",))
    plan = Plan(dataclasses.replace(settings, systems=(BASELINE, row)), tmp_path / "results")
    found, _ = kept(plan).collect({step.name for step in plan.steps()})
    found.write(plan.results / KEPT)
    record = json.loads((plan.results / KEPT).read_bytes())["rows"]
    assert {"the model given of seed 1", "the model given of seed 2"} < set(
        record["CSLM"]["inputs"]
    )
    assert record["CSLM"]["described"]["system"]["language_models"] == ["given"]
    left_out = dataclasses.replace(row, not_run=LEFT_OUT)
    more = dataclasses.replace(plan.settings, seeds=(1, 2, 3), systems=(BASELINE, left_out))
    later = Plan(more, plan.results)
    again = ResultsKeeper(later, Ledger(plan.results / "steps"))
    assert seeds(later, again, set()) == {"Baseline": [1, 2], "CSLM": [1, 2]}
    (tmp_path / "lm-2" / "config.json").write_text(
        '{"kind": "feed-forward-lm", "format": 1, "order": 9}'
    )
    changed = ResultsKeeper(later, Ledger(plan.results / "steps"))
    assert seeds(later, changed, set()) == {"Baseline": [1, 2]}
