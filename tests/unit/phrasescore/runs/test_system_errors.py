"""Errors of the operating system become messages."""

from __future__ import annotations

import resource
import signal
from pathlib import Path

import numpy as np
import pytest
import torch

from phrasescore.errors import InputError, SettingsError, StorageError, out_of_memory, refusal
from phrasescore.runs.final_names import open_output, write_atomically
from phrasescore.runs.ledger import Entry
from phrasescore.runs.stream import JournaledOutputs
from phrasescore.table.input_files import open_input


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("x" * 300, "the path, or a name in it, is too long"),
        ("x/" * 2500, "the path, or a name in it, is too long"),
        ("file/x", "a part of this path is a file"),
        ("loop", "its symbolic links form a circle"),
        (".", "a folder, where a file was expected"),
        ("nothing", "no such file"),
        ("packed", "[Nn]ame packed.gz, which is there"),
    ],
)
def test_reading_says_what_is_wrong_with_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_bytes(b"")
    Path("packed.gz").write_bytes(b"")
    Path("loop").symlink_to("loop")
    with pytest.raises(InputError, match=says), open_input(name):
        pass


@pytest.mark.parametrize("name", ["file/x", ".", "nothing/x", "/proc/x", "x" * 256])
def test_writing_says_what_is_wrong_with_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_bytes(b"")
    with pytest.raises(SettingsError, match="cannot write there"):
        write_atomically(name, b"text")
    for work in (None, Entry({})):
        with pytest.raises(SettingsError, match="cannot write there"):
            JournaledOutputs([name], work).opened().__enter__()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_full_device_is_a_storage_error() -> None:
    with pytest.raises(StorageError, match="No space left"), open_output("/dev/full") as stream:
        stream.write(b"text" * 1000)


def test_numpy_says_in_words_that_a_disk_is_full(tmp_path: Path) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, limit[1]))
    try:
        with pytest.raises(OSError, match="written") as caught, (tmp_path / "x").open("wb") as file:
            np.zeros(1 << 16, np.int64).tofile(file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handler)
    assert isinstance(refusal(caught.value), StorageError)


def test_an_error_of_the_reader_is_not_blamed_on_what_is_written(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"text")
    with pytest.raises(FileNotFoundError), open_input(tmp_path / "in"):
        (tmp_path / "other").read_bytes()


def test_want_of_memory_is_known_from_any_library() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60)
    assert out_of_memory(caught.value) is not None
    assert out_of_memory(MemoryError()) is not None
    assert out_of_memory(RuntimeError("something else")) is None
