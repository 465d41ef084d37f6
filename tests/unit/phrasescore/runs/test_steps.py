"""Steps run once, run again when their inputs change, and never overwrite foreign changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from phrasescore.errors import ResumeError
from phrasescore.runs.lock import held
from phrasescore.runs.steps import FunctionStep, Step, run_steps


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
    (tmp_path / "bake").unlink()
    assert Kitchen(tmp_path).run() == ["bake"]
    (tmp_path / "label").unlink()
    assert Kitchen(tmp_path).run() == ["label"]


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
    with pytest.raises(ResumeError, match="the stamp of an earlier run is damaged"):
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
    with (
        held(tmp_path / "work", inside=True),
        pytest.raises(ResumeError, match="another process is at work here"),
    ):
        Kitchen(tmp_path).run()
