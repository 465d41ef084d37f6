"""From what is compared to command lines."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from phrasescore.errors import PhrasescoreError, SettingsError
from tests.support.builders import write_phrase_table
from tuning.experiment.command import CommandStep
from tuning.experiment.experiment_file import (
    ExperimentData,
    ExperimentDecoder,
    ExperimentModel,
    ExperimentSettings,
    ExperimentSystem,
)
from tuning.experiment.plan import Plan, slug
from tuning.experiment.runner import Runner

INI = """\
[feature]
PhraseDictionaryMemory name=TM num-features=2 path=table
LexicalReordering name=LexicalReordering0 type=wbe-msd-bidirectional-fe-allff path=reordering
[weight]
TM= 0.2 0.2
"""


@pytest.fixture
def settings(tmp_path: Path) -> ExperimentSettings:
    """Four systems, two of them with the same model."""
    (tmp_path / "moses.ini").write_text(INI)
    (tmp_path / "table").write_text("a ||| b ||| 1 1\n")
    data = ExperimentData(
        str(tmp_path), "moses.ini", "dev.en", "dev.fr", "test.en", "test.fr", "table.gz"
    )
    return ExperimentSettings(
        "four",
        data,
        (
            ExperimentSystem("Baseline"),
            ExperimentSystem("RNN", ("rnn",)),
            ExperimentSystem("RNN + WP", ("rnn",), unknown_column=True),
            ExperimentSystem("CSLM", not_run="later"),
        ),
        seeds=(1, 2),
        decoder=ExperimentDecoder(sections=(("stack", "50"),)),
        models=(ExperimentModel("rnn", train=("--max-time", "1m")),),
        file=tmp_path / "experiment.toml",
    )


def lines(settings: ExperimentSettings, moses: Path | None = None) -> dict[str, CommandStep]:
    """The steps by name."""
    return {step.name: step for step in Plan(settings, Path("/results"), moses).steps()}


def test_every_system_and_seed_is_tuned_and_decoded(settings: ExperimentSettings) -> None:
    """A model is trained once, a system without models is used as it came, an empty row is not."""
    assert list(lines(settings)) == [
        "filter",
        *(f"baseline.seed{n}.{what}" for n in (1, 2) for what in ("tune", "dev", "test")),
        "train.rnn",
        "rnn.score",
        "rnn.ini",
        *(f"rnn.seed{n}.{what}" for n in (1, 2) for what in ("tune", "dev", "test")),
        "rnn-wp.score",
        "rnn-wp.ini",
        *(f"rnn-wp.seed{n}.{what}" for n in (1, 2) for what in ("tune", "dev", "test")),
    ]


def test_commands_are_those_a_user_would_type(settings: ExperimentSettings, tmp_path: Path) -> None:
    """Each step is one command line with its files."""
    steps = lines(settings)
    assert str(steps["filter"].work) == (
        f"phrasescore filter {tmp_path}/moses.ini --input {tmp_path}/dev.en "
        f"--input {tmp_path}/test.en --set stack=50 -o /results/system"
    )
    assert str(steps["train.rnn"].work) == (
        f"phrasescore train {tmp_path}/table.gz /results/models/rnn --max-time 1m"
    )
    assert str(steps["rnn-wp.score"].work) == (
        "phrasescore score --model /results/models/rnn --unknown-column "
        "/results/system/TM.gz -o /results/systems/rnn-wp/phrase-table.gz"
    )
    assert str(steps["rnn.seed2.tune"].work) == (
        f"phrasescore tune /results/systems/rnn/moses.ini --source {tmp_path}/dev.en "
        f"--reference {tmp_path}/dev.fr -o /results/systems/rnn/seed2 --decoder embedded "
        "--threads 1 --optimizer mert --seed 2 --rounds 8 --nbest-size 100"
    )
    assert str(steps["rnn.seed2.test"].work) == (
        f"phrasescore decode /results/systems/rnn/seed2/moses.ini -i {tmp_path}/test.en "
        "-o /results/systems/rnn/seed2.test.txt --threads 1"
    )


def test_real_moses_decodes_with_its_own_command(
    settings: ExperimentSettings, tmp_path: Path
) -> None:
    """Its translations are what it prints."""
    step = lines(settings, Path("/bin/moses"))["baseline.seed1.dev"]
    assert str(step.work) == (
        f"/bin/moses -f /results/systems/baseline/seed1/moses.ini -input-file {tmp_path}/dev.en "
        "-threads 1 > /results/systems/baseline/seed1.dev.txt"
    )


def test_steps_depend_on_the_models_files(settings: ExperimentSettings, tmp_path: Path) -> None:
    """Tuning reads the tables, the references, and whatever the ini names."""
    inputs = lines(settings)["rnn.seed1.tune"].inputs
    assert {tmp_path / "table", tmp_path / "dev.fr"} < set(inputs)
    assert Path("/results/systems/rnn/phrase-table.gz") in inputs


def test_a_model_that_is_there_is_not_trained(settings: ExperimentSettings, tmp_path: Path) -> None:
    """Its folder, relative to the experiment file, is used."""
    given = (ExperimentModel("rnn", "models/given"),)
    steps = lines(dataclasses.replace(settings, models=given))
    assert "train.rnn" not in steps
    assert str(tmp_path / "models" / "given") in str(steps["rnn.score"].work)


def test_names_that_make_one_folder_are_refused(settings: ExperimentSettings) -> None:
    """Two systems never share files."""
    systems = (ExperimentSystem("RNN + WP"), ExperimentSystem("RNN, WP"))
    with pytest.raises(SettingsError, match="would share a folder"):
        Plan(dataclasses.replace(settings, systems=systems), Path("/results"))
    assert slug("RNN + WP") == slug("RNN, WP") == "rnn-wp"


@pytest.mark.parametrize("count", [0, 2])
def test_one_phrase_table_is_expected(
    settings: ExperimentSettings, tmp_path: Path, count: int
) -> None:
    """With none or several it is not known which gets the column."""
    tables = [f"PhraseDictionaryMemory name=T{n} num-features=2 path=table\n" for n in range(count)]
    (tmp_path / "moses.ini").write_text("[feature]\nWordPenalty\n" + "".join(tables))
    with pytest.raises(SettingsError, match=f"{count} phrase tables in text form, expected one"):
        lines(settings)


def test_training_killed_before_its_first_checkpoint_goes_on(
    settings: ExperimentSettings, tmp_path: Path
) -> None:
    """The same command is run again, whatever it has left."""
    write_phrase_table(tmp_path / "table.gz", 3000)
    options = ("--hidden", "8", "--embedding", "4", "--rank", "4", "--max-epochs", "2")
    models = (ExperimentModel("rnn", train=(*options, "--threads", "1")),)
    plan = Plan(dataclasses.replace(settings, models=models), tmp_path / "results")
    step = next(step for step in plan.steps() if step.name == "train.rnn")
    lock = tmp_path / "results" / "models" / ".rnn.lock"
    state = step.work.state
    assert state is not None

    def kill() -> None:
        while not (state / "settings.json").exists():
            time.sleep(0.01)
        os.kill(json.loads(lock.read_text())["process"], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    runner = Runner(plan.results, tmp_path, 1, lambda line: None, lambda step: None)
    with pytest.raises(PhrasescoreError, match="ended with status -9"):
        runner.run([step])
    killer.join()
    assert not (state / "checkpoint.pt").exists()
    assert runner.run([step]) == 1
    assert not state.exists()
    assert not lock.exists()
