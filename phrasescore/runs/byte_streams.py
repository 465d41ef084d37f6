r"""Files as bytes: plain or gzip, standard input and output, atomic writing.

Lines end at ``b"\n"`` and nowhere else: U+0085 and U+2028 are ordinary characters to Moses, so
``str.splitlines`` is never used. Output bytes depend on the content alone: no time stamp and no
file name in the gzip header, and a packer that gives equal bytes on every processor (decision 14).
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from phrasescore.errors import InputError, SettingsError
from phrasescore.runs.parts import part_path
from phrasescore.runs.pipes import STANDARD_STREAM as STANDARD_STREAM
from phrasescore.runs.pipes import refuse_pipe, refuse_second_reading
from phrasescore.runs.regular_files import is_work_file, open_regular
from phrasescore.runs.system_errors import STANDARD_OUTPUT, is_full, refusal, unwritable

GZIP_MAGIC = b"\x1f\x8b"
_BLOCK = 1 << 20
_LEVEL = 3  # of zlib-ng: less time and 17 % smaller files than level 1 of zlib


def is_gzip_name(path: str | Path) -> bool:
    """Tell whether Moses would take ``path`` for gzip: by its name, not by its content."""
    return str(path).endswith(".gz")


class BinaryDataError(InputError):
    """A zero byte where text was expected.

    Args:
        data: The bytes around it that were read together.
        place: Where it is among all bytes of the file, unpacked.
        path: The file.
    """

    def __init__(self, data: bytes, place: int, path: str | Path) -> None:
        super().__init__(
            f"binary data, a zero byte after {place:,} bytes, where text was expected; perhaps it "
            "is in UTF-16",
            path=path,
            remedy="give plain text or gzip in UTF-8; iconv -f UTF-16 -t UTF-8 converts it",
        )
        self.data = data


@contextlib.contextmanager
def open_input(path: str | Path, *, is_text: bool = True) -> Iterator[BinaryIO]:
    """Open a plain or gzip file, or standard input for ``-``, as a binary stream.

    gzip is recognised by its first two bytes, so a wrongly named file still reads.

    Args:
        path: The file.
        is_text: Whether a zero byte is refused: UTF-16 would be read as other words.

    Raises:
        InputError: The file does not exist, is a folder, is not readable, is a truncated or damaged
            gzip file, or is no text (raised while reading inside the ``with`` block, too).
    """
    with contextlib.ExitStack() as stack:
        try:
            raw = _unzipped(_opened(path, stack), stack)
            reader = _InputReader(raw, path, is_text=is_text)
            stream = stack.enter_context(io.BufferedReader(reader, _BLOCK))
        except OSError as error:
            raise refusal(error, path) from None
        try:
            yield stream
        except EOFError:
            raise InputError(
                "the gzip data end in the middle", path=path, remedy="copy or make the file again"
            ) from None
        except _damaged() as error:
            raise InputError(
                f"damaged gzip data ({error})", path=path, remedy="copy or make the file again"
            ) from None
        except OSError as error:
            # what names a file is about that one, what tells of a full disk about an output
            if error.filename is not None or is_full(error) or isinstance(error, BrokenPipeError):
                raise
            raise refusal(error, path) from None


def _opened(path: str | Path, stack: contextlib.ExitStack) -> BinaryIO:
    if str(path) == STANDARD_STREAM:
        return sys.stdin.buffer
    if is_work_file(path):
        return stack.enter_context(open_regular(path))
    refuse_second_reading(path)
    return stack.enter_context(Path(path).open("rb", buffering=_BLOCK))


def _unzipped(raw: BinaryIO, stack: contextlib.ExitStack) -> io.BufferedIOBase:
    peekable = raw if hasattr(raw, "peek") else io.BufferedReader(cast(io.RawIOBase, raw))
    if peekable.peek(2)[:2] != GZIP_MAGIC:
        return cast(io.BufferedIOBase, peekable)
    return cast(io.BufferedIOBase, stack.enter_context(_gzip().open(peekable, "rb")))


class _InputReader(io.RawIOBase):
    """The bytes of a plain or unpacked file, for a buffered reader.

    A buffered reader asks for ``closed`` with every line. A gzip file computes that in Python,
    where a signal can raise KeyboardInterrupt; the buffered reader raises another error instead.
    """

    def __init__(self, stream: io.BufferedIOBase, path: str | Path, *, is_text: bool) -> None:
        self._stream, self._path, self._is_text = stream, path, is_text
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._stream.seekable()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._position = self._stream.seek(offset, whence)
        return self._position

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read1(len(buffer))
        if self._is_text and (place := data.find(b"\0")) >= 0:
            raise BinaryDataError(data, self._position + place, self._path)
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


def _gzip() -> Any:
    """Return the module that packs and unpacks; help texts do without."""
    try:
        from zlib_ng import gzip_ng
    except ImportError:  # a platform without zlib-ng wheels
        import gzip

        return gzip
    return gzip_ng


def packer() -> str:
    """Return what decides the bytes of gzip output, e.g. ``zlib-ng 2.3.3, level 3``."""
    import zlib

    with contextlib.suppress(ImportError):
        from zlib_ng import zlib_ng

        return f"zlib-ng {zlib_ng.ZLIBNG_RUNTIME_VERSION}, level {_LEVEL}"
    return f"zlib {zlib.ZLIB_RUNTIME_VERSION}, level {_LEVEL}"


def _damaged() -> tuple[type[Exception], ...]:
    """Return what is raised where gzip data are wrong."""
    import gzip
    import zlib

    with contextlib.suppress(ImportError):
        from zlib_ng import zlib_ng

        return gzip.BadGzipFile, zlib.error, cast("type[Exception]", zlib_ng.error)
    return gzip.BadGzipFile, zlib.error


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


class GzipMember(bytes):
    """One whole gzip member; members may be concatenated (Moses reads them)."""

    def text(self) -> bytes:
        """Return what was compressed."""
        return bytes(_gzip().decompress(self))


def compress_member(data: bytes) -> GzipMember:
    """Return ``data`` as one member, unless it is one already."""
    if isinstance(data, GzipMember):
        return data
    return GzipMember(_gzip().compress(data, compresslevel=_LEVEL, mtime=0))


def as_written(data: bytes, path: str | Path) -> bytes:
    """Return what stands in a file of this name for ``data``, compressed already or not."""
    if is_gzip_name(path):
        return compress_member(data)
    return data.text() if isinstance(data, GzipMember) else data


@contextlib.contextmanager
def open_output(path: str | Path, *, packed: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing that gets its final name only when it is whole.

    The data go to a hidden file beside it, which is flushed to disk and renamed at the end, or
    removed if the block raises. A name ending in ``.gz`` is compressed. ``-`` is standard output.

    Args:
        path: The final name.
        packed: Whether the data are compressed already if the name says so.

    Raises:
        SettingsError: The folder does not exist or cannot be written.
        StorageError: The disk is full.
    """
    if str(path) == STANDARD_STREAM:
        try:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        except OSError as error:
            raise unwritable(error, STANDARD_OUTPUT) if is_full(error) else error from None
        return
    path = Path(path)
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        # a pipe or a device such as /dev/null: there is nothing to replace
        part = None if is_stream(path) else part_path(path)
        raw = path.open("wb") if part is None else own_file(part)
    except OSError as error:
        raise unwritable(error, path) from None
    try:
        with raw:
            if part is not None and is_gzip_name(path) and not packed:
                with io.BufferedWriter(_GzipMembers(raw), _BLOCK) as zipped:
                    yield cast(BinaryIO, zipped)
            else:
                yield raw
            raw.flush()
            if part is not None:
                os.fsync(raw.fileno())
                part.replace(path)
    except BaseException as error:
        if part is not None:
            part.unlink(missing_ok=True)
        if isinstance(error, OSError) and is_full(error):
            raise unwritable(error, path) from None
        raise


