"""Without --cluster, nothing of Dask is imported, even if Dask is installed."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.fresh_process import run_fresh
from tests.support.random_models import save_random_model

_PROBE = """
import sys
sys.modules["distributed"] = sys.modules["dask"] = None  # importing them raises ImportError
import phrasescore.cluster
import phrasescore.scoring.cluster_scoring
from phrasescore.cli import main
main()
"""


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = ("score", "table", "--model", "model", *arguments)
    return run_fresh(folder, *command, program=("-c", _PROBE))


def test_without_dask(tmp_path: Path) -> None:
    """Without Dask, modules import and a table is scored; --cluster names the missing package."""
    (tmp_path / "table").write_bytes(b"a ||| b ||| 1\n")
    save_random_model(tmp_path / "model", [b"a"], [b"b"])
    done = _run(tmp_path, "-o", "out", "--threads", "1")
    assert done.returncode == 0, done.stderr
    done = _run(tmp_path, "-o", "out", "--cluster", "tcp://127.0.0.1:1")
    assert done.returncode == 5
    assert b"pip install 'phrasescore[cluster]'" in done.stderr
    assert done.stderr.count(b"\n") == 1
