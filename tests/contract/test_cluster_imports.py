"""Without --cluster, nothing of Dask is imported, even if Dask is installed."""

from __future__ import annotations

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


def test_without_dask(tmp_path: Path) -> None:
    """Without Dask, modules import and a table is scored; --cluster names the missing package."""
    (tmp_path / "table").write_bytes(b"a ||| b ||| 1\n")
    save_random_model(tmp_path / "model", [b"a"], [b"b"])
    score = "score", "table", "--model", "model", "-o", "out"
    program = "-c", _PROBE
    run_fresh(tmp_path, *score, "--threads", "1", program=program).well()
    done = run_fresh(tmp_path, *score, "--cluster", "tcp://127.0.0.1:1", program=program)
    done.refused(5, "pip install 'phrasescore[cluster]'")
    assert done.stderr.count(b"\n") == 1
