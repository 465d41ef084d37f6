"""No program that a command starts outlives the command, however the command ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support import fake_moses
from tests.support.killed import wait_for
from tests.support.toy_system import TOY_WEIGHTS, ToySystem, write_toy_system
from tests.support.warm_process import PROJECT, Observed, Surroundings, WarmProcesses, is_running

# instead of a program that runs for hours
_WORK = 'echo $$ > "$(dirname "$0")/new"; mv "$(dirname "$0")/new" "$(dirname "$0")/pid"; '
_WORK += "exec sleep 600"
_MADE_PROGRAM = f"#!/bin/sh\n{_WORK}\n"


@dataclass
class Scene:
    """A command that waits for another program, ``bin/NAME``, which never ends."""

    folder: Path
    processes: WarmProcesses
    toy: ToySystem = field(init=False)

    def __post_init__(self) -> None:
        self.toy = write_toy_system(self.folder / "in")
        (self.folder / "bin").mkdir()

    def program(self, name: str) -> str:
        """Write the program; return its path."""
        path = self.folder / "bin" / name
        path.write_text(_MADE_PROGRAM)
        path.chmod(0o755)
        return str(path)

    def ended(self, number: signal.Signals, *arguments: str, generations: int = 1) -> Observed:
        """Call a command, and send it a signal once the program runs; return its result.

        Args:
            number: The signal.
            arguments: The words of the command.
            generations: 1 if the command starts the program itself, 2 if a step of it does.
        """
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        environment = {**os.environ, "PYTHONPATH": str(PROJECT), "PATH": path}
        started = self.processes.start(arguments, Surroundings(self.folder, environment))
        pid = self.folder / "bin" / "pid"
        wait_for(lambda: pid.exists() or not started.is_running)
        assert pid.exists(), started.wait().errors.decode()
        process = int(pid.read_text())
        for _ in range(generations):
            process = parent_of(process)
        os.kill(process, number)
        observed = started.wait()
        wait_for(lambda: not is_running(int(pid.read_text())))
        return observed


def parent_of(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("PPid:"))


def decoding(scene: Scene) -> tuple[str, ...]:
    """Return the arguments of a command in which Moses decodes."""
    moses = fake_moses.script(scene.folder / "bin", _WORK)
    (scene.folder / "bin" / "weights").write_text(TOY_WEIGHTS)
    return (*_tune(scene), "--moses-bin", str(moses))


def _tune(scene: Scene) -> list[str]:
    return scene.toy.tuning("-o", "tuned", "--decoder", "moses")


def showing_weights(scene: Scene) -> tuple[str, ...]:
    """Return the arguments of a command that asks Moses for its features."""
    return (*_tune(scene), "--moses-bin", scene.program("moses"))


def in_an_experiment(scene: Scene) -> tuple[str, ...]:
    """Return the arguments of an experiment with a step in which Moses decodes."""
    fake_moses.script(scene.folder / "bin", _WORK)
    (scene.folder / "bin" / "weights").write_text(TOY_WEIGHTS)
    (scene.folder / "experiment.toml").write_text(scene.toy.experiment())
    return ("experiment", "experiment.toml", "-o", "results", "--decoder", "moses")


def judge(ended: Observed, number: signal.Signals) -> None:
    """Check that no process is left, and that a command that was not killed reports its end."""
    assert ended.left == 0
    if number == signal.SIGKILL:
        assert ended.status == -number
        return
    assert ended.status == 130, ended.errors
    said = ended.errors.decode()
    assert "Traceback" not in said
    assert "Exception ignored" not in said


@pytest.mark.parametrize("waiting", [decoding, showing_weights])
def test_no_child_survives_a_kill(
    tmp_path: Path, warm_processes: WarmProcesses, waiting: Callable[[Scene], tuple[str, ...]]
) -> None:
    """SIGKILL of the command also ends the program."""
    scene = Scene(tmp_path, warm_processes)
    judge(scene.ended(signal.SIGKILL, *waiting(scene)), signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("waiting", [decoding, showing_weights])
def test_no_child_survives_a_signal(
    tmp_path: Path,
    warm_processes: WarmProcesses,
    waiting: Callable[[Scene], tuple[str, ...]],
    number: signal.Signals,
) -> None:
    """A signal ends the command with a message, and ends the program too."""
    scene = Scene(tmp_path, warm_processes)
    judge(scene.ended(number, *waiting(scene)), number)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_grandchild_survives(
    tmp_path: Path, warm_processes: WarmProcesses, number: signal.Signals
) -> None:
    """An experiment whose step runs Moses ends with both."""
    scene = Scene(tmp_path, warm_processes)
    judge(scene.ended(number, *in_an_experiment(scene), generations=2), number)


def test_a_step_that_is_killed(tmp_path: Path, warm_processes: WarmProcesses) -> None:
    """Moses ends with the step, and the experiment reports the step's status."""
    scene = Scene(tmp_path, warm_processes)
    ended = scene.ended(signal.SIGKILL, *in_an_experiment(scene))
    assert ended.left == 0
    assert ended.status == 1
    assert b"ended with status -9" in ended.errors


@pytest.mark.moses
def test_real_moses_does_not_survive(tmp_path: Path, moses_bin: Path) -> None:
    """Real Moses ends, too, when ``tune`` is killed during decoding."""
    toy = write_toy_system(tmp_path / "in", sentences=20_000)
    more = ["--decoder", "moses", "--moses-bin", str(moses_bin), "--nbest-size", "500"]
    tune = subprocess.Popen(
        [sys.executable, "-m", "phrasescore", *toy.tuning("-o", "tuned", *more)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stderr=subprocess.DEVNULL,
    )
    decoding: list[int] = []

    def is_decoding() -> bool:
        decoding[:] = [child for child in children_of(tune.pid) if b"-n-best-list" in words(child)]
        return bool(decoding)

    wait_for(is_decoding)
    tune.kill()
    tune.wait()
    wait_for(lambda: not is_running(decoding[0]))


def children_of(process: int) -> list[int]:
    files = Path(f"/proc/{process}/task").glob("*/children")
    return [int(number) for file in files for number in file.read_text().split()]


def words(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""
