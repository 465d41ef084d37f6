"""Checks docs/architecture.md: its files exist, and its lists of calls are correct."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.conftest import PROJECT, StartPhrasescore
from tests.support.fresh_process import run_fresh
from tests.support.random_models import save_random_model

TEXT = (PROJECT / "docs" / "architecture.md").read_text("utf-8")
# runs a command and prints the project's functions in the order of their calls
TRACE = """
import json, runpy, sys, threading

root, calls = sys.argv[1], []
packages = tuple(f"{root}/{name}/" for name in ("phrasescore", "moses_integration", "tuning"))

def note(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(packages):
        name = frame.f_locals.get("self")
        calls.append([code.co_filename[len(root) + 1:], code.co_name, type(name).__name__])

sys.argv = ["phrasescore", *sys.argv[2:]]
threading.setprofile(note)
sys.setprofile(note)
try:
    runpy.run_module("phrasescore", run_name="__main__")
finally:
    sys.setprofile(None)
    threading.setprofile(None)
    print(json.dumps(calls))
"""


def steps_of(title: str) -> list[tuple[str, str]]:
    """Return the files and functions that a section's numbered list names."""
    section = TEXT.split(f"## {title}\n")[1].split("\n## ")[0]
    items = re.findall(r"^\d+\. `([\w/]+\.py)`: (.*)$", section, re.MULTILINE)
    return [
        (path, function)
        for path, line in items
        for function in re.findall(r"`(\w+(?:\.\w+)?)`", line.split(" - ")[0])
    ]


def calls_of(
    start: StartPhrasescore, folder: Path, *arguments: str | Path
) -> list[tuple[str, str]]:
    """Run a command; return the files and functions of the project in the order of their calls."""
    # run once without the trace, because numba would take minutes to compile with it
    start(folder, *arguments).wait()
    done = run_fresh(folder, str(PROJECT), *arguments, program=("-c", TRACE)).well()
    calls = json.loads(done.stdout.splitlines()[-1])
    return [(path, f"{kind}.{name}" if kind != "NoneType" else name) for path, name, kind in calls]


def first_missing(
    steps: Iterable[tuple[str, str]], calls: list[tuple[str, str]]
) -> tuple[str, str] | None:
    """Return the first step that is not called after the previous step."""
    place = 0
    for step in steps:
        if step not in calls[place:]:
            return step
        place = calls.index(step, place) + 1
    return None


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`([\w/]+/[\w.]+\.(?:py|md))`", TEXT))))
def test_files_exist(path: str) -> None:
    """Every file that the page names by its full path exists."""
    assert (PROJECT / path).exists(), path


@pytest.mark.parametrize(
    "folder",
    sorted(
        str(path.relative_to(PROJECT))
        for package in ("phrasescore", "moses_integration", "tuning")
        for path in (PROJECT / package).iterdir()
        if (path / "__init__.py").exists()
    ),
)
def test_every_folder_is_in_the_table(folder: str) -> None:
    """The table of folders contains every package folder."""
    assert f"| `{folder}` |" in TEXT


def test_a_phrase_pair(tmp_path: Path, start_phrasescore: StartPhrasescore) -> None:
    """``score`` calls the listed functions for a phrase pair, in order."""
    save_random_model(tmp_path / "model", [b"the", b"house"], [b"la", b"maison"])
    (tmp_path / "table").write_bytes(b"the house ||| la maison ||| 0.5 ||| 0-0 1-1\n")
    command = "score", "table", "--model", "model", "-o", "out", "--precision", "fp32"
    calls = calls_of(start_phrasescore, tmp_path, *command)
    steps = steps_of("A phrase pair in `score`")
    assert len(steps) > 5
    assert first_missing(steps, calls) is None


def test_a_sentence(
    tmp_path: Path, bundled_golden: Path, start_phrasescore: StartPhrasescore
) -> None:
    """``decode`` calls the listed functions for a sentence, in order."""
    (tmp_path / "one").write_bytes(
        (bundled_golden / "decode/input.en").read_bytes().split(b"\n")[0]
    )
    ini = bundled_golden / "system" / "moses.ini"
    command = "decode", ini, "-i", tmp_path / "one", "-o", tmp_path / "out"
    calls = calls_of(start_phrasescore, bundled_golden, *command)
    steps = steps_of("A sentence in `decode`")
    assert len(steps) > 5
    assert first_missing(steps, calls) is None
