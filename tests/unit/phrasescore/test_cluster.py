"""Tasks on real workers: results, errors, workers that stop, die or have other versions."""

from __future__ import annotations

import operator
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from phrasescore import cluster as cluster_module
from phrasescore.cluster import Cluster
from phrasescore.errors import ClusterError, InputError
from phrasescore.runs.identity import sha256_of
from tests.support.dask_clusters import DaskCluster, require_dask
from tests.support.killed import wait_for

dask = require_dask()


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """Start two workers with one thread each."""
    with DaskCluster(tmp_path_factory.mktemp("dask") / "cluster", [1, 1]) as started:
        yield started


def test_results_and_errors(two_workers: DaskCluster, tmp_path: Path) -> None:
    """A task returns its function's result, or raises its error with place and remedy."""
    with Cluster(str(two_workers.scheduler_file)) as cluster:
        wait_for(lambda: len(cluster.workers) == 2)
        made = [cluster.start(operator.mul, number, 2) for number in range(20)]
        assert [future.result() for future in made] == [2 * number for number in range(20)]
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        with pytest.raises(InputError) as caught:
            cluster.start(sha256_of, str(pipe)).result()
        assert caught.value.path == str(pipe)


def die() -> None:
    """Kill the worker that runs this function."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_task_that_its_workers_die_of(tmp_path: Path) -> None:
    """A task that kills several workers is given up with an error."""
    few = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
    started = DaskCluster(tmp_path / "cluster", [1, 1], few)
    with started, Cluster(str(started.scheduler_file)) as cluster:
        wait_for(lambda: len(cluster.workers) == 2)
        with pytest.raises(ClusterError, match="has lost its worker 2 times"):
            cluster.start(die).result()


@pytest.mark.parametrize("name", ["torch", "gzip"])
def test_a_worker_of_another_version(
    two_workers: DaskCluster, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A worker of another version is named by its address, with the difference; work ends."""
    ours = {**cluster_module.versions(), name: "1.0"}
    monkeypatch.setattr(cluster_module, "versions", lambda: ours)
    with Cluster(str(two_workers.scheduler_file)) as cluster:
        task = cluster.start(time.sleep, 60)
        with pytest.raises(
            ClusterError, match=rf"the worker tcp://.* has {name} .*, but this process has 1"
        ):
            task.result()


def test_a_scheduler_that_goes(tmp_path: Path) -> None:
    """If the scheduler dies, work ends with an error."""
    started = DaskCluster(tmp_path / "cluster")
    with started, Cluster(str(started.scheduler_file)) as cluster:
        task = cluster.start(operator.add, 1, 1)
        started.end_scheduler()
        with pytest.raises(ClusterError, match=r"has gone\. Start it again"):
            task.result()


def test_no_scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing scheduler files, files without an address and dead addresses are errors."""
    monkeypatch.setattr("phrasescore.cluster._FILE_PATIENCE", 0.2)
    with pytest.raises(ClusterError, match="no scheduler has written this file"):
        Cluster(str(tmp_path / "none"))
    (tmp_path / "empty.json").write_text("{}")
    with pytest.raises(ClusterError, match="no address of a scheduler"):
        Cluster(str(tmp_path / "empty.json"))
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        with pytest.raises(ClusterError, match="does not answer"), Cluster("tcp://127.0.0.1:9"):
            pass
        with pytest.raises(ClusterError, match="does not answer"), Cluster("tls://127.0.0.1:9"):
            pass
