"""Child programs end with the process that started them, and report failures as usual."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from phrasescore.runs.processes import run, start


@pytest.mark.parametrize(
    "command", ["/no/such/program", "no-such-program", "/etc/passwd", "script"]
)
def test_what_cannot_be_started_fails_as_elsewhere(tmp_path: Path, command: str) -> None:
    """The error equals that of subprocess, and no process is left."""
    (tmp_path / "script").write_text("#!/no/such/interpreter\n")
    (tmp_path / "script").chmod(0o755)
    command = str(tmp_path / command) if command == "script" else command
    with pytest.raises(OSError, match=r"No such file|Permission") as expected:
        subprocess.run([command], check=False)
    with pytest.raises(type(expected.value)) as found:
        start([command], stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    assert found.value.args == expected.value.args
    assert found.value.filename == command


def test_a_program_gets_what_it_is_given(tmp_path: Path) -> None:
    """Programs get byte arguments, folder, environment and streams, and do not ignore signals."""
    name = os.fsdecode(b"\xff name")
    script = 'printf "%s|%s|%s" "$1" "$PWD" "$OWN"; cat; cat no-such-file; kill -PIPE $$'
    process = start(
        ["/bin/sh", "-c", script, "sh", name],
        cwd=tmp_path,
        env={**os.environ, "OWN": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    output, errors = process.communicate(b"|fed")
    assert output == b"\xff name|%s|1|fed" % os.fsencode(tmp_path)
    assert b"no-such-file" in errors
    assert process.returncode == -signal.SIGPIPE


def test_running_to_the_end() -> None:
    """Output and status are returned; the program is killed at its timeout."""
    done = run(["/bin/sh", "-c", "echo out; exit 3"], stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"out\n", None)
    begin = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        run(["sleep", "60"], timeout=0.1)
    assert time.monotonic() - begin < 30


def test_a_child_of_a_thread_lives_as_long_as_the_thread() -> None:
    """The kernel watches the starting thread, so this thread must wait for the program."""
    status: list[int] = []
    thread = threading.Thread(target=lambda: status.append(run(["sleep", "0.2"]).returncode))
    thread.start()
    thread.join()
    assert status == [0]
