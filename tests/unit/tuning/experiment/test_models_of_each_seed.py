"""Rows whose decoder asks language models, and models of which there is one for each seed."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from phrasescore.errors import IniError, SettingsError
from phrasescore.runs.json_files import write_json
from phrasescore.runs.steps import Steps
from tuning.experiment.experiment_settings import (
    LEFT_OUT,
    ExperimentData,
    ExperimentDecoder,
    ExperimentModel,
    ExperimentSettings,
    ExperimentSystem,
)
from tuning.experiment.plan import CommandStep, Plan
from tuning.experiment.results import KEPT, ResultsKeeper, experiment_record
from tuning.experiment.session import planned
from tuning.experiment.table import markdown

INI = "[feature]\nPhraseDictionaryMemory name=TM num-features=2 path=table\n[weight]\nTM= 1 1\n"
BASELINE = ExperimentSystem("Baseline")


@pytest.fixture
def settings(tmp_path: Path) -> ExperimentSettings:
    """One system; models of each sort, shared and of each seed."""
    (tmp_path / "moses.ini").write_text(INI)
    for name in ("table", "train.en", "train.fr"):
        (tmp_path / name).write_text(f"{name}\n")
    for side in ("en", "fr"):
        (tmp_path / f"dev.{side}").write_text("un homme\n")
        (tmp_path / f"test.{side}").write_text("un homme\n")
    for seed in (1, 2, 3):
        (tmp_path / f"lm-{seed}").mkdir()
        (tmp_path / f"lm-{seed}" / "config.json").write_text('{"kind": "feed-forward-lm"}')
    data = ExperimentData(
        str(tmp_path), "moses.ini", "dev.en", "dev.fr", "test.en", "test.fr", "table",
        train_source="train.en", train_target="train.fr",
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


def lines(settings: ExperimentSettings, *systems: ExperimentSystem) -> dict[str, CommandStep]:
    """The steps by name, of the baseline and these."""
    rows = dataclasses.replace(settings, systems=(BASELINE, *systems))
    steps = {step.name: step for step in Plan(rows, Path("/results")).steps()}
    done: set[Path] = set()
    for step in steps.values():
        made = [path for path in step.inputs if path.is_relative_to("/results")]
        assert all(path in done or path.parent in done for path in made), step.name
        done.update(step.outputs)
    return steps


def test_the_decoder_asks_a_language_model(settings: ExperimentSettings, tmp_path: Path) -> None:
    """It is trained on the target side and added behind the columns; the rest is as ever."""
    cslm = ExperimentSystem("CSLM", language_models=("cslm",))
    both = ExperimentSystem("CSLM + RNN", ("rnn",), language_models=("cslm",))
    steps = lines(settings, ExperimentSystem("RNN", ("rnn",)), cslm, both)
    assert str(steps["train.cslm"].work) == (
        f"phrasescore train {tmp_path}/train.fr /results/models/cslm --kind feed-forward-lm"
    )
    assert str(steps["cslm.ini.cslm"].work) == (
        "phrasescore ini add-language-model /results/system/moses.ini --model /results/models/cslm "
        "--normalised --absolute-paths -o /results/systems/cslm/moses.cslm.ini"
    )
    # the table is that of the row with the same columns
    assert "cslm-rnn.score" not in steps
    assert str(steps["cslm-rnn.ini.cslm"].work).startswith(
        "phrasescore ini add-language-model /results/systems/rnn/moses.ini --model"
    )
    tuned = steps["cslm-rnn.seed2.tune"]
    assert " /results/systems/cslm-rnn/moses.cslm.ini " in str(tuned.work)
    read = {Path("/results/models/cslm"), Path("/results/systems/rnn/phrase-table.gz")}
    assert read < set(tuned.inputs)
    assert read < set(steps["cslm-rnn.seed2.test"].inputs)


def test_scores_without_the_normaliser(settings: ExperimentSettings) -> None:
    """The ini says so of a model that was trained for it."""
    model = ExperimentModel("", ("--self-normalise",), "feed-forward-lm", unnormalised=True)
    system = ExperimentSystem("CSLM", language_models=("cslm",))
    steps = lines(dataclasses.replace(settings, models={"cslm": model}), system)
    assert " --unnormalised " in str(steps["cslm.ini.cslm"].work)


def test_a_model_for_each_seed(settings: ExperimentSettings) -> None:
    """It is trained with the seed of the tuning, and table and ini are of that seed."""
    steps = lines(settings, ExperimentSystem("RNN", ("rnns",), language_models=("cslm",)))
    names = [name for name in steps if name.startswith(("train", "rnn"))]
    assert names.pop(1) == "train.cslm"
    assert names == [
        name.format(seed)
        for seed in (1, 2)
        for name in (
            "train-seed{}.rnns", "rnn.score.seed{}", "rnn.ini.seed{}", "rnn.ini.cslm.seed{}",
            "rnn.seed{}.tune", "rnn.seed{}.dev", "rnn.seed{}.test",
        )
    ]  # fmt: skip
    assert str(steps["train-seed2.rnns"].work).endswith(
        "table /results/models/rnns/seed2 --kind phrase --seed 2 --max-time 1m"
    )
    assert str(steps["rnn.score.seed2"].work) == (
        "phrasescore score --model /results/models/rnns/seed2 /results/system/TM.gz "
        "-o /results/systems/rnn/seed2.phrase-table.gz "
        "--json-file /results/systems/rnn/seed2.score.json"
    )
    assert str(steps["rnn.seed2.tune"].work).startswith(
        "phrasescore tune /results/systems/rnn/seed2.moses.cslm.ini "
    )


def test_what_seeds_share_is_made_once(settings: ExperimentSettings, tmp_path: Path) -> None:
    """Of several language models, those before the first of each seed."""
    steps = lines(settings, ExperimentSystem("Two", ("rnn",), language_models=("cslm", "given")))
    assert {"two.score", "two.ini", "two.ini.cslm"} < set(steps)
    assert str(steps["two.ini.given.seed1"].work) == (
        "phrasescore ini add-language-model /results/systems/two/moses.cslm.ini "
        f"--model {tmp_path}/lm-1 --normalised --absolute-paths "
        "-o /results/systems/two/seed1.moses.given.ini"
    )


def test_lists_scored_by_language_models(settings: ExperimentSettings, tmp_path: Path) -> None:
    """They need no source; a list that has such a feature gets another name for the next."""
    plain = ExperimentSystem("Plain", rerank=("given",))
    asked = ExperimentSystem("Asked", language_models=("cslm",), rerank=("search", "given"))
    steps = lines(settings, plain, asked)
    assert str(steps["plain.seed2.test.rescore"].work) == (
        f"phrasescore nbest --model {tmp_path}/lm-2 /results/systems/baseline/seed2.test.nbest.gz "
        "-o /results/systems/plain/seed2.test.rescored.gz"
    )
    assert tmp_path / "test.en" not in steps["plain.seed2.test.rescore"].inputs
    rescored = str(steps["asked.seed1.dev.rescore"].work)
    assert f"--model /results/models/search/seed1 --model {tmp_path}/lm-1 " in rescored
    assert "--name AttentionModel0 --name NeuralLM1 /results" in rescored
    assert f" --source {tmp_path}/dev.en " in rescored


def test_models_of_each_seed_alone(settings: ExperimentSettings, tmp_path: Path) -> None:
    """There is a run for each seed, and nothing is tuned."""
    steps = lines(settings, ExperimentSystem("Alone", translate=("search",)))
    names = [name for name in steps if name.startswith("alone")]
    assert names == [f"alone.seed{seed}.{text}" for seed in (1, 2) for text in ("dev", "test")]
    assert str(steps["alone.seed2.test"].work) == (
        f"phrasescore translate --model /results/models/search/seed2 -i {tmp_path}/test.en "
        "-o /results/systems/alone/seed2.test.txt"
    )


@pytest.fixture
def moses(settings: ExperimentSettings, tmp_path: Path) -> ExperimentSettings:
    """An experiment with real Moses."""
    program = tmp_path / "moses"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return dataclasses.replace(settings, decoder=ExperimentDecoder("moses", str(program)))


def test_real_moses_leaves_such_rows_out(moses: ExperimentSettings, tmp_path: Path) -> None:
    """The row says why; lists of real Moses are scored."""
    rows = (
        BASELINE,
        ExperimentSystem("CSLM", language_models=("cslm",)),
        ExperimentSystem("Listed", rerank=("given",)),
        ExperimentSystem("Both", language_models=("cslm",), rerank=("given",)),
    )
    plan = planned(dataclasses.replace(moses, systems=rows), tmp_path / "results")
    assert "train.cslm" not in [step.name for step in plan.steps()]
    assert "listed.seed1.test" in [step.name for step in plan.steps()]
    said = markdown(plan.settings, experiment_record(plan, {}, {}), [])
    assert "CSLM: not run; real Moses cannot ask a neural language model; the embedded" in said
    with pytest.raises(SettingsError, match="the first system has language_models, which real"):
        planned(dataclasses.replace(moses, systems=rows[1:]), tmp_path / "results")


def test_a_system_that_real_moses_cannot_read(moses: ExperimentSettings, tmp_path: Path) -> None:
    """Refused before anything runs."""
    asks = "[feature]\nFeedForwardLM name=NeuralLM0 path=lm-1\n"
    (tmp_path / "moses.ini").write_text(INI.replace("[feature]\n", asks))
    with pytest.raises(IniError, match="real Moses has no FeedForwardLM"):
        planned(moses, tmp_path / "results")


def test_given_models_are_asked_what_they_are(settings: ExperimentSettings, tmp_path: Path) -> None:
    """The kind is the folder's."""
    rows = (BASELINE, ExperimentSystem("RNN", ("given",)))
    with pytest.raises(SettingsError, match="RNN has given in models, and it is of the kind feed-"):
        planned(dataclasses.replace(settings, systems=rows), tmp_path / "results")


