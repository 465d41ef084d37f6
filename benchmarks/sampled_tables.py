"""Derives tables for benchmarks: part of a table, shuffled by source, or with many targets."""

from __future__ import annotations

import bisect
import gzip
import itertools
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

from phrasescore.table.input_files import open_input

# evenly spread stretches of consecutive lines, so that neighbours share prefixes as in the table
_STRETCHES = 16
_TARGETS = 20  # per source, as in tables from large corpora
_SEED = 1


def read_lines(table: Path) -> list[bytes]:
    with open_input(table) as stream:
        return list(stream)


def write_lines(path: Path, lines: Iterable[bytes]) -> Path:
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.writelines(lines)
    return path


def part_of(lines: list[bytes], count: int) -> list[bytes]:
    """Return ``count`` lines in evenly spread stretches; 0 for all lines."""
    if not 0 < count < len(lines):
        return lines
    length, distance = count // _STRETCHES, len(lines) // _STRETCHES
    return [
        line
        for at in range(_STRETCHES)
        for line in lines[at * distance : at * distance + max(1, length)]
    ]


def _source(line: bytes) -> bytes:
    return line.partition(b" ||| ")[0]


def shuffled_by_source(lines: list[bytes]) -> list[bytes]:
    """Return the lines with the sources in random order; the lines of a source stay together."""
    groups = [list(group) for _, group in itertools.groupby(lines, _source)]
    random.Random(_SEED).shuffle(groups)
    return list(itertools.chain.from_iterable(groups))


def with_many_targets(lines: list[bytes]) -> Iterator[bytes]:
    """Yield about as many lines as given, with 20 targets for each source of a sample.

    Half of the targets are neighbours of the source's own target in the sorted list of all targets,
    so they begin alike; the others are drawn at random. The scores are arbitrary.
    """
    rng = random.Random(_SEED)
    own = {source: line.split(b" ||| ", 2)[1] for line in lines for source in [_source(line)]}
    targets = sorted(set(own.values()))
    for source in sorted(rng.sample(sorted(own), max(1, len(lines) // _TARGETS))):
        first = bisect.bisect_left(targets, own[source])
        near = targets[first : first + _TARGETS // 2]
        drawn = rng.sample(targets, min(len(targets), 2 * _TARGETS))
        chosen = dict.fromkeys([*near, *drawn])
        for target in sorted(list(chosen)[:_TARGETS]):
            yield b" ||| ".join([source, target, b"0.05 0.05 0.05 0.05", b"0-0", b"1 1 1"]) + b"\n"
