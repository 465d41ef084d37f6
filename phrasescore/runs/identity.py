"""What decides a result: settings, digests of what was read, versions; compared in one place."""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from phrasescore import __version__
from phrasescore.errors import ResumeError
from phrasescore.runs.file_kinds import can_be_read_again, is_work_file, open_regular, refuse_pipe
from phrasescore.runs.final_names import packer

_LIBRARIES = ("torch", "numpy", "numba", "sacremoses", "sacrebleu", "safetensors")
_BLOCK = 1 << 20
_LONGEST_SHOWN = 50  # characters; digests are longer


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Say for each setting that differs what it was and what it is, long values left out.

    Args:
        before: JSON values by name.
        now: The same; a missing value is as good as ``None``.

    >>> differences({"seed": 1, "sha256 of the table": "0" * 64}, {"seed": 2})
    ['seed was 1 and is now 2', 'sha256 of the table is another']
    """
    texts = [(name, _text(before, name), _text(now, name)) for name in sorted({*before, *now})]
    return [
        f"{name} was {old} and is now {new}"
        if max(len(old), len(new)) <= _LONGEST_SHOWN
        else f"{name} is another"
        for name, old, new in texts
        if old != new
    ]


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return "not set" if value is None else json.dumps(value, sort_keys=True)


def refuse_differences(
    before: Mapping[str, Any], now: Mapping[str, Any], path: str | Path, remedy: str
) -> None:
    """Check that the work at ``path`` was begun with the settings asked for now.

    Raises:
        ResumeError: It was not; the error names each difference.
    """
    found = differences(before, now)
    if found:
        raise ResumeError(
            f"begun with other settings: {'; '.join(found)}", path=path, remedy=remedy
        )


def sha256_of(path: str | Path) -> str:
    """Return the hexadecimal SHA-256 of a file's bytes as they lie on disk.

    Raises:
        InputError: It is a pipe, which nothing would be left of.
    """
    import hashlib  # it loads OpenSSL; help texts do without

    if not is_work_file(path):
        refuse_pipe(path)
    digest = hashlib.sha256()
    with open_regular(path) if is_work_file(path) else Path(path).open("rb") as stream:
        try:
            while block := stream.read(_BLOCK):
                digest.update(block)
        except OSError as error:
            error.filename = str(path)  # reading names no file
            raise
    return digest.hexdigest()


def file_state(path: str | Path) -> list[Any]:
    """Return what changes with a file, or with one of a folder: place, size, time of change.

    It stands for the content where reading all of it would take too long; JSON values.

    Raises:
        OSError: It is not there.
    """
    path = Path(path)
    if path.is_dir():
        return [file_state(part) for part in sorted(path.iterdir())]
    found = path.stat()
    return [str(path.absolute()), found.st_size, found.st_mtime_ns]


def provenance(
    *, inputs: Iterable[str | Path] = (), settings: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Describe this run: what it ran with, on what.

    Args:
        inputs: Files whose SHA-256 to record; standard input and other pipes are skipped.
        settings: Everything that changes the result, seed included, as JSON values.
    """
    return {
        "phrasescore": __version__,
        "python": platform.python_version(),
        "libraries": {name: _version(name) for name in _LIBRARIES},
        "gzip": packer(),
        "machine": platform.machine(),
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "inputs": {str(path): sha256_of(path) for path in inputs if can_be_read_again(path)},
        "settings": dict(settings or {}),
    }


def machine() -> dict[str, Any]:
    """Describe what times depend on: the processor, and how many cores this process may use."""
    cores = os.cpu_count() if not hasattr(os, "sched_getaffinity") else len(os.sched_getaffinity(0))
    return {"processor": _processor(), "cores": cores}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").split("\n")
    except OSError:  # no Linux
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _version(name: str) -> str | None:
    from importlib import metadata  # it costs a help text a fifth of its time

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
