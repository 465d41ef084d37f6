"""The steps of ``improve``: their order, their commands, their inputs and outputs."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from phrasescore.errors import IniError, InputError
from tests.support.toy_system import ToySystem, write_toy_system
from tuning.improvement.plan import LANGUAGE, PARTS, PHRASE, SENTENCE, ImprovePlan, part_of


@pytest.fixture
def toy(tmp_path: Path) -> ToySystem:
    return write_toy_system(tmp_path / "toy")


@pytest.fixture
def plan(toy: ToySystem, tmp_path: Path) -> ImprovePlan:
    """Return the plan for a system."""
    texts = toy.source, toy.reference
    return ImprovePlan(tmp_path / "better", toy.ini, texts, texts)


def test_a_system_is_built_and_the_dev_set_prepared(tmp_path: Path) -> None:
    """Without a system, the raw texts go through build and preprocess."""
    raw, dev = (tmp_path / "a", tmp_path / "b"), (tmp_path / "c", tmp_path / "d")
    build = "--tokenize", "en", "fr", "--case", "lower"
    plan = ImprovePlan(tmp_path / "better", None, raw, dev, build)
    steps = list(plan.first_steps())
    names = ["build", "prepare.source", "prepare.target", "decode.untuned"]
    assert [step.name for step in steps] == names
    assert steps[0].work.words[1:7] == ("build", *build)
    # the ini is written last, so that the build is finished when all outputs exist
    assert steps[0].outputs[-1] == tmp_path / "better/build/moses.ini"
    made = {path for step in steps for path in step.outputs}
    assert made >= {*plan.texts, *plan.dev_texts, plan.table}


def test_more_text_of_the_target_language(plan: ImprovePlan, tmp_path: Path) -> None:
    """It gets an n-gram model in a system that is built, and the neural model learns from it."""
    more = tmp_path / "more.fr"
    more.write_text("new new words words once\n" + "rare\n" * 2)
    plan = dataclasses.replace(plan, target_text=more)
    words = plan.train(LANGUAGE, "--max-time", 60).work.words
    assert words[-3:-1] == (str(plan.parallel[1]), str(more))
    assert words[words.index("--target-words") + 1] == "10"  # three more than without the text
    built = dataclasses.replace(plan, system=None)
    build, *rest = built.first_steps()
    assert build.work.words[2:4] == ("--language-model-text", str(more))
    assert more in build.inputs
    assert built.folder / "build/lm1.arpa.gz" in build.outputs
    assert [step.name for step in rest[2:]] == ["prepare.more", "decode.untuned"]
    assert rest[2].outputs == built.target_texts[1:]


def test_every_random_step_has_the_seed(plan: ImprovePlan) -> None:
    """The usual seed is not written, so that it is the same work as a command without a seed."""
    seeded = dataclasses.replace(plan, seed=7)
    for each, expected in ((plan, False), (seeded, True)):
        steps = [each.tune("all", PARTS, 3)]
        steps += [each.train(part, "--max-time", 60.0) for part in PARTS]
        assert {" --seed 7 " in str(step.work) for step in steps} == {expected}


def test_steps_read_all_that_decides_their_outputs(plan: ImprovePlan) -> None:
    """A changed model or table repeats the tuning, although the ini that names it is the same."""
    (start, decode) = plan.first_steps()
    assert start.work.words[1:3] == ("ini", "absolute-paths")
    assert decode.inputs == (plan.folder / "start", *plan.dev_texts[:1])
    tune = plan.tune("all", PARTS, 3)
    models = plan.folder / "models"
    made = {plan.folder / "phrase-table.gz", models / LANGUAGE.name, models / SENTENCE.name}
    assert made <= set(tune.inputs)
    assert tune.outputs[-1].name == "rescoring.json"
    assert "--rescore" in tune.work.words
    baseline = plan.tune("baseline", (), 3)
    assert baseline.inputs == (plan.folder / "start", *plan.dev_texts, plan.table)
    assert "--rescore" not in baseline.work.words


@pytest.mark.parametrize(
    ("parts", "added", "tuned"),
    [
        (PARTS, ["score", "ini.column", "ini.phrase-model+language-model"], "phrase-model+lang"),
        ((PHRASE,), ["score", "ini.column"], "inis/phrase-model.ini"),
        ((LANGUAGE, SENTENCE), ["ini.language-model"], "inis/language-model.ini"),
        ((SENTENCE,), [], "better/baseline"),
    ],
)
def test_only_the_given_parts_are_added(
    plan: ImprovePlan, parts: tuple[object, ...], added: list[str], tuned: str
) -> None:
    """Each part is added to the tuned baseline, so that tuning starts from its weights."""
    steps = list(plan.add(parts))  # type: ignore[arg-type]
    assert [step.name for step in steps] == added
    for step in steps[added[:1] == ["score"] :][:1]:
        assert plan.folder / "baseline" in step.inputs
    assert tuned in plan.tune("kept", parts, 3).work.words[4]  # type: ignore[arg-type]


def test_the_options_of_trainings(plan: ImprovePlan) -> None:
    """With passes, sizes follow from the text; with a time, train chooses them."""
    timed = [plan.train(part, "--max-time", 90.4).work.words for part in PARTS]
    passes = [plan.train(part, "--max-epochs", 3).work.words for part in PARTS]
    for words in timed:
        assert "--max-time 90 " in " ".join(words)
        assert "--hidden" not in words
    assert "--max-epochs 3 --kind phrase" in " ".join(passes[0])
    assert "--hidden 200" in " ".join(passes[0])
    assert "--self-normalise --target-words 7" in " ".join(passes[1])
    assert "--hidden 128 --embedding 64 --rank 64" in " ".join(passes[2])
    assert passes[0][-2:] == (str(plan.table), str(plan.folder / "models/phrase-model"))


def test_a_table_that_cannot_be_read(plan: ImprovePlan, toy: ToySystem) -> None:
    """A missing table, or one that is not in text form, is refused."""
    plan.table.unlink()
    with pytest.raises(InputError, match="no such table in text form"):
        plan.table  # noqa: B018 - a property that raises
    toy.ini.write_text(toy.ini.read_text().replace("DictionaryMemory", "DictionaryCompact"))
    with pytest.raises(IniError, match="does not read text tables"):
        plan.table  # noqa: B018 - a property that raises


def test_the_table_of_a_folder(plan: ImprovePlan, toy: ToySystem) -> None:
    """Relative paths of a system that is named by its folder start there."""
    table = plan.table
    toy.ini.write_text(toy.ini.read_text().replace(f"path={toy.ini.parent}/", "path="))
    assert dataclasses.replace(plan, system=toy.ini.parent).table == table
    with pytest.raises(InputError):
        plan.table  # noqa: B018 - a property that raises


def test_the_part_of_a_score() -> None:
    """The names of features tell which part they belong to."""
    names = "TranslationModel0_4", "NeuralLM1", "AttentionModel0"
    assert tuple(map(part_of, names)) == PARTS
