"""Several outputs that are continued together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from phrasescore.runs.journaled_output import JournaledOutput
from phrasescore.table.sinks import SinksInStep

SIGNATURE: dict[str, Any] = {"work": 1}
BLOCKS = [(b"a1", b"b1"), (b"a2", b"b2"), (b"a3", b"b3")]


class StoppedError(Exception):
    """Stands for whatever ends a run early."""


def stopped_after(paths: list[Path], blocks: int) -> None:
    with pytest.raises(StoppedError), SinksInStep(paths, SIGNATURE) as sinks:
        for number, texts in enumerate(BLOCKS[:blocks], 1):
            sinks.append(texts, {"lines": number})
        raise StoppedError


def test_all_go_on_after_the_last_block_that_each_has(tmp_path: Path) -> None:
    """A kill between two outputs leaves one of them a block ahead: it is made again."""
    paths = [tmp_path / "a", tmp_path / "b"]
    stopped_after(paths, 2)
    with pytest.raises(StoppedError), JournaledOutput(paths[0], SIGNATURE) as ahead:
        ahead.append(b"a3", {"lines": 3})
        raise StoppedError
    with SinksInStep(paths, SIGNATURE) as sinks:
        assert (sinks.blocks, sinks.state, sinks.discarded) == (2, {"lines": 2}, False)
        sinks.append(BLOCKS[2], {"lines": 3})
        sinks.finish()
    assert [path.read_bytes() for path in paths] == [b"a1a2a3", b"b1b2b3"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("lost", ["journal", "part"])
def test_one_that_is_lost_makes_all_begin_anew(tmp_path: Path, lost: str) -> None:
    """As when one of them was not asked for before, or has its name already."""
    paths = [tmp_path / "a", tmp_path / "b"]
    stopped_after(paths, 2)
    (tmp_path / f".b.{lost}").unlink()
    with SinksInStep(paths, SIGNATURE) as sinks:
        assert (sinks.blocks, sinks.state, sinks.discarded) == (0, None, True)
        for texts in BLOCKS:
            sinks.append(texts, {})
        sinks.finish()
    assert [path.read_bytes() for path in paths] == [b"a1a2a3", b"b1b2b3"]


def test_nothing_is_kept_beside_a_stream(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """What went to a stream cannot be taken back, so no output is gone on with."""
    with pytest.raises(StoppedError), SinksInStep([tmp_path / "a", "-"], SIGNATURE) as sinks:
        sinks.append(BLOCKS[0], {})
        raise StoppedError
    assert not list(tmp_path.iterdir())
    with SinksInStep([tmp_path / "a", "-"], SIGNATURE) as sinks:
        assert sinks.blocks == 0
        sinks.append(BLOCKS[0], {})
        sinks.finish()
    assert (tmp_path / "a").read_bytes() == b"a1"
    assert capfdbinary.readouterr().out.endswith(b"b1")


def test_killed_between_two_names_both_are_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run has all blocks already, and finishes."""
    names = [tmp_path / "list", tmp_path / "text"]

    def killed(self: JournaledOutput) -> None:
        raise KeyboardInterrupt

    with (
        monkeypatch.context() as patch,
        pytest.raises(KeyboardInterrupt),
        SinksInStep(names, {"a": 1}) as sinks,
    ):
        sinks.append([b"x\n", b"y\n"], {"lines": 1})
        sinks.append([b"z\n", b"w\n"], {"lines": 2})
        sinks.sinks[0].take_name()
        patch.setattr(JournaledOutput, "take_name", killed)
        sinks.finish()
    assert names[0].exists() and not names[1].exists()
    with SinksInStep(names, {"a": 1}) as sinks:
        assert (sinks.blocks, sinks.state, sinks.discarded) == (2, {"lines": 2}, False)
        sinks.finish()
    assert [name.read_bytes() for name in names] == [b"x\nz\n", b"y\nw\n"]
    assert sorted(tmp_path.iterdir()) == names


def test_an_output_made_since_is_not_taken_back(tmp_path: Path) -> None:
    """It is not the file that the journal is about."""
    output = tmp_path / "out"
    with JournaledOutput(output, {"a": 1}) as sink:
        sink.append(b"x\n", {"lines": 1})
        sink.take_name()
    output.unlink()
    (tmp_path / "other").write_bytes(b"y\n")
    output.write_bytes(b"y\n")
    with JournaledOutput(output, {"a": 1}) as again:
        assert again.blocks == 0
        assert output.read_bytes() == b"y\n"
        again.append(b"x\n", {"lines": 1})
        again.finish()
    assert output.read_bytes() == b"x\n"
    assert not (tmp_path / ".out.journal").exists()
