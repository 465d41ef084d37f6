r"""Files as bytes: plain or gzip, standard input and output, atomic writing.

Lines end at ``b"\n"`` and nowhere else: U+0085 and U+2028 are ordinary characters to Moses, so
``str.splitlines`` is never used. Output bytes depend on the content alone (no time stamp, no file
name in the gzip header). isal does the work where it is installed, the standard library elsewhere.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from phrasescore.errors import InputError, SettingsError

try:
    from isal import igzip, isal_zlib
except ImportError:  # a platform without isal wheels
    igzip = isal_zlib = None  # type: ignore[assignment]

GZIP_MAGIC = b"\x1f\x8b"
STANDARD_STREAM = "-"
_BLOCK = 1 << 20
# isal's level 1 is 10 times faster than zlib's 6 and costs 15 % in size
_LEVEL = 1


def is_gzip_name(path: str | Path) -> bool:
    """Tell whether Moses would take ``path`` for gzip: by its name, not by its content."""
    return str(path).endswith(".gz")


@contextlib.contextmanager
def open_input(path: str | Path) -> Iterator[BinaryIO]:
    """Open a plain or gzip file, or standard input for ``-``, as a binary stream.

    gzip is recognised by its first two bytes, so a wrongly named file still reads.

    Raises:
        InputError: The file does not exist, is a folder, is not readable, or is a truncated or
            damaged gzip file (raised while reading inside the ``with`` block).
    """
    try:
        with contextlib.ExitStack() as stack:
            raw: BinaryIO
            if str(path) == STANDARD_STREAM:
                raw = sys.stdin.buffer
            else:
                raw = stack.enter_context(Path(path).open("rb", buffering=_BLOCK))
            peekable = raw if hasattr(raw, "peek") else io.BufferedReader(cast(io.RawIOBase, raw))
            magic = peekable.peek(2)[:2]
            if magic == GZIP_MAGIC:
                opener = igzip if igzip is not None else gzip
                unzipped = stack.enter_context(opener.open(peekable, "rb"))
                peekable = stack.enter_context(io.BufferedReader(unzipped, _BLOCK))
            yield peekable
    except FileNotFoundError:
        raise InputError("no such file", path=path) from None
    except IsADirectoryError:
        raise InputError("a folder, where a file was expected", path=path) from None
    except PermissionError:
        raise InputError("no permission to read it", path=path) from None
    except EOFError:
        raise InputError(
            "the gzip data end in the middle", path=path, remedy="copy or make the file again"
        ) from None
    except (gzip.BadGzipFile, zlib.error, _IsalError) as error:
        raise InputError(
            f"damaged gzip data ({error})", path=path, remedy="copy or make the file again"
        ) from None


_IsalError = cast(type[Exception], isal_zlib.error if isal_zlib is not None else zlib.error)


def read_lines(path: str | Path) -> Iterator[bytes]:
    """Yield the lines of a plain or gzip file, or of ``-``, without their line feeds."""
    with open_input(path) as stream:
        for line in stream:
            yield line[:-1] if line.endswith(b"\n") else line


def line_blocks(stream: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield some ``size`` bytes of whole lines at a time; only the last may lack its line feed."""
    while block := stream.read(size):
        if not block.endswith(b"\n"):
            block += stream.readline()
        yield block


def compress_member(data: bytes) -> bytes:
    """Return ``data`` as one whole gzip member; members may be concatenated (Moses reads them)."""
    if igzip is not None:
        return igzip.compress(data, compresslevel=_LEVEL, mtime=0)
    return gzip.compress(data, compresslevel=_LEVEL, mtime=0)


@contextlib.contextmanager
def open_output(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for writing that gets its final name only when it is whole.

    The data go to a hidden file beside it, which is flushed to disk and renamed at the end, or
    removed if the block raises. A name ending in ``.gz`` is compressed. ``-`` is standard output.

    Raises:
        SettingsError: The folder does not exist or cannot be written.
    """
    if str(path) == STANDARD_STREAM:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        # a pipe or a device such as /dev/null: there is nothing to replace
        with path.open("wb") as stream:
            yield stream
        return
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        raw: IO[bytes] = part.open("wb", buffering=_BLOCK)
    except OSError as error:
        raise SettingsError(
            f"cannot write there ({error.strerror})", path=path, remedy="name another output"
        ) from None
    try:
        with raw:
            if is_gzip_name(path):
                with _gzip_writer(raw) as zipped:
                    yield zipped
            else:
                yield cast(BinaryIO, raw)
            raw.flush()
            os.fsync(raw.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _gzip_writer(raw: IO[bytes]) -> Iterator[BinaryIO]:
    kind = igzip.IGzipFile if igzip is not None else gzip.GzipFile
    with (
        cast(Any, kind)(
            filename="", fileobj=raw, mode="wb", compresslevel=_LEVEL, mtime=0
        ) as zipped,
        io.BufferedWriter(zipped, _BLOCK) as buffered,
    ):
        yield cast(BinaryIO, buffered)


def write_atomically(path: str | Path, data: bytes) -> None:
    """Write ``data`` as the whole content of ``path``, in one step that cannot be half done."""
    with open_output(path) as stream:
        stream.write(data)


def sha256_of(path: str | Path) -> str:
    """Return the hexadecimal SHA-256 of a file's bytes as they lie on disk."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def refuse_same_file(path: str | Path, output: str | Path, what: str) -> None:
    """Refuse to write an output onto what it is made from; ``-`` stands for what the shell opened.

    The files themselves are compared, because names can differ.

    Args:
        path: An input, ``what`` of the sentence, e.g. ``the table itself``.
        output: Where to write.
        what: What the input is.

    Raises:
        SettingsError: They are one file.
    """
    try:
        read = os.fstat(0) if str(path) == STANDARD_STREAM else Path(path).stat()
        written = os.fstat(1) if str(output) == STANDARD_STREAM else Path(output).stat()
    except OSError:
        return  # there is no output yet, or reading will say what is wrong
    if stat.S_ISREG(read.st_mode) and os.path.samestat(read, written):
        raise SettingsError(
            f"the output is {what}", path=output, remedy="name another output with -o"
        )


def is_new_or_file(path: str | Path) -> bool:
    """Tell what a file can be written to under a final name from a pipe or a device."""
    return Path(path).is_file() or not Path(path).exists()
