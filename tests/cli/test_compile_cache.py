"""Compiled functions are cached where no other user can write; otherwise a message explains."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PROJECT, Phrasescore
from tests.support.fresh_process import run_fresh
from tests.support.random_system import write_random_system

_MOUNT = "mount --bind {0} {0} && mount -o remount,bind,ro {0} || exit 99; "


@pytest.mark.parametrize("temporary_is_writable", [True, False])
def test_a_read_only_program_and_home(tmp_path: Path, temporary_is_writable: bool) -> None:
    table, home, temporary = (tmp_path / name for name in ("table", "home", "temporary"))
    table.write_text("a ||| b ||| 0.5\n")
    home.mkdir()
    temporary.mkdir()
    # a copy of the program without compiled functions next to it
    program = tmp_path / "program"
    for package in ("phrasescore", "moses_integration", "tuning"):
        without = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PROJECT / package, program / package, ignore=without)
    # read-only for this call only
    others = [home] if temporary_is_writable else [tmp_path, Path("/tmp"), Path("/var/tmp")]
    shell = "".join(_MOUNT.format(folder) for folder in (program, *others)) + 'exec "$@"'
    command = [sys.executable, "-m", "phrasescore", "prune", table, "--top", "1", "-o", "-"]
    done = subprocess.run(
        ["unshare", "-m", "bash", "-c", shell, "bash", *map(str, command), "--column", "1"],
        capture_output=True,
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(program),
            "HOME": str(home),
            "TMPDIR": str(temporary),
        },
        check=False,
    )
    if done.returncode in (1, 99, 127) and b"phrasescore" not in done.stderr:
        pytest.skip(f"no mounts of our own here: {done.stderr.decode()}")
    if temporary_is_writable:
        assert done.returncode == 0, done.stderr.decode()
        (kept,) = temporary.iterdir()
        assert kept.stat().st_mode & 0o777 == 0o700
        assert list(kept.rglob("*.nbc"))
    else:
        # without a safe folder, the command compiles each time, and says so
        assert done.returncode == 0, done.stderr.decode()
        assert b"for want of a folder that you alone can write" in done.stderr
        assert not list(tmp_path.rglob("phrasescore-compiled-*"))


def _plant(folder: Path, form: str) -> Path:
    """Write numba's settings file into a folder, and texts to evaluate."""
    settings = folder / ".numba_config.yaml"
    if form == "FIFO":
        os.mkfifo(settings)
    elif form == "folder":
        settings.mkdir()
    elif form.startswith("/"):
        settings.symlink_to(form)
    else:
        settings.write_text(form)
    (folder / "text").write_text("a b c d\n")
    return settings


@pytest.mark.parametrize(
    "form", ["cache_dir: cache", "{", "[1]", "disable_jit: 1", "FIFO", "folder", "/dev/zero", "/no"]
)
def test_settings_of_numba_in_the_current_folder(tmp_path: Path, form: str) -> None:
    """They are refused, because they could name another user's cache, which numba unpickles."""
    settings = _plant(tmp_path, form)
    done = run_fresh(tmp_path, "evaluate", "text", "--reference", "text").refused(
        2, "the current folder holds .numba_config.yaml"
    )
    assert done.stderr.count(b"\n") == 1
    assert sorted(tmp_path.iterdir()) == [settings, tmp_path / "text"]


def test_help_does_not_mind_settings_of_numba(tmp_path: Path) -> None:
    _plant(tmp_path, "{")
    run_fresh(tmp_path, "evaluate", "--help").well()


_IMPORTS = """
import importlib, sys
from phrasescore.errors import SettingsError
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except SettingsError:
        pass
    assert "numba" not in sys.modules, name
"""


def test_no_module_imports_numba_before_its_folder_is_chosen(tmp_path: Path) -> None:
    """The folder is chosen for libraries, Dask workers and tests too, which run no command."""
    _plant(tmp_path, "cache_dir: cache")
    paths = [
        path.relative_to(PROJECT).with_suffix("")
        for package in ("phrasescore", "moses_integration", "tuning")
        for path in (PROJECT / package).rglob("*.py")
        if path.parent.name != "compiling"  # `phrasescore.compiled` imports these
        and ("numba" in path.read_text() or "phrasescore.compiled" in path.read_text())
    ]
    assert len(paths) > 20
    names = [".".join(path.parts) for path in paths]
    run_fresh(tmp_path, *names, program=("-c", _IMPORTS)).well()


@pytest.fixture(params=["world", "sticky", "parent", "group", "owner"])
def others_folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return a link to a folder that another user can write or replace."""
    folder = tmp_path / "parent" / "cache"
    folder.mkdir(parents=True)
    modes = {"world": 0o777, "sticky": 0o1777, "group": 0o770}
    if request.param == "parent":
        folder.parent.chmod(0o777)
    elif request.param in modes:
        folder.chmod(modes[request.param])
    if request.param in ("group", "owner"):
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder away")
        os.chown(folder, *((-1, 12345) if request.param == "group" else (12345, -1)))
    (tmp_path / "link").symlink_to(folder)
    return tmp_path / "link"


def test_compiled_functions_where_others_can_write(tmp_path: Path, others_folder: Path) -> None:
    (tmp_path / "text").write_text("a b c d\n")
    place = str(others_folder)
    done = run_fresh(
        tmp_path, "evaluate", "text", "--reference", "text", environment={"NUMBA_CACHE_DIR": place}
    ).refused(2, "NUMBA_CACHE_DIR needs a folder that you alone can write")
    assert done.stderr.count(b"\n") == 1
    assert not list(others_folder.iterdir())


def test_parsed_tables_where_others_can_write(
    tmp_path: Path, others_folder: Path, phrasescore: Phrasescore
) -> None:
    ini = write_random_system(tmp_path, 3)
    phrasescore("decode", ini, "--cache-folder", others_folder, stdin=b"s0\n").refused(
        2, "--cache-folder needs a folder that you alone can write"
    )
    assert not list(others_folder.iterdir())
