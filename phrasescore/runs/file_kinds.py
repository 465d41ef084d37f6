"""Kinds of files: regular files, pipes, devices, and folders that other users can write.

A pipe can be read only once, and some devices never end. Opening a named pipe a second time would
wait for a second writer, and a second reading of the shell's ``<(...)`` would find it empty.
Therefore a second reading is an error.

Work folders, results and models may come from somebody else. If such a folder has a named pipe in
place of a file, reading it would wait for ever; a link to ``/dev/zero`` would fill the memory.
Commands declare their work folders with `only_regular_files`. In these folders, only regular files
are read or replaced.
Inputs and outputs that the user names may be pipes.

Some folders must be private, because compiled functions in them are unpickled, and parsed tables in
them are used without a check. No one else may put a file into such a folder or replace the folder.
The owners of the program are trusted, because they could run any code anyway.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from phrasescore.errors import InputError, SettingsError

STANDARD_STREAM = "-"
# the devices zero, full, random and urandom of Linux
_ENDLESS = frozenset(os.makedev(1, minor) for minor in (5, 7, 8, 9))
# for each running command: device, inode and name of each pipe that it has read (the name is needed
# because inode numbers are reused)
_readings: list[set[tuple[int, int, str]]] = []
# four times the size of the results of an experiment with hundreds of runs
_MAX_BYTES = 128 << 20
# the work folders of the running command, absolute, with a final separator
_work_folders: list[str] = []


@contextlib.contextmanager
def pipes_read_once() -> Iterator[None]:
    """Refuse to read a pipe twice while the block runs; only commands use this, not the library."""
    _readings.append(set())
    try:
        yield
    finally:
        _readings.pop()


def can_be_read_again(path: str | Path) -> bool:
    """Tell whether a path is a regular file, unlike standard input and pipes like ``<(...)``."""
    return str(path) != STANDARD_STREAM and Path(path).is_file()


def refuse_second_reading(path: str | Path) -> None:
    """Record that a path is about to be read.

    Raises:
        InputError: The path is a pipe that was read before, or a device that never ends.
        OSError: The path does not exist.
    """
    found = _finite(path)
    if _readings and stat.S_ISFIFO(found.st_mode):
        pipe = (found.st_dev, found.st_ino, os.path.abspath(path))  # noqa: PTH100 - links stay
        if pipe in _readings[-1]:
            raise _read_twice(path)
        _readings[-1].add(pipe)


def refuse_pipe(path: str | Path) -> None:
    """Raise an error if a file that will be read more than once is a pipe.

    Raises:
        InputError: The path is a pipe, or a device that never ends.
        OSError: The path does not exist.
    """
    if str(path) == STANDARD_STREAM or stat.S_ISFIFO(_finite(path).st_mode):
        raise _read_twice(path)


def _finite(path: str | Path) -> os.stat_result:
    """Return ``os.stat`` of a path; refuse devices that never end."""
    found = Path(path).stat()
    if stat.S_ISCHR(found.st_mode) and found.st_rdev in _ENDLESS:
        raise InputError("this device never ends", path=path, remedy="name a file")
    return found


def _read_twice(path: str | Path) -> InputError:
    return InputError(
        "a pipe, but it must be read more than once", path=path, remedy="write it to a file first"
    )


def is_stream(path: str | Path) -> bool:
    """Tell whether a path is a pipe, a socket or a device.

    The result is false for any path in a work folder, where writing replaces a pipe by a file.
    """
    if not is_work_file(path):
        with contextlib.suppress(OSError):
            mode = Path(path).stat().st_mode
            return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    return False


@contextlib.contextmanager
def only_regular_files(folder: str | Path) -> Iterator[None]:
    """Declare a folder as a work folder of this process while the block runs."""
    place = os.path.join(os.path.abspath(folder), "")  # noqa: PTH100, PTH118 - links stay
    _work_folders.append(place)
    try:
        yield
    finally:
        _work_folders.remove(place)


def is_work_file(path: str | Path) -> bool:
    """Tell whether a path is in a work folder, which may contain only regular files."""
    return os.path.abspath(path).startswith(tuple(_work_folders))  # noqa: PTH100 - links stay


def open_regular(path: str | Path) -> BinaryIO:
    """Open a file for reading without waiting; links to regular files are followed.

    Raises:
        InputError: The path names a pipe or a device.
        OSError: The path is missing, not readable, or names a folder or a socket.
    """
    # `open` raises an error for a folder
    return open(path, "rb", opener=_opened)


def read_regular(path: str | Path, max_bytes: int = _MAX_BYTES) -> bytes:
    """Return the content of a file of at most ``max_bytes`` bytes.

    Raises:
        InputError: The path names a pipe or a device, or the file is larger than ``max_bytes``.
        OSError: As in ``open_regular``.
    """
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > max_bytes:
            raise InputError(
                f"a file of {size:,} bytes, where at most {max_bytes:,} were expected", path=path
            )
        return stream.read(size)


def try_lock(descriptor: int) -> bool | None:
    """Lock an open file or folder for this process, until it is closed.

    Returns:
        Whether the file is now locked; false if another process holds a lock. ``None`` on a file
        system without locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _opened(path: str, flags: int) -> int:
    # O_NONBLOCK: do not wait for the writer of a pipe. O_NOCTTY: do not adopt a terminal.
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
    # test the open file, not the name: another file could get the name in between
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        os.close(descriptor)
        raise InputError(
            "a pipe or a device, where a file was expected", path=path, remedy="move it away"
        )
    return descriptor


