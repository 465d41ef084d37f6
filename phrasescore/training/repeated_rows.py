"""Finds equal rows among any number of digests, in constant memory.

A hash table of all digests would not fit into the processor's caches or, for many digests, into
memory. Instead, the digests are partitioned. The part of a digest depends only on its value,
so equal digests are in the same part. A part is small enough for a hash table in a cache. Each
block of digests is sorted by part ("dealt") when it is read, and the results are put back into the
original order.

The arrays are raw files on disk. They are not memory-mapped, because the pages of a mapped file
count as memory of the process, so the process would seem to grow with the table. Also, a full disk
would kill the process without an error message.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from phrasescore.runs.final_names import own_file
from phrasescore.words.hashing import Digests, is_first

# rows of an array on disk that are in memory at a time
ROWS_AT_ONCE = 1 << 20


class DiskArray:
    """An array of rows in a raw file.

    Args:
        path: The file.
        kind: Type of a row; ``(np.uint64, 2)`` for rows of two numbers.
        rows: The file is created with this many rows of zeros, to be set in any order.
    """

    def __init__(self, path: Path, kind: DTypeLike, rows: int = 0) -> None:
        self._path, self._kind = path, np.dtype(kind)
        with path.open("wb") as stream:
            stream.truncate(rows * self._kind.itemsize)

    def __len__(self) -> int:
        return self._path.stat().st_size // self._kind.itemsize

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Read a slice of rows."""
        begin, end, _ = rows.indices(len(self))
        with self._path.open("rb") as stream:
            stream.seek(begin * self._kind.itemsize)
            return np.fromfile(stream, self._kind, max(0, end - begin))

    def __setitem__(self, begin: int, rows: NDArray[Any]) -> None:
        """Write rows, starting at row ``begin``."""
        with self._path.open("r+b") as stream:
            stream.seek(begin * self._kind.itemsize)
            stream.write(np.ascontiguousarray(rows, self._kind.base).data)

    def append(self, rows: NDArray[Any]) -> None:
        """Write rows after the last row."""
        self[len(self)] = rows

    def blocks(self) -> Iterator[NDArray[Any]]:
        """Yield all rows in blocks."""
        for begin in range(0, len(self), ROWS_AT_ONCE):
            yield self[begin : begin + ROWS_AT_ONCE]


def write_npy(path: Path, kind: DTypeLike, size: int, parts: Iterable[NDArray[Any]]) -> None:
    """Write a one-dimensional array of ``size`` numbers like ``np.save``, part by part."""
    described = np.lib.format.dtype_to_descr(np.dtype(kind))
    header = {"descr": described, "fortran_order": False, "shape": (size,)}
    with own_file(path, os.O_TRUNC) as stream:
        np.lib.format.write_array_header_1_0(stream, header)
        for part in parts:
            stream.write(np.ascontiguousarray(part, kind).data)


# approximate number of rows in a part; their digests and hash table take about 16 MB
ROWS_OF_A_PART = 1 << 19


def first_of_equals(digests: Iterable[Digests], rows: int, scratch: Path, name: str) -> DiskArray:
    """Return ``(rows,)`` bool: true for each row that is the first with its digest.

    Args:
        digests: The digests of all rows, in blocks.
        rows: Number of rows.
        scratch: A folder for files of 22 bytes per row in all, which the next call may overwrite.
        name: Name of the result file ``NAME.first``, which stays in the folder.
    """
    # "dealt" arrays hold the blocks one after another; within a block, rows are sorted by part
    dealt = DiskArray(scratch / "dealt.digests", (np.uint64, 2), rows)
    order = DiskArray(scratch / "dealt.order", np.int32, rows)
    dealt_first = DiskArray(scratch / "dealt.first", np.bool_, rows)
    parts, begin = -(-rows // ROWS_OF_A_PART), 0
    borders = []  # for each block: the row where each part begins, and the end of the block
    for block in digests:
        part = (block[:, 1] % np.uint64(parts)).astype(np.uint16)
        by_part = np.argsort(part, kind="stable").astype(np.int32)
        dealt[begin], order[begin] = block[by_part], by_part
        sizes = np.bincount(part, minlength=parts)
        borders.append([begin, *(begin + np.cumsum(sizes)).tolist()])
        begin += len(block)
    for part_number in range(parts):
        segments = [slice(*ends[part_number : part_number + 2]) for ends in borders]
        found = is_first(np.concatenate([dealt[segment] for segment in segments]))
        cuts = np.cumsum([segment.stop - segment.start for segment in segments])[:-1]
        for segment, flags in zip(segments, np.split(found, cuts), strict=True):
            dealt_first[segment.start] = flags
    first = DiskArray(scratch / f"{name}.first", np.bool_, rows)
    for ends in borders:
        whole = slice(ends[0], ends[-1])
        undealt = np.empty(ends[-1] - ends[0], np.bool_)
        undealt[order[whole]] = dealt_first[whole]
        first[ends[0]] = undealt
    return first
