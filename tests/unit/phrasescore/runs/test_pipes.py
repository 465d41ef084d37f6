"""A pipe can be read once; a second reader gets an error instead of hanging."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from phrasescore.errors import InputError
from phrasescore.runs.file_kinds import can_be_read_again, pipes_read_once
from phrasescore.runs.identity import provenance, sha256_of
from phrasescore.table.block import read_blocks
from phrasescore.table.input_files import open_input


def pipe_of(path: Path, data: bytes) -> Path:
    """Make a named pipe with a writer that writes once."""
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=(data,), daemon=True).start()
    return path


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    """The first reader gets the content, the second an error."""
    pipe = pipe_of(tmp_path / "pipe", b"a\n")
    assert not can_be_read_again(pipe)
    with pipes_read_once():
        with open_input(pipe) as stream:
            assert stream.read() == b"a\n"
        again = pytest.raises(
            InputError, match=r"pipe: a pipe, but it must be read more than once. W"
        )
        with again, open_input(pipe):
            pass


def test_a_pipe_has_no_digest(tmp_path: Path) -> None:
    """A pipe has no digest, because computing it would consume the content."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="it must be read more than once"):
        sha256_of(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"")
    assert list(provenance(inputs=["-", tmp_path / "pipe", tmp_path / "file"])["inputs"]) == [
        str(tmp_path / "file")
    ]


@pytest.mark.parametrize("name", ["zero", "full", "random", "urandom"])
def test_devices_without_end(name: str) -> None:
    """Endless devices are refused."""
    for read in (sha256_of, lambda path: next(read_blocks(path))):
        with pytest.raises(InputError, match=f"/dev/{name}: this device never ends. Name a file"):
            read(f"/dev/{name}")
