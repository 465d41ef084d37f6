"""Functions are compiled whole for Python and as parts for each other, and kept as they are."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import PROJECT

_OTHER = """
from phrasescore.compiled import compiled, leaf
FACTOR = 3
@leaf
def scaled(x, factor):
    if x < 0:
        raise ValueError("below zero")
    return x * factor
"""
_MODULE = """
import sys
from other import FACTOR, scaled
from phrasescore.compiled import compiled
from phrasescore.compiling.watch import compiled_functions
@compiled
def total(values):
    sum = scaled(values[0], 0)
    for value in values:
        sum += scaled(value, FACTOR)
    return sum
"""
_RUN = "import numpy as np, module as m; print(m.total(np.arange({0})), m.compiled_functions())"


def write(folder: Path, other: str = _OTHER) -> None:
    (folder / "other.py").write_text(other)
    (folder / "module.py").write_text(_MODULE)


def call(folder: Path, code: str, **environment: str) -> list[str]:
    """Run a line of Python beside the modules; return the words it prints."""
    paths = os.pathsep.join([str(folder), str(PROJECT)])
    environment = {"NUMBA_CACHE_DIR": str(folder / "cache"), **environment}
    # Python takes a file of the same second and size for the one whose bytecode it has kept
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_parts_serve_compiled_callers_and_wholes_serve_python(tmp_path: Path) -> None:
    """A literal argument makes no second part; Python's call of a part compiles it whole."""
    write(tmp_path)
    assert call(tmp_path, _RUN.format(4)) == ["18", "2"]
    assert call(tmp_path, _RUN.format(4)) == ["18", "0"]
    code = "import module as m; print(m.scaled(2, 5), m.compiled_functions())"
    assert call(tmp_path, code) == ["10", "1"]


def test_errors_come_out_of_parts(tmp_path: Path) -> None:
    """What a part raises reaches Python, from a cache too."""
    write(tmp_path)
    code = """
        import numpy as np, module as m
        try: m.total(-np.arange(3))
        except ValueError as error: print(str(error).replace(" ", "_"))
    """
    assert call(tmp_path, code) == call(tmp_path, code) == ["below_zero"]


def test_what_a_callee_is_made_of_counts(tmp_path: Path) -> None:
    """Code is compiled again when a function or a constant in another file changes."""
    write(tmp_path)
    assert call(tmp_path, _RUN.format(4)) == ["18", "2"]
    write(tmp_path, _OTHER.replace("FACTOR = 3", "FACTOR = 4"))
    assert call(tmp_path, _RUN.format(4)) == ["24", "2"]


_NAMED = """
from typing import NamedTuple
from phrasescore.compiled import compiled
class Point(NamedTuple):
    x: int
@compiled
def double(point):
    return 2 * point.x
"""


def test_a_cache_of_an_earlier_version_that_cannot_be_read(tmp_path: Path) -> None:
    """A class that the index names has another name now: the code is compiled again, and kept."""
    code = "import named as n; print(n.double(n.{0}(4)), len(n.double.stats.cache_hits))"
    source, renamed = tmp_path / "named.py", _NAMED.replace("Point", "Place")
    source.write_text(_NAMED)
    assert call(tmp_path, code.format("Point")) == ["8", "0"]
    assert call(tmp_path, code.format("Point")) == ["8", "1"]
    source.write_text(renamed)
    assert call(tmp_path, code.format("Place")) == ["8", "0"]
    assert call(tmp_path, code.format("Place")) == ["8", "1"]


@pytest.mark.parametrize("pattern", ["*.nbi", "*.nbc"])
@pytest.mark.parametrize("left", [0, 20])
def test_a_damaged_cache(tmp_path: Path, pattern: str, left: int) -> None:
    """What a full disk has cut off is compiled again, and kept."""
    write(tmp_path)
    assert call(tmp_path, _RUN.format(4)) == ["18", "2"]
    for file in tmp_path.rglob(pattern):
        os.truncate(file, left)
    assert call(tmp_path, _RUN.format(4)) == ["18", "2"]
    assert call(tmp_path, _RUN.format(4)) == ["18", "0"]


def test_code_for_another_processor_is_not_taken(tmp_path: Path) -> None:
    """Each kind of processor has its own code, in one folder."""
    write(tmp_path)
    plain = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    assert call(tmp_path, _RUN.format(4)) == ["18", "2"]
    assert call(tmp_path, _RUN.format(4), **plain) == ["18", "2"]
    assert call(tmp_path, _RUN.format(4)) == ["18", "0"]


def test_processes_that_compile_at_once_keep_all(tmp_path: Path) -> None:
    """Two types of one function at the same time: each finds its own code afterwards."""
    write(tmp_path)
    kinds = ["int64", "float64"]
    code = "import numpy as np, module as m; a = np.arange(4).astype('{0}')\nprint(m.total(a), {1})"
    with ThreadPoolExecutor(2) as pool:
        first = pool.map(lambda kind: call(tmp_path, code.format(kind, 0)), kinds)
        assert [float(words[0]) for words in first] == [18.0] * 2
    for kind in kinds:
        said = call(tmp_path, code.format(kind, "m.compiled_functions()"))
        assert (float(said[0]), said[1]) == (18.0, "0")


def test_processes_that_want_the_same_compile_it_once(tmp_path: Path) -> None:
    """Who comes second waits for the first; a lock file that lies about holds up nobody."""
    write(tmp_path)
    code = """
        import pathlib, time, numpy as np, module as m
        pathlib.Path("{0}").touch()
        while not pathlib.Path("{1}").exists(): time.sleep(0.01)
        print(m.total(np.arange(4)), m.compiled_functions())
    """
    names = [str(tmp_path / name) for name in ("one", "other")]
    with ThreadPoolExecutor(2) as pool:
        orders = [names, names[::-1]]
        said = list(pool.map(lambda order: call(tmp_path, code.format(*order)), orders))
    assert sorted(said) == [["18", "0"], ["18", "2"]]
    folder = next(tmp_path.rglob("compiling.lock")).parent
    for compiled in folder.glob("*.nb?"):
        compiled.unlink()
    assert call(tmp_path, _RUN.format(4)) == ["18", "2"]


def test_a_turn_ends_before_another_thread_can_begin_one(tmp_path: Path) -> None:
    """Turns are those of the process: else a thread would end the turn of the next."""
    write(tmp_path)
    code = """
        import numpy as np, module as m
        from numba.core.compiler_lock import global_compiler_lock as lock
        from phrasescore.compiling.cache import Cache
        held, end = [], Cache.end_turn
        Cache.end_turn = lambda cache: (held.append(lock.is_locked()), end(cache))
        print(m.total(np.arange(4)), *held)
    """
    assert call(tmp_path, code) == ["18", "True"]


def test_a_folder_that_can_only_be_read(tmp_path: Path) -> None:
    """An image is warmed by its builder; who runs it writes elsewhere but compiles nothing."""
    write(tmp_path)
    assert call(tmp_path, _RUN.format(4)) == ["18", "2"]
    code = (
        "from pathlib import Path; from phrasescore import compile_cache as c;"
        f"c.choose_folder(); c.read_only_folder = Path({str(tmp_path / 'cache')!r});"
    )
    elsewhere = {"NUMBA_CACHE_DIR": str(tmp_path / "elsewhere")}
    assert call(tmp_path, code + _RUN.format(4), **elsewhere) == ["18", "0"]
    assert not list((tmp_path / "elsewhere").rglob("*.nbc"))
