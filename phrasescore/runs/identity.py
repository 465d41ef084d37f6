"""Identifies the content of files, the versions of the program, and the machine."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from phrasescore import __version__
from phrasescore.runs.file_kinds import can_be_read_again, is_work_file, open_regular, refuse_pipe
from phrasescore.runs.final_names import packer
from phrasescore.runs.processes import usable_cores

_LIBRARIES = ("torch", "numpy", "numba", "sacremoses", "sacrebleu", "safetensors")
_BLOCK = 1 << 20


def sha256_of(path: str | Path) -> str:
    """Return the hexadecimal SHA-256 of a file's bytes on disk; gzip is not unpacked.

    Raises:
        InputError: The path is a pipe, which could not be read again.
    """
    import hashlib  # late, because it loads OpenSSL, which would slow --help down

    if not is_work_file(path):
        refuse_pipe(path)
    digest = hashlib.sha256()
    with open_regular(path) if is_work_file(path) else Path(path).open("rb") as stream:
        try:
            while block := stream.read(_BLOCK):
                digest.update(block)
        except OSError as error:
            error.filename = str(path)  # an error while reading does not name the file
            raise
    return digest.hexdigest()


def file_state(path: str | Path) -> list[Any]:
    """Return path, size and time of change of a file, or of all files of a folder, as JSON values.

    Callers use these values instead of a digest if reading the whole content would take too long.

    Raises:
        OSError: The path does not exist.
    """
    path = Path(path)
    if path.is_dir():
        return [file_state(part) for part in sorted(path.iterdir())]
    found = path.stat()
    return [str(path.absolute()), found.st_size, found.st_mtime_ns]


def provenance(
    *, inputs: Iterable[str | Path] = (), settings: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Describe this run: versions, command, inputs and settings.

    Args:
        inputs: Files whose SHA-256 is recorded; standard input and other pipes are skipped.
        settings: Everything that changes the result, including the seed, as JSON values.
    """
    return {
        "phrasescore": __version__,
        "python": platform.python_version(),
        "libraries": {name: version_of(name) for name in _LIBRARIES},
        "gzip": packer(),
        "machine": platform.machine(),
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "inputs": {str(path): sha256_of(path) for path in inputs if can_be_read_again(path)},
        "settings": dict(settings or {}),
    }


def machine() -> dict[str, Any]:
    """Describe the hardware, on which running times depend: processor and usable cores."""
    return {"processor": _processor(), "cores": usable_cores()}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").split("\n")
    except OSError:  # not on Linux
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def version_of(name: str) -> str | None:
    """Return the version of an installed package, ``None`` for one that is not installed."""
    from importlib import metadata  # late, because it would make --help a fifth slower

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
