"""Work continues only as the same work; steps run once and never overwrite foreign changes."""

from __future__ import annotations

import dataclasses
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from phrasescore.errors import ResumeError
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.ledger import (
    RECORD,
    Entry,
    FunctionStep,
    Ledger,
    Step,
    begin,
    differences,
    has_finished,
    read_entry,
    refuse_another,
    run_steps,
)
from phrasescore.runs.lock import held
from tests.support.killed import killed_at


class Kitchen:
    """Three steps: knead makes a folder, bake reads it, label reads nothing."""

    def __init__(
        self, folder: Path, *, heat: int = 200, text: str = "bread", flour: str = "wheat"
    ) -> None:
        self.folder, self.heat, self.text, self.flour = folder, heat, text, flour
        self.done: list[str] = []
        self.fails = ""

    def _work(self, name: str) -> Mapping[str, Any]:
        self.done.append(name)
        if name == self.fails:
            raise KeyboardInterrupt
        if name == "knead":
            (self.folder / "dough").mkdir(exist_ok=True)
            (self.folder / "dough" / "piece").write_text(self.flour)
        else:
            content = (self.folder / "dough" / "piece").read_text() if name == "bake" else self.text
            (self.folder / name).write_text(content)
        return {"pieces": 1}

    def steps(self) -> list[FunctionStep]:
        dough, bread, sign = (self.folder / name for name in ("dough", "bake", "label"))
        return [
            Step("knead", lambda: self._work("knead"), {"flour": self.flour}, (), (dough,)),
            Step("bake", lambda: self._work("bake"), {"heat": self.heat}, (dough,), (bread,)),
            Step("label", lambda: self._work("label"), {"text": self.text}, (), (sign,)),
        ]

    def run(self, *, update: bool = False) -> list[str]:
        self.done = []
        for _ in run_steps(self.steps(), self.folder / "work", update=update):
            pass
        return self.done


def test_once(tmp_path: Path) -> None:
    """A second run does nothing."""
    assert Kitchen(tmp_path).run() == ["knead", "bake", "label"]
    assert Kitchen(tmp_path).run() == []
    outcomes = list(run_steps(Kitchen(tmp_path).steps(), tmp_path / "work"))
    assert [(o.name, o.counts, o.resumed) for o in outcomes] == [
        (name, {"pieces": 1}, True) for name in ("knead", "bake", "label")
    ]


@pytest.mark.parametrize(
    ("fails", "then"),
    [("knead", ["knead", "bake", "label"]), ("bake", ["bake", "label"]), ("label", ["label"])],
)
def test_goes_on(tmp_path: Path, fails: str, then: list[str]) -> None:
    """After an interruption, the next run continues with the interrupted step."""
    kitchen = Kitchen(tmp_path)
    kitchen.fails = fails
    with pytest.raises(KeyboardInterrupt):
        kitchen.run()
    assert Kitchen(tmp_path).run() == then


def test_missing_output(tmp_path: Path) -> None:
    """A missing output is made again."""
    Kitchen(tmp_path).run()
    for name in ("bake", "label"):
        (tmp_path / name).unlink()
        assert Kitchen(tmp_path).run() == [name]


def test_changed_output(tmp_path: Path) -> None:
    """An output that a user changed is not overwritten."""
    Kitchen(tmp_path).run()
    (tmp_path / "label").write_text("cake")
    with pytest.raises(ResumeError, match="this output was changed after it was created") as caught:
        Kitchen(tmp_path).run()
    assert caught.value.path == tmp_path / "label"
    assert (tmp_path / "label").read_text() == "cake"


def test_other_settings(tmp_path: Path) -> None:
    """Other settings are refused; with an update, only the affected steps run again."""
    Kitchen(tmp_path).run()
    with pytest.raises(ResumeError, match="heat was 200 and is now 250") as caught:
        Kitchen(tmp_path, heat=250).run()
    assert "--update" in str(caught.value)
    assert Kitchen(tmp_path, heat=250).run(update=True) == ["bake"]
    assert Kitchen(tmp_path, heat=250, text="roll").run(update=True) == ["label"]
    assert (tmp_path / "label").read_text() == "roll"


DAMAGED = [b"", b"{", b"[]", b'{"settings": [], "inputs": []}', b"[" * 200_000, b"1" * 5000]


@pytest.mark.parametrize("content", DAMAGED)
def test_damaged_stamp(tmp_path: Path, content: bytes) -> None:
    """An unreadable stamp is an error, not a reason to run the step again."""
    Kitchen(tmp_path).run()
    (tmp_path / "work" / "bake.json").write_bytes(content)
    with pytest.raises(ResumeError, match="not a record of work that this version can continue"):
        Kitchen(tmp_path).run()


