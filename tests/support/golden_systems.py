"""Copies of the golden systems, as their ini expects them."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path


def copy_system(golden: Path, folder: Path) -> Path:
    """Copy a system to ``folder/system``, with its language model unpacked; return the copy."""
    system = folder / "system"
    shutil.copytree(golden / "system", system, copy_function=shutil.copyfile)
    system.chmod(0o755)
    (system / "lm.arpa").write_bytes(gzip.decompress((system / "lm.arpa.gz").read_bytes()))
    return system
