"""Vectors and what they are of, in a ``.npz`` that numpy alone can read, nothing in it pickled.

The texts stand in one array of bytes with an offset for each: a phrase may be of any length and in
any encoding, and the file stays as small as they are. Vectors are written and read in blocks.
"""

from __future__ import annotations

import contextlib
import io
import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import InputError
from phrasescore.runs.file_kinds import refuse_pipe
from phrasescore.runs.final_names import open_output
from phrasescore.table.input_files import open_input

What = Literal["phrases", "words"]

# the same bytes for the same content, whenever they are written
_DATE = (1980, 1, 1, 0, 0, 0)
_ROWS_AT_ONCE = 16_384
_BEGIN = b"PK\3\4"
_WHAT: tuple[What, ...] = ("phrases", "words")
_REMEDY = "name a file that phrasescore analyze vectors wrote, or write it again"
# what zipfile and numpy raise for files that are not what they should be
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, KeyError, ValueError, EOFError),
    *(SyntaxError, TypeError, OverflowError, RuntimeError, RecursionError, tokenize.TokenError),
)
Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class VectorFile:
    """What a file of vectors has beside them.

    Args:
        path: The file.
        what: What the vectors are of.
        model: The digest of the model that made them.
        text: The bytes of N texts, one after the other.
        offsets: (N + 1,) where each begins.
        size: D, the numbers of a vector.
    """

    path: Path
    what: What
    model: str
    text: bytes
    offsets: NDArray[np.int64]
    size: int

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def text_of(self, row: int) -> bytes:
        """Return what a vector is of."""
        return self.text[self.offsets[row] : self.offsets[row + 1]]

    def blocks(self) -> Iterator[tuple[int, Vectors]]:
        """Yield the first row of a block and its vectors, ``(rows, D)``.

        Raises:
            InputError: The file is damaged.
        """
        with _opened(self.path) as archive, archive.open("vectors.npy") as member:
            _header(archive, member)
            for begin in range(0, len(self), _ROWS_AT_ONCE):
                rows = min(_ROWS_AT_ONCE, len(self) - begin)
                data = member.read(rows * self.size * 4)
                block = np.frombuffer(data, np.float32).reshape(rows, self.size)
                if not np.isfinite(block).all():
                    raise ValueError("a vector has a number that is not finite")
                yield begin, block


def write_vectors(
    path: str | Path,
    what: What,
    model: str,
    texts: tuple[bytes, NDArray[np.int64]],
    vectors: Iterable[Vectors],
    size: int,
) -> None:
    """Write vectors block by block; the file appears when it is whole.

    Args:
        path: Where to; ``-`` is standard output.
        what: What the vectors are of.
        model: The digest of the model that makes them.
        texts: The bytes of N texts one after the other, and (N + 1,) where each begins.
        vectors: Blocks of rows, N in all.
        size: D, the numbers of a vector.

    Raises:
        SettingsError: The file cannot be written.
    """
    text, offsets = texts
    small = {
        "what": np.array(what),
        "model": np.array(model),
        "offsets": offsets,
        "text": np.frombuffer(text, np.uint8),
    }
    with open_output(path) as stream, zipfile.ZipFile(_Onwards(stream), "w") as archive:
        for name, values in small.items():
            with _member(archive, name) as member:
                np.lib.format.write_array(member, values, allow_pickle=False)
        with _member(archive, "vectors") as member:
            shape = (len(offsets) - 1, size)
            described = {"descr": "<f4", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(member, described)
            for block in vectors:
                member.write(np.ascontiguousarray(block, "<f4").data)


class _Onwards(io.RawIOBase):
    """Passes on what is written, in one go from begin to end, as a pipe or a device wants it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._stream.write(data)


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    return archive.open(zipfile.ZipInfo(f"{name}.npy", _DATE), "w", force_zip64=True)


def open_vectors(path: str | Path) -> VectorFile:
    """Read all of a file but its vectors.

    Raises:
        InputError: It cannot be read, or is no such file.
    """
    with _opened(path) as archive:
        what, model = (str(_read(archive, name, "U", 0)) for name in ("what", "model"))
        offsets = _read(archive, "offsets", "i", 1).astype(np.int64)
        text = _read(archive, "text", "u", 1).astype(np.uint8).tobytes()
        with archive.open("vectors.npy") as member:
            shape, kind = _header(archive, member)
        known = [each for each in _WHAT if each == what]
        if len(shape) != 2 or not 0 < shape[0] == len(offsets) - 1 or not known:
            raise ValueError("its arrays do not go together")
        if offsets[0] or offsets[-1] != len(text) or (np.diff(offsets) < 0).any():
            raise ValueError("its offsets are not those of its text")
        if kind != np.dtype("<f4"):
            raise ValueError("its vectors are not in float32")
        return VectorFile(Path(path), known[0], model, text, offsets, shape[1])


def _read(archive: zipfile.ZipFile, name: str, kind: str, dimensions: int) -> NDArray[Any]:
    with archive.open(f"{name}.npy") as member:
        shape, found = _header(archive, member)
        if found.kind != kind or len(shape) != dimensions:
            raise ValueError(f"{name} is of another type or shape")
        return np.frombuffer(member.read(), found).reshape(shape)


def _header(archive: zipfile.ZipFile, member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Read the header of an array, and see that the array has as many bytes as it says."""
    version = np.lib.format.read_magic(member)
    if version != (1, 0):
        raise ValueError("an array of another version")
    shape, by_columns, kind = np.lib.format.read_array_header_1_0(member)
    stored = archive.getinfo(str(member.name))
    if stored.compress_type != zipfile.ZIP_STORED:
        # a thousand times larger inside, which nobody could tell before the memory is taken
        raise ValueError("an array is compressed")
    size = stored.file_size - member.tell()
    if by_columns or kind.hasobject or math.prod(shape) * kind.itemsize != size:
        raise ValueError("an array has not as many numbers as it says")
    return shape, kind


@contextlib.contextmanager
def _opened(path: str | Path) -> Iterator[zipfile.ZipFile]:
    """Open the archive, and turn what may be wrong with it into one kind of error."""
    refuse_pipe(path)
    with open_input(path, is_text=False) as stream:
        try:
            # zipfile looks at the end alone, whatever stands before
            if stream.read(len(_BEGIN)) != _BEGIN:
                raise ValueError("it does not begin as one")
            with zipfile.ZipFile(stream) as archive:
                yield archive
        except _BROKEN as error:
            raise InputError(
                f"this is no file of vectors, or a damaged one ({str(error)[:80]})",
                path=path,
                remedy=_REMEDY,
            ) from None
