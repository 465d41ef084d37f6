"""Closed, full or abandoned standard streams, and signals, give one sentence and a status."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.support.killed import wait_for
from tests.support.warm_process import PROJECT

# quick commands, without torch
_PRINTS = ["--help"]
_READS = ["preprocess", "--language", "en"]


def _command(arguments: list[str]) -> list[str]:
    return [sys.executable, "-m", "phrasescore", *arguments]


def _run(arguments: list[str], redirections: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f'"$@" {redirections}', "bash", *_command(arguments)],
        capture_output=True,
        text=True,
        cwd=PROJECT,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "redirections", "status", "sentence"),
    [
        (_PRINTS, "> /dev/full", 8, "No space left on device"),
        (_PRINTS, ">&-", 2, "standard output: cannot write there"),
        (_READS, "<&-", 3, "phrasescore: standard input: it is closed.\n"),
    ],
)
def test_a_full_or_closed_stream_is_one_sentence(
    arguments: list[str], redirections: str, status: int, sentence: str
) -> None:
    done = _run(arguments, redirections)
    assert (done.returncode, done.stderr.count("\n")) == (status, 1)
    assert sentence in done.stderr


def test_a_reader_that_has_gone_is_status_141_and_no_word() -> None:
    done = _run(_PRINTS, "| true; exit ${PIPESTATUS[0]}")
    assert done.returncode == 141
    assert done.stderr == ""


def test_no_file_of_ours_takes_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("a b\n")
    output = tmp_path / "output"
    done = _run([*_READS, "-o", str(output)], f"< {text} >&- 2>&-")
    assert done.returncode == 0
    assert output.read_text() == "a b\n"


def _waiting(pipe: int) -> int:
    """Return the number of unread bytes in a pipe."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_command_that_waits_for_input(number: signal.Signals) -> None:
    read, write = os.pipe()
    process = subprocess.Popen(
        _command(_READS), stdin=read, stderr=subprocess.PIPE, stdout=subprocess.PIPE, cwd=PROJECT
    )
    os.write(write, b"a b\n")
    wait_for(lambda: not _waiting(read))
    os.close(read)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    os.close(write)
    assert process.returncode == 130
    assert said == b"interrupted\n"
