"""Runs a campaign of damaged files on every compiled reader."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PROJECT

_FILES = 150  # for each reader


@pytest.mark.slow
def test_no_file_breaks_a_reader(tmp_path: Path) -> None:
    """Files are read or refused, without index errors, crashes, hangs or excessive memory."""
    folder = tmp_path / "files"
    command = [sys.executable, "-m", "tests.fuzz", "--count", str(_FILES), "--keep", str(folder)]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=3600
    )
    said = f"{done.stdout}\n{done.stderr}"
    assert done.returncode == 0, f"{said[-8000:]}\nthe last file: {folder / 'input'}"
