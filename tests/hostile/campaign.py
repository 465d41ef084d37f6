"""Runs cases in parallel, each in its own folder with the inputs of its call."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import shutil
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.hostile.cases import Case
from tests.hostile.judge import SECONDS, faults, tree_of
from tests.hostile.world import write_world
from tests.support.campaigns import Result
from tests.support.warm_process import PROJECT, Surroundings, WarmProcesses

_MEMORY = 2 << 30  # bytes that a process may allocate beyond those of the imported modules


_COLUMNS = {
    "names": "names",
    "outputs": "outputs",
    "neighbours": "what lies beside outputs",
    "numbers": "numbers",
    "text of options": "texts",
    "surroundings": "surroundings",
}


def run_cases(folder: Path, processes: WarmProcesses, cases: Sequence[Case]) -> Iterator[Result]:
    """Run cases, two at a time; yield their results, in order.

    Args:
        folder: The folder to work in, which keeps the world that the calls read.
        processes: The server that runs the commands.
        cases: The cases to run.
    """
    world = folder / "world"
    if not world.exists():
        world.mkdir()
        write_world(world)
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(functools.partial(_try, folder, processes), cases)


def _try(folder: Path, processes: WarmProcesses, case: Case) -> Result:
    """Run a case; again if it was slow, because the first command of its kind compiles code."""
    result, seconds = _run(folder, processes, case)
    return result if seconds <= SECONDS else _run(folder, processes, case)[0]


def _run(folder: Path, processes: WarmProcesses, case: Case) -> tuple[Result, float]:
    with tempfile.TemporaryDirectory(dir=folder) as name:
        root = Path(name)
        work = _lay_out(case, folder / "world", root)
        with _serving(work / case.pipe if case.pipe else None):
            before = tree_of(root)
            arguments = [*case.call.command, *case.words]
            ended = processes.observe(arguments, _surroundings(case, folder, root))
        said = ended.errors.decode("utf-8", "backslashreplace")[-400:].rstrip()
        result = Result(
            case.name,
            " ".join(case.call.command),
            _COLUMNS.get(case.group, "contents of files"),
            list(faults(case, ended, before, tree_of(root))),
            "accepted" if ended.status == 0 else "refused",
            f"    status {ended.status}, {ended.seconds:.1f} s, {ended.peak >> 20} MiB more\n"
            f"    {said}",
        )
        return result, ended.seconds


def _lay_out(case: Case, world: Path, root: Path) -> Path:
    """Make the folder of a case; return the current directory of the command."""
    work = root / "work"
    for folder in (work / "in", work / "out", root / "home", root / "tmp", root / "elsewhere"):
        folder.mkdir(parents=True)
    (root / "elsewhere" / "letter").write_bytes(b"a user's\n")
    for read in dict.fromkeys((*case.call.reads(), *case.call.beside)):
        there = world / read.path
        copy: Any = shutil.copytree if there.is_dir() else shutil.copyfile
        copy(there, work / read.path)
    if zlib.crc32(os.fsencode(case.name)) % 2 and case.group not in ("outputs", "neighbours"):
        for write in case.call.writes():
            if not write.folder:
                (work / write.path).write_bytes(b"what an earlier call has written\n")
    case.prepare(work)
    return work


def _surroundings(case: Case, folder: Path, root: Path) -> Surroundings:
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "HOME": str(root / "home")}
    environment |= {"TMPDIR": str(root / "tmp"), "XDG_CACHE_HOME": str(root / "home/.cache")}
    # matplotlib reads all fonts of the machine once
    environment |= {"MPLCONFIGDIR": str(folder / "matplotlib")}
    environment |= case.more.get("environment", {})
    more = {name: value for name, value in case.more.items() if name != "environment"}
    return Surroundings(root / "work", environment, timeout=2 * SECONDS, memory=_MEMORY, **more)


@contextlib.contextmanager
def _serving(path: Path | None) -> Iterator[None]:
    """Replace a file by a pipe, and write the file's content to the pipe once."""
    if path is None:
        yield
        return
    content = path.read_bytes()
    path.unlink()
    os.mkfifo(path)
    over = threading.Event()
    thread = threading.Thread(target=_feed, args=(path, content, over))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _feed(path: Path, content: bytes, over: threading.Event) -> None:
    while not over.is_set():
        try:
            end = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            break
        except OSError as error:
            if error.errno != errno.ENXIO:
                return  # the pipe has been removed
            time.sleep(0.005)
    else:
        return
    with contextlib.suppress(BrokenPipeError), os.fdopen(end, "wb") as stream:
        os.set_blocking(end, True)
        stream.write(content)
