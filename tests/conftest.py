"""What every test may use: goldens, real Moses, a command runner, Hypothesis profiles."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

from tests.support.browser import Pages, chromium
from tests.support.warm_process import Started, Surroundings, WarmProcesses

PROJECT = Path(__file__).resolve().parent.parent

# `make test` tries the same examples every time, so that what passed once passes anywhere;
# `make test-all` looks for new ones: --hypothesis-profile=search
hypothesis.settings.register_profile("repeat", max_examples=25, deadline=None, derandomize=True)
hypothesis.settings.register_profile("search", max_examples=200, deadline=None)
hypothesis.settings.load_profile("repeat")


# a shell that starts this in the background has its children ignore Ctrl-C, nohup has them ignore
# SIGHUP, and they theirs; what is tested is what the commands do when they hear them
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


# Threads of torch that wait for each other would do so busily, and take the cores from what runs
# beside: two fifths of all processor time of the tests of scoring. torch is not imported yet, and
# commands inherit this.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def _shared() -> Path:
    return Path(os.environ.get("PHRASESCORE_SHARED", PROJECT.parent / "shared"))


BUNDLED_GOLDEN = PROJECT / "tests" / "data" / "golden"


@pytest.fixture(scope="session")
def bundled_golden() -> Path:
    """What real Moses gave on a part of the sample corpus: always there."""
    return BUNDLED_GOLDEN


@pytest.fixture(scope="session", params=["bundled", "shared"])
def golden(request: pytest.FixtureRequest) -> Path:
    """Each folder with what real Moses and the reference model gave; tests of parity use both."""
    if request.param == "bundled":
        return BUNDLED_GOLDEN
    folder = _shared() / "golden"
    if not folder.is_dir():
        pytest.skip(f"no {folder}: set PHRASESCORE_SHARED to the folder that holds golden/")
    return folder


@pytest.fixture(scope="session")
def multi30k() -> Path:
    """The real Moses system on Multi30k English-French."""
    folder = _shared() / "data" / "multi30k-enfr"
    if not folder.is_dir():
        pytest.skip(f"no {folder}: set PHRASESCORE_SHARED to the folder that holds data/")
    return folder


@pytest.fixture(scope="session")
def moses_bin() -> Path:
    """The folder with real Moses binaries; tests that use it are marked ``moses``."""
    folder = os.environ.get("MOSES_BIN")
    if not folder or not (Path(folder) / "moses").is_file():
        pytest.skip("no real Moses: set MOSES_BIN to the folder of its binaries")
    return Path(folder)


@pytest.fixture
def rng() -> np.random.Generator:
    """A seeded generator."""
    return np.random.default_rng(20141025)


Phrasescore = Callable[..., "subprocess.CompletedProcess[bytes]"]
StartPhrasescore = Callable[..., Started]


@pytest.fixture(scope="session")
def warm_processes() -> Iterator[WarmProcesses]:
    """What starts ``phrasescore`` without importing torch each time."""
    with WarmProcesses() as processes:
        yield processes


@pytest.fixture(scope="session")
def start_phrasescore(warm_processes: WarmProcesses) -> StartPhrasescore:
    """Start ``phrasescore ARGS...`` in a folder and go on."""

    def start(folder: Path, *arguments: str | Path) -> Started:
        environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
        return warm_processes.start([*map(str, arguments)], Surroundings(folder, environment))

    return start


def said(done: subprocess.CompletedProcess[bytes]) -> bytes:
    """Return the standard error, without the line of the first run that compiles on a machine."""
    lines = done.stderr.splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith(b"compiling for this machine"))


@pytest.fixture
def phrasescore(tmp_path: Path, warm_processes: WarmProcesses) -> Phrasescore:
    """Run ``phrasescore ARGS...`` as a user would, in an empty folder; return the process."""

    def run(
        *arguments: str | Path, stdin: bytes = b"", timeout: float = 300
    ) -> subprocess.CompletedProcess[bytes]:
        environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
        done = warm_processes.run([*map(str, arguments)], tmp_path, environment, stdin, timeout)
        done.stderr = said(done)
        return done

    return run


@pytest.fixture(scope="session")
def _browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def pages(_browser: Any) -> Iterator[Pages]:
    """Open pages in headless Chromium; tests that do are marked ``browser``.

    A page that complains on its console or asks a network for anything fails the test.
    """
    opened = Pages(_browser)
    yield opened
    opened.close()
