"""Options of other commands in an experiment file are checked before the first step."""

from __future__ import annotations

from pathlib import Path

import pytest

from phrasescore.errors import InputError, SettingsError
from tuning.experiment.runner import CommandStep, command_step
from tuning.experiment.session import check_commands


def step(*words: str) -> CommandStep:
    """Return a step that calls phrasescore."""
    return command_step("x", ("phrasescore", *words), ())


def check(folder: Path, *words: str) -> None:
    """Check one command."""
    check_commands([step(*words)], folder, folder / "results", "e.toml")


TRAIN = ("train", "table", "model")
TUNE = ("tune", "moses.ini", "--source", "a", "--reference", "b", "-o", "out")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder with the files that the commands read."""
    for name in ("table", "moses.ini", "a", "b"):
        (tmp_path / name).write_bytes(b"")
    return tmp_path


def test_commands_that_can_run(data: Path) -> None:
    """Outputs of steps need not exist, and the check makes and reads no files."""
    check(data, "train", str(data / "results" / "table"), str(data / "results" / "model"))
    check(data, "train", "a", "b", str(data / "results" / "m"), "--kind", "search", "--hidden", "8")
    tune = (*TUNE[:-1], str(data / "results" / "out"))
    check(data, *tune, "--objective", "bleu=1", "--objective", "ter=1")
    check(data, *tune, "--seed", "2", "--rounds", "8", "--nbest-size", "100")
    check(data, *TUNE[:-1], "/dev/null")
    detour = data / "a" / ".." / "results"
    check_commands([step(*TUNE[:-1], str(detour / "o"))], data, detour, "e.toml")
    check(data, "ini", "add-feature", "moses.ini")
    check_commands([command_step("x", ("moses", "--any"), ())], data, data, "e.toml")
    assert len(list(data.iterdir())) == 4


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((*TRAIN, "--hiden", "8"), "No such option"),
        ((*TRAIN, "--hidden", "0"), "0 is not in the range"),
        ((*TRAIN, "--max-time", "soon"), "is not a time"),
        ((*TRAIN, "--unit", "cell"), "which is none of: gated, tanh"),
        ((*TRAIN, "--dropout", "0.5"), "--dropout is not an option of --kind phrase"),
        ((*TRAIN, "another"), "takes PHRASE-TABLE MODEL/, but got 3 names"),
        ((*TRAIN, "--help"), "its options contain --help"),
        ((*TRAIN, "--kind", "phrase", "--kind=phrase"), "the experiment sets --kind itself"),
        (("tune", "moses.ini"), "Missing option"),
        (TUNE, "it would write out, outside the results folder"),
        ((*TUNE[:-1], "results/../b"), "it would write results/../b, outside the results"),
        ((*TUNE[:-1], "results/o", "--json-file", "moses.ini"), "it would write moses.ini, outs"),
        ((*TUNE, "-o", "b"), "the experiment sets --output itself"),
        ((*TUNE, "--seed", "1", "--seed", "7"), "the experiment sets --seed itself"),
        ((*TUNE, "--source", "b"), "the experiment sets --source itself"),
    ],
)
def test_commands_that_cannot(data: Path, words: tuple[str, ...], why: str) -> None:
    """The error names the step and its option."""
    with pytest.raises(SettingsError, match=r"e\.toml: the step x cannot run: ") as error:
        check(data, *words)
    assert why in str(error.value)


def test_files_that_options_name(data: Path) -> None:
    """File names in options are relative to the folder in which commands run."""
    words = ("train", "a", "model", "--kind", "rnn-lm", "--held-out-text")
    check(data, *words[:2], str(data / "results" / "model"), *words[3:], "b")
    with pytest.raises(
        InputError, match=r"c: the experiment reads this file or folder, but it does not exist"
    ):
        check(data, *words[:2], str(data / "results" / "model"), *words[3:], "c")
