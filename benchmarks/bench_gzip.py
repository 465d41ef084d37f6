"""Compares gzip libraries: speed, size, and equal bytes for equal text (docs/decisions/0014).

The libraries take turns to pack a table in pieces of 4 MiB. Then each library packs many short
pieces of the table in several processes, whose memory has different addresses. `--digests` only
prints each library's digest of the packed beginning of the table; to compare processors, run it
also under `qemu-x86_64 -cpu Haswell python ...`. Libraries that are not installed are skipped.

    python -m benchmarks.bench_gzip TABLE [--digests]
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import importlib
import multiprocessing
import statistics
import time
from collections.abc import Callable
from functools import partial

_PACKERS = {"isal": ("isal.igzip", 1, 2, 3), "zlib-ng": ("zlib_ng.gzip_ng", 1, 2, 3, 4)}
_PACKERS["zlib"] = ("gzip", 1, 2, 3)
_TEXTS, _LONG, _PROCESSES, _RUNS = 30_000, 1600, 8, 4
_BEGINNING, _PIECE = 6_000_000, 1 << 22


def _packers() -> dict[str, Callable[[bytes], bytes]]:
    found = {}
    for name, (module, *levels) in _PACKERS.items():
        try:
            compress = importlib.import_module(module).compress
        except ImportError:
            continue
        for level in levels:
            found[f"{name} {level}"] = partial(compress, compresslevel=level, mtime=0)
    return found


def _digests(name: str, text: bytes) -> list[bytes]:
    pack, step = _packers()[name], len(text) // _TEXTS
    pieces = (text[begin : begin + _LONG] for begin in range(0, _TEXTS * step, step))
    return [hashlib.sha256(pack(piece)).digest() for piece in pieces]


def main() -> None:
    """Print a line for each library and level."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table")
    parser.add_argument("--digests", action="store_true")
    given = parser.parse_args()
    with gzip.open(given.table) as stream:
        text = stream.read(_BEGINNING if given.digests else -1)
    if given.digests:
        for name, pack in _packers().items():
            print(name, hashlib.sha256(pack(text)).hexdigest())
        return
    pieces = [text[begin : begin + _PIECE] for begin in range(0, len(text), _PIECE)]
    sizes, times = {}, {name: [] for name in _packers()}
    for _ in range(_RUNS):
        for name, pack in _packers().items():
            begin = time.process_time()
            sizes[name] = sum(len(pack(piece)) for piece in pieces)
            times[name].append(time.process_time() - begin)
    start = multiprocessing.get_context("spawn")
    for name in times:
        with start.Pool(_PROCESSES, maxtasksperchild=1) as pool:
            made = pool.starmap(_digests, [(name, text[:_BEGINNING])] * _PROCESSES, chunksize=1)
        differ = sum(len(set(same)) > 1 for same in zip(*made, strict=True))
        rate = len(text) / statistics.median(times[name]) / 1e6
        ratio = len(text) / sizes[name]
        print(f"{name}: {rate:.0f} MB/s, ratio {ratio:.2f}, {differ} of {_TEXTS:,} texts differ")


if __name__ == "__main__":
    main()
