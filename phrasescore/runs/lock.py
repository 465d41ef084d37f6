"""Locks that let one process at a time work on an output.

The process that holds a lock keeps a file open and locked with ``flock``. When the process ends for
whatever reason, the kernel releases the lock, so a lock file that a killed process has left has no
effect. If a machine dies, the server of a network file system may keep the machine's locks for a
while. The text in the lock file tells people which process holds the lock. On a file system without
``flock``, there is no protection.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from phrasescore.errors import InputError, ResumeError, visible, writing
from phrasescore.runs.file_kinds import only_regular_files, open_regular, try_lock
from phrasescore.runs.final_names import hidden, own_file

LOCK = ".lock"  # name of the lock file inside a locked folder
_SHOWN = 100  # maximum number of characters of a lock file's text in a message
# retry, because children of a killed process share its lock and may live a moment longer
_ATTEMPTS, _BETWEEN_ATTEMPTS = 25, 0.02


@contextlib.contextmanager
def held(owner: str | Path, *, inside: bool = False) -> Iterator[None]:
    """Hold a lock while the ``with`` block runs.

    Args:
        owner: The output that the lock protects; the lock file ``.NAME.lock`` is beside it.
        inside: Whether the output is a folder that contains the lock file. The folder is created if
            it does not exist, and is declared as a work folder with ``only_regular_files``.

    Raises:
        ResumeError: Another process holds the lock.
        SettingsError: The folder cannot be created or written.
        StorageError: The disk is full.
    """
    owner = Path(owner)
    file = owner / LOCK if inside else hidden(owner, LOCK[1:])
    with writing(owner):
        if inside:
            owner.mkdir(parents=True, exist_ok=True)
        stream = _taken(file)
    if stream is None:
        raise ResumeError(
            f"another process is at work here: {_holder(file)}",
            path=owner,
            remedy=f"wait for it or stop it; if it no longer runs on any machine, delete {file}",
        )
    with stream:
        try:
            with only_regular_files(owner) if inside else contextlib.nullcontext():
                yield
        finally:
            with contextlib.suppress(OSError):  # the folder may have been removed
                if _is_named(stream, file):
                    file.unlink()


def _taken(file: Path) -> BinaryIO | None:
    """Return the open, locked lock file; ``None`` if another process holds the lock."""
    for _ in range(_ATTEMPTS):
        stream = own_file(file, os.O_APPEND, 0)
        # the process that held the lock may have removed the file after it was opened here
        if try_lock(stream.fileno()) is not False and _is_named(stream, file):
            with contextlib.suppress(OSError):  # if the disk is full, the lock works without a text
                stream.truncate(0)
                where = f"process {os.getpid()} on {os.uname().nodename}"
                stream.write(f"{where}, since {time.strftime('%Y-%m-%d %H:%M:%S')}\n".encode())
            return stream
        stream.close()
        time.sleep(_BETWEEN_ATTEMPTS)
    return None


def _is_named(stream: BinaryIO, file: Path) -> bool:
    """Tell whether an open file still has its name."""
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(stream.fileno()), file.lstat())
    return False


def _holder(file: Path) -> str:
    """Return the text of a lock file, made safe to print, since anybody may have written it."""
    with contextlib.suppress(OSError, InputError), open_regular(file) as stream:
        return visible(stream.read(_SHOWN).rstrip(b"\n"))
    return "its lock file cannot be read"
