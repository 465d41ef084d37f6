"""Minimum-Bayes-risk choices from Moses's lists equal Moses's own choices."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.fresh_process import output_of
from tests.support.golden_systems import copy_system
from tuning.loop.reranking import rerank
from tuning.loop.tuning_settings import Reranking

SIZE = 200  # Moses's -mbr-size


@pytest.mark.moses
@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_risk_is_that_of_moses(
    bundled_golden: Path, moses_bin: Path, tmp_path: Path, scale: float
) -> None:
    """``rerank`` chooses the translations of moses -mbr from a list of the same candidates."""
    copy_system(bundled_golden, tmp_path)
    text = str(bundled_golden / "decode" / "input.en")

    def moses(*options: str) -> bytes:
        command = [str(moses_bin / "moses"), "-f", "system/moses.ini", "-i", text, *options]
        return output_of(*command, cwd=tmp_path)

    wanted = moses("-mbr", "-mbr-size", str(SIZE), "-mbr-scale", str(scale))
    first = moses("-n-best-list", "list", str(SIZE), "distinct")
    nbest, output = str(tmp_path / "list"), str(tmp_path / "out")
    risk = {"minimum_bayes_risk": True, "mbr_size": SIZE, "mbr_scale": scale}
    rerank(Reranking(nbest=nbest, output=output, source=text, **risk))
    found = (tmp_path / "out").read_bytes().split(b"\n")
    assert found == [line.rstrip(b" ") for line in wanted.split(b"\n")]
    assert found != [line.rstrip(b" ") for line in first.split(b"\n")]
