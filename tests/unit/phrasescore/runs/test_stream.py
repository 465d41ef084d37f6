"""Outputs that can be continued after an interruption."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from phrasescore.errors import InputError, ResumeError, SettingsError
from phrasescore.runs.ledger import Entry
from phrasescore.runs.stream import BlockStream, JournaledOutputs, LineCounts

WORK = Entry({"average": False, "models": [["a", 1.5]]}, ["0" * 64], "1.0")

BLOCKS = [(b"a1", b"b1"), (b"a2", b"b2"), (b"a3", b"b3")]


class StoppedError(Exception):
    """An error that ends a run early."""


def write_until(paths: list[Path], blocks: Sequence[tuple[bytes, ...]]) -> None:
    with pytest.raises(StoppedError), JournaledOutputs(paths, WORK).opened() as outputs:
        for number, texts in enumerate(blocks, 1):
            outputs.append(texts, {"lines": number})
        raise StoppedError


JOURNAL = {**dataclasses.asdict(WORK), "blocks": 1, "sizes": [4]}


@pytest.mark.parametrize(
    "journal",
    [
        *(b"", b"no json\n", b"[1]\n", b"[" * 100_000, b"\xff", b'{"blocks": 1e400}'),
        *(
            json.dumps({**JOURNAL, **change}).encode()
            for change in ({"sizes": [99]}, {"sizes": [-1]}, {"sizes": [True]}, {"sizes": []},
                           {"counts": 1}, {"blocks": "1"}, {"settings": 1})
        ),
    ],
)  # fmt: skip
def test_damaged_journal_starts_anew(journal: bytes, tmp_path: Path) -> None:
    """A journal that is unreadable, or longer than the part file, is ignored."""
    (tmp_path / ".out.journal").write_bytes(journal)
    (tmp_path / ".out.part").write_bytes(b"rest of something")
    with JournaledOutputs([tmp_path / "out"], WORK).opened() as output:
        assert output.blocks == 0
        assert output.discarded == "the work has no usable journal; it is discarded"
        output.append([b"one\n"], {})
        output.finish()
    assert (tmp_path / "out").read_bytes() == b"one\n"


@pytest.mark.parametrize(
    ("work", "error"), [(None, StoppedError()), (WORK, InputError("a bad line"))]
)
def test_nothing_stays_that_no_run_could_use(
    work: Entry | None, error: Exception, tmp_path: Path
) -> None:
    """If no run can continue (after a pipe or an input error), no work files are kept."""
    with pytest.raises(type(error)), JournaledOutputs([tmp_path / "out"], work).opened() as output:
        output.append([b"one\n"], {})
        raise error
    assert list(tmp_path.iterdir()) == []


def test_two_processes(tmp_path: Path) -> None:
    """A second process with the same output is refused."""
    with JournaledOutputs([tmp_path / "out"], WORK).opened() as output:
        with pytest.raises(ResumeError, match="out: another process is at work here"):
            JournaledOutputs([tmp_path / "out"], WORK).opened().__enter__()
        output.append([b"one\n"], {})
        output.finish()
    assert (tmp_path / "out").read_bytes() == b"one\n"


@pytest.mark.parametrize("ending", ["part", "journal"])
@pytest.mark.parametrize("kind", ["link", "loop", "folder"])
def test_what_stands_in_place_of_its_files_is_neither_followed_nor_removed(
    tmp_path: Path, ending: str, kind: str
) -> None:
    """Links and folders in place of work files are refused, not followed or removed.

    Of another output, which was opened before, no empty part stays.
    """
    (tmp_path / "victim").write_bytes(b"mine")
    place = tmp_path / f".out.{ending}"
    if kind == "folder":
        place.mkdir()
    else:
        place.symlink_to("victim" if kind == "link" else place.name)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SettingsError, match="cannot write there"):
        JournaledOutputs([tmp_path / "first", tmp_path / "out"], WORK).opened().__enter__()
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "victim").read_bytes() == b"mine"


def test_all_go_on_after_the_last_block_that_each_has(tmp_path: Path) -> None:
    """If a kill leaves one output a block ahead, this block is made again."""
    paths = [tmp_path / "a", tmp_path / "b"]
    write_until(paths, BLOCKS[:2])
    with (tmp_path / ".a.part").open("ab") as ahead:
        ahead.write(b"a3")
    with JournaledOutputs(paths, WORK).opened() as sinks:
        assert (sinks.blocks, sinks.counts, sinks.discarded) == (2, {"lines": 2}, "")
        sinks.append(BLOCKS[2], {"lines": 3})
        sinks.finish()
    assert [path.read_bytes() for path in paths] == [b"a1a2a3", b"b1b2b3"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("lost", ["journal", "part"])
def test_one_that_is_lost_makes_all_begin_anew(tmp_path: Path, lost: str) -> None:
    """If one output has no work files, all outputs start again."""
    paths = [tmp_path / "a", tmp_path / "b"]
    write_until(paths, BLOCKS[:2])
    (tmp_path / f".b.{lost}").unlink()
    with JournaledOutputs(paths, WORK).opened() as sinks:
        assert (sinks.blocks, sinks.counts) == (0, None)
        assert "no usable journal" in sinks.discarded
        for texts in BLOCKS:
            sinks.append(texts, {})
        sinks.finish()
    assert [path.read_bytes() for path in paths] == [b"a1a2a3", b"b1b2b3"]


def test_nothing_is_kept_beside_a_stream(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """With a stream among the outputs, nothing is kept, because a stream cannot be rewound."""
    write_until([tmp_path / "a", Path("-")], BLOCKS[:1])
    assert not list(tmp_path.iterdir())
    with JournaledOutputs([tmp_path / "a", "-"], WORK).opened() as sinks:
        assert sinks.blocks == 0
        sinks.append(BLOCKS[0], {})
        sinks.finish()
    assert (tmp_path / "a").read_bytes() == b"a1"
    assert capfdbinary.readouterr().out.endswith(b"b1")


def test_killed_before_the_journal_was_removed(tmp_path: Path) -> None:
    """After a kill before the journal's removal, the old output is kept until it is made again."""
    output = tmp_path / "out"
    write_until([output], [(b"x\n",)])
    (tmp_path / ".out.part").rename(output)
    with JournaledOutputs([output], WORK).opened() as again:
        assert again.blocks == 0
        assert output.read_bytes() == b"x\n"
        again.append([b"y\n"], {"lines": 1})
        again.finish()
    assert output.read_bytes() == b"y\n"
    assert list(tmp_path.iterdir()) == [output]


def test_another_command_with_the_same_settings_is_other_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What one command has begun is not continued by another one, even if no setting differs."""
    (tmp_path / "in").write_bytes(b"One\nTwo\n")
    blocks = (tmp_path / "in").read_bytes().splitlines(keepends=True)

    def write(what: str, change: Callable[[bytes], bytes], stop: int = 2) -> None:
        def work(block: bytes, before: LineCounts) -> tuple[bytes, LineCounts]:
            if before.lines == stop:
                raise StoppedError
            return change(block), LineCounts(before.lines + 1)

        stream = BlockStream(
            inputs=[tmp_path / "in"],
            settings={},
            read=lambda _, done: iter(blocks[done:]),
            work=work,
            nothing=LineCounts(),
            what=what,
        )
        stream.write(tmp_path / "out")

    with pytest.raises(StoppedError):
        write("lower-casing", bytes.lower, stop=1)
    write("upper-casing", bytes.upper)
    assert (tmp_path / "out").read_bytes() == b"ONE\nTWO\n"
    assert "the work was begun with other settings: work" in capsys.readouterr().err