def own_file(path: Path, flags: int = os.O_EXCL, buffering: int = _BLOCK) -> BinaryIO:
    """Open a file of our own for writing; not through a link, which may lead anywhere.

    Args:
        path: A hidden name beside an output, or any name in a folder that the user names or that
            ``own_folder`` has made.
        flags: More of ``os.open``: ``O_APPEND`` or ``O_TRUNC`` for a file that may be there; by
            default there must be none.
        buffering: See ``open``.

    Raises:
        SettingsError: A link, a pipe or a device has this name, or the file has a second name.
        OSError: It cannot be made.
    """
    # a file that turns out to be somebody else's is not truncated, and a pipe is not waited for
    how = (
        flags & ~os.O_TRUNC | os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    )
    try:
        opened = os.open(path, how, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            refuse_link(path)
        raise
    found = os.fstat(opened)
    is_file = stat.S_ISREG(found.st_mode)
    if not is_file or found.st_nlink > 1:
        os.close(opened)
        raise _not_ours("a file with a second name" if is_file else "a pipe or a device", path)
    if flags & os.O_TRUNC:
        os.ftruncate(opened, 0)
    return os.fdopen(opened, "r+b", buffering=buffering)


def own_folder(path: Path) -> Path:
    """Make a folder of our own, unless it is there; return it.

    Raises:
        SettingsError: It is a link.
        OSError: It cannot be made.
    """
    refuse_link(path)
    path.mkdir(parents=True, exist_ok=True)
    return path


def refuse_link(path: Path) -> None:
    """Refuse to write through a link that somebody may have put in the place of our own work.

    Raises:
        SettingsError: It is one.
    """
    if path.is_symlink():
        raise _not_ours("a link", path)


def _not_ours(what: str, path: Path) -> SettingsError:
    return SettingsError(
        f"cannot write there ({what}, where a file or folder of this program belongs)",
        path=path,
        remedy="move it away, or name another output",
    )


class _GzipMembers(io.RawIOBase):
    """Packs a stream in members of one size, so that the bytes do not depend on the writes."""

    def __init__(self, packed: IO[bytes]) -> None:
        self._packed, self._waiting = packed, bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._waiting += data
        while len(self._waiting) > _BLOCK:  # the last member is packed when the stream is closed
            self._packed.write(compress_member(bytes(self._waiting[:_BLOCK])))
            del self._waiting[:_BLOCK]
        return len(data)

    def close(self) -> None:
        try:
            if not self.closed:
                self._packed.write(compress_member(bytes(self._waiting)))
        finally:
            super().close()


def write_atomically(path: str | Path, data: bytes) -> None:
    """Write ``data`` as the whole content of ``path``, in one step that cannot be half done."""
    with open_output(path) as stream:
        stream.write(data)


def sha256_of(path: str | Path) -> str:
    """Return the hexadecimal SHA-256 of a file's bytes as they lie on disk.

    Raises:
        InputError: It is a pipe, which nothing would be left of.
    """
    import hashlib  # it loads OpenSSL; help texts do without

    if not is_work_file(path):
        refuse_pipe(path)
    digest = hashlib.sha256()
    with open_regular(path) if is_work_file(path) else Path(path).open("rb") as stream:
        try:
            while block := stream.read(_BLOCK):
                digest.update(block)
        except OSError as error:
            error.filename = str(path)  # reading names no file
            raise
    return digest.hexdigest()


def file_state(path: str | Path) -> list[Any]:
    """Return what changes with a file, or with one of a folder: place, size, time of change.

    It stands for the content where reading all of it would take too long; JSON values.

    Raises:
        OSError: It is not there.
    """
    path = Path(path)
    if path.is_dir():
        return [file_state(part) for part in sorted(path.iterdir())]
    found = path.stat()
    return [str(path.absolute()), found.st_size, found.st_mtime_ns]


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


def is_stream(path: str | Path) -> bool:
    """Tell a pipe, a socket or a device from a file, a folder and what does not exist yet.

    In a work folder there is none: what stands there in the place of a file is replaced.
    """
    if is_work_file(path):
        return False
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
