"""Hidden files and folders beside an output: what it is while it is being written.

A part carries the machine and the process that write it in its name, ``.NAME.MACHINE.PID.part``:
two writers never share one, and what a killed writer left is known for litter.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from phrasescore.processes import machine, start_of

_LONGEST = 200  # bytes of a name, so that what is added stays within a file system's 255


def hidden(path: str | Path, ending: str) -> Path:
    """Return the hidden name beside an output that ends in ``ending``; long names are shortened.

    >>> hidden("out/table.gz", "journal").as_posix()
    'out/.table.gz.journal'
    """
    path = Path(path) if Path(path).name else Path(path).absolute()
    name = path.name
    if len(os.fsencode(name)) > _LONGEST:
        name = _digest(os.fsencode(name))[:32]
    return path.parent / f".{name}.{ending}"


def _digest(name: bytes) -> str:
    import hashlib  # it loads OpenSSL; help texts do without

    return hashlib.sha256(name).hexdigest()


def part_path(path: str | Path) -> Path:
    """Return where this process writes ``path`` before it gets its name.

    What processes that are gone have left there is removed first.
    """
    stem = hidden(path, _digest("\0".join(machine()).encode())[:8])
    with contextlib.suppress(OSError):
        for found in stem.parent.iterdir():
            writer = found.name.removeprefix(f"{stem.name}.").removesuffix(".part")
            if found.name != f"{stem.name}.{writer}.part" or not writer.isdecimal():
                continue
            if int(writer) == os.getpid() or start_of(int(writer)) is None:
                remove(found)
    return stem.with_name(f"{stem.name}.{os.getpid()}.part")


def remove(part: Path) -> None:
    """Remove a file, a link or a folder with all in it, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        if part.is_dir() and not part.is_symlink():
            import shutil  # with bz2 and lzma; help texts do without

            shutil.rmtree(part)
        else:
            part.unlink()
