"""Runs cases, some at a time, each in a folder of its own with what its call reads."""

from __future__ import annotations

import contextlib
import errno
import os
import queue
import shutil
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.hostile.cases import Case
from tests.hostile.judge import SECONDS, faults, tree_of
from tests.hostile.world import write_world
from tests.support.warm_process import PROJECT, Observed, Surroundings, WarmProcesses

_MEMORY = 2 << 30  # bytes that a process may ask for beyond what the modules have


@dataclass(frozen=True)
class Verdict:
    """How a case ended.

    Args:
        case: What was tried.
        ended: What was observed.
        faults: What is wrong with it; empty if nothing.
    """

    case: Case
    ended: Observed
    faults: tuple[str, ...]

    def __str__(self) -> str:
        ended = self.ended
        said = ended.errors.decode("utf-8", "backslashreplace")[-400:].rstrip()
        return (
            f"{self.case.name}: {'; '.join(self.faults) or 'well'}\n"
            f"    status {ended.status}, {ended.seconds:.1f} s, {ended.peak >> 20} MiB more\n"
            f"    {said}"
        )


class HostileCases:
    """Runs cases; use it in a ``with`` block.

    Args:
        folder: An empty folder to work in.
        workers: How many at a time.
    """

    def __init__(self, folder: Path, workers: int) -> None:
        self._folder = folder
        self._workers = workers

    def __enter__(self) -> HostileCases:
        self._world = self._folder / "world"
        self._world.mkdir()
        write_world(self._world)
        with contextlib.ExitStack() as stack:
            self._free: queue.Queue[tuple[WarmProcesses, Path]] = queue.Queue()
            for number in range(self._workers):
                server = stack.enter_context(WarmProcesses())
                self._free.put((server, self._folder / f"worker{number}"))
            self._opened = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def run(self, cases: Sequence[Case]) -> Iterator[Verdict]:
        """Yield how each case ended, in their order."""
        with ThreadPoolExecutor(self._workers) as pool:
            yield from pool.map(self._try, cases)

    def _try(self, case: Case) -> Verdict:
        server, root = self._free.get()
        try:
            work = self._lay_out(case, root)
            with _serving(work / case.pipe if case.pipe else None):
                before = tree_of(root)
                ended = server.observe(
                    [*case.call.command, *case.words], self._surroundings(case, root)
                )
            return Verdict(case, ended, tuple(faults(case, ended, before, tree_of(root))))
        finally:
            self._free.put((server, root))

    def _lay_out(self, case: Case, root: Path) -> Path:
        """Make the folder of a case; return where the command runs."""
        shutil.rmtree(root, ignore_errors=True)
        work = root / "work"
        for folder in (work / "in", work / "out", root / "home", root / "tmp", root / "elsewhere"):
            folder.mkdir(parents=True)
        (root / "elsewhere" / "letter").write_bytes(b"a user's\n")
        for read in dict.fromkeys((*case.call.reads(), *case.call.beside)):
            there = self._world / read.path
            copy: Any = shutil.copytree if there.is_dir() else shutil.copyfile
            copy(there, work / read.path)
        if zlib.crc32(os.fsencode(case.name)) % 2 and case.group not in ("outputs", "neighbours"):
            for write in case.call.writes():
                if not write.folder:
                    (work / write.path).write_bytes(b"what an earlier call has written\n")
        case.prepare(work)
        return work

    def _surroundings(self, case: Case, root: Path) -> Surroundings:
        environment = {**os.environ, "PYTHONPATH": str(PROJECT), "HOME": str(root / "home")}
        environment |= {"TMPDIR": str(root / "tmp"), "XDG_CACHE_HOME": str(root / "home/.cache")}
        # matplotlib looks at all fonts of the machine once
        environment |= {"MPLCONFIGDIR": str(self._folder / "matplotlib")}
        environment |= case.more.get("environment", {})
        more = {name: value for name, value in case.more.items() if name != "environment"}
        return Surroundings(root / "work", environment, timeout=2 * SECONDS, memory=_MEMORY, **more)


@contextlib.contextmanager
def _serving(path: Path | None) -> Iterator[None]:
    """Put a pipe in place of a file, and its content into the pipe, once."""
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
                return  # the pipe is gone
            time.sleep(0.005)
    else:
        return
    with contextlib.suppress(BrokenPipeError), os.fdopen(end, "wb") as stream:
        os.set_blocking(end, True)
        stream.write(content)
