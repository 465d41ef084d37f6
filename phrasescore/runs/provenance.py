"""Where a result comes from: versions, command, settings, and the digests of what was read."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from phrasescore import __version__
from phrasescore.runs.byte_streams import packer, sha256_of, write_atomically
from phrasescore.runs.pipes import can_be_read_again

_CONTROLS = re.compile(r"[\x7f-\x9f]")
_LIBRARIES = ("torch", "numpy", "numba", "sacremoses", "sacrebleu", "safetensors")


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


def json_bytes(value: Any, *, sort_keys: bool = False) -> bytes:
    """Return ``value`` as indented JSON in UTF-8, with a final line feed."""
    text = json.dumps(value, indent=2, sort_keys=sort_keys, ensure_ascii=False)
    # these command a terminal, too, and JSON lets them stand as they are
    text = _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    # a path that is no UTF-8 has surrogates; their escapes are JSON, too
    return text.encode("utf-8", "backslashreplace") + b"\n"


def write_json(path: str | Path, value: Any) -> None:
    """Write ``value`` as indented JSON with sorted keys and a final line feed, atomically."""
    write_atomically(path, json_bytes(value, sort_keys=True))
