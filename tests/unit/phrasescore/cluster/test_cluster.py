"""Tasks on real workers: results, errors, workers that stop, die or have other versions."""

from __future__ import annotations

import operator
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future
from concurrent.futures import wait as wait_for_all
from pathlib import Path

import pytest

from phrasescore.cluster import cluster as cluster_module
from phrasescore.cluster import watch
from phrasescore.cluster.cluster import Cluster, LostWorkerError, in_order
from phrasescore.cluster.worker_side import UnfitWorkerError, own_name
from phrasescore.errors import ClusterError, InputError, MissingDependencyError, SettingsError
from phrasescore.runs.identity import sha256_of
from tests.support.dask_clusters import DaskCluster, require_dask

dask = require_dask()


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """Two workers with a thread each."""
    with DaskCluster(tmp_path_factory.mktemp("dask") / "cluster", [1, 1]) as started:
        yield started


def wait_for_workers(cluster: Cluster, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(cluster.workers) != count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_results_and_errors(two_workers: DaskCluster, tmp_path: Path) -> None:
    """A task gives what its function gives, or its error, place and remedy included."""
    with Cluster(str(two_workers.scheduler_file)) as cluster:
        wait_for_workers(cluster, 2)
        made = [cluster.start(operator.mul, number, 2) for number in range(20)]
        assert [future.result(60) for future in made] == [2 * number for number in range(20)]
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        with pytest.raises(InputError) as caught:
            cluster.start(sha256_of, str(pipe)).result(60)
        assert caught.value.path == str(pipe)
        pids = {cluster.start(os.getpid, worker=name).result(60) for name in cluster.workers}
        assert pids == {worker.pid for worker in two_workers.workers}


def refusing(unfit: list[int], number: int) -> int:
    """Refuse to work in some processes."""
    if os.getpid() in unfit:
        raise UnfitWorkerError(f"the worker {own_name()} is too small", worker=own_name())
    return 2 * number


def test_a_worker_that_lacks_something(
    two_workers: DaskCluster, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is named once, and others do its work; where there are none, it is an error."""
    pids = [worker.pid for worker in two_workers.workers]
    with Cluster(str(two_workers.scheduler_file)) as cluster:
        wait_for_workers(cluster, 2)
        for _ in range(3):
            made = [cluster.start(refusing, pids[:1], number) for number in range(20)]
            assert [future.result(60) for future in made] == [2 * number for number in range(20)]
        assert capfd.readouterr().err.count("is too small; it takes no part") == 1
    with Cluster(str(two_workers.scheduler_file)) as cluster:
        with pytest.raises(UnfitWorkerError, match=r"the worker tcp://.* is too small"):
            cluster.start(refusing, pids, 1).result(60)
        assert list(cluster.workers) == []


def test_workers_that_are_fit_die(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What was kept for them is done by one that joins."""
    with DaskCluster(tmp_path / "cluster", [1, 1]) as dask:
        pids = [worker.pid for worker in dask.workers]
        with Cluster(str(dask.scheduler_file)) as cluster:
            wait_for_workers(cluster, 2)
            first = [cluster.start(refusing, pids[:1], number) for number in range(4)]
            assert [future.result(60) for future in first] == [0, 2, 4, 6]
            sleeping = cluster.start(time.sleep, 1)
            later = cluster.start(refusing, pids[:1], 5)
            dask.kill(dask.workers[1])
            dask.add_worker()
            assert later.result(60) == 10
            assert sleeping.result(60) is None


def test_a_stopped_worker_keeps_nothing_back(two_workers: DaskCluster) -> None:
    """What is late is given to another worker, too; when it wakes up, nothing changes."""
    with dask.config.set({"phrasescore.patience": 0.5}):
        impatient = Cluster(str(two_workers.scheduler_file))
    with impatient as cluster:
        wait_for_workers(cluster, 2)
        assert cluster.start(operator.add, 1, 1).result(60) == 2
        stopped = two_workers.workers[0]
        stopped.send_signal(signal.SIGSTOP)
        try:
            made = [cluster.start(operator.add, number, 1) for number in range(6)]
            assert [future.result(60) for future in made] == [1, 2, 3, 4, 5, 6]
        finally:
            stopped.send_signal(signal.SIGCONT)
        made = [cluster.start(operator.add, number, 2) for number in range(6)]
        assert [future.result(60) for future in made] == [2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("name", ["torch", "gzip"])
def test_a_worker_of_another_version(
    two_workers: DaskCluster, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It is refused by its address, with what differs; so is all work."""
    ours = {**watch.versions(), name: "1.0"}
    monkeypatch.setattr(cluster_module, "versions", lambda: ours)
    with Cluster(str(two_workers.scheduler_file)) as cluster:
        task = cluster.start(time.sleep, 60)
        with pytest.raises(
            ClusterError, match=rf"the worker tcp://.* has {name} .*, this process 1"
        ):
            task.result(60)


def test_workers_that_die_and_join(tmp_path: Path) -> None:
    """A task whose worker dies goes to the next one that joins, unless it was for that one."""
    started = DaskCluster(tmp_path / "cluster", [1])
    with started, Cluster(str(started.scheduler_file)) as cluster:
        wait_for_workers(cluster, 1)
        (name,) = cluster.workers
        anywhere = cluster.start(time.sleep, 2)
        only_there = cluster.start(time.sleep, 3, worker=name)
        time.sleep(0.5)
        started.kill(started.workers[0])
        with pytest.raises(LostWorkerError, match="is gone"):
            only_there.result(60)
        assert not anywhere.done()
        started.add_worker()
        anywhere.result(60)


def test_a_scheduler_that_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work ends with a sentence."""
    monkeypatch.setattr(watch, "ANSWER", 1.0)
    started = DaskCluster(tmp_path / "cluster")
    with started, Cluster(str(started.scheduler_file)) as cluster:
        task = cluster.start(operator.add, 1, 1)
        started.end_scheduler()
        with pytest.raises(ClusterError, match=r"has gone\. Start it again"):
            task.result(60)


def test_no_scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that nobody writes, one without an address, an address where nobody listens."""
    monkeypatch.setattr("phrasescore.cluster.cluster._FILE_PATIENCE", 0.2)
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


def test_patience() -> None:
    """What Dask's configuration says must be seconds."""
    with (
        dask.config.set({"phrasescore.patience": "soon"}),
        pytest.raises(SettingsError, match=r"phrasescore\.patience"),
    ):
        Cluster("tcp://127.0.0.1:9")


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(MissingDependencyError, match=r"phrasescore\[cluster\]"):
        Cluster("tcp://127.0.0.1:1")


def test_in_order() -> None:
    """Results come in order, few are under way, and one that is late stops nothing soon."""
    begun: list[Future[int]] = []

    def start(number: int) -> Future[int]:
        begun.append(Future())
        if number:
            begun[-1].set_result(number)
            assert sum(not future.done() for future in begun) <= 2
        if number == 7:
            begun[0].set_result(0)
        return begun[-1]

    assert list(in_order(iter(range(20)), start, lambda: 2)) == list(range(20))
    wait_for_all(begun)


def test_in_order_ends_what_it_began() -> None:
    """An error ends the rest."""
    begun: list[Future[int]] = []

    def start(number: int) -> Future[int]:
        begun.append(Future())
        if number == 0:
            begun[-1].set_exception(InputError("bad"))
        return begun[-1]

    with pytest.raises(InputError):
        list(in_order(iter(range(5)), start, lambda: 3))
    assert all(future.done() for future in begun)
