"""A lock has one holder, says who that is, and outlives nobody for long."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from phrasescore.errors import ResumeError
from phrasescore.runs import lock
from phrasescore.runs.lock import Holder, held
from tests.conftest import PROJECT

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
    """Start a process that tries to take ``.0.lock``, ``.1.lock``, ... and keeps them."""
    return subprocess.Popen(
        [sys.executable, "-c", TAKE, str(folder), str(start), str(rounds), name],
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def wait_for(path: Path) -> None:
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end, f"no {path}"
        time.sleep(0.02)


def left_by_a_killed_process(folder: Path) -> Path:
    """A lock file as kill -9 leaves it."""
    process = take(folder, "killed")
    wait_for(folder / "ready.killed")
    process.kill()
    process.communicate()
    return folder / ".0.lock"


def write(path: Path, holder: Holder, silent: float = 0.0) -> None:
    """Write a lock file whose last sign of life is so many seconds ago."""
    path.write_text(json.dumps(dataclasses.asdict(holder)))
    os.utime(path, (time.time() - silent,) * 2)


def elsewhere() -> Holder:
    return dataclasses.replace(Holder.this_process(), host="elsewhere", since="yesterday")


def test_the_file_names_the_holder_and_goes_at_the_end(tmp_path: Path) -> None:
    """Host, process and time are there as JSON while the lock is held."""
    file = tmp_path / ".lock"
    with held(tmp_path, inside=True):
        found = json.loads(file.read_text())
        assert (found["host"], found["process"]) == (socket.gethostname(), os.getpid())
    assert list(tmp_path.iterdir()) == []


def test_a_living_process_of_this_machine_keeps_its_lock(tmp_path: Path) -> None:
    """However long ago it took it; the error names the process, the time and the file."""
    process = take(tmp_path, "one")
    wait_for(tmp_path / "ready.one")
    file = tmp_path / ".0.lock"
    os.utime(file, (0, 0))
    with pytest.raises(ResumeError) as caught, held(tmp_path / "0"):
        pass
    said = str(caught.value)
    since = json.loads(file.read_text())["since"]
    assert f"process {process.pid} on {socket.gethostname()}, since {since}" in said
    assert f"delete {file}" in said
    process.communicate()
    with held(tmp_path / "0"):
        pass


def test_a_killed_process_of_this_machine_is_succeeded(tmp_path: Path) -> None:
    """At once, even before its parent has asked how it ended."""
    process = take(tmp_path, "one")
    wait_for(tmp_path / "ready.one")
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    with held(tmp_path / "0"):
        assert json.loads((tmp_path / ".0.lock").read_text())["process"] == os.getpid()
    process.communicate()


def test_a_process_id_that_is_used_again_is_not_the_holder(tmp_path: Path) -> None:
    """The process of that number started at another time."""
    me = Holder.this_process()
    write(tmp_path / ".lock", dataclasses.replace(me, started=me.started - 1, token="old"))
    with held(tmp_path, inside=True):
        pass


@pytest.mark.parametrize("field", ["host", "processes"])
def test_another_machine_is_believed_to_be_at_work(tmp_path: Path, field: str) -> None:
    """A process of another machine or container cannot be looked for: its sign of life counts."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    holder = dataclasses.replace(elsewhere(), process=process.pid, **{field: "elsewhere"})
    write(tmp_path / ".lock", holder, silent=500)
    expected = f"process {process.pid} on elsewhere, since yesterday"
    with pytest.raises(ResumeError, match=expected), held(tmp_path, inside=True):
        pass
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_a_silent_machine_is_succeeded_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After ten minutes without a sign of life."""
    write(tmp_path / ".lock", elsewhere(), silent=660)
    with held(tmp_path, inside=True):
        assert json.loads((tmp_path / ".lock").read_text())["host"] == socket.gethostname()
    said = capsys.readouterr().err
    assert f"taken over from process {os.getpid()} on elsewhere" in said
    assert "no sign of life for 11 minutes" in said


def test_a_holder_gives_signs_of_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of change of the file moves on while the lock is held."""
    monkeypatch.setattr(lock, "_RENEWAL", 0.05)
    with held(tmp_path, inside=True):
        os.utime(tmp_path / ".lock", (0, 0))
        end = time.monotonic() + 20
        while (tmp_path / ".lock").stat().st_mtime == 0:
            assert time.monotonic() < end
            time.sleep(0.02)


