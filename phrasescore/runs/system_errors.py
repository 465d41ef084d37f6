"""Turns errors of the operating system into errors that a user can act on.

Code that reads or writes a file uses these functions, because such code knows the file's purpose.
The command line uses them for all other errors of the operating system, so that none is reported as
an internal error.
"""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from phrasescore.errors import InputError, PhrasescoreError, SettingsError, StorageError

STANDARD_OUTPUT = "standard output"  # the name of the stream in errors
# the message of numpy when a disk is full
_NUMPY_FULL = re.compile(r"[0-9]+ requested and [0-9]+ written")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_PROBLEMS = {
    errno.ENOENT: "no such file",
    errno.EISDIR: "a folder, where a file was expected",
    errno.ENOTDIR: "a part of this path is a file, where a folder was expected",
    errno.EACCES: "no permission to read it",
    errno.EPERM: "no permission to read it",
    errno.ENAMETOOLONG: "the path, or a name in it, is too long",
    errno.ELOOP: "its symbolic links form a circle",
    errno.EBADF: "it is closed",
}
# messages for errors without the name of a file
_NAMELESS = {
    errno.ENOENT: "the current folder no longer exists",
    errno.EBADF: "standard input or output is needed, but it is closed",
}
_OUT_OF_MEMORY = (
    *("allocate memory", "not enough memory", "out of memory", "start new thread"),
    "failed to map segment",  # while a library is being loaded
)
_REMEDIES = {
    errno.EMFILE: "allow more open files with ulimit -n",
    errno.EDQUOT: "your quota of this disk is used up: make room, then run the command again",
    errno.EFBIG: "raise the file size limit (ulimit -f), then run the command again",
    errno.ENOSPC: "make room, then run the command again",
}


def is_full(error: OSError) -> bool:
    """Tell whether writing failed because the disk is full."""
    # numpy's error for an array that was written in part has no error number
    return error.errno in _FULL or _NUMPY_FULL.fullmatch(str(error)) is not None


def refusal(error: OSError, path: str | Path | None = None) -> PhrasescoreError:
    """Return the error for a file that cannot be read, or for any other failure.

    Args:
        error: The error of the operating system.
        path: The file; by default, the file that the error names, if any.
    """
    place = path if path is not None else _named(error)
    if is_full(error):
        return _full(error, place)
    if place is None and error.errno in _NAMELESS:
        # some of Python's messages contain more, e.g. that no folder for temporary files is usable
        is_bare = error.strerror == os.strerror(error.errno or 0)
        return InputError(_NAMELESS[error.errno or 0] if is_bare else str(error.strerror))
    problem = _PROBLEMS.get(error.errno or 0) or (error.strerror or str(error))
    return InputError(problem, path=place, remedy=_REMEDIES.get(error.errno or 0))


def unwritable(error: OSError, path: str | Path) -> PhrasescoreError:
    """Return the error for an output that cannot be opened or written.

    Args:
        error: The error of the system.
        path: The output.
    """
    if is_full(error):
        return _full(error, path)
    problem = f"cannot write there ({error.strerror or error})"
    return SettingsError(problem, path=path, remedy="name another output")


def out_of_memory(error: BaseException) -> StorageError | None:
    """Return the error for exhausted memory, if an error of a library has this meaning."""
    words = str(error)
    # torch has no separate class of error for the memory of a CPU
    told = isinstance(error, RuntimeError | ImportError)
    torch_says = told and any(text in words for text in _OUT_OF_MEMORY)
    if not (isinstance(error, MemoryError) or torch_says):
        return None
    return StorageError(
        "out of memory" + (f" ({words.splitlines()[0]})" if words else ""),
        remedy="give smaller sizes or batches, or more memory",
    )


def _full(error: OSError, path: str | Path | None) -> StorageError:
    number = error.errno or errno.ENOSPC
    words, remedy = error.strerror or os.strerror(number), _REMEDIES[number]
    if path is None:
        return StorageError(f"an output cannot be written further ({words})", remedy=remedy)
    return StorageError(f"cannot be written further ({words})", path=path, remedy=remedy)


def _named(error: OSError) -> str | None:
    name = error.filename
    if name is None or isinstance(name, int):
        return None
    return os.fsdecode(name)
