"""Locks that let one process at a time work on an output, as files that name their holder.

Locks of the operating system are weak on network file systems, so creating the file takes the lock
and removing the file releases it. A holder that was killed leaves a stale file. The next process
takes it over: at once if the holder ran on this machine and is dead, or after ten minutes without a
sign of life from another machine. Holders give a sign of life every minute: a new time of change.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import os
import re
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from phrasescore.closed_settings import from_mapping
from phrasescore.errors import ResumeError, SettingsError, visible
from phrasescore.runs.file_kinds import only_regular_files
from phrasescore.runs.final_names import hidden, own_file, part_path
from phrasescore.runs.json_files import read_object
from phrasescore.runs.processes import is_alive, machine, start_of
from phrasescore.runs.system_errors import is_full, unwritable

LOCK = ".lock"  # of a folder, in it
_RENEWAL = 60.0  # seconds between two signs of life
_PATIENCE = 600.0  # seconds without one after which a lock of another machine is stale
# the errors of file systems without hard links
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS)
# tokens become part of file names
_TOKEN = re.compile("[0-9a-z]{1,32}")
_SHOWN = 100  # characters of a lock file's text in a message
_ATTEMPTS, _BETWEEN_ATTEMPTS = 50, 0.02  # removing a lock file takes others some milliseconds


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock, as its lock file describes it.

    Args:
        host: The name of its machine.
        processes: Its namespace of process ids: containers have their own.
        process: Its id there.
        started: Its start in ticks since the machine's start, because ids are reused; 0 if unknown.
        since: When it took the lock, for people.
        token: Unique for each lock.
    """

    host: str
    processes: str
    process: int
    started: int
    since: str
    token: str

    @classmethod
    def this_process(cls) -> Holder:
        """Describe this process, with a new token."""
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        started = start_of(os.getpid()) or 0
        return cls(*machine(), os.getpid(), started, since, uuid.uuid4().hex[:12])

    @property
    def is_here(self) -> bool:
        """Whether the process runs on this machine, which can tell if it is alive."""
        return (self.host, self.processes) == machine()

    @property
    def is_alive(self) -> bool:
        """Whether a process of this machine is still running."""
        return is_alive(self.process, self.started)

    def __str__(self) -> str:
        # a stranger may have written the file
        host = visible(self.host.encode("utf-8", "backslashreplace"), _SHOWN)
        return f"process {self.process} on {host}"


_UNKNOWN = Holder("an unknown machine", "", 0, 0, "an unknown time", "unknown")


@contextlib.contextmanager
def held(owner: str | Path, *, inside: bool = False) -> Iterator[None]:
    """Hold a lock while the block runs.

    Args:
        owner: The output that it protects; the lock file ``.NAME.lock`` stands beside it.
        inside: Whether the owner is a folder that holds its own lock file. It is made if need be,
            and is a work folder for ``only_regular_files``.

    Raises:
        ResumeError: Another process holds it.
        SettingsError: The folder cannot be made or written.
        StorageError: The disk is full.
    """
    owner = Path(owner)
    file = owner / LOCK if inside else hidden(owner, LOCK[1:])
    me = Holder.this_process()
    try:
        if inside:
            owner.mkdir(parents=True, exist_ok=True)
        other = _taken_by_another(file, me)
    except OSError as error:
        if inside and not is_full(error):
            problem = f"cannot make this folder ({error.strerror})"
            raise SettingsError(problem, path=owner, remedy="name another output") from None
        raise unwritable(error, owner) from None
    if other is not None:
        since = visible(other.since.encode("utf-8", "backslashreplace"), _SHOWN)
        raise ResumeError(
            f"another process is at work here: {other}, since {since}",
            path=owner,
            remedy=f"wait for it or stop it; if there is no such process, delete {file}",
        )
    _sweep(file)
    released = threading.Event()
    try:
        threading.Thread(target=_renew, args=(file, me, released), daemon=True).start()
        with only_regular_files(owner) if inside else contextlib.nullcontext():
            yield
    finally:
        released.set()
        _release(file, me)