def test_killed_between_two_steps_of_an_update(tmp_path: Path) -> None:
    """A step whose input changed runs again, even with equal settings."""
    Kitchen(tmp_path).run()
    kitchen = Kitchen(tmp_path, flour="rye")
    kitchen.fails = "bake"
    with pytest.raises(KeyboardInterrupt):
        kitchen.run(update=True)
    assert Kitchen(tmp_path, flour="rye").run() == ["bake"]
    assert (tmp_path / "bake").read_text() == "rye"


def test_two_at_once(tmp_path: Path) -> None:
    """A second process in the same folder is refused."""
    refused = pytest.raises(ResumeError, match="another process is at work here")
    with held(tmp_path / "work", inside=True), refused:
        Kitchen(tmp_path).run()


SEED = Entry({"seed": 1}, ["a" * 64], "1.0")


def begun(folder: Path, now: Entry, **more: Any) -> None:
    begin(folder, now, ["text"], "name a new folder", **more)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"settings": {"seed": 2}}, r"other settings: seed was 1 and is now 2\. Name a new folder"),
        ({"inputs": ["b" * 64]}, r": text is not the file that the work began with\. Name"),
        ({"version": "2.0"}, 'the version of phrasescore was "1.0" and is now "2.0"'),
    ],
)
def test_another_work_is_refused(tmp_path: Path, change: dict[str, Any], sentence: str) -> None:
    """The error names the differences without digests, and the folder is unchanged."""
    begun(tmp_path, SEED)
    (tmp_path / "list").write_bytes(b"")
    begun(tmp_path, SEED)
    with pytest.raises(ResumeError, match=sentence) as caught:
        begun(tmp_path, dataclasses.replace(SEED, **change))
    assert "\n" not in str(caught.value)
    assert read_entry(tmp_path / RECORD) == SEED


def test_a_work_that_came_to_nothing_may_be_corrected(tmp_path: Path) -> None:
    """A folder with only its record had refused input, so a corrected run may use it."""
    other = Entry({"seed": 2})
    for work in (SEED, other):
        begun(tmp_path / "run", work)
    assert read_entry(tmp_path / "run" / RECORD) == other


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    """A folder with foreign files, or the folder of an older version, is refused."""
    (tmp_path / "thesis.tex").write_bytes(b"x")
    with pytest.raises(ResumeError, match=r"not empty \(thesis\.tex\) and has no run\.json"):
        begun(tmp_path, SEED)
    (tmp_path / RECORD).write_text('{"moses.ini": "0", "seed": 1}')
    with pytest.raises(ResumeError, match=r"run\.json: not a record of work that this version can"):
        begun(tmp_path, SEED)


def test_a_run_that_was_killed_at_its_beginning(tmp_path: Path) -> None:
    """Another run may use the folder, and removes partial files, but only these."""
    for name in (".run.json.0123abcd.part", ".lock.0123"):
        (tmp_path / name).write_bytes(b"{")
    begun(tmp_path, SEED)
    (tmp_path / "round").mkdir()
    for name in (".list.01234567.part", "list"):
        (tmp_path / "round" / name).write_bytes(b"whole")
    begun(tmp_path, SEED)
    assert [path.name for path in (tmp_path / "round").iterdir()] == ["list"]


@pytest.mark.parametrize(
    ("before", "now", "is_finished", "is_other"),
    [
        (3, 5, True, False),
        (3, None, True, False),
        (5, 3, True, True),
        (None, 3, True, True),
        ("3", 5, True, True),
        (5, 3, False, False),
    ],
)
def test_a_limit_may_grow(before: Any, now: Any, is_finished: bool, is_other: bool) -> None:
    """A limit is free until the work is finished; then it may only grow."""
    works = Entry({"rounds": before}, finished=is_finished), Entry({"rounds": now})
    assert bool(differences(*works, limits=["rounds"])) == is_other
    assert differences(*works) or before == now


def test_finished_work_of_another_version_is_whole() -> None:
    """Only unfinished work is not continued by another version."""
    works = Entry({}, [], "1.0", finished=True), Entry({}, [], "2.0")
    assert not differences(*works)


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ({"a": 1, "b": [1, 2]}, {"a": 1, "b": (1, 2)}, []),
        ({"a": 1}, {"a": "x"}, ['a was 1 and is now "x"']),
        ({"a": 1}, {}, ["a was 1 and is now not set"]),
        ({}, {"a": []}, ["a was not set and is now []"]),
        ({}, {"a": None}, []),
        ({"z": 0, "a": 0}, {"z": 1, "a": 1}, ["a was 0 and is now 1", "z was 0 and is now 1"]),
        ({"a": "0" * 64}, {"a": "1" * 64}, ["a has changed"]),
    ],
)
def test_each_difference_is_named(
    before: dict[str, Any], now: dict[str, Any], said: list[str]
) -> None:
    """Short values are shown; for digests and the like, only the fact of a difference."""
    assert differences(Entry(before), Entry(now)) == said


