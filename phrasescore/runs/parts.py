"""Temporary files and folders beside an output, with names that show which process writes them.

A part is an output while it is being written; a scratch folder holds what only its maker needs.
Both are called ``.NAME.MACHINE.PROCESS.START.part``, so two writers never share one, and a later
command can tell what a killed writer left: its process is gone, or another process has its id and
started at another time. Whether a process of another machine or container is alive cannot be seen
from here. Its parts stay, unless the caller holds a lock that every writer of the output needs.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from phrasescore.runs.processes import is_alive, machine, start_of

_PART = re.compile(r"\.(.+?)(\.scratch)?(\.[0-9a-f]{8})?\.(\d+)(?:\.(\d+))?\.part")
_LONGEST = 200  # bytes of a name, so that what is added stays within a file system's 255


def hidden(path: str | Path, ending: str) -> Path:
    """Return the hidden name beside an output that ends in ``ending``; long names are shortened.

    >>> hidden("out/table.gz", "journal").as_posix()
    'out/.table.gz.journal'
    """
    path = Path(path) if Path(path).name else Path(path).absolute()
    return path.parent / f".{_shortened(path.name)}.{ending}"


def _shortened(name: str) -> str:
    return _digest(os.fsencode(name))[:32] if len(os.fsencode(name)) > _LONGEST else name


def _digest(name: bytes) -> str:
    import hashlib  # it loads OpenSSL; help texts do without

    return hashlib.sha256(name).hexdigest()


def part_path(path: str | Path) -> Path:
    """Return where this process writes ``path`` before it gets its name.

    What processes of this machine that are gone have left there is removed first.
    """
    stem = hidden(path, _digest("\0".join(machine()).encode())[:8])
    mine = f"{stem.name}.{os.getpid()}.{start_of(os.getpid()) or 0}.part"
    with contextlib.suppress(OSError):
        for found in stem.parent.iterdir():
            part = _PART.fullmatch(found.name)
            if part is None or not found.name.startswith(f"{stem.name}.{part[4]}."):
                continue
            if found.name == mine or not is_alive(int(part[4]), int(part[5] or 0)):
                with contextlib.suppress(OSError):  # another user's, in a folder for all
                    remove(found)
    return stem.with_name(mine)


@contextlib.contextmanager
def scratch_folder(path: str | Path) -> Iterator[Path]:
    """Make a folder beside ``path`` for what is needed while it is made; remove it at the end.

    What killed processes have left is removed first.

    Raises:
        OSError: It cannot be made.
    """
    folder = part_path(f"{path}.scratch")
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        remove(folder)


def whole_name(part: str) -> str | None:
    """Return what a name is the name of a part or a scratch folder of; ``None`` if of nothing."""
    found = _PART.fullmatch(part)
    return found[1] if found is not None else None


def remove_parts(path: Path) -> None:
    """Remove the parts and scratch folders of an output, whichever machine they come from.

    Only the holder of a lock may call this, one that every writer of the output needs.
    """
    with contextlib.suppress(FileNotFoundError):
        for found in path.absolute().parent.iterdir():
            if whole_name(found.name) == _shortened(path.name):
                remove(found)


def remove(part: Path) -> None:
    """Remove a file, a link or a folder with all in it, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        if part.is_dir() and not part.is_symlink():
            import shutil  # with bz2 and lzma; help texts do without

            shutil.rmtree(part)
        else:
            part.unlink()
