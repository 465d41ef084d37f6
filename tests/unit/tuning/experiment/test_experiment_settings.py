"""Reading and checking experiment files."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from phrasescore.errors import InputError, SettingsError
from tests.conftest import PROJECT
from tuning.experiment.experiment_settings import ExperimentModel, read_experiment

DATA = """
[data]
folder = "data"
system = "moses.ini"
phrase_table = "phrase-table.gz"
dev_source = "dev.en"
dev_reference = "dev.fr"
test = [{name = "test", source = "test.en", reference = "test.fr"}]
"""
SHORT = """test = [{name = "test", source = "test.en", reference = "test.fr"}]
"""
LONG = """test = [
    {name = "test2016", source = "a.en", reference = "a.fr"},
    {name = "test2017", source = "b.en", reference = "b.fr"},
]
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
train_source = "train.en"
train_target = "train.fr"
[decoder]
kind = "moses"
[decoder.sections]
search-algorithm = 1
[tuning]
rounds = 3
options = ["--restarts", "5"]
[rerank]
nbest_size = 200
optimizer = "pro"
[translate]
options = ["--replace-unknown"]
[models.rnn]
train = ["--max-time", "1m"]
[models.given]
folder = "models/given"
[models.forward]
kind = "search"
train = ["--hidden", "8"]
[models.cslm]
kind = "feed-forward-lm"
per_seed = true
[[systems]]
name = "Baseline"
[[systems]]
name = "Both"
models = ["rnn", "given"]
unknown_column = true
language_models = ["cslm"]
[[systems]]
name = "Reranked"
models = ["rnn"]
rerank = ["forward", "given"]
[[systems]]
name = "Alone"
translate = ["forward"]
[[systems]]
name = "Alone, no beam"
translate = ["forward"]
translate_options = ["--beam", "1"]
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
    """Data and one system are enough; a byte order mark is no part of them."""
    settings = read_experiment(written(tmp_path, f"\ufeff{SMALL}"))
    assert settings.seeds == (1, 2, 3)
    assert (settings.tuning.rounds, settings.decoder.kind) == (8, "embedded")
    assert settings.folder == tmp_path / "data"


def test_every_setting_arrives(tmp_path: Path) -> None:
    """Lists, ini sections and models of both kinds are read correctly."""
    settings = read_experiment(written(tmp_path, WHOLE))
    assert settings.seeds == (4, 5)
    assert settings.decoder.sections == {"search-algorithm": "1"}
    assert settings.tuning.options == ("--restarts", "5")
    assert (settings.rerank.nbest_size, settings.rerank.optimizer) == (200, "pro")
    assert settings.translate.options == ("--replace-unknown",)
    assert settings.models["rnn"] == ExperimentModel("", ("--max-time", "1m"))
    assert settings.models["forward"] == ExperimentModel("", ("--hidden", "8"), "search")
    assert settings.resolve(settings.models["given"].folder) == tmp_path / "models" / "given"
    assert [system.models for system in settings.systems[:3]] == [(), ("rnn", "given"), ("rnn",)]
    assert [system.rerank for system in settings.systems[2:4]] == [("forward", "given"), ()]
    assert settings.systems[1].language_models == ("cslm",)
    assert settings.models["cslm"].per_seed
    assert [system.translate for system in settings.systems[2:4]] == [(), ("forward",)]
    alone = [settings.translation(system).options for system in settings.systems[3:5]]
    assert alone == [("--replace-unknown",), ("--beam", "1")]


