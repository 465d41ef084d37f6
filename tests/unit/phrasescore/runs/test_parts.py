"""Part files: hidden files of an output, and their cleanup after a kill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from phrasescore.errors import SettingsError
from phrasescore.runs.final_names import open_output, remove_parts, scratch_folder, write_atomically


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    """Unlocked part files are removed; those of other outputs are kept."""
    output = tmp_path / "table.gz"
    (tmp_path / ".table.gz.01234567.part").write_bytes(b"half")
    (tmp_path / ".table.gz.89abcdef.part").mkdir()
    (tmp_path / ".table.gz.89abcdef.part" / "weights").write_bytes(b"half")
    (tmp_path / ".table2.01234567.part").write_bytes(b"half")
    write_atomically(output, b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".table2.01234567.part", "table.gz"]


def test_the_parts_of_living_writers_stay(tmp_path: Path) -> None:
    output = tmp_path / "table"
    with scratch_folder(output) as folder, open_output(output) as stream:
        stream.write(b"slow")
        write_atomically(output, b"quick")
        remove_parts(output)
        (folder / "file").write_bytes(b"")
        assert output.read_bytes() == b"quick"
    assert output.read_bytes() == b"slow"
    assert list(tmp_path.iterdir()) == [output]


def test_a_scratch_folder_that_another_process_removes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another process removes the folder before it is locked, there is a new folder."""
    make, made = Path.mkdir, list[Path]()

    def make_and_remove_the_first(path: Path, **options: Any) -> None:
        make(path, **options)
        made.append(path)
        if len(made) == 1:
            remove_parts(tmp_path / "table")

    monkeypatch.setattr(Path, "mkdir", make_and_remove_the_first)
    with scratch_folder(tmp_path / "table") as folder:
        assert folder.is_dir()
    assert len(made) == 2
    assert not list(tmp_path.iterdir())


def test_a_name_that_is_too_long_for_a_hidden_name(tmp_path: Path) -> None:
    write_atomically(tmp_path / ("x" * 240), b"whole")
    with pytest.raises(SettingsError, match="File name too long"):
        write_atomically(tmp_path / ("x" * 241), b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["x" * 240]


def test_a_link_in_place_of_a_part_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    output = tmp_path / "table"
    (tmp_path / ".table.01234567.part").symlink_to(victim)
    write_atomically(output, b"whole")
    assert victim.read_bytes() == b"mine"
    assert output.read_bytes() == b"whole"
