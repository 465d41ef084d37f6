"""Running the commands of steps on real workers, and ending them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from phrasescore.cluster.cluster import Cluster
from phrasescore.errors import ClusterError, InterruptedWorkError
from tests.support.dask_clusters import DaskCluster, require_dask
from tests.support.killed import wait_for
from tests.support.warm_process import is_running
from tuning.experiment.cluster_steps import ClusterSteps
from tuning.experiment.plan import CommandStep, command_step
from tuning.experiment.runner import Runner

require_dask()


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[DaskCluster]:
    """Start two workers."""
    with DaskCluster(tmp_path / "cluster", [1, 1]) as started:
        yield started


def shell(folder: Path, name: str, script: str, *inputs: Path, **more: Path) -> CommandStep:
    """Return a step whose script makes the file ``name`` in the folder."""
    return command_step(name, ("/bin/sh", "-c", script), inputs, (folder / name,), **more)


def alone(folder: Path, script: str, *outputs: Path) -> tuple[CommandStep, Path, Path]:
    """Return a step, its folder and its log."""
    step = command_step("step", ("/bin/sh", "-c", script), (), outputs)
    return step, folder, folder / "log"


def number(path: Path) -> int:
    """Return the process number that a script has written."""
    wait_for(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


def test_steps_on_workers(dask: DaskCluster, tmp_path: Path) -> None:
    """Each worker runs one command at a time, in the order of inputs; output and times are kept."""
    folder = tmp_path / "results"
    folder.mkdir()
    # both commands wait for each other, so they must run at the same time on two workers
    left = shell(folder, "left", "echo $PPID > l; until test -s r; do sleep 0.05; done; cp l left")
    right = shell(
        folder, "right", "echo $PPID > r; until test -s l; do sleep 0.05; done; cp r right"
    )
    last = shell(
        folder, "last", "cat left right", folder / "left", folder / "right",
        standard_output=folder / "last",
    )  # fmt: skip
    ran: list[str] = []
    with Cluster(str(dask.scheduler_file)) as cluster:
        wait_for(lambda: len(cluster.workers) == 2)
        place = ClusterSteps(cluster, None, lambda line: None)
        assert place.room() == 2
        runner = Runner(
            folder, folder, place, lambda line: None, lambda step: ran.append(step.name)
        )
        assert runner.run([last, left, right]) == 3
    assert (sorted(ran[:2]), ran[2]) == (["left", "right"], "last")
    here = {worker.pid for worker in dask.workers}
    assert {int(line) for line in (folder / "last").read_text().split()} == here


def test_a_worker_dies(dask: DaskCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker's command dies with it, and runs again on another worker, even with stale locks."""
    monkeypatch.setattr("tuning.experiment.cluster_steps._BETWEEN", 0.5)
    script = "echo $$ > first.part; mv -n first.part first; test first.part -ef x; "
    script += "if test -e refused; then echo done > out; "
    script += "elif test -e again; then touch refused; exit 6; else touch again; sleep 600; fi"
    said: list[str] = []
    with Cluster(str(dask.scheduler_file)) as cluster:
        wait_for(lambda: len(cluster.workers) == 2)
        place = ClusterSteps(cluster, 1, said.append)
        # without a lost worker, a held lock is an error
        assert place.run(*alone(tmp_path, "exit 6")) == 6
        running = threading.Thread(target=place.run, args=alone(tmp_path, script))
        running.start()
        process = number(tmp_path / "first")
        wait_for((tmp_path / "again").exists)
        parent = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        dask.kill(next(worker for worker in dask.workers if worker.pid == parent))
        running.join(120)
        wait_for(lambda: not is_running(process))
    assert (tmp_path / "out").read_text() == "done\n"
    assert "is gone; running it on another worker" in said[0]
    assert said[1:] == ["step: waiting for an earlier try to end"]


def test_stopping(dask: DaskCluster, tmp_path: Path) -> None:
    """Commands get Ctrl-C on their workers, and may end in their own way."""
    script = "trap 'echo saved > saved; exit 1' INT; echo $$ > out.part; mv out.part out; "
    script += "while :; do sleep 0.1; done"
    found: list[BaseException] = []

    def work() -> None:
        try:
            place.run(*alone(tmp_path, script))
        except InterruptedWorkError as error:
            found.append(error)

    with Cluster(str(dask.scheduler_file)) as cluster:
        place = ClusterSteps(cluster, None, lambda line: None)
        running = threading.Thread(target=work)
        running.start()
        process = number(tmp_path / "out")
        place.stop()
        running.join(120)
        wait_for(lambda: not is_running(process))
    assert len(found) == 1
    assert (tmp_path / "saved").read_text() == "saved\n"


def test_a_folder_that_a_worker_does_not_see(dask: DaskCluster, tmp_path: Path) -> None:
    """The error names the folder and the worker."""
    step, _, log = alone(tmp_path, "true")
    with Cluster(str(dask.scheduler_file)) as cluster:
        place = ClusterSteps(cluster, None, lambda line: None)
        with pytest.raises(ClusterError, match="does not see this folder") as caught:
            place.run(step, tmp_path / "gone", log)
    assert caught.value.path == tmp_path / "gone"