def test_one_test_set_or_several(tmp_path: Path) -> None:
    """Each test set has a name."""
    short = read_experiment(written(tmp_path, SMALL)).data
    assert [text.name for text in short.texts] == ["dev", "test"]
    assert short.texts[1].source == "test.en"
    settings = read_experiment(written(tmp_path, SMALL.replace(SHORT, LONG)))
    assert [text.name for text in settings.data.texts] == ["dev", "test2016", "test2017"]
    assert settings.data.test[1].reference == "b.fr"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("seeds = [4, 5]", "seed = [4]", r"unknown setting seed \(did you mean seeds\?\)"),
        ("seeds = [4, 5]", "seeds = [4, 4]", "seeds contains twice 4"),
        ("seeds = [4, 5]", "seeds = []", "seeds is empty"),
        ('name = "whole"', "", "the setting name is missing"),
        ('system = "moses.ini"', "", r"\[data\]: the setting system is missing"),
        ('kind = "moses"', 'kind = "mosses"', "none of: embedded, moses"),
        ('kind = "moses"', "threads = 0", "threads is 0, expected 1 to 256"),
        ("search-algorithm = 1", "search-algorithm = true", "expected a number or text"),
        ('models = ["rnn", "given"]', 'models = ["rn"]', r"not described \(did you mean rnn\?\)"),
        ('models = ["rnn", "given"]', "", "has no models whose shortlists"),
        ('name = "Later"', 'name = "L"\nunknown = "share"', r"L shares p\(<unk>\) out among"),
        ("unknown_column = true", 'unknown = "part"', "'part', which is none of: whole, share"),
        ('name = "Both"', 'name = "Baseline"', "two systems have the name Baseline"),
        ('name = "Both"', 'name = "BASELINE"', "two systems share the folder baseline"),
        ('name = "Baseline"', 'name = "B"\nnot_run = "x"', "compared with the first, so it must"),
        ("[models.rnn]", '[models."a b"]', "use at most 100"),
        ('phrase_table = "phrase-table.gz"', "", "names no phrase_table"),
        ('train_target = "train.fr"', "", "names no train_target"),
        (SHORT, "test = []\n", "names no test set"),
        (SHORT, LONG.replace("test2017", "test2016"), "two test sets are called test2016"),
        (SHORT, LONG.replace("test2017", "dev"), "a test set cannot be called 'dev'"),
        (SHORT, LONG.replace("test2017", "a/b"), "a test set cannot be called 'a/b'"),
        (SHORT, LONG.replace("source", "sorce"), r"unknown setting sorce \(did you mean source"),
        ('kind = "search"', 'kind = "serch"', r"'serch' is not a kind .*did you mean search"),
        ('rerank = ["forward", "given"]', 'rerank = ["given", "given"]', "has twice in rerank"),
        ('translate = ["forward"]', 'translate = ["backward"]', "which is not described"),
        ('translate = ["forward"]', 'translate = ["rnn"]', "its kind is phrase"),
        ('kind = "search"', 'kind = "encdec"', "Alone translates with models that align no words"),
        ('models = ["rnn", "given"]', 'models = ["forward"]', "its kind is search"),
        ('language_models = ["cslm"]', 'language_models = ["rnn"]', "takes only feed-forward-lm,"),
        ('name = "Alone"', 'name = "Alone"\nlanguage_models = ["cslm"]', "both language_models"),
        ("per_seed = true", 'per_seed = true\nfolder = "lm"', r"'lm' does not contain \{seed\}"),
        ("per_seed = true", 'folder = "lm{seed}"', r"per_seed is false, .* contains \{seed\}"),
        ("per_seed = true", "unnormalised = true", "train does not contain --self-normalise"),
        ('name = "Alone"', 'name = "Alone"\nrerank = ["given"]', "has both rerank and translate"),
        ('name = "Baseline"', 'name = "B"\ntranslate = ["forward"]', "it must be tuned"),
        ("nbest_size = 200", "nbest_size = 0", "expected 2 to 10,000"),
        ('"--max-time"', '"--max-time\\u0000"', "contains a NUL character"),
        ('name = "Both"', 'name = ""', "'' is not a name"),
        ('name = "Both"', 'name = "a\\nb"', r"'a\\nb' is not a name"),
        ("[models.rnn]", f"[models.{'x' * 300}]", "at most 100"),
        ('name = "Later"', 'name = "L"\nparts = {x = "Bot"}', r"called Bot \(did you mean Both\?"),
        ('name = "Later"', 'name = "L"\nparts = {x = "L"}', "L has the part x, but no other row"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    """Each wrong setting is an error that names it."""
    assert old in WHOLE
    with pytest.raises(SettingsError, match=sentence):
        read_experiment(written(tmp_path, WHOLE.replace(old, new)))


def test_files_that_are_no_experiment(tmp_path: Path) -> None:
    """A missing file, and a file that is not TOML, are input errors."""
    with pytest.raises(InputError, match="no such file"):
        read_experiment(tmp_path / "nothing.toml")
    for text in (
        *("name = ", f"name = {'[' * 200_000}", f"name = {'1' * 5000}"),
        f"name = {'[' * 200_000}{']' * 200_000}",
        f"name = {'{a=' * 5000}1{'}' * 5000}",
        f"{'a.' * 5000}a = 1",
        f"[{'a.' * 5000}a]",
    ):
        with pytest.raises(InputError, match="not an experiment file in TOML") as error:
            read_experiment(written(tmp_path, text))
        assert len(str(error.value)) < 500


def test_the_small_experiment_has_the_rows_of_the_large_one() -> None:
    """Only data, sizes and times differ."""
    large, small = (
        read_experiment(PROJECT / "experiments" / f"{name}.toml")
        for name in ("multi30k", "multi30k-small")
    )
    assert (small.systems, small.translate) == (large.systems, large.translate)
    assert {name: (model.kind, model.per_seed) for name, model in small.models.items()} == {
        name: (model.kind, model.per_seed) for name, model in large.models.items()
    }


def test_what_is_set_aside_stands_nowhere_else() -> None:
    """No held-out sentence occurs elsewhere, and the choice does not depend on the line order."""
    set_aside = runpy.run_path(str(PROJECT / "experiments" / "prepare-multi30k.py"))["set_aside"]
    pairs = [(f"en {n % 90}", f"fr {n % 95}") for n in range(100)]
    rest, aside = set_aside(pairs, [("en 50", "fr 0")], 20)
    assert (len(rest), len(aside)) == (80, 20)
    for side in range(2):
        assert not {pair[side] for pair in aside} & {pair[side] for pair in (*rest, ("en 50",) * 2)}
    assert sorted(set_aside(pairs[::-1], [("en 50", "fr 0")], 20)[1]) == sorted(aside)
    with pytest.raises(SystemExit, match="80 sentence pairs can be set aside, not 90"):
        set_aside(pairs, [], 90)


@pytest.mark.parametrize("path", sorted((PROJECT / "experiments").glob("*.toml")), ids=str)
def test_the_experiments_that_come_along_are_valid(path: Path) -> None:
    """All bundled experiment files can be read, and have no absolute paths."""
    settings = read_experiment(path)
    assert len(settings.systems) > 1
    assert not Path(settings.data.folder).is_absolute()
    assert not any(Path(model.folder).is_absolute() for model in settings.models.values())
