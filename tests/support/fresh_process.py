"""Commands in new processes, for what a warm process has imported or opened already."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.warm_process import PROJECT

PHRASESCORE = ("-m", "phrasescore")


def run_fresh(
    folder: Path,
    *arguments: str | Path,
    program: tuple[str, ...] = PHRASESCORE,
    environment: Mapping[str, str] | None = None,
    **more: Any,
) -> subprocess.CompletedProcess[bytes]:
    """Run ``phrasescore``, or another program of Python, in a folder; catch what it prints."""
    return subprocess.run(
        [sys.executable, *program, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PROJECT), **(environment or {})},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 600, **more},
        check=False,
    )