def test_a_former_holder_leaves_its_successor_alone(tmp_path: Path) -> None:
    """Who was taken for dead and comes back does not remove the new lock."""
    file = tmp_path / ".lock"
    with held(tmp_path, inside=True):
        write(file, elsewhere())
    assert json.loads(file.read_text())["host"] == "elsewhere"
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"host": "x"}', b"[" * 200_000])
def test_a_damaged_file_is_respected_for_ten_minutes(tmp_path: Path, content: bytes) -> None:
    """Nobody knows whose it is, so it counts as another machine's."""
    file = tmp_path / ".lock"
    file.write_bytes(content)
    with pytest.raises(ResumeError, match="on an unknown machine"), held(tmp_path, inside=True):
        pass
    os.utime(file, (time.time() - 660,) * 2)
    with held(tmp_path, inside=True):
        pass


@pytest.mark.parametrize("left", ["killed", "silent", "none"])
def test_of_many_at_once_one_gets_the_lock(tmp_path: Path, left: str) -> None:
    """Whether the lock is free, or has to be taken over from a killed or a silent process."""
    rounds = 8
    stale = left_by_a_killed_process(tmp_path).read_bytes()
    (tmp_path / ".0.lock").unlink()
    for number in range(rounds):
        if left == "killed":
            (tmp_path / f".{number}.lock").write_bytes(stale)
        elif left == "silent":
            write(tmp_path / f".{number}.lock", elsewhere(), silent=700)
    start = time.time() + 1.5
    processes = [take(tmp_path, str(name), start, rounds) for name in range(6)]
    for name in range(len(processes)):
        wait_for(tmp_path / f"ready.{name}")
    won = [number for process in processes for number in process.communicate()[0].split()]
    assert sorted(map(int, won)) == list(range(rounds))
    assert all(process.returncode == 0 for process in processes)
    assert not [path for path in tmp_path.iterdir() if ".lock" in path.name]


def test_a_successor_that_was_killed_while_it_took_over(tmp_path: Path) -> None:
    """The file that it needed for taking over blocks nobody either."""
    file = left_by_a_killed_process(tmp_path)
    killed = json.loads(file.read_text())
    succession = file.with_name(f"{file.name}.{killed['token']}")
    write(succession, Holder(**{**killed, "token": "other"}))
    with held(tmp_path / "0"):
        assert not succession.exists()


def test_a_holder_that_was_killed_while_it_released(tmp_path: Path) -> None:
    """The lock is gone then, and what it needed for that is removed by the next holder."""
    file = left_by_a_killed_process(tmp_path)
    released = file.rename(file.with_name(f"{file.name}.released"))
    other = file.with_name(f"{file.name}.elsewhere")
    write(other, elsewhere())
    with held(tmp_path / "0"):
        assert not released.exists()
        assert other.exists()


def test_on_a_full_disk_no_empty_file_is_left(tmp_path: Path) -> None:
    """It would be respected for ten minutes; the error is that of a full disk."""
    (tmp_path / "0").touch()
    script = (
        "import resource, sys\n"
        "from phrasescore.errors import StorageError\n"
        "from phrasescore.runs.lock import held\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "try:\n"
        "    with held(sys.argv[1]): pass\n"
        "except StorageError as error: sys.exit(error.exit_code)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "0")]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    assert subprocess.run(command, env=environment, check=False).returncode == 8
    assert [path.name for path in tmp_path.iterdir()] == ["0"]
