"""``score --cluster`` with real workers writes the bytes of one machine, whatever happens."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.conftest import Phrasescore, StartPhrasescore
from tests.support.dask_clusters import DaskCluster, require_dask
from tests.support.random_models import save_random_model

require_dask()
_WORDS = [b"w%d" % number for number in range(40)]
_LINES = 60_000  # the last block takes longer than a worker needs to start


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table of several blocks and two small models."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(19)
    lines = []
    for number in range(_LINES):
        source = b" ".join(_WORDS[i] for i in rng.integers(0, 40, 3))
        target = b" ".join(_WORDS[i] for i in rng.integers(0, 40, rng.integers(1, 5)))
        lines.append(b"%s ||| %s ||| 0.5 %g ||| 0-0\n" % (source, target, number + 1))
    with gzip.open(folder / "table.gz", "wb", compresslevel=1) as stream:
        stream.write(b"".join(sorted(lines)))
    save_random_model(folder / "model", _WORDS, _WORDS)
    save_random_model(folder / "other", _WORDS[:-1], _WORDS)
    return folder


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """Start a worker with one thread and a worker with two threads."""
    with DaskCluster(tmp_path_factory.mktemp("dask") / "cluster", [1, 2]) as started:
        yield started


@pytest.fixture(scope="module")
def here(data: Path, start_phrasescore: StartPhrasescore) -> Path:
    """Return the table scored on this machine."""
    folder = data / "here"
    folder.mkdir()
    arguments = [data / "table.gz", "--model", data / "model", "-o", "out.gz", "--unknown-column"]
    done = start_phrasescore(folder, "score", *arguments, "--json-file", "out.json").wait()
    assert done.status == 0, done.errors
    return folder


def arguments(data: Path, dask: DaskCluster) -> list[str | Path]:
    common = ["score", data / "table.gz", "--model", data / "model", "--unknown-column"]
    return [*common, "--cluster", dask.scheduler_file]


def without_times(path: Path) -> dict[str, object]:
    report = json.loads(path.read_bytes())
    own = {"seconds", "pairs_per_second", "provenance", "resumed_pairs", "models"}
    return {name: value for name, value in report.items() if name not in own}


def test_bytes_of_one_machine(
    data: Path, here: Path, dask: DaskCluster, phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """Compressed and plain output, report and precision equal those of one machine."""
    phrasescore(*arguments(data, dask), "-o", "out.gz", "--json-file", "out.json").well()
    assert (tmp_path / "out.gz").read_bytes() == (here / "out.gz").read_bytes()
    assert without_times(tmp_path / "out.json") == without_times(here / "out.json")
    reports = [json.loads((folder / "out.json").read_bytes()) for folder in (tmp_path, here)]
    used = [report["provenance"]["settings"]["numerics"] for report in reports]
    assert used[0] == used[1]
    assert reports[0]["processors"]
    phrasescore(*arguments(data, dask), "-o", "plain").well()
    assert (tmp_path / "plain").read_bytes() == gzip.decompress((here / "out.gz").read_bytes())


def test_workers_and_the_coordinator_die(
    phrasescore: Phrasescore, data: Path, here: Path, tmp_path: Path
) -> None:
    """Output is equal after a worker is killed, another joins, one stops, the coordinator dies."""
    with DaskCluster(tmp_path / "cluster", [1, 1]) as dask:
        call = [*arguments(data, dask), "-o", "out.gz"]
        phrasescore.killed_after_a_block("out.gz", *call)
        again = phrasescore.start(*call)
        dask.kill(dask.workers[0])
        dask.add_worker(2)
        dask.workers[1].send_signal(signal.SIGSTOP)
        time.sleep(3)
        dask.workers[1].send_signal(signal.SIGCONT)
        done = again.wait()
    assert done.status == 0, done.errors
    assert b"continuing after line" in done.errors
    assert (tmp_path / "out.gz").read_bytes() == (here / "out.gz").read_bytes()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_run_goes_on_without_the_cluster(
    phrasescore: Phrasescore, data: Path, here: Path, dask: DaskCluster, tmp_path: Path
) -> None:
    """A run that started on a cluster can continue on one machine."""
    call = [*arguments(data, dask), "-o", "out.gz"]
    phrasescore.killed_after_a_block("out.gz", *call)
    done = phrasescore(*call[:-4], "-o", "out.gz").well()
    assert b"continuing after line" in done.stderr
    assert (tmp_path / "out.gz").read_bytes() == (here / "out.gz").read_bytes()


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_run_goes_on_as_it_began(
    data: Path, dask: DaskCluster, phrasescore: Phrasescore, tmp_path: Path, precision: str
) -> None:
    """A run continues with its initial settings, including the precision."""
    call = [*arguments(data, dask), "-o", "out.gz"]
    asked = ["--precision", precision]
    phrasescore.killed_after_a_block("out.gz", *call, *asked)
    done = phrasescore(*call).well()
    assert b"continuing after line" in done.stderr
    assert f"model: {precision} is used, as before".encode() in done.stderr
    phrasescore(*call[:-4], "-o", "here.gz", *asked).well()
    assert (tmp_path / "out.gz").read_bytes() == (tmp_path / "here.gz").read_bytes()


def test_refusals(data: Path, dask: DaskCluster, phrasescore: Phrasescore, tmp_path: Path) -> None:
    """Each refusal is one sentence."""
    call = arguments(data, dask)
    phrasescore(*call, "-o", "out", "--threads", "1").refused(2, "--cluster and --threads exclude")
    if not torch.cuda.is_available():
        phrasescore(*call, "-o", "out", "--device", "cuda", "--precision", "fp32").refused(
            9, "cannot score: there is no CUDA device"
        )
    (tmp_path / "no.json").write_text("[]")
    done = phrasescore(*call[:-1], "no.json", "-o", "out")
    done.refused(9, "no.json: no scheduler has written")
    assert done.stderr.count(b"\n") == 1
    shutil.copytree(data / "model", tmp_path / "broken")
    with (tmp_path / "broken" / "model.safetensors").open("ab") as stream:
        stream.write(b"x")
    done = phrasescore(*call, "--model", "broken", "-o", "out").refused(
        9, "cannot score: damaged: model.safetensors"
    )
    assert b"the worker tcp://" in done.stderr
    assert not any(path.name.startswith((".out", "out")) for path in tmp_path.iterdir())


def test_interrupted(phrasescore: Phrasescore, data: Path, dask: DaskCluster) -> None:
    """Ctrl-C prints how to continue, even without workers."""
    for worker in dask.workers:
        worker.send_signal(signal.SIGSTOP)
    try:
        running = phrasescore.start(*arguments(data, dask), "-o", "out.gz")
        time.sleep(1.5)
        os.kill(running.pid, signal.SIGINT)
        done = running.wait()
    finally:
        for worker in dask.workers:
            worker.send_signal(signal.SIGCONT)
    assert done.status == 130
    assert b"to continue, type: phrasescore score" in done.errors.lower()


@pytest.mark.slow
def test_an_empty_cache_of_machine_code(
    data: Path, here: Path, phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """Workers that start together with one compile cache do not disturb each other."""
    shared = {"NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    with DaskCluster(tmp_path / "cluster", [1, 1, 1], shared) as dask:
        done = phrasescore(*arguments(data, dask), "-o", "out.gz")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.gz").read_bytes() == (here / "out.gz").read_bytes()
    assert list((tmp_path / "numba").rglob("*.nbc"))
