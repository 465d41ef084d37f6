"""Damages names: impossible input names, and outputs that cannot be written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.hostile.calls import Call, Write

_LONG = "n" * 300
_DEEP = "n/" * 2500
_NEVER: Mapping[str, str] = {
    "an empty name": "",
    "the root": "/",
    "a name of 300 bytes": f"out/{_LONG}",
    "a path of 5,000 bytes": _DEEP,
    "a folder that is not there": "out/no/such",
}


def input_names(path: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return wrong names for an input, each with other arguments of the case."""
    names = {
        **_NEVER,
        "this folder": ".",
        "a file as a folder": f"{path}/x",
        "a line feed in the name": "in/no\nsuch",
        "a name that is not UTF-8": "in/\udcff",
        "memory of the process": "/proc/self/mem",
    }
    found: dict[str, tuple[str, dict[str, Any]]] = {key: (name, {}) for key, name in names.items()}
    found["standard input, empty"] = ("-", {})
    found["standard input, closed"] = ("-", {"closed": (0,)})
    return found


@dataclass(frozen=True)
class SpoiltOutput:
    """A damaged output.

    Args:
        damage: The damage.
        name: The name on the command line.
        prepare: Makes the damage, in the folder where the command runs.
        more: Other arguments of `Surroundings`.
        written: Other files that may be written, because the name leads there.
    """

    damage: str
    name: str
    prepare: Callable[[Path], object] = lambda _: None
    more: Mapping[str, Any] = field(default_factory=dict)
    written: tuple[str, ...] = ()


def output_damage(call: Call, write: Write) -> Iterator[SpoiltOutput]:
    """Yield the damage to an output."""
    path = write.path
    for damage, name in _NEVER.items():
        if not (write.folder and name == "out/no/such"):
            yield SpoiltOutput(damage, name)
    yield SpoiltOutput("a line feed in the name", "out/a\nb", written=("out/a\nb",))
    yield SpoiltOutput("a name that is not UTF-8", "out/\udcff", written=("out/\udcff",))
    yield SpoiltOutput("a file as a folder", "out/file/x", lambda at: (at / "out/file").touch())
    yield SpoiltOutput("a link loop", path, lambda at: (at / path).symlink_to(write.name))
    yield SpoiltOutput("in /proc", "/proc/x")
    yield SpoiltOutput("/dev/full", "/dev/full")
    if write.folder:
        yield SpoiltOutput("a file", path, lambda at: (at / path).write_bytes(b"a user's\n"))
        yield SpoiltOutput("a foreign folder", path, lambda at: _foreign(at / path))
    else:
        yield SpoiltOutput("this folder", ".")
        yield SpoiltOutput("a folder", path, lambda at: _foreign(at / path))
        yield SpoiltOutput("/dev/null", "/dev/null")
        there = "../elsewhere/new"
        yield SpoiltOutput(
            "a dangling link",
            path,
            lambda at: (at / path).symlink_to(f"../{there}"),
            written=(there,),
        )
    if not write.folder and write.name != "result.json":
        yield SpoiltOutput("a closed standard output", "-", more={"closed": (1,)})
        yield SpoiltOutput("a full standard output", "-", more={"stdout": "/dev/full"})
        yield SpoiltOutput("nobody reads", "-", more={"stdout": "abandoned"})
    yield from _shared(call, write)


def _foreign(folder: Path) -> None:
    folder.mkdir()
    (folder / "letter").write_bytes(b"a user's\n")


def _shared(call: Call, write: Write) -> Iterator[SpoiltOutput]:
    """Yield damage that makes an output equal to an input or another output."""
    for read in dict.fromkeys((*call.reads(), *call.beside)):
        yield SpoiltOutput(f"the input {read.path}", read.path)
        if write.folder or read.is_folder:
            continue
        yield SpoiltOutput(
            f"a hard link to {read.path}",
            write.path,
            lambda at, path=read.path: os.link(at / path, at / write.path),
        )
        yield SpoiltOutput(
            f"a link to {read.path}",
            write.path,
            lambda at, path=read.path: (at / write.path).symlink_to(f"../{path}"),
        )
    for other in call.writes():
        if other != write:
            yield SpoiltOutput(f"the output {other.path}", other.path)


def neighbours(write: Write) -> Iterator[tuple[str, str, Callable[[Path], object]]]:
    """Yield names of unfinished work, the damage there, and functions that make the damage.

    A folder that a user has filled has a name that no command uses.
    """
    names = [f".{write.name}.{ending}" for ending in ("part", "journal", "lock")]
    if write.folder:
        names.append(f"{write.name}.training")
    for name in names:
        for damage, put in _THINGS.items():
            yield name, damage, lambda at, name=name, put=put: put(at / "out" / name)


_THINGS: Mapping[str, Callable[[Path], object]] = {
    "a foreign folder": _foreign,
    "a link loop": lambda path: path.symlink_to(path.name),
    "a link elsewhere": lambda path: path.symlink_to("../../elsewhere/letter"),
    "a dangling link": lambda path: path.symlink_to("../../elsewhere/new"),
    "random bytes": lambda path: path.write_bytes(bytes(range(256)) * 9),
    "deep lists": lambda path: path.write_bytes(b"[" * 200_000 + b"\n"),
    "empty": lambda path: path.touch(),
    "a pipe": os.mkfifo,
    "/dev/zero": lambda path: path.symlink_to("/dev/zero"),
}
