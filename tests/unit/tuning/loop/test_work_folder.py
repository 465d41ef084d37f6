"""The folder of a tuning run: its owner and its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from phrasescore.errors import ResumeError, SettingsError
from tuning.loop.work_folder import WorkFolder, read_json


def test_a_run_that_came_to_nothing_may_be_corrected(tmp_path: Path) -> None:
    """A folder with only run.json had refused input, so a corrected run may use it."""
    with WorkFolder(tmp_path / "run").opened({"seed": 1}):
        pass
    with WorkFolder(tmp_path / "run").opened({"seed": 2}):
        assert read_json(tmp_path / "run" / "run.json") == {"seed": 2}


@pytest.mark.parametrize(
    ("known", "now", "sentence"),
    [
        ({"seed": 1}, {"seed": 2}, r"other settings: seed was 1 and is now 2\. Name a new folder"),
        ({"moses.ini": "a" * 64}, {"moses.ini": "b" * 64}, r": moses\.ini has changed\. Name"),
    ],
)
def test_another_run_is_refused(
    tmp_path: Path, known: dict[str, object], now: dict[str, object], sentence: str
) -> None:
    """The error names the differences without digests, and the folder is unchanged."""
    with WorkFolder(tmp_path / "run").opened(known) as work:
        work.round(1)
    with (
        pytest.raises(ResumeError, match=sentence) as caught,
        WorkFolder(tmp_path / "run").opened(now),
    ):
        pass
    assert "\n" not in str(caught.value)
    assert read_json(tmp_path / "run" / "run.json") == known


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    """A folder with foreign files is refused."""
    (tmp_path / "thesis.tex").write_bytes(b"x")
    with (
        pytest.raises(ResumeError, match=r"not empty \(thesis\.tex\)"),
        WorkFolder(tmp_path).opened({}),
    ):
        pass


def test_two_processes_do_not_share_a_folder(tmp_path: Path) -> None:
    """A second process gets an error while the first holds the folder, and may use it later."""
    with (
        WorkFolder(tmp_path / "run").opened({}),
        pytest.raises(ResumeError, match="another process is at work here"),
        WorkFolder(tmp_path / "run").opened({}),
    ):
        pass
    with WorkFolder(tmp_path / "run").opened({}):
        pass


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """A file in place of a folder is a settings error with its name."""
    (tmp_path / "file").write_bytes(b"")
    with (
        pytest.raises(SettingsError, match="cannot write there"),
        WorkFolder(tmp_path / "file" / "run").opened({}),
    ):
        pass


def test_half_written_files_are_swept_away(tmp_path: Path) -> None:
    """Only partial files of a killed process are removed."""
    with WorkFolder(tmp_path / "run").opened({}) as work:
        folder = work.round(1)
    part = folder.nbest.with_name(".nbest.gz.01234567.part")
    part.write_bytes(b"half")
    folder.nbest.write_bytes(b"whole")
    with WorkFolder(tmp_path / "run").opened({}):
        assert not part.exists()
        assert folder.nbest.read_bytes() == b"whole"


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b'{"weights": ', b"[]", b'{"weights": {}}', b'{"score": []}', b'{"score": "x"}'),
        *(b"[" * 200_000, b'{"score": ' + b"1" * 5000 + b"}", b'{"score": NaN}'),
    ],
)
def test_a_file_of_the_run_that_was_damaged(tmp_path: Path, content: bytes) -> None:
    """A damaged file is an error with a remedy, whatever its content."""
    (tmp_path / "optimized.json").write_bytes(content)
    with pytest.raises(
        ResumeError, match=r"optimized\.json: a tuning run did not write this file.*Delete"
    ):
        read_json(tmp_path / "optimized.json", numbers=["score"])


def test_a_folder_of_a_run_that_was_killed_at_its_beginning(tmp_path: Path) -> None:
    """Another run may use the folder of a run that was killed at its beginning."""
    for name in (".run.json.0123abcd.part", ".lock.0123"):
        (tmp_path / name).write_bytes(b"{")
    with WorkFolder(tmp_path).opened({"seed": 1}):
        pass
    assert read_json(tmp_path / "run.json") == {"seed": 1}


def test_a_round_adopts_what_another_run_decoded(tmp_path: Path) -> None:
    """The three files are copied byte for byte; an existing list is kept."""
    with WorkFolder(tmp_path / "one").opened({}) as work:
        other = work.round(1)
    for path in (other.weights, other.ini, other.nbest):
        path.write_bytes(path.name.encode())
    with WorkFolder(tmp_path / "two").opened({}) as work:
        mine, own = work.round(1), work.round(2)
    mine.adopt(other)
    names = [sorted(path.name for path in each.nbest.parent.iterdir()) for each in (mine, other)]
    assert names[0] == names[1]
    assert mine.nbest.read_bytes() == b"nbest.gz"
    own.nbest.write_bytes(b"own")
    own.adopt(other)
    assert own.nbest.read_bytes() == b"own"
    assert not own.weights.exists()
