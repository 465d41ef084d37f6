"""A lock has one holder, names the holder, and ends with it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from phrasescore.errors import ResumeError
from phrasescore.runs.lock import held
from tests.conftest import PROJECT
from tests.support.killed import wait_for

TAKE = """
import contextlib, sys, time
from pathlib import Path
from phrasescore.errors import ResumeError
from phrasescore.runs.lock import held
folder, start, rounds = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
with contextlib.ExitStack() as kept:
    for number in range(rounds):
        time.sleep(max(0, start + 0.1 * number - time.time()))
        try:
            kept.enter_context(held(folder / f"{number}"))
            print(number, flush=True)
        except ResumeError as error:
            assert "another process is at work here: process" in str(error), error
    (folder / f"ready.{sys.argv[4]}").touch()
    sys.stdin.read()
"""


def take(folder: Path, name: str, start: float = 0.0, rounds: int = 1) -> subprocess.Popen[str]:
    """Start a process that tries to take ``.0.lock``, ``.1.lock``, ... and holds them."""
    return subprocess.Popen(
        [sys.executable, "-c", TAKE, str(folder), str(start), str(rounds), name],
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_living_process_keeps_its_lock(tmp_path: Path) -> None:
    """The error names the process and the file, which is removed at the end."""
    process = take(tmp_path, "one")
    wait_for((tmp_path / "ready.one").exists)
    file = tmp_path / ".0.lock"
    with pytest.raises(ResumeError) as caught, held(tmp_path / "0"):
        pass
    said = str(caught.value)
    assert f"process {process.pid} on {socket.gethostname()}, since 2" in said
    assert f"delete {file}" in said
    process.communicate()
    assert not file.exists()
    with held(tmp_path / "0"):
        assert file.exists()


def test_a_killed_process_is_succeeded(tmp_path: Path) -> None:
    """A killed process loses its lock at once, even before its parent waits for it."""
    process = take(tmp_path, "one")
    wait_for((tmp_path / "ready.one").exists)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    with held(tmp_path / "0"):
        assert f"process {os.getpid()} ".encode() in (tmp_path / ".0.lock").read_bytes()
    process.communicate()
    assert [path.name for path in tmp_path.iterdir()] == ["ready.one"]


def test_a_lock_file_that_was_deleted_does_not_take_its_successor_with_it(tmp_path: Path) -> None:
    """If a user deletes a lock file, its holder does not remove the next holder's file."""
    with held(tmp_path, inside=True):
        (tmp_path / ".lock").unlink()
        with held(tmp_path, inside=True):
            pass
        (tmp_path / ".lock").touch()
    assert (tmp_path / ".lock").exists()


@pytest.mark.parametrize("left", [False, True])
def test_of_many_at_once_one_gets_the_lock(tmp_path: Path, left: bool) -> None:
    """Exactly one of many processes gets the lock, with or without a stale file."""
    rounds = 8
    for number in range(rounds if left else 0):
        (tmp_path / f".{number}.lock").write_bytes(b"process 1 on a machine")
    start = time.time() + 1.5
    processes = [take(tmp_path, str(name), start, rounds) for name in range(6)]
    for name in range(len(processes)):
        wait_for((tmp_path / f"ready.{name}").exists)
    won = [number for process in processes for number in process.communicate()[0].split()]
    assert sorted(map(int, won)) == list(range(rounds))
    assert all(process.returncode == 0 for process in processes)
    assert not [path for path in tmp_path.iterdir() if ".lock" in path.name]
