"""Planning the command lines of an experiment."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
from pathlib import Path

import pytest

from phrasescore.errors import PhrasescoreError, SettingsError
from tests.support.builders import write_phrase_table
from tests.support.killed import wait_for
from tuning.experiment.experiment_settings import (
    LEFT_OUT,
    ExperimentData,
    ExperimentModel,
    ExperimentSettings,
    ExperimentSystem,
    ExperimentText,
)
from tuning.experiment.plan import Plan
from tuning.experiment.runner import CommandStep, Runner

INI = """\
[feature]
PhraseDictionaryMemory name=TM num-features=2 path=table
LexicalReordering name=LexicalReordering0 type=wbe-msd-bidirectional-fe-allff path=reordering
[weight]
TM= 0.2 0.2
"""
BASELINE, RNN = ExperimentSystem("Baseline"), ExperimentSystem("RNN", ("rnn",))


@pytest.fixture
def settings(tmp_path: Path) -> ExperimentSettings:
    """Return two systems, and models to rescore with."""
    (tmp_path / "moses.ini").write_text(INI)
    (tmp_path / "table").write_text("a ||| b ||| 1 1\n")
    data = ExperimentData(
        str(tmp_path), "moses.ini", "dev.en", "dev.fr",
        (ExperimentText("test", "test.en", "test.fr"),), "table.gz", "train.en", "train.fr",
    )  # fmt: skip
    return ExperimentSettings(
        "two",
        data,
        (BASELINE, RNN),
        seeds=(1, 2),
        models={
            "rnn": ExperimentModel(train=("--max-time", "1m")),
            "search": ExperimentModel(kind="search"),
            "back": ExperimentModel(kind="search"),
        },
        file=tmp_path / "experiment.toml",
    )


def lines(settings: ExperimentSettings) -> dict[str, CommandStep]:
    """Return the steps by name; check that each follows the steps whose outputs it reads."""
    steps = {step.name: step for step in Plan(settings, Path("/results")).steps()}
    done: set[Path] = set()
    for step in steps.values():
        made = [path for path in step.inputs if path.is_relative_to("/results")]
        assert all(path in done or path.parent in done for path in made), step.name
        done.update(step.outputs)
    return steps


def with_rows(settings: ExperimentSettings, *rows: ExperimentSystem) -> dict[str, CommandStep]:
    """Return the steps with further rows."""
    return lines(dataclasses.replace(settings, systems=(*settings.systems, *rows)))


def test_a_model_of_phrases_needs_to_know_them(
    settings: ExperimentSettings, tmp_path: Path
) -> None:
    """Lists have segmentation if any row needs it, even if this row is left out."""
    sentences = ExperimentSystem("Sentences", rerank=("search",))
    phrases = ExperimentSystem("Phrases", rerank=("search", "rnn"), not_run=LEFT_OUT)
    listed = with_rows(settings, sentences, phrases)["baseline.seed1.dev.nbest"]
    assert "--include-segmentation-in-n-best" in str(listed.work)
    alone = with_rows(settings, sentences)["baseline.seed1.dev.nbest"]
    assert "segmentation" not in str(alone.work)


def test_rows_without_a_plain_one_share_its_tuning(settings: ExperimentSettings) -> None:
    """Tuning and lists are shared, whichever rows are run."""
    one = ExperimentSystem("One", ("rnn",), True, ("search",))
    two = ExperimentSystem("Two", ("rnn",), True, ("back",))
    steps = with_rows(settings, one, two)
    assert [name for name in steps if name.endswith((".tune", ".nbest")) and "seed1" in name] == [
        "baseline.seed1.tune",
        "rnn.seed1.tune",
        "one.seed1.tune",
        "one.seed1.dev.nbest",
        "one.seed1.test.nbest",
    ]
    alone = with_rows(settings, dataclasses.replace(one, not_run=LEFT_OUT), two)
    assert alone["one.seed1.tune"] == steps["one.seed1.tune"]
    assert alone["two.seed1.dev"] == steps["two.seed1.dev"]
    assert "one.seed1.dev" not in alone


def test_several_test_sets(settings: ExperimentSettings, tmp_path: Path) -> None:
    """The system is filtered for all test sets, and every run translates each."""
    tests = tuple(ExperimentText(name, f"{name}.en", f"{name}.fr") for name in ("one", "two"))
    data = dataclasses.replace(settings.data, test=tests)
    steps = lines(dataclasses.replace(settings, data=data))
    inputs = " ".join(f"--input {tmp_path}/{name}.en" for name in ("dev", "one", "two"))
    assert inputs in str(steps["filter"].work)
    assert f"-i {tmp_path}/two.en" in str(steps["rnn.seed2.two"].work)


@pytest.mark.parametrize("count", [0, 2])
def test_one_phrase_table_is_expected(
    settings: ExperimentSettings, tmp_path: Path, count: int
) -> None:
    """A system without a phrase table, or with several, is refused."""
    tables = [f"PhraseDictionaryMemory name=T{n} num-features=2 path=table\n" for n in range(count)]
    (tmp_path / "moses.ini").write_text("[feature]\nWordPenalty\n" + "".join(tables))
    with pytest.raises(SettingsError, match=f"{count} phrase tables in text form, expected one"):
        lines(settings)


def test_training_killed_before_its_first_checkpoint_goes_on(
    settings: ExperimentSettings, tmp_path: Path
) -> None:
    """An interrupted training step runs the same command again."""
    write_phrase_table(tmp_path / "table.gz", 3000)
    options = ("--hidden", "8", "--embedding", "4", "--rank", "4", "--max-epochs", "2")
    models = {"rnn": ExperimentModel(train=(*options, "--threads", "1"))}
    plan = Plan(dataclasses.replace(settings, models=models), tmp_path / "results")
    step = next(step for step in plan.steps() if step.name == "train.rnn")
    lock = tmp_path / "results" / "models" / ".rnn.lock"
    state = step.state
    assert state is not None

    def kill() -> None:
        wait_for((state / "run.json").exists)
        os.kill(int(lock.read_text().split()[1]), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    runner = Runner(plan.results, tmp_path, lambda line: None, lambda step: None)
    with pytest.raises(PhrasescoreError, match="ended with status -9"):
        runner.run([step])
    killer.join()
    assert not (state / "checkpoint.pt").exists()
    assert runner.run([step]) == 1
    assert not state.exists()
    assert not lock.exists()
