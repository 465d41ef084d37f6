"""Parts: hidden names beside an output, and those that killed writers have left."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from phrasescore.runs.final_names import hidden, part_path, write_atomically
from phrasescore.runs.processes import start_of


def _left_by_a_dead_writer(output: Path, folder: bool = False) -> Path:
    """Leave the part that a process, gone by now, would write."""
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    mine = part_path(output)
    left = mine.with_name(mine.name.replace(f".{os.getpid()}.", f".{int(dead.stdout)}."))
    if folder:
        left.mkdir()
        (left / "weights").write_bytes(b"half")
    else:
        left.write_bytes(b"half")
    return left


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    output = tmp_path / "table.gz"
    for folder in (False, True):
        left = _left_by_a_dead_writer(output, folder)
        write_atomically(output, b"whole")
        assert not left.exists()
        assert [path.name for path in tmp_path.iterdir()] == ["table.gz"]


def test_the_parts_of_living_writers_and_of_other_machines_stay(tmp_path: Path) -> None:
    output = tmp_path / "table"
    mine = part_path(output)
    me, parent = os.getpid(), os.getppid()
    mine_ends, living_ends = (f".{each}.{start_of(each)}.part" for each in (me, parent))
    living = mine.with_name(mine.name.replace(mine_ends, living_ends))
    elsewhere = tmp_path / ".table.01234567.1.part"
    another = tmp_path / ".table2.01234567.1.part"
    for path in (living, elsewhere, another):
        path.write_bytes(b"half")
    write_atomically(output, b"whole")
    assert all(path.exists() for path in (living, elsewhere, another))


def test_the_parts_of_an_earlier_process_with_the_number_of_a_living_one_are_removed(
    tmp_path: Path,
) -> None:
    """As after a reboot, or when a container starts again."""
    output = tmp_path / "table"
    mine = part_path(output)
    start = start_of(os.getppid())
    assert start is not None
    ends = f".{os.getppid()}.{start + 1}.part"
    left = mine.with_name(mine.name.replace(f".{os.getpid()}.{start_of(os.getpid())}.part", ends))
    left.write_bytes(b"half")
    write_atomically(output, b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


def test_a_name_as_long_as_a_file_system_takes_can_be_written(tmp_path: Path) -> None:
    output = tmp_path / ("x" * 255)
    write_atomically(output, b"whole")
    assert output.read_bytes() == b"whole"
    assert len(hidden(output, "journal").name) < 255


def test_a_link_in_place_of_a_part_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    output = tmp_path / "table"
    part_path(output).symlink_to(victim)
    write_atomically(output, b"whole")
    assert victim.read_bytes() == b"mine"
    assert output.read_bytes() == b"whole"