def is_held(file: Path) -> bool:
    """Tell whether a living process holds a lock file; a process of another machine counts as one.

    Checking never takes over a stale lock.
    """
    with contextlib.suppress(OSError):
        holder = _holder(file)
        return holder is not None and (holder.is_alive or not holder.is_here)
    return False


def _taken_by_another(file: Path, me: Holder) -> Holder | None:
    """Create the lock file, or return its holder."""
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(FileExistsError):
            _create(file, me)
            return None
        other = _holder(file)
        if other is None:
            continue
        if other.is_here and other.is_alive:
            return other
        # A stale lock may be removed only by the holder of its succession lock, which is named
        # after the stale lock's token. A process that gets the succession lock too late finds
        # another holder in the file and leaves it alone.
        succession = _succession(file, other)
        if _taken_by_another(succession, me) is None:
            try:
                if _holder(file) == other:
                    if not _is_stale(file, other, succession):
                        return other
                    file.unlink(missing_ok=True)
            finally:
                succession.unlink()
        else:
            time.sleep(_BETWEEN_ATTEMPTS)
    return other or _UNKNOWN


def _create(file: Path, me: Holder) -> None:
    """Create a lock file atomically, with its content.

    Raises:
        FileExistsError: It exists already.
        OSError: It cannot be created.
    """
    text = json.dumps(dataclasses.asdict(me)).encode()
    part = part_path(file)
    try:
        with own_file(part) as stream:
            stream.write(text)
        os.link(part, file)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        with own_file(file) as stream:
            stream.write(text)
    finally:
        part.unlink(missing_ok=True)


def _sweep(file: Path) -> None:
    """Remove succession locks of processes that were killed while they held them.

    The caller must hold the lock: then no process can take it over through these files.
    """
    with contextlib.suppress(OSError):
        for path in file.parent.iterdir():
            if not path.name.startswith(f"{file.name}."):
                continue
            holder = _holder(path)
            if holder is not None and holder.is_here and not holder.is_alive:
                path.unlink(missing_ok=True)


def _succession(file: Path, holder: Holder) -> Path:
    return file.with_name(f"{file.name}.{holder.token}")


def _is_stale(file: Path, holder: Holder, new: Path) -> bool:
    """Tell whether a holder that may be alive counts as dead; ``new`` is a file made just now."""
    if holder.is_here:
        return True
    # comparing two files avoids comparing the clocks of two machines
    silent = new.stat().st_mtime - file.lstat().st_mtime
    if silent < _PATIENCE:
        return False
    _warn(
        f"{file}: taken over from {holder}, which has given no sign of life for "
        f"{silent / 60:.0f} minutes"
    )
    return True


def _holder(file: Path) -> Holder | None:
    """Read a lock file; ``None`` if there is none."""
    for _ in range(_ATTEMPTS):
        try:
            holder = from_mapping(Holder, read_object(file), where=file.name)
            if _TOKEN.fullmatch(holder.token):
                return holder
        except FileNotFoundError:
            return None
        except (ValueError, SettingsError):
            pass
        time.sleep(_BETWEEN_ATTEMPTS)  # its maker may be writing it
    return _UNKNOWN


def _renew(file: Path, me: Holder, released: threading.Event) -> None:
    while not released.wait(_RENEWAL):
        if _holder(file) != me:
            _warn(f"{file}: another process has taken over, as this one gave no sign of life")
            return
        with contextlib.suppress(OSError):
            os.utime(file)


def _release(file: Path, me: Holder) -> None:
    """Remove the lock file, unless another process has taken it over."""
    succession = _succession(file, me)
    # if this fails (a full disk, a removed folder), the next process finds a stale lock
    with contextlib.suppress(OSError):
        if _taken_by_another(succession, me) is None:
            try:
                if _holder(file) == me:
                    file.unlink()
            finally:
                succession.unlink()


def _warn(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - a note to the user, not a result