def private_folder(path: str | Path, option: str, mode: int = 0o700) -> Path:
    """Create or check a folder that only its owner can write; return the real path of the folder.

    Args:
        path: The folder.
        option: The option or variable that names the folder, for errors.
        mode: The permissions of new folders.

    Raises:
        SettingsError: Others can write into the folder, or replace it.
        OSError: The folder cannot be created.
    """
    folder = Path(os.path.realpath(path))
    chain = (*reversed(folder.parents), folder)
    _refuse_others(chain, option)
    for each in chain:
        each.mkdir(mode=mode, exist_ok=True)
    _refuse_others(chain, option)  # another process may have created some of the folders meanwhile
    return folder


def user_cache_folder() -> Path:
    """Return the folder of this program in the user's cache folder."""
    # unlike Path.expanduser, this does not fail for a user without a home
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    return Path(base) / "phrasescore"


def _refuse_others(chain: tuple[Path, ...], option: str) -> None:
    """Raise an error if others can write to one of these folders, checked from the root down."""
    folder = chain[-1]
    for each in chain:
        try:
            found = each.stat()
        except FileNotFoundError:
            return
        if found.st_uid not in _trusted_owners():
            problem = "belongs to another user"
        # in a sticky folder such as /tmp, users can rename and remove only their own files
        elif (each == folder or not found.st_mode & stat.S_ISVTX) and (
            found.st_mode & stat.S_IWOTH
            or (found.st_mode & stat.S_IWGRP and not _is_own_group(found.st_gid))
        ):
            problem = "can be written by others"
        else:
            continue
        raise SettingsError(
            f"{option} needs a folder that you alone can write, but "
            f"{'it' if each == folder else each} {problem}",
            path=folder,
            remedy="name another folder, or remove the write permission of other users",
        )


@functools.cache
def _trusted_owners() -> frozenset[int]:
    """Return root, this user, and the owners of the program's folders."""
    program = Path(__file__).resolve()
    owners = {each.stat().st_uid for each in (program, *program.parents)}
    return frozenset({0, os.geteuid(), *owners})


@functools.cache
def _is_own_group(group: int) -> bool:
    """Tell whether a group belongs to root, or has this user as its only member.

    Many systems give each user such a group, and let the group write the user's files (umask 002).
    """
    if group == 0:
        return True
    try:
        user, found = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == user and set(found.gr_mem) <= {user}
