"""Kinds of files: regular files, pipes, devices, and folders that other users can write.

A pipe can be read once, and some devices never end. Opening a named pipe a second time would wait
for a second writer, and the shell's ``<(...)`` would be empty then, so a second reading is refused.

In folders that somebody else may have filled (work folders, results, models), reading a named pipe
in the place of a file would wait for ever, and a link to ``/dev/zero`` would fill the memory.
Commands declare their work folders here, and only regular files are read or replaced in these.
Inputs and outputs that the user names may be pipes.

Some folders must be private: nobody else may put a file into them or exchange them, because
compiled functions are unpickled and parsed tables are used unchecked. The owners of the program
could run any code anyway, so they are trusted.
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
# Linux's zero, full, random and urandom
_ENDLESS = frozenset(os.makedev(1, minor) for minor in (5, 7, 8, 9))
# for each running command the device, inode and name of the pipes that it has read (numbers of
# inodes are reused, so they do not suffice)
_readings: list[set[tuple[int, int, str]]] = []
# four times the results of an experiment with hundreds of runs
_MAX_BYTES = 128 << 20
# the work folders of the running command, absolute, with a final separator
_work_folders: list[str] = []


@contextlib.contextmanager
def pipes_read_once() -> Iterator[None]:
    """Refuse to open a pipe twice while the block runs; outside of it, a Python program may."""
    _readings.append(set())
    try:
        yield
    finally:
        _readings.pop()


def can_be_read_again(path: str | Path) -> bool:
    """Tell whether a path is a file, not standard input, a named pipe or the shell's ``<(...)``."""
    return str(path) != STANDARD_STREAM and Path(path).is_file()


def refuse_second_reading(path: str | Path) -> None:
    """Note that a path is about to be read.

    Raises:
        InputError: It is a pipe that was read before, or a device that never ends.
        OSError: The path does not exist.
    """
    found = _finite(path)
    if _readings and stat.S_ISFIFO(found.st_mode):
        pipe = (found.st_dev, found.st_ino, os.path.abspath(path))  # noqa: PTH100 - links stay
        if pipe in _readings[-1]:
            raise _read_twice(path)
        _readings[-1].add(pipe)


def refuse_pipe(path: str | Path) -> None:
    """Refuse a pipe in the place of a file that is read more than once, before reading it.

    Raises:
        InputError: It is a pipe, or a device that never ends.
        OSError: The path does not exist.
    """
    if str(path) == STANDARD_STREAM or stat.S_ISFIFO(_finite(path).st_mode):
        raise _read_twice(path)


def _finite(path: str | Path) -> os.stat_result:
    """Return the state of a path; refuse devices that never end."""
    found = Path(path).stat()
    if stat.S_ISCHR(found.st_mode) and found.st_rdev in _ENDLESS:
        raise InputError("this device never ends", path=path, remedy="name a file")
    return found


def _read_twice(path: str | Path) -> InputError:
    return InputError(
        "a pipe, and it is read more than once", path=path, remedy="write it to a file first"
    )


def refuse_same_file(path: str | Path, output: str | Path) -> None:
    """Refuse to write an output onto one of its inputs; ``-`` is the file that the shell opened.

    The files themselves are compared, because names can differ.

    Args:
        path: The input.
        output: The output.

    Raises:
        SettingsError: They are one file.
    """
    try:
        read = os.fstat(0) if str(path) == STANDARD_STREAM else Path(path).stat()
        written = os.fstat(1) if str(output) == STANDARD_STREAM else Path(output).stat()
    except OSError:
        return  # the output does not exist yet, or reading will report the fault
    if stat.S_ISREG(read.st_mode) and os.path.samestat(read, written):
        raise SettingsError(
            "the output is one of the inputs", path=output, remedy="name another output with -o"
        )


def is_stream(path: str | Path) -> bool:
    """Tell whether a path is a pipe, a socket or a device.

    In a work folder the answer is no: there, a pipe in the place of a file is replaced.
    """
    if is_work_file(path):
        return False
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


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
    """Tell whether a path lies in a work folder, where nothing but regular files belong."""
    return os.path.abspath(path).startswith(tuple(_work_folders))  # noqa: PTH100 - links stay


def open_regular(path: str | Path) -> BinaryIO:
    """Open a file for reading without waiting; links to regular files are followed.

    Raises:
        InputError: The path names a pipe or a device.
        OSError: The file is missing, a folder or a socket, or not readable.
    """
    # `open` itself refuses a folder
    return open(path, "rb", opener=_opened)


def read_regular(path: str | Path, max_bytes: int = _MAX_BYTES) -> bytes:
    """Return the content of a file that is small unless somebody tampered with it.

    Raises:
        InputError: The path names a pipe or a device, or the file is larger than ``max_bytes``.
        OSError: As ``open_regular``.
    """
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > max_bytes:
            raise InputError(
                f"a file of {size:,} bytes, where at most {max_bytes:,} were expected", path=path
            )
        return stream.read(size)


def try_lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool | None:
    """Lock an open file for this process, until the file is closed.

    Args:
        descriptor: The file or folder.
        kind: ``fcntl.LOCK_EX``, or ``fcntl.LOCK_SH`` for a lock that several processes can have.

    Returns:
        Whether no other process has it locked; ``None`` on a file system without locks.
    """
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _opened(path: str, flags: int) -> int:
    # O_NONBLOCK: do not wait for the writer of a pipe. O_NOCTTY: do not adopt a terminal.
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
    # the open file is judged, not its name, which could be given to another file in between
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        os.close(descriptor)
        raise InputError(
            "a pipe or a device, where a file was expected", path=path, remedy="move it away"
        )
    return descriptor


def private_folder(path: str | Path, option: str, mode: int = 0o700) -> Path:
    """Make a folder that nobody else can write, unless it exists; return its real path.

    Args:
        path: The folder.
        option: The option or variable that names the folder, for errors.
        mode: The permissions of new folders.

    Raises:
        SettingsError: Others can write into the folder, or replace it.
        OSError: The folder cannot be made.
    """
    folder = Path(os.path.realpath(path))
    chain = (*reversed(folder.parents), folder)
    _refuse_others(chain, option)
    for each in chain:
        each.mkdir(mode=mode, exist_ok=True)
    _refuse_others(chain, option)  # another process may have made a part of it in the meantime
    return folder


def user_cache_folder() -> Path:
    """Return this program's folder in the user's cache folder."""
    # unlike Path.expanduser, this does not fail for a user without a home
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    return Path(base) / "phrasescore"


def _refuse_others(chain: tuple[Path, ...], option: str) -> None:
    """Raise if others can write one of these folders, from the root down."""
    folder = chain[-1]
    for each in chain:
        try:
            found = each.stat()
        except FileNotFoundError:
            return
        if found.st_uid not in _trusted_owners():
            problem = "belongs to another user"
        # in a sticky folder such as /tmp users can rename and remove only their own files
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
            remedy="name another folder, or take the right to write from the others",
        )


@functools.cache
def _trusted_owners() -> frozenset[int]:
    """Return root, this user, and the owners of the program's folders."""
    program = Path(__file__).resolve()
    owners = {each.stat().st_uid for each in (program, *program.parents)}
    return frozenset({0, os.geteuid(), *owners})


@functools.cache
def _is_own_group(group: int) -> bool:
    """Tell whether a group is root's, or has this user as its only member.

    Many systems give each user such a group, which can write the user's files (umask 002).
    """
    if group == 0:
        return True
    try:
        user, found = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == user and set(found.gr_mem) <= {user}
