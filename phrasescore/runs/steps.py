"""Steps that functions do one after the other, each once.

A second run continues where the first one stopped. A run with other settings does again only what
they change.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phrasescore.runs.comparison import refuse_differences
from phrasescore.runs.lock import held
from phrasescore.runs.parts import remove_parts
from phrasescore.runs.stamps import Stamps, Step

# does a step and returns counts for the report, as JSON values
FunctionStep = Step[Callable[[], Mapping[str, Any]]]


@dataclass(frozen=True)
class Outcome:
    """How a step went: its counts and seconds, and whether an earlier run had done it."""

    name: str
    counts: Mapping[str, Any]
    seconds: float
    resumed: bool


def run_steps(
    steps: Sequence[FunctionStep], folder: Path, *, update: bool = False
) -> Iterator[Outcome]:
    """Do what is not done yet, in order; yield how each step went.

    Args:
        steps: All steps, each after those it reads from.
        folder: The folder of the stamps; it is made.
        update: Whether to do steps again whose settings differ from those of an earlier run.

    Raises:
        ResumeError: An earlier run had other settings and ``update`` is not given, or a file was
            changed since, or another process is at work here.
    """
    with held(folder, inside=True):
        for path in (path for step in steps for path in step.outputs):
            remove_parts(path)  # left by a run that was killed
        stamps = Stamps(folder, steps)
        for step in steps:
            stamp = stamps.read(step.name)
            if stamp is not None and not update:
                refuse_differences(
                    stamp.settings,
                    step.settings,
                    folder,
                    "name another folder, or give --update to build anew what they change",
                )
        yield from _run_steps(steps, stamps)


def _run_steps(steps: Sequence[FunctionStep], stamps: Stamps) -> Iterator[Outcome]:
    to_do = _to_do(steps, stamps)
    for step in steps:
        stamp = stamps.read(step.name)
        if step.name in to_do:
            begun = stamps.begun(step)
            start = time.monotonic()
            counts = dict(step.work())
            seconds = round(time.monotonic() - start, 3)
            stamp = stamps.finish(step, begun, counts=counts, seconds=seconds)
        if stamp is not None:
            yield Outcome(step.name, stamp.counts, stamp.seconds, step.name not in to_do)
    for step in steps:
        if step.intermediate:
            for path in step.outputs:
                shutil.rmtree(path, ignore_errors=True)


def _to_do(steps: Sequence[FunctionStep], stamps: Stamps) -> set[str]:
    """Return the steps to do.

    These are the steps that changed, all that read from them, the steps with lost outputs, and
    those whose intermediate outputs one of the others lacks.
    """
    changed: set[str] = set()
    lost: set[str] = set()
    lacking: set[str] = set()  # intermediate outputs that were removed or damaged
    for step in steps:
        stamp = stamps.read(step.name)
        makers = [maker.name for maker in steps if set(maker.outputs) & set(step.inputs)]
        if stamp is None or not changed.isdisjoint(makers) or stamps.changes(step, stamp):
            changed.add(step.name)
        elif not stamps.is_whole(step, stamp):
            (lacking if step.intermediate else lost).add(step.name)
    to_do = changed | lost
    for step in reversed(steps):
        if step.name in lacking and any(
            set(step.outputs) & set(reader.inputs) for reader in steps if reader.name in to_do
        ):
            to_do.add(step.name)
    return to_do
