"""From what is compared to command lines."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from phrasescore.errors import PhrasescoreError, SettingsError
from tests.support.builders import write_phrase_table
from tuning.experiment.experiment_settings import (
    LEFT_OUT,
    ExperimentData,
    ExperimentDecoder,
    ExperimentModel,
    ExperimentReranking,
    ExperimentSettings,
    ExperimentSystem,
    ExperimentText,
    ExperimentTranslation,
)
from tuning.experiment.plan import CommandStep, Plan
from tuning.experiment.runner import LocalSteps, Runner

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
        str(tmp_path), "moses.ini", "dev.en", "dev.fr", "test.en", "test.fr", "table.gz",
        train_source="train.en", train_target="train.fr",
    )  # fmt: skip
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
        decoder=ExperimentDecoder(sections={"stack": "50"}),
        models={
            "rnn": ExperimentModel(train=("--max-time", "1m")),
            "search": ExperimentModel(train=("--hidden", "8"), kind="search"),
            "back": ExperimentModel(kind="search"),
        },
        file=tmp_path / "experiment.toml",
    )


def lines(settings: ExperimentSettings, moses: Path | None = None) -> dict[str, CommandStep]:
    """The steps by name."""
    return {step.name: step for step in Plan(settings, Path("/results"), moses).steps()}


def test_every_system_and_seed_is_tuned_and_decoded(settings: ExperimentSettings) -> None:
    """A model is trained once, a system without models is used as it came, an empty row is not."""

    def tuned(name: str, seed: int) -> list[str]:
        return [f"{name}.seed{seed}.{what}" for what in ("tune", "dev", "test")]

    assert list(lines(settings)) == [
        *("filter", *tuned("baseline", 1)),
        *("train.rnn", "rnn.score", "rnn.ini", *tuned("rnn", 1)),
        *("rnn-wp.score", "rnn-wp.ini", *tuned("rnn-wp", 1)),
        *(step for name in ("baseline", "rnn", "rnn-wp") for step in tuned(name, 2)),
    ]


def test_commands_are_those_a_user_would_type(settings: ExperimentSettings, tmp_path: Path) -> None:
    """Each step is one command line with its files."""
    steps = lines(settings)
    assert str(steps["filter"].work) == (
        f"phrasescore filter {tmp_path}/moses.ini --input {tmp_path}/dev.en "
        f"--input {tmp_path}/test.en --set stack=50 -o /results/system"
    )
    assert str(steps["train.rnn"].work) == (
        f"phrasescore train {tmp_path}/table.gz /results/models/rnn --kind phrase --max-time 1m"
    )
    assert str(steps["rnn-wp.score"].work) == (
        "phrasescore score --model /results/models/rnn --unknown-column "
        "/results/system/TM.gz -o /results/systems/rnn-wp/phrase-table.gz "
        "--json-file /results/systems/rnn-wp/score.json"
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


def test_unknown_words_share_in_columns_of_their_own(settings: ExperimentSettings) -> None:
    """A row whose unknown words share p(<unk>) has another table than the row without."""
    sharing = ExperimentSystem("Shares", ("rnn",), unknown="share")
    steps = lines(dataclasses.replace(settings, systems=(*settings.systems, sharing)))
    assert str(steps["shares.score"].work) == (
        "phrasescore score --model /results/models/rnn --unknown share "
        "/results/system/TM.gz -o /results/systems/shares/phrase-table.gz "
        "--json-file /results/systems/shares/score.json"
    )
    assert "/results/systems/shares/moses.ini" in str(steps["shares.seed1.tune"].work)


def reranking(settings: ExperimentSettings, *more: ExperimentSystem) -> ExperimentSettings:
    """The systems and those whose lists are rescored."""
    return dataclasses.replace(settings, systems=(*settings.systems[:2], *more))


def test_lists_of_a_tuned_system_are_rescored(settings: ExperimentSettings, tmp_path: Path) -> None:
    """Columns and tuning are those of the row that has them; each step follows what it reads."""
    both = ExperimentSystem("Both", ("rnn",), rerank=("search", "back"))
    steps = lines(reranking(settings, both))
    names = [name for name in steps if "seed1" in name or "seed2" not in name]
    assert names[names.index("rnn.seed1.test") + 1 :] == [
        "train.search",
        "train.back",
        "rnn.seed1.dev.nbest",
        "both.seed1.dev.rescore",
        "both.seed1.dev.optimize",
        "both.seed1.dev",
        "rnn.seed1.test.nbest",
        "both.seed1.test.rescore",
        "both.seed1.test",
    ]
    rnn, own = "/results/systems/rnn/seed2", "/results/systems/both/seed2"
    assert str(steps["rnn.seed2.test.nbest"].work) == (
        f"phrasescore decode {rnn}/moses.ini -i {tmp_path}/test.en -o /dev/null "
        f"--nbest {rnn}.test.nbest.gz --nbest-size 100 --threads 1"
    )
    assert str(steps["both.seed2.test.rescore"].work) == (
        "phrasescore nbest --model /results/models/search --model /results/models/back "
        f"{rnn}.test.nbest.gz --source {tmp_path}/test.en -o {own}.test.rescored.gz"
    )
    assert str(steps["both.seed2.dev.optimize"].work) == (
        f"phrasescore optimize --nbest {own}.dev.rescored.gz --reference {tmp_path}/dev.fr "
        f"--start {rnn}/weights.json --optimizer mert --seed 2 --threads 1 -o {own}.weights.json"
    )
    assert str(steps["both.seed2.test"].work) == (
        f"phrasescore rerank {own}.test.rescored.gz --weights {own}.weights.json "
        f"--source {tmp_path}/test.en --ties first -o {own}.test.txt"
    )
    done: set[Path] = set()
    for step in steps.values():
        made = [path for path in step.inputs if path.is_relative_to("/results")]
        assert all(path in done or path.parent in done for path in made), step.name
        done.update(step.outputs)


def test_settings_of_lists_and_weights(settings: ExperimentSettings) -> None:
    """[rerank] says how many candidates, and how weights are found."""
    own = ExperimentReranking(30, "pro", ("--objective", "chrf"))
    more = reranking(settings, ExperimentSystem("Reranked", rerank=("search",)))
    steps = lines(dataclasses.replace(more, rerank=own), Path("/bin/moses"))
    assert " --optimizer pro --seed 1 --threads 1 --objective chrf -o" in str(
        steps["reranked.seed1.dev.optimize"].work
    )
    listed = str(steps["baseline.seed1.dev.nbest"].work)
    assert listed.startswith("/bin/moses -f /results/systems/baseline/seed1/moses.ini")
    assert " -n-best-list - 30 distinct -input-file " in listed
    assert listed.endswith(" > /results/systems/baseline/seed1.dev.nbest")


def test_a_model_of_phrases_needs_to_know_them(
    settings: ExperimentSettings, tmp_path: Path
) -> None:
    """Lists say which they are for all rows that use them; the table goes with such a model."""
    sentences = ExperimentSystem("Sentences", rerank=("search",))
    phrases = ExperimentSystem("Phrases", rerank=("search", "rnn"), not_run=LEFT_OUT)
    more = reranking(settings, sentences, phrases)
    steps = lines(more)
    assert "--include-segmentation-in-n-best" in str(steps["baseline.seed1.dev.nbest"].work)
    assert "--table" not in str(steps["sentences.seed1.dev.rescore"].work)
    moses = lines(more, Path("/bin/moses"))["baseline.seed1.dev.nbest"]
    assert " distinct -include-segmentation-in-n-best " in str(moses.work)
    again = lines(reranking(settings, dataclasses.replace(phrases, not_run="")))
    rescored = again["phrases.seed1.dev.rescore"]
    assert " --table /results/system/TM.gz -o" in str(rescored.work)
    given = {**settings.models, "rnn": ExperimentModel("given")}
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "config.json").write_text('{"kind": "rnn-search"}')
    steps = lines(dataclasses.replace(more, models=given))
    assert "segmentation" not in str(steps["baseline.seed1.dev.nbest"].work)


def test_rows_without_a_plain_one_share_its_tuning(settings: ExperimentSettings) -> None:
    """Nothing is tuned or listed twice, whichever rows are run."""
    one = ExperimentSystem("One", ("rnn",), True, ("search",))
    two = ExperimentSystem("Two", ("rnn",), True, ("back",))
    steps = lines(reranking(settings, one, two))
    assert [name for name in steps if name.endswith((".tune", ".nbest")) and "seed1" in name] == [
        "baseline.seed1.tune",
        "rnn.seed1.tune",
        "one.seed1.tune",
        "one.seed1.dev.nbest",
        "one.seed1.test.nbest",
    ]
    left_out = dataclasses.replace(one, not_run=LEFT_OUT)
    alone = lines(reranking(settings, left_out, two))
    assert alone["one.seed1.tune"] == steps["one.seed1.tune"]
    assert alone["two.seed1.dev"] == steps["two.seed1.dev"]
    assert "one.seed1.dev" not in alone


def test_models_alone_translate_once(settings: ExperimentSettings, tmp_path: Path) -> None:
    """Nothing of the system and no seed is needed; a model that is there is not trained."""
    alone = ExperimentSystem("Search alone", translate=("search", "back"))
    options = ExperimentTranslation(("--beam", "5"))
    more = dataclasses.replace(reranking(settings, alone), translate=options)
    steps = lines(more)
    assert [name for name in steps if name.startswith("search-alone")] == [
        "search-alone.dev", "search-alone.test"
    ]  # fmt: skip
    assert str(steps["search-alone.test"].work) == (
        "phrasescore translate --model /results/models/search --model /results/models/back "
        f"-i {tmp_path}/test.en -o /results/systems/search-alone/test.txt --beam 5"
    )


def test_steps_depend_on_the_models_files(settings: ExperimentSettings, tmp_path: Path) -> None:
    """Tuning reads the tables, the references, and whatever the ini names."""
    given = {"rnn": ExperimentModel("models/given")}
    steps = lines(dataclasses.replace(settings, models=given), Path("/bin/moses"))
    inputs = steps["rnn.seed1.tune"].inputs
    assert {tmp_path / "table", tmp_path / "dev.fr"} < set(inputs)
    assert Path("/results/systems/rnn/phrase-table.gz") in inputs
    assert "train.rnn" not in steps
    assert str(tmp_path / "models" / "given") in str(steps["rnn.score"].work)
    assert str(steps["baseline.seed1.dev"].work) == (
        f"/bin/moses -f /results/systems/baseline/seed1/moses.ini -input-file {tmp_path}/dev.en "
        "-threads 1 > /results/systems/baseline/seed1.dev.txt"
    )


def test_what_a_kind_reads(settings: ExperimentSettings, tmp_path: Path) -> None:
    """A table or two texts; a given model is asked itself."""
    steps = lines(reranking(settings, ExperimentSystem("Alone", translate=("search",))))
    step = steps["train.search"]
    assert str(step.work) == (
        f"phrasescore train {tmp_path}/train.en {tmp_path}/train.fr /results/models/search "
        "--kind search --hidden 8"
    )
    assert step.inputs == (tmp_path / "train.en", tmp_path / "train.fr")


def test_several_test_sets(settings: ExperimentSettings, tmp_path: Path) -> None:
    """All are filtered for, and each is translated by each system with each seed."""
    tests = tuple(ExperimentText(name, f"{name}.en", f"{name}.fr") for name in ("one", "two"))
    data = dataclasses.replace(settings.data, test_source="", test_reference="", test=tests)
    steps = lines(dataclasses.replace(settings, data=data))
    inputs = " ".join(f"--input {tmp_path}/{name}.en" for name in ("dev", "one", "two"))
    assert inputs in str(steps["filter"].work)
    assert str(steps["rnn.seed2.two"].work) == (
        f"phrasescore decode /results/systems/rnn/seed2/moses.ini -i {tmp_path}/two.en "
        "-o /results/systems/rnn/seed2.two.txt --threads 1"
    )


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
    models = {"rnn": ExperimentModel(train=(*options, "--threads", "1"))}
    plan = Plan(dataclasses.replace(settings, models=models), tmp_path / "results")
    step = next(step for step in plan.steps() if step.name == "train.rnn")
    lock = tmp_path / "results" / "models" / ".rnn.lock"
    state = step.state
    assert state is not None

    def kill() -> None:
        while not (state / "settings.json").exists():
            time.sleep(0.01)
        os.kill(int(lock.read_text().split()[1]), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    runner = Runner(plan.results, tmp_path, LocalSteps(1), lambda line: None, lambda step: None)
    with pytest.raises(PhrasescoreError, match="ended with status -9"):
        runner.run([step])
    killer.join()
    assert not (state / "checkpoint.pt").exists()
    assert runner.run([step]) == 1
    assert not state.exists()
    assert not lock.exists()
