"""What a path names: a regular file, a pipe, a device, or a folder that others can write.

A pipe can be read once, and some devices never end. A named pipe that is opened a second time waits
for a second writer, and the shell's ``<(...)`` is empty then: so a reader of inputs refuses the
second reading.

In folders that somebody else may have filled (work folders, results, models), a named pipe in the
place of a file would be waited for without end, and a link to ``/dev/zero`` would fill any memory.
A command declares its work folders here, and in those nothing but regular files is read or
replaced; inputs and outputs that the user names may well be pipes.

Some folders are trusted: nobody else can put a file into them or exchange them. Compiled functions
are unpickled, and parsed tables are used without a second look. Whoever can write the program
itself can run code anyway, so the owners of the program are trusted, too.
"""

from __future__ import annotations

import contextlib
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
# of the command at work, if any: device, inode and name of the pipes that it has read (the numbers
# of inodes are given again)
_readings: list[set[tuple[int, int, str]]] = []
# the results of an experiment with hundreds of runs are a fourth of it
_MAX_BYTES = 128 << 20
# absolute, with a final separator; those of the command at work
_work_folders: list[str] = []


@contextlib.contextmanager
def pipes_read_once() -> Iterator[None]:
    """Refuse to open a pipe again while the block runs; a program of your own may do it."""
    _readings.append(set())
    try:
        yield
    finally:
        _readings.pop()


def can_be_read_again(path: str | Path) -> bool:
    """Tell a file from a pipe: standard input, a named pipe or the shell's ``<(...)``."""
    return str(path) != STANDARD_STREAM and Path(path).is_file()


def refuse_second_reading(path: str | Path) -> None:
    """Note that a path is about to be read.

    Raises:
        InputError: It is a pipe that was read before, or a device that never ends.
        OSError: There is nothing of that name.
    """
    found = _finite(path)
    if _readings and stat.S_ISFIFO(found.st_mode):
        pipe = (found.st_dev, found.st_ino, os.path.abspath(path))  # noqa: PTH100 - links stay
        if pipe in _readings[-1]:
            raise _read_twice(path)
        _readings[-1].add(pipe)


def refuse_pipe(path: str | Path) -> None:
    """Refuse a pipe where a file is read more than once, before anything of it is taken.

    Raises:
        InputError: It is a pipe, or a device that never ends.
        OSError: There is nothing of that name.
    """
    if str(path) == STANDARD_STREAM or stat.S_ISFIFO(_finite(path).st_mode):
        raise _read_twice(path)


def _finite(path: str | Path) -> os.stat_result:
    """Return what there is to read, unless that would fill any memory."""
    found = Path(path).stat()
    if stat.S_ISCHR(found.st_mode) and found.st_rdev in _ENDLESS:
        raise InputError("a device that never ends", path=path, remedy="name a file")
    return found


def _read_twice(path: str | Path) -> InputError:
    return InputError(
        "a pipe, and it is read more than once", path=path, remedy="write it to a file first"
    )


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
    """Open a file for reading, at once; links to regular files are followed.

    Raises:
        InputError: The path names a pipe or a device.
        OSError: The file is missing, a folder or a socket, or not readable.
    """
    # `open` itself refuses a folder
    return open(path, "rb", opener=_opened)


def read_regular(path: str | Path, max_bytes: int = _MAX_BYTES) -> bytes:
    """Return the content of a file that is small in every honest case.

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


def refuse_irregular(descriptor: int, path: str | Path) -> None:
    """Close an opened file again if it is neither a regular file nor a folder.

    Raises:
        InputError: The path names a pipe or a device.
    """
    # the opened file is judged, not its name: somebody could replace the file in between
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        os.close(descriptor)
        raise InputError(
            "a pipe or a device, where a file was expected", path=path, remedy="move it away"
        )


def _opened(path: str, flags: int) -> int:
    # without O_NONBLOCK opening a pipe waits for its writer; a terminal must not become ours
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
    refuse_irregular(descriptor, path)
    return descriptor


def private_folder(path: str | Path, option: str, mode: int = 0o700) -> Path:
    """Make a folder where there is none; return its real path.

    Args:
        path: The folder.
        option: The option or variable that names it, for errors.
        mode: The permissions of folders that are made here.

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
    """Return the folder in the user's cache folder that this program may make."""
    # unlike Path.expanduser, this does not mind a user without a home
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
        # in a sticky folder like /tmp others cannot rename or remove what is not theirs
        elif _others_can_write(found) and (each == folder or not found.st_mode & stat.S_ISVTX):
            problem = "can be written by others"
        else:
            continue
        raise SettingsError(
            f"{option} needs a folder that you alone can write, but "
            f"{'it' if each == folder else each} {problem}",
            path=folder,
            remedy="name another folder, or take the right to write from the others",
        )


def _others_can_write(found: os.stat_result) -> bool:
    if found.st_mode & stat.S_IWOTH:
        return True
    return bool(found.st_mode & stat.S_IWGRP) and not _is_own_group(found.st_gid)


@functools.cache
def _trusted_owners() -> frozenset[int]:
    """Return root, this user, and the owners of the program's folders."""
    program = Path(__file__).resolve()
    owners = {each.stat().st_uid for each in (program, *program.parents)}
    return frozenset({0, os.geteuid(), *owners})


@functools.cache
def _is_own_group(group: int) -> bool:
    """Return whether a group is root's, or that of this user alone.

    Many systems give each user such a group, and let it write what the user makes (umask 002).
    """
    if group == 0:
        return True
    try:
        user, found = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == user and set(found.gr_mem) <= {user}
