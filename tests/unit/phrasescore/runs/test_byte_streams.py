"""Files as bytes: gzip by content, atomic and reproducible writing."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phrasescore.errors import InputError
from phrasescore.runs.final_names import open_output, write_atomically
from phrasescore.table.input_files import read_lines, read_whole
from tests.support.warm_process import PROJECT

TEXT = "a b ||| c\u00a0d\u2028e\u0085f\r\nlast".encode()


@pytest.mark.parametrize("name", ["table", "table.gz"])
def test_what_was_written_is_read(tmp_path: Path, name: str) -> None:
    """Plain and gzip files are read back; lines end only at line feeds."""
    path = tmp_path / name
    write_atomically(path, TEXT)
    assert list(read_lines(path)) == TEXT.split(b"\n")
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == (name == "table.gz")


@pytest.mark.parametrize("read", [read_whole, lambda path: sum(1 for _ in read_lines(path))])
def test_a_huge_line_in_a_small_file_is_refused(
    tmp_path: Path, read: Callable[[Path], Any]
) -> None:
    """17 KB of gzip unpack to a line of 17 MB; two lines of half the size are read as lines."""
    path = tmp_path / "numbers.gz"
    path.write_bytes(gzip.compress(b"0" * 17_000_000, 1))
    with pytest.raises(InputError, match="of over 16 MiB"):
        read(path)
    path.write_bytes(gzip.compress((b"0" * 8_500_000 + b"\n") * 2, 1))
    if read is read_whole:
        with pytest.raises(InputError, match="not a file of over 16 MiB"):
            read(path)
    else:
        assert read(path) == 2


def test_the_same_content_is_the_same_bytes(tmp_path: Path) -> None:
    """The gzip header has neither the time nor the name of the file."""
    first, second = tmp_path / "a.gz", tmp_path / "b.gz"
    write_atomically(first, TEXT)
    os.utime(first, (0, 0))
    write_atomically(second, TEXT)
    assert first.read_bytes() == second.read_bytes()


def test_the_same_bytes_however_they_are_handed_over(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    """Compressed bytes do not depend on the sizes of the writes."""
    numbers = rng.random((150_000, 2))
    text = b"".join(b"%d ||| %.6f %.6f\n" % (i, a, b) for i, (a, b) in enumerate(numbers))
    found = set()
    for most in (3_000, 300_000, 1_000_000, 3_000_000, len(text)):
        with open_output(tmp_path / "out.gz") as stream:
            at = 0
            while at < len(text):
                size = int(rng.integers(1, most + 1))
                stream.write(text[at : at + size])
                at += size
        found.add((tmp_path / "out.gz").read_bytes())
    assert len(found) == 1
    assert gzip.decompress(found.pop()) == text


# two processes use memory at different addresses
PACKING = """
import hashlib
from phrasescore.runs.final_names import compress_member
digest = hashlib.sha256()
for number in range(40_000):
    start = b"%x " % (number * 2654435761)
    text = start + b"une maison bleue " * 4 + start + b"a blue house "
    digest.update(compress_member(text * 3))
print(digest.hexdigest())
"""


def test_the_same_bytes_wherever_memory_lies() -> None:
    """Compressed bytes do not depend on memory addresses."""
    command = [sys.executable, "-c", PACKING]
    started = [subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE) for _ in range(2)]
    first, second = (process.communicate(timeout=60)[0] for process in started)
    assert first == second != b""


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    """If the block raises, the old content is kept and no other file is left."""
    path = tmp_path / "table.gz"
    write_atomically(path, b"old")
    before = path.read_bytes()

    def fail() -> None:
        with open_output(path) as stream:
            stream.write(b"new")
            raise RuntimeError("disk on fire")

    with pytest.raises(RuntimeError, match="disk on fire"):
        fail()
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["table.gz"]


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda data: data[:-12], "the gzip data are cut short"),
        (lambda data: data[:-8] + b"12345678", "damaged gzip data"),
    ],
)
def test_damaged_gzip_is_named(tmp_path: Path, damage: object, text: str) -> None:
    """Truncated and corrupted gzip files are input errors that name the file."""
    path = tmp_path / "table.gz"
    path.write_bytes(damage(gzip.compress(TEXT * 1000)))  # type: ignore[operator]
    with pytest.raises(InputError, match=text) as caught:
        list(read_lines(path))
    assert str(path) in str(caught.value)


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """The output may be a named pipe, which is written to and kept."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    heard: list[bytes] = []
    reader = threading.Thread(target=lambda: heard.append(path.read_bytes()))
    reader.start()
    write_atomically(path, TEXT)
    reader.join(timeout=120)
    assert heard == [TEXT]
    assert path.is_fifo()
