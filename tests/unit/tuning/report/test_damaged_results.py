"""Every JSON file that a report reads, damaged key by key, gives a page or an error."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from phrasescore.cli import cli
from phrasescore.errors import PhrasescoreError
from tests.support.result_folders import (
    write_comparison,
    write_experiment,
    write_model,
    write_scoring,
    write_system,
    write_tuning,
)
from tuning.report.report_page import Results, read_results, write_report

Key = str | int
DROPPED, RENAMED = object(), object()
# a control character, half a character, and invalid mathematics for matplotlib
HOSTILE = "\x1b[2J \x00 \ud800 $\\frac{$ <b>"
DAMAGES = (DROPPED, RENAMED, None, HOSTILE, 7, [], {}, -1, 1e300, True)
# these values are equal in all places, so it is enough to damage them once
_ANYWHERE = ("provenance", "settings")


# the file to damage, and the function that makes its folder
MAKERS: list[tuple[str, Callable[[Path], object]]] = [
    ("comparison.json", lambda folder: write_comparison(folder, 12)),
    ("system/result.json", lambda folder: write_system(folder / "system")),
    ("model/result.json", lambda folder: write_model(folder / "model", points=1)),
    ("model/curves.jsonl", lambda folder: write_model(folder / "model", points=1)),
    ("tuned/result.json", lambda folder: write_tuning(folder / "tuned", rounds=1)),
    ("tuned/result.json", lambda folder: write_tuning(folder / "tuned", 2, finished=False)),
    ("score.json", lambda folder: write_scoring(folder, [0.5, 0.125])),
    ("results/result.json", lambda folder: write_experiment(folder, 4, with_tunings=False)),
]


def places(value: Any, way: tuple[Key, ...] = ()) -> Iterator[tuple[Key, ...]]:
    """Yield the path to each value inside another; in lists, only to the first and the last."""
    if way:
        yield way
    if isinstance(value, dict):
        keys: list[Key] = [*value]
    else:
        keys = [*dict.fromkeys((0, len(value) - 1))] if isinstance(value, list) and value else []
    for key in keys if not way or way[-1] not in _ANYWHERE else ():
        yield from places(value[key], (*way, key))


def damaged(content: Any, way: tuple[Key, ...], damage: object) -> Any:
    """Return a copy with another value at one place, or without this place."""
    found = copy.deepcopy(content)
    inner = found
    for key in way[:-1]:
        inner = inner[key]
    if damage is DROPPED:
        del inner[way[-1]]
    elif damage is RENAMED and isinstance(inner, dict):
        inner[HOSTILE] = inner.pop(way[-1])
    elif damage is RENAMED:
        inner.append(inner[way[-1]])
    else:
        inner[way[-1]] = damage
    return found


def report(pages: set[str]) -> None:
    """Run ``report``; leave figures out if an equal page was already drawn.

    Nearly every damage causes a note and leaves the rest of the page equal, whose figures take most
    of the time.
    """
    results = read_results(Path("found"))
    # the parts of a page without figures
    words = {
        name: getattr(results, name) for name in ("notes", "provenances", "configs", "experiments")
    }
    drawn = repr(dataclasses.replace(results, **{name: [] for name in words}))
    if drawn in pages:
        write_report("page.html", Results(results.name, **words))
        return
    pages.add(drawn)
    cli.main(["report", "found", "-o", "page.html"], standalone_mode=False)


@pytest.mark.parametrize("count", [8, pytest.param(10**6, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("file", "make"), MAKERS, ids=[file for file, _ in MAKERS])
def test_no_damage_ends_a_report(
    file: str,
    make: Callable[[Path], object],
    count: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If a key is missing or has a wrong value, the rest is shown, or an error explains.

    Each run tries about eight damages of each file, all of different kinds at different keys.
    """
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "found")
    path = tmp_path / "found" / file
    whole = path.read_text("utf-8")
    lines = whole.split("\n", 1) if file.endswith(".jsonl") else [whole, ""]
    content = json.loads(lines[0])
    failed = []
    pages: set[str] = set()
    tries = [*itertools.product(places(content), DAMAGES)]
    # one more than a multiple of the kinds of damage, so that the next damage is of another kind
    step = len(tries) // count // len(DAMAGES) * len(DAMAGES) + 1
    for way, damage in tries[::step]:
        first = json.dumps(damaged(content, way, damage))
        path.write_text(f"{first}\n{lines[1]}")
        try:
            report(pages)
        except PhrasescoreError as error:
            assert str(error).count("\n") == 0
        except Exception as error:
            shown = "dropped or renamed" if damage in (DROPPED, RENAMED) else repr(damage)
            failed.append(f"{'.'.join(map(str, way))} {shown}: {error!r}"[:200])
    assert not failed, f"{len(failed)}: " + "\n".join(failed)