def test_a_finished_step_continues_up_to_a_higher_limit(tmp_path: Path) -> None:
    """Its output stays, times add up, and an interruption does not make it count as done."""
    output, limits, fails = tmp_path / "output", list[float](), False

    def work() -> dict[str, int]:
        if fails:
            raise KeyboardInterrupt
        before = output.read_text() if output.exists() else ""
        output.write_text(before + "more")
        return {}

    def reach(limit: float) -> str:
        step = Step("walk", work, {"speed": 1}, (), (output,), limits={"miles": limit})
        limits.append(Ledger(tmp_path / "steps").do(step, outputs_are_whole=True).seconds)
        return output.read_text()

    assert [reach(1), reach(1), reach(2)] == ["more", "more", "moremore"]
    assert limits[0] == limits[1] <= limits[2]
    for limit in (3, 4):
        fails = True
        with pytest.raises(KeyboardInterrupt):
            reach(limit)
    fails = False
    assert reach(3) == "moremoremore"
    assert has_finished(tmp_path / "steps")
    assert reach(2) == "more"


def test_the_seconds_before_an_interruption_count(tmp_path: Path) -> None:
    """They count for a step that has limits, because it continues."""
    output, fails = tmp_path / "output", True

    def work() -> dict[str, int]:
        time.sleep(0.05 if fails else 0)
        if fails:
            raise KeyboardInterrupt
        output.touch()
        return {}

    step = Step("walk", work, {}, (), (output,), limits={"miles": 1})
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            Ledger(tmp_path / "steps").do(step, outputs_are_whole=True)
    fails = False
    assert Ledger(tmp_path / "steps").do(step, outputs_are_whole=True).seconds >= 0.1


def test_a_folder_of_another_command_is_refused_in_one_sentence(tmp_path: Path) -> None:
    """Settings of two commands have little in common; a list of all differences would not help."""
    before, now = Entry({"seed": 1, "a": 1, "b": 2, "c": 3}), Entry({"seed": 2, "d": 4, "e": 5})
    with pytest.raises(ResumeError, match="this is the work of another command") as error:
        refuse_another(before, now, tmp_path, "")
    assert "seed" not in str(error.value)


def test_a_step_that_continues_may_be_killed_anywhere(tmp_path: Path) -> None:
    """The same call reaches the limit; until then, the lower limit counts as reached."""
    output = tmp_path / "output"

    def reach(limit: int) -> None:
        def work() -> dict[str, int]:
            write_atomically(output, b"x" * limit)
            return {}

        step = Step("walk", work, {}, (), (output,), limits={"miles": limit})
        Ledger(tmp_path / "steps").do(step, outputs_are_whole=True)

    killed = 0
    for moment in range(100):
        shutil.rmtree(tmp_path / "steps", ignore_errors=True)
        output.unlink(missing_ok=True)
        reach(1)
        if not killed_at(moment, lambda: reach(2)):
            break
        killed += 1
        reach(2)
        entry = read_entry(tmp_path / "steps" / "walk.json")
        assert entry is not None
        assert (entry.finished, entry.settings, len(entry.outputs)) == (True, {"miles": 2}, 1)
        assert output.read_bytes() == b"xx"
    assert killed > 3


def test_another_limit_than_that_of_an_interrupted_continuation(tmp_path: Path) -> None:
    """What was begun up to another limit is removed; the finished output stays."""
    output, state, seen = tmp_path / "output", tmp_path / "state", list[bool]()

    def reach(limit: int, *, fails: bool = False) -> None:
        def work() -> dict[str, int]:
            seen.append(state.exists())
            state.touch()
            if fails:
                raise KeyboardInterrupt
            output.write_text(f"{limit}")
            state.unlink()
            return {}

        step = Step("walk", work, {}, (), (output,), state, {"miles": limit})
        Ledger(tmp_path / "steps").do(step, outputs_are_whole=True)

    reach(1)
    for limit, had_begun in ((2, False), (2, True), (3, False)):
        with pytest.raises(KeyboardInterrupt):
            reach(limit, fails=True)
        assert (seen[-1], output.read_text()) == (had_begun, "1")
    reach(3)
    assert (seen[-1], output.read_text()) == (True, "3")
