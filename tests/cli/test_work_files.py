"""Pipes and devices in place of work files that a command reads when it is repeated."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.hostile.world import write_world
from tests.support.warm_process import Observed, Started, Surroundings, WarmProcesses

TRAINING = "--hidden 8 --max-epochs 60 --threads 1 --checkpoint-every 0.05s"
CALLS = {
    "tune": "tune in/moses.ini --source in/dev.src --reference in/dev.trg -o work --rounds 1 "
    "--nbest-size 5 --restarts 1",
    "build": "build in/dev.src in/dev.trg work --alignment in/links",
    "filter": "filter in/moses.ini --input in/dev.src -o work",
    "experiment": "experiment in/experiment.toml -o work --only Baseline",
    "train": f"train in/phrase-table work {TRAINING}",
}
# a file that the second call of a command reads or writes, and the status of that call
FILES = [
    ("tune", "run.json", 6),
    ("tune", ".lock", 2),
    ("tune", "round01/nbest.gz", 3),
    ("tune", "steps/decode.1.json", 6),
    ("tune", "steps/optimize.1.json", 6),
    ("tune", "filtered/moses.ini", 3),
    ("tune", "weights.json", 0),
    ("build", "result.json", 0),
    ("build", "corpus.source.gz", 3),
    ("build", ".build/corpus.json", 6),
    ("build", ".build/digests.json", 0),
    ("filter", "moses.ini", 3),
    ("experiment", ".lock", 2),
    ("experiment", "results.json", 6),
    ("experiment", "result.json", 6),
    ("experiment", "steps/filter.json", 6),
    ("experiment", "systems/baseline/seed1.dev.txt", 3),
    ("train", "checkpoint.pt", 6),
    ("train", "run.json", 6),
    ("train", "pairs/target.tokens.npy", 2),
]
MAKE: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "endless device": lambda path: path.symlink_to("/dev/zero"),
}


class Begun:
    """Folders in which a command has run; tests use these folders, because paths are absolute."""

    def __init__(self, processes: WarmProcesses, folder: Path) -> None:
        self._processes, self._folder = processes, folder

    def work(self, command: str) -> Path:
        """Return the work files of a command after its first call."""
        folder = self._folder / command
        work = folder / ("work.training" if command == "train" else "work")
        kept = folder / "kept"
        if not kept.exists():
            folder.mkdir()
            write_world(folder)
            self._begin(command, work)
            shutil.copytree(work, kept, symlinks=True)
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(kept, work, symlinks=True)
        return work

    def call(self, command: str) -> Observed:
        """Repeat the command."""
        return self._start(command).wait()

    def _start(self, command: str) -> Started:
        here = Surroundings(self._folder / command, timeout=60, memory=3 << 30)
        return self._processes.start(CALLS[command].split(" "), here)

    def _begin(self, command: str, work: Path) -> None:
        started = self._start(command)
        if command != "train":
            assert started.wait().status == 0
            return
        while started.is_running and not (work / "checkpoint.pt").exists():
            time.sleep(0.01)
        started.send_signal(signal.SIGKILL)
        assert started.wait().status == -signal.SIGKILL


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory, warm_processes: WarmProcesses) -> Begun:
    """Run every command once; kill those that leave no work files otherwise."""
    return Begun(warm_processes, tmp_path_factory.mktemp("begun"))


@pytest.mark.parametrize("what", MAKE)
@pytest.mark.parametrize(("command", "name", "status"), FILES)
def test_no_regular_file(begun: Begun, command: str, name: str, status: int, what: str) -> None:
    """The same command does not hang or fill the memory; it names the file, or replaces it."""
    place = begun.work(command) / name
    place.unlink(missing_ok=True)
    MAKE[what](place)
    ended = begun.call(command)
    said = ended.errors.decode()
    assert ended.status == status, said
    if status:
        assert place.name in said.rpartition("phrasescore: ")[2], said


def _descending(offsets: NDArray[Any]) -> NDArray[Any]:
    return offsets[[0, *range(len(offsets) - 2, 0, -1), -1]]


def _trained(begun: Begun, work: Path) -> bytes:
    """Continue training; return the weights of the model."""
    ended = begun.call("train")
    assert ended.status == 0, ended.errors
    weights = (work.with_name("work") / "model.safetensors").read_bytes()
    shutil.rmtree(work.with_name("work"))
    return weights


@pytest.fixture(scope="module")
def undamaged(begun: Begun) -> bytes:
    """Return the weights of continued training."""
    return _trained(begun, begun.work("train"))


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("source.tokens", lambda ids: ids + 1000),
        ("target.tokens", lambda ids: ids * 0),
        ("source.offsets", _descending),
        ("target.offsets", lambda offsets: offsets[:, None]),
    ],
)
def test_damaged_pairs_are_encoded_again(
    begun: Begun, undamaged: bytes, name: str, damage: Callable[[NDArray[Any]], NDArray[Any]]
) -> None:
    """Training continues to the same model as without the damage."""
    work = begun.work("train")
    array = work / "pairs" / f"{name}.npy"
    np.save(array, damage(np.load(array)))
    assert _trained(begun, work) == undamaged


def test_a_lock_that_a_stranger_holds(begun: Begun) -> None:
    """The text of a foreign lock file is printed only with escapes."""
    work = begun.work("filter")
    shutil.rmtree(work)
    lock = work.with_name(".work.lock")
    with lock.open("wb") as stream:
        stream.write(b"process 1 on h\x1b[2J\n")
        stream.flush()
        fcntl.flock(stream, fcntl.LOCK_EX)
        ended = begun.call("filter")
    lock.unlink()
    assert ended.status == 6, ended.errors
    assert rb"at work here: process 1 on h\x1b[2J" in ended.errors
    assert b"\x1b" not in ended.errors
