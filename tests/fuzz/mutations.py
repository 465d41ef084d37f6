"""Generates files: valid files with a few faults, and random files from pieces of their format."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from hypothesis import strategies as st

from tests.fuzz.originals import Format

_NUMBER = re.compile(rb"[0-9.]+")


def _flip(data: bytearray, at: int, pieces: tuple[bytes, ...], rng: random.Random) -> None:
    if data:
        data[at % len(data)] ^= 1 << rng.randrange(8)


def _insert(data: bytearray, at: int, pieces: tuple[bytes, ...], rng: random.Random) -> None:
    data[at:at] = rng.choice(pieces)


def _overwrite(data: bytearray, at: int, pieces: tuple[bytes, ...], rng: random.Random) -> None:
    piece = rng.choice(pieces)
    data[at : at + len(piece)] = piece


def _remove(data: bytearray, at: int, pieces: tuple[bytes, ...], rng: random.Random) -> None:
    del data[at : at + rng.choice((1, 1, 2, 8, 40))]


def _repeat(data: bytearray, at: int, pieces: tuple[bytes, ...], rng: random.Random) -> None:
    data[at:at] = data[at : at + rng.choice((1, 5, 40, 200))] * rng.choice((1, 2, 20))


def _cut(data: bytearray, at: int, pieces: tuple[bytes, ...], rng: random.Random) -> None:
    if rng.random() < 0.3:
        del data[at:]


def _other_number(data: bytearray, at: int, pieces: tuple[bytes, ...], rng: random.Random) -> None:
    """Replace the next number by another piece."""
    if (number := _NUMBER.search(data, at)) is not None:
        data[number.start() : number.end()] = rng.choice(pieces)


def _other_line(data: bytearray, at: int, pieces: tuple[bytes, ...], rng: random.Random) -> None:
    """Insert a copy of some line of the file before the next line."""
    lines = bytes(data).splitlines(keepends=True)
    begin = data.find(b"\n", at) + 1
    data[begin:begin] = rng.choice(lines or [b""])


def _large(data: bytearray, at: int, pieces: tuple[bytes, ...], rng: random.Random) -> None:
    """Overwrite 1 to 8 bytes with an integer at a limit of its type."""
    size = rng.choice((1, 2, 4, 8))
    value = rng.choice((0, 1, (1 << 8 * size) - 1, 1 << (8 * size - 1), (1 << 8 * size - 1) - 1))
    data[at : at + size] = value.to_bytes(size, "little")


_FAULTS: tuple[Callable[[bytearray, int, tuple[bytes, ...], random.Random], None], ...] = (
    *(_flip, _insert, _overwrite, _remove, _repeat, _cut, _large),
    *(_other_number, _other_number, _other_line),
)


def mutated(form: Format, seed: int) -> bytes:
    """Return a valid file of a format with up to eight faults."""
    rng = random.Random(seed)
    data = bytearray(rng.choice(form.files))
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        # the head matters most, so half of the faults are there
        most = len(data) if rng.random() < 0.5 else min(len(data), 120)
        at = rng.randrange(most + 1)
        if rng.random() < 0.3:
            at = max(data.find(b"\n", at), 0)
        rng.choice(_FAULTS)(data, at, form.pieces, rng)
    return bytes(data)


def files_of(form: Format) -> st.SearchStrategy[bytes]:
    """Return a strategy that draws files of a format."""
    return st.one_of(
        st.integers(0, 1 << 62).map(lambda seed: mutated(form, seed)),
        st.lists(st.sampled_from(form.pieces), max_size=60).map(b"".join),
        st.binary(max_size=200),
    )
