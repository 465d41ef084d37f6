"""Finding equal rows among any number of digests, in constant memory.

A hash table of all digests would not fit into the processor's caches, nor at some size into memory.
Instead, the digests are partitioned: the part of a digest depends only on its value, so equal
digests are in the same part, and a part is small enough for a hash table in a cache. Each block of
digests is sorted by part ("dealt") when it is read, and the results are sorted back.

The arrays are raw files on disk and are not memory-mapped: the pages of a mapped file count as
memory of the process, which would seem to grow with the table, and a full disk would kill the
process without an error message.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import EllipsisType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from phrasescore.runs.final_names import own_file
from phrasescore.words.distinct_phrases import Digests, first_rows, groups_of, is_first

# rows of an array on disk that are in memory at a time
ROWS_AT_ONCE = 1 << 20


class DiskArray:
    """An array of rows in a raw file.

    Args:
        path: The file.
        kind: Type of a row; ``(np.uint64, 2)`` for rows of two numbers.
        rows: If given, the file is created with this many rows of zeros, to be set in any order.
    """

    def __init__(self, path: Path, kind: DTypeLike, rows: int | None = None) -> None:
        self._path, self._kind = path, np.dtype(kind)
        if rows is not None:
            with path.open("wb") as stream:
                stream.truncate(rows * self._kind.itemsize)

    def __len__(self) -> int:
        return self._path.stat().st_size // self._kind.itemsize

    def __getitem__(self, rows: slice | EllipsisType) -> NDArray[Any]:
        """Read a slice of rows, or all rows with ``...``."""
        begin, end, _ = (slice(None) if rows is ... else rows).indices(len(self))
        with self._path.open("rb") as stream:
            stream.seek(begin * self._kind.itemsize)
            return np.fromfile(stream, self._kind, max(0, end - begin))

    def __setitem__(self, begin: int, rows: NDArray[Any]) -> None:
        """Write rows, starting at row ``begin``."""
        with self._path.open("r+b") as stream:
            stream.seek(begin * self._kind.itemsize)
            stream.write(np.ascontiguousarray(rows, self._kind.base).data)

    def blocks(self) -> Iterator[NDArray[Any]]:
        """Yield all rows in blocks."""
        for begin in range(0, len(self), ROWS_AT_ONCE):
            yield self[begin : begin + ROWS_AT_ONCE]


def write_npy(path: Path, kind: DTypeLike, size: int, parts: Iterable[NDArray[Any]]) -> None:
    """Write a one-dimensional array of ``size`` numbers like ``np.save``, part by part."""
    described = {
        "descr": np.lib.format.dtype_to_descr(np.dtype(kind)),
        "fortran_order": False,
        "shape": (size,),
    }
    with own_file(path, os.O_TRUNC) as stream:
        np.lib.format.write_array_header_1_0(stream, described)
        for part in parts:
            stream.write(np.ascontiguousarray(part, kind).data)


# the digests and the hash table of a part take at most 16 MB
ROWS_OF_A_PART = 1 << 19


class RepeatedRows:
    """Rows with digests, of which some are equal.

    Args:
        digests: The digests of all rows, in blocks.
        rows: Number of rows.
        scratch: A folder for files of 29 bytes per row, which the next object overwrites.
        name: Name of the file of ``first``, which is kept.
        rows_of_a_part: Approximate number of rows in a part.

    Attributes:
        first: (rows,) bool, whether a row is the first with its digest.
    """

    def __init__(
        self,
        digests: Iterable[Digests],
        rows: int,
        scratch: Path,
        name: str,
        rows_of_a_part: int = ROWS_OF_A_PART,
    ) -> None:
        self.first = DiskArray(scratch / f"{name}.first", np.bool_, rows)
        # dealt order: block by block, the rows of a block sorted by part
        self._digests = DiskArray(scratch / "dealt.digests", (np.uint64, 2), rows)
        self._order = DiskArray(scratch / "dealt.order", np.int32, rows)
        self._first = DiskArray(scratch / "dealt.first", np.bool_, rows)
        self._numbers = DiskArray(scratch / "dealt.numbers", np.int32, rows)
        # part by part: the number of a row's digest among the distinct digests of its part
        self._local = DiskArray(scratch / "dealt.local", np.int32, rows)
        self._borders = self._deal(digests, -(-rows // rows_of_a_part))
        self._find_first()

    def _deal(self, digests: Iterable[Digests], parts: int) -> NDArray[np.int64]:
        """Sort each block by part; return (blocks, parts + 1) the borders of the parts."""
        borders, begin = [], 0
        for block in digests:
            part = (block[:, 1] % np.uint64(parts)).astype(np.uint16)
            order = np.argsort(part, kind="stable").astype(np.int32)
            self._digests[begin] = block[order]
            self._order[begin] = order
            ends = np.cumsum(np.bincount(part, minlength=parts))
            borders.append(begin + np.r_[0, ends])
            begin += len(block)
        return np.array(borders, np.int64).reshape(-1, parts + 1)

    def _find_first(self) -> None:
        begin = 0
        for segments in self._parts():
            first = first_rows(_gathered(self._digests, segments))
            self._local[begin] = groups_of(first)
            _scatter(self._first, segments, is_first(first))
            begin += len(first)
        for rows in self._blocks():
            self.first[rows.start] = self._in_order(self._first, rows)

    def numbers(self) -> Iterator[NDArray[np.int32]]:
        """Number distinct digests 0, 1, 2, ... in order of appearance; yield the rows' numbers."""
        count = 0
        for rows in self._blocks():
            numbers = count + np.cumsum(self.first[rows], dtype=np.int32)
            count = numbers[-1]
            self._numbers[rows.start] = numbers[self._order[rows]] - np.int32(1)
        begin = 0
        for segments in self._parts():
            first = _gathered(self._first, segments)
            of_first = _gathered(self._numbers, segments)[first]
            local = self._local[begin : begin + len(first)]
            _scatter(self._numbers, segments, of_first[local])
            begin += len(first)
        for rows in self._blocks():
            yield self._in_order(self._numbers, rows)

    def _blocks(self) -> Iterator[slice]:
        for borders in self._borders:
            yield slice(int(borders[0]), int(borders[-1]))

    def _parts(self) -> Iterator[list[slice]]:
        """Yield the dealt positions of each part: a slice for each block."""
        for part in range(self._borders.shape[1] - 1):
            yield [slice(int(ends[part]), int(ends[part + 1])) for ends in self._borders]

    def _in_order(self, dealt: DiskArray, rows: slice) -> NDArray[Any]:
        found = dealt[rows]
        undealt = np.empty_like(found)
        undealt[self._order[rows]] = found
        return undealt


def _gathered(dealt: DiskArray, segments: list[slice]) -> NDArray[Any]:
    return np.concatenate([dealt[rows] for rows in segments])


def _scatter(dealt: DiskArray, segments: list[slice], values: NDArray[Any]) -> None:
    begin = 0
    for rows in segments:
        end = begin + rows.stop - rows.start
        dealt[rows.start] = values[begin:end]
        begin = end
