"""No command writes through links in a folder that another user has filled."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Phrasescore
from tests.support import fake_moses
from tests.support.toy_system import TOY_WEIGHTS, ToySystem, toy_list, write_toy_system

_MINE = b"mine\n"
_ROUND = ("nbest.gz", "decoder.log")


@pytest.fixture
def toy(tmp_path: Path) -> ToySystem:
    """Make a system and a dev set."""
    return write_toy_system(tmp_path / "toy")


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """Make a folder of the user with one file, ``notes``, which the test must leave unchanged."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "notes").write_bytes(_MINE)
    yield folder
    assert [(file.name, file.read_bytes()) for file in folder.iterdir()] == [("notes", _MINE)]


def assert_refused(done: subprocess.CompletedProcess[bytes], place: str, status: int = 2) -> None:
    """Check that a command failed with one sentence about this place."""
    assert done.returncode == status, done.stderr.decode()
    (said,) = [line for line in done.stderr.splitlines() if line.startswith(b"phrasescore: ")]
    assert f"{place}: cannot write there (".encode() in said


def link_of_a_file(place: Path, victim: Path) -> None:
    place.symlink_to(victim / "notes")


def second_name(place: Path, victim: Path) -> None:
    os.link(victim / "notes", place)


def pipe(place: Path, victim: Path) -> None:
    os.mkfifo(place)


@pytest.mark.parametrize("ending", ["part", "journal"])
def test_a_reordering_table_that_is_written_last(
    ending: str, victim: Path, tmp_path: Path, phrasescore: Phrasescore
) -> None:
    """A planted link is found before the phrase table is written, and nothing is left."""
    (tmp_path / "t").write_bytes(b"a ||| b ||| 0.5\n")
    (tmp_path / "r").write_bytes(b"a ||| b ||| 0.5\n")
    link_of_a_file(tmp_path / f".order.gz.{ending}", victim)
    before = sorted(tmp_path.iterdir())
    prune = "prune", "t", "--column", "1", "--top", "1", "-o", "new"
    done = phrasescore(*prune, "--reordering", "r", "--reordering-output", "order.gz")
    assert_refused(done, f".order.gz.{ending}")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("plant", [link_of_a_file, second_name, pipe])
def test_the_log_of_moses(
    phrasescore: Phrasescore,
    toy: ToySystem,
    victim: Path,
    tmp_path: Path,
    plant: Callable[[Path, Path], None],
) -> None:
    """In a round of an interrupted run, a link in the place of the log is refused."""
    call = tuning(toy, tmp_path)
    phrasescore(*call).well()
    for name in _ROUND:
        (tmp_path / "tuned" / "round01" / name).unlink()
    plant(tmp_path / "tuned" / "round01" / "decoder.log", victim)
    assert_refused(phrasescore(*call), "tuned/round01/decoder.log")


@pytest.mark.parametrize("name", ["round01", "seed1"])
def test_a_folder_of_a_tuning_run(
    phrasescore: Phrasescore, toy: ToySystem, victim: Path, tmp_path: Path, name: str
) -> None:
    """A round folder that is a link is refused, in a run that has just started."""
    call = tuning(toy, tmp_path, "--seeds", "2" if name == "seed1" else "1")
    decoded = (tmp_path / "bin" / "list").read_bytes()
    (tmp_path / "bin" / "list").write_bytes(b"")  # Moses fails, so nothing is decoded
    assert phrasescore(*call).returncode == 7
    (tmp_path / "bin" / "list").write_bytes(decoded)
    subprocess.run(["rm", "-r", tmp_path / "tuned" / name], check=True)
    (tmp_path / "tuned" / name).symlink_to(victim)
    assert_refused(phrasescore(*call), f"tuned/{name}")


def tuning(toy: ToySystem, folder: Path, *more: str) -> list[str]:
    """Return the command line of ``tune`` for one round with Moses."""
    call = toy.tuning("-o", "tuned", "--rounds", "1", *more)
    moses = fake_moses.printing(folder / "bin", toy_list(toy), TOY_WEIGHTS)
    return [*call, "--decoder", "moses", "--moses-bin", str(moses)]


@pytest.mark.parametrize(
    ("place", "target"),
    [("steps", ""), ("systems", ""), ("system", ""), ("steps/filter.log", "notes")],
)
def test_the_results_of_an_experiment(
    phrasescore: Phrasescore, toy: ToySystem, victim: Path, tmp_path: Path, place: str, target: str
) -> None:
    """Links in the place of stamps, logs and outputs are refused."""
    (tmp_path / "toy.toml").write_text(toy.experiment())
    planted = tmp_path / "results" / place
    planted.parent.mkdir(parents=True)
    # the record of a stopped experiment
    (tmp_path / "results" / "result.json").write_text('{"kind": "experiment"}')
    planted.symlink_to(victim / target)
    assert_refused(phrasescore("experiment", "toy.toml", "-o", "results"), f"results/{place}")


@pytest.mark.parametrize("place", [".build", ".build/phrases"])
def test_the_folder_of_a_build(
    phrasescore: Phrasescore, victim: Path, tmp_path: Path, place: str
) -> None:
    """Links in the place of stamps, phrases and sorted runs are refused."""
    for side in ("source", "target"):
        (tmp_path / side).write_text("a b c\nb c\n")
    (tmp_path / "links").write_text("0-0 1-1 2-2\n0-0 1-1\n")
    planted = tmp_path / "system" / place
    planted.parent.mkdir(parents=True)
    planted.symlink_to(victim)
    done = phrasescore("build", "source", "target", "system", "--alignment", "links")
    assert_refused(done, f"system/{place}")


def test_the_pairs_of_a_training(phrasescore: Phrasescore, victim: Path, tmp_path: Path) -> None:
    """A hard link in the place of encoded pairs is refused."""
    (tmp_path / "table").write_text("a ||| b ||| 0.5\n" * 2 + "c ||| d ||| 0.5\n" * 2)
    small = ["--hidden", "4", "--embedding", "4", "--rank", "4", "--max-epochs", "1"]
    call = ["train", "table", "model", *small, "--held-out-sources", "1", "--held-out-pairs", "1"]
    phrasescore.start(*call, named="run.json").wait()
    (tmp_path / "model.training" / "pairs").mkdir()
    os.link(victim / "notes", tmp_path / "model.training" / "pairs" / "source.tokens.npy")
    assert_refused(phrasescore(*call), "model.training/pairs/source.tokens.npy")
