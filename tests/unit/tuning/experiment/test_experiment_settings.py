"""What an experiment file may say."""

from __future__ import annotations

from pathlib import Path

import pytest

from phrasescore.errors import InputError, SettingsError
from tests.conftest import PROJECT
from tuning.experiment.experiment_file import ExperimentModel, read_experiment

DATA = """
[data]
folder = "data"
system = "moses.ini"
phrase_table = "phrase-table.gz"
dev_source = "dev.en"
dev_reference = "dev.fr"
test_source = "test.en"
test_reference = "test.fr"
"""
SMALL = f"""
name = "small"
{DATA}
[[systems]]
name = "Baseline"
"""
WHOLE = f"""
name = "whole"
seeds = [4, 5]
{DATA}
[decoder]
kind = "moses"
[decoder.sections]
search-algorithm = 1
[tuning]
rounds = 3
options = ["--restarts", "5"]
[models.rnn]
train = ["--max-time", "1m"]
[models.given]
folder = "models/given"
[[systems]]
name = "Baseline"
[[systems]]
name = "Both"
models = ["rnn", "given"]
unknown_column = true
[[systems]]
name = "Later"
not_run = "it is not there yet"
"""


def written(folder: Path, text: str) -> Path:
    """Write an experiment file."""
    path = folder / "experiment.toml"
    path.write_text(text, "utf-8")
    return path


def test_a_small_file_has_defaults(tmp_path: Path) -> None:
    """Data and one system are enough."""
    settings = read_experiment(written(tmp_path, SMALL))
    assert settings.seeds == (1, 2, 3)
    assert (settings.tuning.rounds, settings.decoder.kind) == (8, "embedded")
    assert settings.folder == tmp_path / "data"


def test_every_setting_arrives(tmp_path: Path) -> None:
    """Lists, sections of the ini and models of both kinds are read as they stand."""
    settings = read_experiment(written(tmp_path, WHOLE))
    assert settings.seeds == (4, 5)
    assert settings.decoder.sections == (("search-algorithm", "1"),)
    assert settings.tuning.options == ("--restarts", "5")
    assert settings.model("rnn") == ExperimentModel("rnn", "", ("--max-time", "1m"))
    assert settings.resolve(settings.model("given").folder) == tmp_path / "models" / "given"
    assert [system.models for system in settings.systems] == [(), ("rnn", "given"), ()]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("seeds = [4, 5]", "seed = [4]", r"unknown setting seed \(did you mean seeds\?\)"),
        ("seeds = [4, 5]", "seeds = [4, 4]", "seeds has twice 4"),
        ("seeds = [4, 5]", "seeds = []", "seeds is empty"),
        ("seeds = [4, 5]", 'seeds = ["1"]', "expected a list of int"),
        ("seeds = [4, 5]", "seeds = 4", "expected a list of int"),
        ('name = "whole"', "", "the setting name is missing"),
        ('name = "whole"', "name = 1", "name is 1, expected str"),
        ('system = "moses.ini"', "", r"\[data\]: the setting system is missing"),
        ('kind = "moses"', 'kind = "mosses"', "none of: embedded, moses"),
        ('kind = "moses"', "threads = 0", "at least 1"),
        ("rounds = 3", "round = 3", r"\[tuning\]: unknown setting round"),
        ("rounds = 3", 'rounds = "3"', "rounds is '3', expected int"),
        ("search-algorithm = 1", "search-algorithm = true", "expected a number or text"),
        ('models = ["rnn", "given"]', 'models = ["rn"]', r"not described \(did you mean rnn\?\)"),
        ('models = ["rnn", "given"]', "", "names no model, whose words"),
        ('name = "Both"', 'name = "Baseline"', "two systems are called Baseline"),
        ('name = "Baseline"', 'name = "B"\nnot_run = "x"', "the first system is what"),
        ("[models.rnn]", '[models."a b"]', "use letters"),
        ('phrase_table = "phrase-table.gz"', "", "names no phrase_table"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    """Each wrong setting is an error that names it."""
    assert old in WHOLE
    with pytest.raises(SettingsError, match=sentence):
        read_experiment(written(tmp_path, WHOLE.replace(old, new)))


def test_files_that_are_no_experiment(tmp_path: Path) -> None:
    """A missing file and one that is not TOML are errors of input."""
    with pytest.raises(InputError, match="cannot be read"):
        read_experiment(tmp_path / "nothing.toml")
    with pytest.raises(InputError, match="not an experiment file in TOML"):
        read_experiment(written(tmp_path, "name = "))


@pytest.mark.parametrize("path", sorted((PROJECT / "experiments").glob("*.toml")), ids=str)
def test_the_experiments_that_come_along_are_valid(path: Path) -> None:
    """Each is a file that this version reads, and names no place of one machine."""
    settings = read_experiment(path)
    assert len(settings.systems) > 1
    assert not Path(settings.data.folder).is_absolute()
    assert not any(Path(model.folder).is_absolute() for model in settings.models)
