"""Errors of workers, and the report of different processors."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from phrasescore.cluster import Cluster
from phrasescore.errors import ClusterError, PhraseTableError
from phrasescore.scoring.block_scoring import (
    ComputeSettings,
    ReadyModels,
    ScoringCounts,
    ScoringSettings,
)
from phrasescore.scoring.cluster_scoring import ScoringJob, describe_on_worker, scored_on_workers
from phrasescore.table.block import TableBlock, checked_block
from phrasescore.table.phrase_table import TableFormat
from tests.support.dask_clusters import DaskCluster, require_dask
from tests.support.random_models import save_random_model

NUMERICS = {"device": "cpu", "batch_size": None, "precision": ["fp32"]}


def block_of(line: int, *lines: bytes) -> TableBlock:
    text = b"".join(each + b"\n" for each in lines)
    return checked_block(text, len(lines), line, "table", TableFormat(1, hierarchical=False))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start one worker."""
    require_dask()
    started = DaskCluster(tmp_path_factory.mktemp("dask") / "cluster", [1])
    with started, Cluster(str(started.scheduler_file)) as joined:
        yield joined


def test_what_a_worker_refuses(cluster: Cluster, tmp_path: Path) -> None:
    """A missing or different model is an error with the worker's name; line errors are as usual."""
    folder = save_random_model(tmp_path / "model", [b"a"], [b"b"])
    job = ScoringJob((str(folder),), ComputeSettings("cpu", "fp32"), None)
    described = describe_on_worker(cluster, job, None)
    assert described.numerics == NUMERICS

    def score(wanted: ReadyModels, *lines: bytes, folder: Path = folder) -> None:
        settings = ScoringSettings(factor=1)
        blocks = iter([block_of(7, b"a|x ||| b|y ||| 1"), block_of(8, *lines)])
        list(scored_on_workers(cluster, [str(folder)], wanted, settings, blocks))

    score(described, b"a|x ||| b|y ||| 1")
    with pytest.raises(PhraseTableError, match="factor") as caught:
        score(described, b"a|x ||| b|y ||| 1", b"a ||| b ||| 1")
    assert (caught.value.path, caught.value.line) == ("table", 9)
    wanted = dataclasses.replace(described, identities=(("0", "source-target"),))
    with pytest.raises(ClusterError, match=r"the worker tcp://.* has another model in this folder"):
        score(wanted, b"a|x ||| b|y ||| 1")
    with pytest.raises(ClusterError, match=r"tcp://.* cannot score: no such model") as unseen:
        score(described, b"a|x ||| b|y ||| 1", folder=tmp_path / "gone")
    assert unseen.value.path == tmp_path / "gone"
    shutil.rmtree(folder)
    # the loaded model stays
    score(described, b"a|x ||| b|y ||| 1")


class _TwoKinds:
    """Fake workers with different processors, which one machine does not have."""

    def __init__(self) -> None:
        self.workers = {"tcp://one": 1, "tcp://two": 1}
        self._asked = 0

    def start(self, function: Any, *arguments: Any) -> Any:
        self._asked += 1
        worker = list(self.workers)[self._asked % 2]
        counts = ScoringCounts(1, 1, processors=(worker[-3:],))
        return SimpleNamespace(done=lambda: True, result=lambda: (b"", counts, worker))


def test_two_kinds_of_processors(capfd: pytest.CaptureFixture[str]) -> None:
    """Different processors cause one warning, and all kinds are in the counts."""
    blocks, fake = [block_of(1, b"a ||| b ||| 1")] * 5, _TwoKinds()
    ready, counts = ReadyModels((), 0, NUMERICS), ScoringCounts()
    for _, of_block in scored_on_workers(fake, [], ready, ScoringSettings(), iter(blocks)):  # type: ignore[arg-type]
        counts += of_block
    assert (counts.lines, counts.processors) == (5, ("one", "two"))
    assert capfd.readouterr().err.count("last digits may differ") == 1
