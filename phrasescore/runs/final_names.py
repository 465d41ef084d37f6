"""Outputs that are written under hidden names and get their final names when they are complete.

A part is the file of an output that is still being written. A scratch folder holds temporary files.
Both are called ``.NAME.RANDOM.part``, so two writers never use the same name. The writer keeps its
part locked (see `phrasescore.runs.lock`). An unlocked part was left by a writer that was killed,
and the next writer of the output removes it.

Output bytes depend only on the content: the gzip header has no time stamp and no file name, and the
compressor produces the same bytes on every processor (decision 14).
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import IO, Any, BinaryIO, cast

from phrasescore import errors
from phrasescore.errors import InputError, SettingsError, visible, writing
from phrasescore.runs.file_kinds import STANDARD_STREAM, is_stream, try_lock

_BLOCK = 1 << 20
_LEVEL = 3  # compression level of zlib-ng: faster than level 1 of zlib, with 17 % smaller files
_PART = re.compile(r"\.(.+)\.[0-9a-f]{8}\.part")
_NAME = re.compile(r"[^/\\\x00-\x1f\x7f-\x9f]+")  # no slash, backslash or control character
# Maximum number of bytes of a file name: usual file systems allow 255, and hidden names are longer.
_MAX_NAME = 230


@contextlib.contextmanager
def open_output(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for writing that gets its final name only when it is complete.

    The data are written to a hidden file beside ``path``. At the end, this file is flushed to disk
    and renamed; if the block raises an error, this file is removed. If ``path`` ends in ``.gz``,
    the data are compressed. ``-`` is standard output.

    Args:
        path: The final name.

    Raises:
        SettingsError: The folder does not exist or cannot be written.
        StorageError: The disk is full.
    """
    if str(path) == STANDARD_STREAM:
        try:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        except OSError as error:
            if errors.is_full(error):
                raise errors.unwritable(error, errors.STANDARD_OUTPUT) from None
            raise
        return
    path = Path(path)
    with writing(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        # a pipe or a device such as /dev/null is written directly
        part, raw = (None, path.open("wb")) if is_stream(path) else _new_part(path)
    try:
        with raw:
            if part is not None and is_gzip_name(path):
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
        if isinstance(error, OSError) and errors.is_full(error):
            raise errors.unwritable(error, path) from None
        raise


def own_file(path: Path, flags: int = os.O_EXCL, buffering: int = _BLOCK) -> BinaryIO:
    """Open a file of this program for writing, but not through a link, which may point anywhere.

    Args:
        path: A hidden name beside an output, or any name in a folder that the user named or that
            ``own_folder`` has created.
        flags: Further flags of ``os.open``: ``O_APPEND`` or ``O_TRUNC`` if the file may exist; by
            default it must not.
        buffering: See ``open``.

    Raises:
        SettingsError: A link, a pipe or a device has this name, or the file has a second hard link.
        OSError: The file cannot be created.
    """
    # O_NONBLOCK: do not wait for a pipe's reader
    how = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        # truncate the file only after the checks below
        opened = os.open(path, how | flags & ~os.O_TRUNC, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            refuse_link(path)
        raise
    found = os.fstat(opened)
    is_file = stat.S_ISREG(found.st_mode)
    if not is_file or found.st_nlink > 1:
        os.close(opened)
        raise _not_ours("a file with a second hard link" if is_file else "a pipe or a device", path)
    if flags & os.O_TRUNC:
        os.ftruncate(opened, 0)
    return os.fdopen(opened, "r+b", buffering=buffering)


def own_folder(path: Path) -> Path:
    """Create a folder for files of this program, unless it exists; return it.

    Raises:
        SettingsError: The path is a link.
        OSError: The folder cannot be created.
    """
    refuse_link(path)
    path.mkdir(parents=True, exist_ok=True)
    return path


def refuse_link(path: Path) -> None:
    """Raise an error if a path is a link, through which files elsewhere would be overwritten.

    Raises:
        SettingsError: The path is a link.
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
    """Compresses a stream into members of equal unpacked size, whatever the sizes of the writes."""

    def __init__(self, packed: IO[bytes]) -> None:
        self._packed, self._pending = packed, bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._pending += data
        while len(self._pending) > _BLOCK:  # closing the stream compresses the last member
            self._packed.write(compress_member(bytes(self._pending[:_BLOCK])))
            del self._pending[:_BLOCK]
        return len(data)

    def close(self) -> None:
        try:
            if not self.closed:
                self._packed.write(compress_member(bytes(self._pending)))
        finally:
            super().close()


def write_atomically(path: str | Path, data: bytes) -> None:
    """Replace the content of ``path`` by ``data``, either completely or not at all."""
    with open_output(path) as stream:
        stream.write(data)


def is_gzip_name(path: str | Path) -> bool:
    """Tell whether Moses would read ``path`` as gzip, which depends only on the name."""
    return str(path).endswith(".gz")


def gzip_module() -> ModuleType:
    """Return the module that compresses; it is imported late to keep ``--help`` fast."""
    from zlib_ng import gzip_ng

    return gzip_ng


def packer() -> str:
    """Describe the compressor, which determines gzip output: ``zlib-ng 2.3.3, level 3``."""
    from zlib_ng import zlib_ng

    return f"zlib-ng {zlib_ng.ZLIBNG_RUNTIME_VERSION}, level {_LEVEL}"


class GzipMember(bytes):
    """A complete gzip member; concatenated members are valid gzip, also for Moses."""

    def text(self) -> bytes:
        """Return the uncompressed data."""
        return bytes(gzip_module().decompress(self))


def compress_member(data: bytes) -> GzipMember:
    """Compress ``data`` to one member; return data that already is a member unchanged."""
    if isinstance(data, GzipMember):
        return data
    return GzipMember(gzip_module().compress(data, compresslevel=_LEVEL, mtime=0))


def as_written(data: bytes, path: str | Path) -> bytes:
    """Return ``data`` as a gzip member if this file name requires it, otherwise unpacked."""
    if is_gzip_name(path):
        return compress_member(data)
    return data.text() if isinstance(data, GzipMember) else data


def hidden(path: str | Path, ending: str) -> Path:
    """Return a hidden name beside an output, with the given ending.

    >>> hidden("out/table.gz", "journal").as_posix()
    'out/.table.gz.journal'
    """
    path = Path(path) if Path(path).name else Path(path).absolute()
    return path.parent / f".{path.name}.{ending}"


def _new_part(path: Path) -> tuple[Path, BinaryIO]:
    """Return a new part of an output and its open file; remove parts of killed writers."""
    remove_parts(path)
    while True:
        part = _part_name(path)
        stream = own_file(part)
        # another process may have removed the part before it was locked
        if try_lock(stream.fileno()) is not False and part.exists():
            return part, stream
        stream.close()


def _part_name(path: str | Path) -> Path:
    return hidden(path, f"{secrets.token_hex(4)}.part")


@contextlib.contextmanager
def scratch_folder(path: str | Path, mode: int = 0o700) -> Iterator[Path]:
    """Create a folder beside ``path`` for temporary files; remove it at the end.

    Folders that killed processes have left are removed first.

    Args:
        path: The output.
        mode: The permissions of the folder.

    Raises:
        SettingsError: The folder cannot be created; the error names the output.
    """
    with writing(path):
        folder, descriptor = _new_folder(Path(path), mode)
    try:
        yield folder
    finally:
        remove(folder)
        os.close(descriptor)


def _new_folder(path: Path, mode: int) -> tuple[Path, int]:
    """Return a new scratch folder and its open descriptor; remove folders of killed processes."""
    remove_parts(path)
    while True:
        folder = _part_name(path)
        folder.mkdir(mode=mode)
        # another process may remove the folder before it is opened and locked
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(folder, os.O_RDONLY)
            if try_lock(descriptor) is not False and folder.exists():
                return folder, descriptor
            os.close(descriptor)


def whole_name(part: str) -> str | None:
    """Return the output that a part or scratch folder belongs to; ``None`` for other names."""
    found = _PART.fullmatch(part)
    return found[1] if found is not None else None


def remove_parts(path: Path) -> None:
    """Remove the parts and scratch folders that killed writers of an output have left."""
    with contextlib.suppress(OSError):
        for found in path.absolute().parent.iterdir():
            if whole_name(found.name) == path.absolute().name:
                _remove_unlocked(found)


def _remove_unlocked(part: Path) -> None:
    access = os.O_RDONLY if part.is_dir() else os.O_RDWR
    with contextlib.suppress(OSError):  # in a shared folder, a part may belong to another user
        descriptor = os.open(part, access | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if try_lock(descriptor):
                remove(part)
        finally:
            os.close(descriptor)


def remove(part: Path) -> None:
    """Remove a file, a link or a folder with its content, if it exists."""
    with contextlib.suppress(FileNotFoundError):
        if part.is_dir() and not part.is_symlink():
            import shutil  # late, because it imports bz2 and lzma

            shutil.rmtree(part)
        else:
            part.unlink()


def file_name(feature: str, ending: str) -> str:
    """Make a file name from the name of a feature, which may be any text, and an ending.

    Args:
        feature: The name; bytes that are not UTF-8 are surrogates.
        ending: An ending such as ``.gz``.

    Raises:
        InputError: The name is empty, ``.`` or ``..``, or too long, or contains a slash, a
            backslash or a control character. The error has no path.

    >>> file_name("TranslationModel0", ".gz")
    'TranslationModel0.gz'
    """
    name = feature + ending
    is_name = _NAME.fullmatch(feature) and feature not in (".", "..")
    if not is_name or len(os.fsencode(name)) > _MAX_NAME:
        raise InputError(
            f"the feature name {visible(os.fsencode(feature), 60)!r} cannot be a file name",
            remedy="rename the feature; use letters, digits, '.', '-' and '_'",
        )
    return name
