"""No process that a command starts imports modules from another user's folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from phrasescore.runs.processes import python_command, run
from tests.conftest import PROJECT
from tests.support.killed import wait_for
from tests.support.toy_system import write_toy_system
from tests.support.warm_process import Surroundings, WarmProcesses

# modules that Python imports at startup, modules for ``python -m``, and modules of the commands
_MODULES = [
    "sitecustomize",
    "usercustomize",
    "linecache",
    "runpy",
    "ctypes",
    "click",
    "json",
    "numpy",
    "re",
]
_MARKER = "a-module-ran"
# the value of `PYTHONPATH=$PYTHONPATH:/some/folder` in a shell, and a relative entry
_PYTHONPATH = os.pathsep.join(["", ".", "..", str(PROJECT)])


def plant(folder: Path) -> Path:
    """Write modules that create a file when they are imported; return the file."""
    folder.mkdir(exist_ok=True)
    marker = folder / _MARKER
    for name in (*_MODULES, "phrasescore", "moses_integration"):
        (folder / f"{name}.py").write_text(f"open({str(marker)!r}, 'a').write('{name} ')\n")
    return marker


@pytest.mark.parametrize("option", [True, False])
def test_the_data_of_an_experiment(
    warm_processes: WarmProcesses, tmp_path: Path, option: bool
) -> None:
    """Steps run in the data folder; the first step has run, because it fails at the table."""
    toy = write_toy_system(tmp_path / "data")
    (tmp_path / "data" / "phrase-table").write_text("no table\n")
    marker = plant(tmp_path / "data")
    named = tmp_path / ("elsewhere" if option else "data")
    (tmp_path / "toy.toml").write_text(toy.experiment().replace(str(tmp_path / "data"), str(named)))
    given = ["--data", "data"] if option else []
    done = warm_processes.observe(
        ["experiment", "toy.toml", *given, "-o", "results"],
        Surroundings(tmp_path, {**os.environ, "PYTHONPATH": _PYTHONPATH}),
    )
    assert done.status == 3, done.errors.decode()
    assert b"phrase-table:1: " in done.errors
    assert not marker.exists(), marker.read_text()


def test_the_step_of_ems(tmp_path: Path) -> None:
    """The EMS step starts `phrasescore` in its own folder, which has run: it refuses an option."""
    marker = plant(tmp_path)
    (tmp_path / "table.gz").write_text("a ||| b ||| 0.5 2.718 ||| 0-0 ||| 1 1 1\n")
    step = python_command(
        "from moses_integration.ems import main; main()",
        ["--model", "model", "--train", "--hidden -1", "table", "scored"],
    )
    done = run(step, cwd=tmp_path, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": ":"})
    assert done.returncode == 2
    assert b"train ended with status 2" in done.stderr
    assert not marker.exists(), marker.read_text()


def test_warm_up(tmp_path: Path) -> None:
    """Warm-up commands run in a temporary folder, from which a relative entry leads here."""
    marker = plant(tmp_path / "temporary")
    (tmp_path / "here" / "empty").mkdir(parents=True)
    environment = {
        "TMPDIR": str(tmp_path / "temporary"),
        "PYTHONPATH": os.pathsep.join(["..", str(PROJECT)]),
    }
    end_when_a_system_is_built(
        ["-m", "phrasescore", "warm-up"], tmp_path / "here" / "empty", environment, tmp_path
    )
    assert not marker.exists(), marker.read_text()


def test_the_demo(tmp_path: Path) -> None:
    """The demo's commands run in the folder of the call."""
    marker = plant(tmp_path)
    end_when_a_system_is_built(
        [str(PROJECT / "sample_corpus" / "demo.py")],
        tmp_path,
        {"PYTHONPATH": str(PROJECT)},
        tmp_path,
    )
    assert not marker.exists(), marker.read_text()


def end_when_a_system_is_built(
    program: list[str], folder: Path, environment: dict[str, str], place: Path
) -> None:
    """Run Python code until a command that it starts builds a system below a folder."""
    process = subprocess.Popen(
        [sys.executable, *program],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: any(place.rglob(".build")) or process.poll() is not None)
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def test_a_checkout_finds_itself_anywhere(tmp_path: Path) -> None:
    """An uninstalled checkout is imported instead of an installed package of the same name."""
    (tmp_path / "installed" / "phrasescore").mkdir(parents=True)
    (tmp_path / "installed" / "phrasescore" / "__init__.py").write_text("raise SystemExit(1)\n")
    code = "import phrasescore; print(phrasescore.__file__, *sys.path, sep='\\n')"
    done = run(
        python_command(code),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f":installed:{tmp_path / 'installed'}"},
    )
    found, *path = done.stdout.decode().splitlines()
    assert found == str(PROJECT / "phrasescore" / "__init__.py")
    assert path[:2] == [str(PROJECT), str(tmp_path / "installed")]
    assert all(map(os.path.isabs, path))
    assert str(tmp_path) not in path