def kept(plan: Plan) -> ResultsKeeper:
    """What a call has, after every step was done."""
    for system in plan.settings.systems:
        for run in plan.runs(system):
            for text in plan.texts:
                path = run.translation(text.name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("un homme\n")
            run.weights.parent.mkdir(parents=True, exist_ok=True)
            write_json(run.weights, {"weights": {"TM": [0.5, 0.5]}})
    return ResultsKeeper(plan, Steps(plan.results / "steps"))


def seeds(plan: Plan, keeper: ResultsKeeper, done: set[str]) -> dict[str, list[int | None]]:
    """The seeds in the table by row."""
    return {
        name: [run.seed for run in runs]
        for name, runs in keeper.current_runs(keeper.collect(done)).items()
    }


def test_results_of_each_seed_are_kept(settings: ExperimentSettings, tmp_path: Path) -> None:
    """Also when a seed is added; not when a model is another."""
    row = ExperimentSystem("CSLM", language_models=("given",))
    plan = Plan(dataclasses.replace(settings, systems=(BASELINE, row)), tmp_path / "results")
    keeper = kept(plan)
    found = keeper.collect({step.name for step in plan.steps()})
    found.write(plan.results / KEPT)
    record = json.loads((plan.results / KEPT).read_bytes())["rows"]
    assert {"the model given of seed 1", "the model given of seed 2"} < set(
        record["CSLM"]["inputs"]
    )
    assert record["CSLM"]["described"]["system"]["language_models"] == ["given"]
    table = experiment_record(plan, keeper.current_runs(found), found.texts)
    said = markdown(plan.settings, table, [])
    assert "CSLM: language_models given; another given for each seed." in said
    left_out = dataclasses.replace(row, not_run=LEFT_OUT)
    more = dataclasses.replace(plan.settings, seeds=(1, 2, 3), systems=(BASELINE, left_out))
    later = Plan(more, plan.results)
    again = ResultsKeeper(later, Steps(plan.results / "steps"))
    assert seeds(later, again, set()) == {"Baseline": [1, 2], "CSLM": [1, 2]}
    (tmp_path / "lm-2" / "config.json").write_text('{"kind": "feed-forward-lm", "order": 9}')
    changed = ResultsKeeper(later, Steps(plan.results / "steps"))
    assert seeds(later, changed, set()) == {"Baseline": [1, 2]}
