"""Compiled functions find a place, or a sentence says that there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PROJECT

_MOUNT = "mount --bind {0} {0} && mount -o remount,bind,ro {0} || exit 99; "


@pytest.mark.parametrize("temporary_is_writable", [True, False])
def test_a_read_only_program_and_home(tmp_path: Path, temporary_is_writable: bool) -> None:
    table, home, temporary = (tmp_path / name for name in ("table", "home", "temporary"))
    table.write_text("a ||| b ||| 0.5\n")
    home.mkdir()
    temporary.mkdir()
    # a program beside which nothing has been compiled
    program = tmp_path / "program"
    for package in ("phrasescore", "moses_integration", "tuning"):
        without = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PROJECT / package, program / package, ignore=without)
    # read-only for this call alone
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
        assert done.returncode == 2, done.stderr.decode()
        assert b"there is no folder for compiled functions" in done.stderr
