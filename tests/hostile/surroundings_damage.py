"""Damages the surroundings of a command: folders, streams, environment variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.hostile.calls import Call


def surroundings_damage(call: Call) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the damage to the surroundings of a call, as arguments of `Surroundings`."""
    yield "a deleted folder", {"gone": True}
    yield "no standard input", {"closed": (0,)}
    yield "no standard output", {"closed": (1,)}
    yield "no standard streams but errors", {"closed": (0, 1)}
    yield "a full standard output", {"stdout": "/dev/full"}
    yield "nobody reads the output", {"stdout": "abandoned"}
    yield "no home", {"environment": {"HOME": "/nonexistent/home", "XDG_CACHE_HOME": ""}}
    yield "a file as a home", {"environment": {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null"}}
    yield "no folder for temporary files", {"environment": {"TMPDIR": "/nonexistent"}}
    yield "a locale that is not there", {"environment": {"LC_ALL": "xx_XX", "LANG": "xx"}}
