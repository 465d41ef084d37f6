"""Inputs that would need excessive memory are refused before it is allocated."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.world import write_world
from tests.support.warm_process import Surroundings, WarmProcesses


def test_an_alignment_of_long_lines(warm_processes: WarmProcesses, tmp_path: Path) -> None:
    """The alignment matrix of two lines of 5,000 words would need gigabytes."""
    write_world(tmp_path)
    for side in ("src", "trg"):
        (tmp_path / f"long.{side}").write_bytes(b"s0 " * 5000 + b"\n")
    call = "alignments --model in/search --source long.src --target long.trg --sentences 1 -o out"
    ended = warm_processes.observe(call.split(" "), Surroundings(tmp_path))
    assert (ended.status, b"a sentence of 5,000 words" in ended.errors) == (3, True), ended.errors
    assert ended.peak < 300 << 20
