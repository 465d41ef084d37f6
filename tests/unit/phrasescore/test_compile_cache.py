"""Compiled functions are cached, shared by processes, and recompiled when necessary."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import PROJECT

_OTHER = """
from phrasescore.compiled import compiled
from phrasescore.constants import FACTOR
@compiled
def scaled(x, factor):
    if x < 0:
        raise ValueError("below zero")
    return x * factor
"""
_MODULE = """
from phrasescore.constants import FACTOR
from phrasescore.other import scaled
from phrasescore.compiled import compiled
from numba.core import event
compilations = event.RecordingListener()
event.register("numba:compile", compilations)
@compiled
def total(values):
    sum = scaled(values[0], 0)
    for value in values:
        sum += scaled(value, FACTOR)
    return sum
"""
_RUN = """
import numpy as np, phrasescore.module as m
print(m.total(np.arange(4)), len(m.compilations.buffer) // 2)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Make a program with the module that declares compiled functions, and two users of it."""
    package = tmp_path / "program" / "phrasescore"
    for name in (
        *("__init__.py", "compiled.py", "compile_cache.py", "errors.py"),
        *("runs/__init__.py", "runs/file_kinds.py", "runs/interruption.py", "runs/progress.py"),
    ):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / "phrasescore" / name, package / name)
    (package / "constants.py").write_text("FACTOR = 3\n")
    (package / "other.py").write_text(_OTHER)
    (package / "module.py").write_text(_MODULE)
    return package


def call(program: Path, code: str = _RUN, cwd: Path | None = None, **environment: str) -> list[str]:
    """Run Python in the folder above the program, or in ``cwd``; return the printed words."""
    with started(program, code, cwd, **environment) as process:
        output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return output.split()


def started(
    program: Path, code: str, cwd: Path | None = None, **environment: str
) -> subprocess.Popen[str]:
    folder = program.parent.parent
    # Python would use cached bytecode if a changed file has the same size and time in seconds
    environment = {"PYTHONDONTWRITEBYTECODE": "1", **environment}
    environment = {"NUMBA_CACHE_DIR": str(folder / "cache"), **environment}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=cwd or folder,
        env={**os.environ, "PYTHONPATH": str(program.parent), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_change_in_another_file_counts(program: Path) -> None:
    """Changes of imported constants and functions cause recompilation."""
    assert call(program)[0] == "18"
    for name, old, new, expected in (
        ("constants.py", "= 3", "= 4", "24"),
        ("other.py", "return x * factor", "return x * factor * 2", "48"),
    ):
        (program / name).write_text((program / name).read_text().replace(old, new))
        assert call(program)[0] == expected


def test_old_folders_are_removed(program: Path) -> None:
    """A few old folders are kept, for checkouts and versions that are used alternately."""
    cache = program.parent.parent / "cache"
    for age in range(6):
        (cache / f"phrasescore-1.0-{age}").mkdir(parents=True)
        os.utime(cache / f"phrasescore-1.0-{age}", (100 - age, 100 - age))
    assert call(program) == ["18", "3"]
    old = {path.name for path in cache.glob("phrasescore-1.0-*")}
    assert old == {f"phrasescore-1.0-{age}" for age in range(3)}
    assert len(list(cache.iterdir())) == 4


def test_one_process_compiles_and_the_others_wait(program: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        said = list(pool.map(lambda _: call(program), range(3)))
    # a process that starts when the cache is no longer empty may miss one function
    assert sorted(words[1] for words in said)[-1] == "3"
    assert {words[1] for words in said} <= {"0", "1", "3"}


def test_only_a_process_that_compiles_waits(program: Path) -> None:
    """While another process compiles, one that finds all in the cache does not wait for it."""
    assert call(program) == ["18", "3"]
    (version,) = (program.parent.parent / "cache").iterdir()
    with (version / ".lock").open("rb+") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        lock.write(b"4321")
        lock.truncate()
        lock.flush()
        assert call(program) == ["18", "0"]
        code = """
            import numpy as np, phrasescore.module as m
            from phrasescore.runs import progress
            progress.escape_standard_streams()
            m.total(np.arange(4.0))
        """
        with started(program, code) as waiting:
            assert waiting.stderr is not None
            said = waiting.stderr.readline()
            waiting.kill()
    assert "waiting for process 4321, which is compiling for this machine" in said


def test_files_that_were_cut_short_are_made_again(program: Path) -> None:
    """Truncated files, as after a loss of power, are replaced; numba itself fails on them."""
    assert call(program) == ["18", "3"]
    cache = program.parent.parent / "cache"
    code, indices = (sorted(cache.glob(f"*/*/*.{kind}")) for kind in ("nbc", "nbi"))
    assert (len(code), len(indices)) == (3, 2)
    for number, path in enumerate((*code, *indices)):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2 * (number % 2)])
    assert call(program) == ["18", "3"]
    assert call(program) == ["18", "0"]


def test_a_folder_that_can_only_be_read(program: Path) -> None:
    """With a read-only cache, as in a container image, nothing is compiled."""
    assert call(program)[1] != "0"
    (version,) = (program.parent.parent / "cache").iterdir()
    code = f"""
        import os
        access = os.access
        os.access = lambda path, mode: str(path) != {str(version)!r} and access(path, mode)
    """
    home = program.parent.parent / "home"
    elsewhere = {"XDG_CACHE_HOME": str(home)}
    shutil.rmtree(program / "__pycache__", ignore_errors=True)
    assert call(program, textwrap.dedent(code) + _RUN, **elsewhere) == ["18", "0"]


def test_no_folder_of_the_current_folder_supplies_code(program: Path, tmp_path: Path) -> None:
    """Without a safe folder, code is compiled and not kept; the current folder stays unread."""
    data = tmp_path / "data"
    data.mkdir()
    # as in a container in which only the folder of the data can be written
    shutil.rmtree(program / "__pycache__", ignore_errors=True)
    (program / "__pycache__").write_bytes(b"")
    places = {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": "/dev/null", "TMPDIR": "/dev/null"}
    code = """
        import os, phrasescore.compiled
        from phrasescore import compile_cache as cache
        print(cache.chosen_folder, os.environ.get("NUMBA_CACHE_DIR"))
    """
    for more in ({"XDG_CACHE_HOME": "cache"}, {"TMPDIR": "."}, {"TMPDIR": str(data)}):
        places |= more
        assert call(program, code, data, **places) == ["None", "None"]
    assert call(program, _RUN, data, **places) == ["18", "3"]
    assert list(data.iterdir()) == []


def test_a_relative_folder_is_refused(program: Path) -> None:
    """A relative NUMBA_CACHE_DIR would make every current folder a source of compiled code."""
    code = """
        from phrasescore.errors import SettingsError
        try:
            import phrasescore.compiled
        except SettingsError as error:
            print(error.problem)
    """
    assert call(program, code, NUMBA_CACHE_DIR="cache")[-1] == "code"
