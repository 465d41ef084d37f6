"""Files and variables that libraries read by themselves cause no failures and no messages."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import numpy as np
import pytest

from phrasescore.cli import _misled
from tests.conftest import said
from tests.support.fresh_process import run_fresh
from tests.support.random_models import save_random_model
from tests.support.result_folders import sentences, write_lines


@pytest.fixture
def picture(tmp_path: Path) -> list[str]:
    """Return a call that draws ``scatter.svg`` of a small table."""
    lines = [f"s{n} ||| t{n} ||| 0.5 0.25 {(n + 1) / 30} 0.{n + 1}" for n in range(20)]
    write_lines(tmp_path / "table", lines)
    save_random_model(tmp_path / "model", [b"s1"], [b"t1"])
    return ["analyze", "scatter", "table", "--model", "model", "-o", "."]


def test_settings_of_matplotlib(picture: list[str], tmp_path: Path) -> None:
    """A matplotlibrc in the current folder is not read, because a stranger may have written it."""
    (tmp_path / "matplotlibrc").symlink_to("/dev/zero")  # reading it would never end
    done = run_fresh(tmp_path, *picture)
    assert (done.returncode, b"matplotlib" in done.stderr) == (0, False)
    assert (tmp_path / "scatter.svg").read_text().startswith("<?xml")


def test_matplotlib_without_a_folder(picture: list[str], tmp_path: Path) -> None:
    """Without a folder for settings there is no message; the user's settings are not read."""
    (tmp_path / "own").write_bytes(b"\xff")
    environment = {"MPLCONFIGDIR": os.devnull, "MATPLOTLIBRC": "own", "MPLBACKEND": "x"}
    done = run_fresh(tmp_path, *picture, environment=environment)
    assert (done.returncode, b"matplotlib" in done.stderr) == (0, False)


@pytest.mark.parametrize("value", ["x", "0"])
def test_threads_of_numba(tmp_path: Path, value: str) -> None:
    """No command lets numba use its own threads."""
    write_lines(tmp_path / "text", sentences(2))
    environment = {"NUMBA_NUM_THREADS": value}
    done = run_fresh(tmp_path, "evaluate", "text", "--reference", "text", environment=environment)
    assert (done.returncode, said(done.stderr)) == (0, b"")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("NUMBA_CACHE_LOCATOR_CLASSES", "x"),
        ("TQDM_MININTERVAL", "x"),
        ("TQDM_NCOLS", "x"),
        ("TORCH_LOGS", "x"),
    ],
)
def test_a_variable_that_a_library_cannot_read(tmp_path: Path, variable: str, value: str) -> None:
    """The library fails at its import or at compiling; the error names the variable."""
    write_lines(tmp_path / "table", ["a ||| b ||| 0.5"])
    call = "prune", "table", "-o", "new", "--column", "1", "--top", "1"
    if variable == "TORCH_LOGS":
        call = "train", "table", "model", "--max-epochs", "0", "--hidden", "4"
    done = run_fresh(tmp_path, *call, environment={variable: value})
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert f"it reads the environment: {variable}. Unset or".encode() in done.stderr


@pytest.mark.parametrize(
    ("variable", "value"), [("NUMBA_DISABLE_JIT", "1"), ("NUMBA_CPU_FEATURES", "avx2")]
)
def test_a_variable_with_which_numba_cannot_compile(
    tmp_path: Path, variable: str, value: str
) -> None:
    """Compiled code would fail in the middle of the work, or abort the process."""
    write_lines(tmp_path / "table", ["a ||| b ||| 0.5"])
    call = "prune", "table", "-o", "new", "--column", "1", "--top", "1"
    done = run_fresh(tmp_path, *call, environment={variable: value})
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert f"{variable} is '{value}', with which numba cannot compile".encode() in done.stderr


def test_a_fault_of_a_library_beside_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault that no variable caused is not told as one."""
    monkeypatch.setenv("NUMPY_MADVISE_HUGEPAGE", "1")
    with pytest.raises(np.linalg.LinAlgError) as caught:
        np.linalg.cholesky(np.zeros((2, 3)))
    assert _misled(caught.value) is None


def test_a_umask_that_hides_files_from_their_owner(tmp_path: Path) -> None:
    """The program could not read its own parts, and would leave them."""
    write_lines(tmp_path / "table", ["a ||| b ||| 0.5"])
    call = "prune", "table", "-o", "new", "--column", "1", "--top", "1"
    done = run_fresh(tmp_path, *call, preexec_fn=lambda: os.umask(0o777))
    assert (done.returncode, (tmp_path / "new").stat().st_mode & 0o777) == (0, 0o600)
    assert {path.name for path in tmp_path.iterdir()} == {"new", "table"}


def test_no_folder_for_temporary_files(tmp_path: Path) -> None:
    """If no temporary folder is writable, which a library needs at import, one sentence says so."""
    write_lines(tmp_path / "text", sentences(2))
    done = run_fresh(
        tmp_path,
        *("evaluate", "text", "--reference", "text"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )
    assert done.returncode == 3
    assert done.stderr.startswith(b"phrasescore: No usable temporary directory found in ")


@pytest.mark.parametrize("value", ["x", "1"])
def test_no_room_for_what_joblib_tries(tmp_path: Path, value: str) -> None:
    """A limit of file sizes does no harm, although joblib's semaphore is a file and fails."""
    write_lines(tmp_path / "text", sentences(2))
    done = run_fresh(
        tmp_path,
        *("preprocess", "text", "--language", "fr", "-o", "-"),
        environment={"JOBLIB_MULTIPROCESSING": value},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )
    assert (done.returncode, said(done.stderr)) == (0, b"")
