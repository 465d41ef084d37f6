"""Fixtures for all tests: goldens, real Moses, a command runner, Hypothesis profiles."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

import hypothesis
import numpy as np
import pytest

from phrasescore.runs import processes
from tests.support.browser import Pages, chromium
from tests.support.fresh_process import Done
from tests.support.warm_process import PROJECT, Started, Surroundings, WarmProcesses, warm_start

# `make test` tries the same examples every time, so that its result is reproducible;
# `make test-all` tries new random examples with --hypothesis-profile=search
hypothesis.settings.register_profile("repeat", max_examples=25, deadline=None, derandomize=True)
hypothesis.settings.register_profile("search", max_examples=200, deadline=None)
hypothesis.settings.load_profile("repeat")


# children of a background job ignore Ctrl-C, and children of nohup ignore SIGHUP; restore both
# signals, because the tests check how commands handle them
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


# Without this, waiting threads of torch keep their cores busy, which took two fifths of the
# processor time of the scoring tests. torch is not imported yet, and commands inherit the variable.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def _shared() -> Path:
    return Path(os.environ.get("PHRASESCORE_SHARED", PROJECT.parent / "shared"))


BUNDLED_GOLDEN = PROJECT / "tests" / "data" / "golden"


@pytest.fixture(scope="session")
def bundled_golden() -> Path:
    """Return the folder with real Moses's results on part of the sample corpus, always present."""
    return BUNDLED_GOLDEN


@pytest.fixture(scope="session", params=["bundled", "shared"])
def golden(request: pytest.FixtureRequest) -> Path:
    """Return each folder with results of real Moses and the reference models, in turn."""
    if request.param == "bundled":
        return BUNDLED_GOLDEN
    folder = _shared() / "golden"
    if not folder.is_dir():
        pytest.skip(f"no {folder}: set PHRASESCORE_SHARED to the folder that holds golden/")
    return folder


@pytest.fixture(scope="session")
def multi30k() -> Path:
    """Return the folder of the real Moses system on Multi30k English-French."""
    folder = _shared() / "data" / "multi30k-enfr"
    if not folder.is_dir():
        pytest.skip(f"no {folder}: set PHRASESCORE_SHARED to the folder that holds data/")
    return folder


@pytest.fixture(scope="session")
def field() -> Path:
    """Return the folder of real text of language pairs that have little of it."""
    folder = _shared() / "data" / "field"
    if not folder.is_dir():
        pytest.skip(f"no {folder}: set PHRASESCORE_SHARED to the folder that holds data/")
    return folder


@pytest.fixture(scope="session")
def moses_bin() -> Path:
    """Return the folder with real Moses binaries; tests that use it are marked ``moses``."""
    folder = os.environ.get("MOSES_BIN")
    if not folder or not (Path(folder) / "moses").is_file():
        pytest.skip("no real Moses: set MOSES_BIN to the folder of its binaries")
    return Path(folder)


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a seeded generator."""
    return np.random.default_rng(20141025)


class Phrasescore:
    """Runs ``phrasescore ARGS...`` like a user.

    Args:
        folder: The current directory of the command.
        processes: The server that runs it.
    """

    def __init__(self, folder: Path, processes: WarmProcesses) -> None:
        self._folder, self._processes = folder, processes

    def __call__(self, *arguments: str | Path, stdin: bytes = b"") -> Done:
        """Run a command to its end, as ``subprocess.run`` does."""
        given = [*map(str, arguments)]
        found = self._processes.observe(given, self._surroundings(stdin=stdin))
        if found.status == -signal.SIGKILL:
            raise TimeoutExpired(given, Surroundings.timeout, found.output, found.errors)
        return Done(given, found.status, found.output, said(found.errors))

    def start(self, *arguments: str | Path, named: str | None = None) -> Started:
        """Start a command; it may be killed once a file has got a name, see `Surroundings`."""
        return self._processes.start([*map(str, arguments)], self._surroundings(named=named))

    def _surroundings(self, **more: Any) -> Surroundings:
        return Surroundings(self._folder, children=self._processes.place, **more)

    def killed_after_a_block(self, output: str, *arguments: str | Path) -> None:
        """Run a command that is killed with SIGKILL when its journal has one block."""
        ended = self.start(*arguments, named=f".{output}.journal").wait()
        assert ended.status == -signal.SIGKILL, ended.errors.decode()
        assert not (self._folder / output).exists()


StartPhrasescore = Callable[..., Started]


@pytest.fixture(scope="session")
def warm_processes() -> Iterator[WarmProcesses]:
    """Start a server that runs ``phrasescore`` without importing torch each time."""
    with WarmProcesses() as processes:
        yield processes


@pytest.fixture
def warm_children(warm_processes: WarmProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each ``python -c`` that the tests' process starts in a warm process."""
    monkeypatch.setattr(processes, "start", warm_start(warm_processes.place))


@pytest.fixture(scope="session")
def start_phrasescore(warm_processes: WarmProcesses) -> StartPhrasescore:
    """Return a function that starts ``phrasescore ARGS...`` in a folder without waiting."""

    def start(folder: Path, *arguments: str | Path, named: str | None = None) -> Started:
        return Phrasescore(folder, warm_processes).start(*arguments, named=named)

    return start


# the state of a progress bar, which a slow machine writes to a log every 30 s; "s/ UNIT" is the
# time of a unit that takes more than a second
_PROGRESS_LINE = re.compile(rb"[^:\n]+: .*\[\d+:\d\d.*(?:/s|s/ ).*\]\n")


# what a process says that compiles, or waits for another one that does
_COMPILING = re.compile(
    rb"(?:waiting for process \d*, which is )?compiling for this machine, .*\n|compiling took .*\n"
)


def said(errors: bytes) -> bytes:
    """Return a standard error without the lines that only a slow or new machine prints."""
    return b"".join(
        line
        for line in errors.splitlines(keepends=True)
        if not (_COMPILING.fullmatch(line) or _PROGRESS_LINE.fullmatch(line))
    )


@pytest.fixture
def phrasescore(tmp_path: Path, warm_processes: WarmProcesses) -> Phrasescore:
    """Return a function that runs ``phrasescore ARGS...`` like a user, in an empty folder."""
    return Phrasescore(tmp_path, warm_processes)


@pytest.fixture(scope="session")
def _browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def pages(_browser: Any) -> Iterator[Pages]:
    """Open pages in headless Chromium; tests that use it are marked ``browser``.

    A page with console errors or network requests fails the test.
    """
    opened = Pages(_browser)
    yield opened
    opened.close()
