"""Arrays that stay on disk: raw files, written from beginning to end and read in stretches.

They are not mapped. Pages of a mapped file count as memory of the process that has read them, so
that it would seem to grow with the table; and a full disk would end it without a word.
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

# of an array on disk, so many rows are in memory at a time
ROWS_AT_ONCE = 1 << 20


class DiskArray:
    """A raw file of rows of one kind, where whatever is written becomes part of the array.

    Args:
        path: The file.
        kind: Of a row; ``(np.uint64, 2)`` for rows of two numbers.
        rows: If given, the file is made anew with so many rows of zeros, to be set in any order.
    """

    def __init__(self, path: Path, kind: DTypeLike, rows: int | None = None) -> None:
        self._path, self._kind = path, np.dtype(kind)
        if rows is not None:
            with path.open("wb") as stream:
                stream.truncate(rows * self._kind.itemsize)

    def __len__(self) -> int:
        return self._path.stat().st_size // self._kind.itemsize

    def __getitem__(self, rows: slice | EllipsisType) -> NDArray[Any]:
        """Read some rows that follow each other, or with ``...`` all of them."""
        begin, end, _ = (slice(None) if rows is ... else rows).indices(len(self))
        with self._path.open("rb") as stream:
            stream.seek(begin * self._kind.itemsize)
            return np.fromfile(stream, self._kind, max(0, end - begin))

    def __setitem__(self, begin: int, rows: NDArray[Any]) -> None:
        """Write rows from ``begin`` on."""
        with self._path.open("r+b") as stream:
            stream.seek(begin * self._kind.itemsize)
            stream.write(np.ascontiguousarray(rows, self._kind.base).data)

    def blocks(self) -> Iterator[NDArray[Any]]:
        """Read all rows, a block at a time."""
        for begin in range(0, len(self), ROWS_AT_ONCE):
            yield self[begin : begin + ROWS_AT_ONCE]


def write_npy(path: Path, kind: DTypeLike, size: int, parts: Iterable[NDArray[Any]]) -> None:
    """Write a file as ``np.save`` does: one dimension, of ``size`` numbers in several parts."""
    described = {
        "descr": np.lib.format.dtype_to_descr(np.dtype(kind)),
        "fortran_order": False,
        "shape": (size,),
    }
    with own_file(path, os.O_TRUNC) as stream:
        np.lib.format.write_array_header_1_0(stream, described)
        for part in parts:
            stream.write(np.ascontiguousarray(part, kind).data)
