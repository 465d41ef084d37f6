"""Runs the steps that are not done yet, several at a time; may be stopped at any moment."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from types import FrameType
from typing import IO

import phrasescore
from phrasescore.errors import InterruptedWorkError, PhrasescoreError, ResumeError
from tuning.experiment.stamps import Stamp, Stamps
from tuning.experiment.step import PROGRAM, Step

_LAST_WORDS = 8
# Ctrl-C lets a command save its state; one that does not end is ended
_SIGNALS = ((signal.SIGINT, 10.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))
Say = Callable[[str], None]


@contextlib.contextmanager
def possession(folder: Path) -> Iterator[None]:
    """Keep other processes from running an experiment in the same folder.

    Raises:
        ResumeError: One does already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ResumeError(
                "another process runs an experiment in this folder",
                path=folder,
                remedy="wait for it, stop it, or name another output",
            ) from None
        yield


class Runner:
    """Runs steps in a folder.

    Args:
        results: Where all outputs lie; nothing outside is ever deleted.
        folder: Where commands run.
        jobs: Steps at a time.
        say: Gets a line for each step.
        after: Called with each step that ran to its end.
    """

    def __init__(
        self, results: Path, folder: Path, jobs: int, say: Say, after: Callable[[Step], None]
    ) -> None:
        self._results, self._folder, self._jobs = results, folder, jobs
        self._say, self._after = say, after
        self.stamps = Stamps(results / "steps")
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._stopped = False
        self._starting = threading.Lock()

    def run(self, steps: Sequence[Step]) -> int:
        """Run what is not done; return how many steps that were.

        Raises:
            PhrasescoreError: A step failed; steps beside it were allowed to end.
            InterruptedWorkError: Ctrl-C or SIGTERM.
        """
        makers = {path: step.name for step in steps for path in step.outputs}
        waiting = list(steps)
        done: set[str] = set()
        ran = 0
        # the outer one for the time in which the pool waits for steps beside one that failed
        with (
            self._stopping_children(),
            ThreadPoolExecutor(self._jobs) as pool,
            self._stopping_children(),
        ):
            running: dict[Future[bool], Step] = {}
            while waiting or running:
                ready = [step for step in waiting if _is_ready(step, makers, done)]
                for step in ready[: self._jobs - len(running)]:
                    running[pool.submit(self._do, step)] = step
                    waiting.remove(step)
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    step = running.pop(future)
                    if future.result():
                        ran += 1
                        self._after(step)
                    done.add(step.name)
        return ran

    def _do(self, step: Step) -> bool:
        """Run a step unless it is done; tell whether it ran."""
        digest = self.stamps.digest(step)
        stamp = self.stamps.read(step.name)
        there = all(path.exists() for path in step.outputs)
        if stamp is not None and stamp.digest != digest:
            self._say(f"{step.name}: what it depends on has changed, so it is done anew")
            self._delete(step)
            stamp = None
        elif stamp is not None and there:
            if not stamp.finished:
                self.stamps.write(step.name, dataclasses.replace(stamp, finished=True))
            return False
        begun = Stamp(digest, str(step), attempts=stamp.attempts + 1 if stamp else 1)
        self.stamps.write(step.name, begun)
        self._say(f"{step.name}: {' '.join(step.command[:2])} ...")
        seconds, cpu_seconds = self._execute(step)
        self.stamps.write(
            step.name,
            dataclasses.replace(begun, finished=True, seconds=seconds, cpu_seconds=cpu_seconds),
        )
        self._say(f"{step.name}: done in {seconds:,.0f} s")
        return True

    def _delete(self, step: Step) -> None:
        for path in (*step.outputs, *((step.state,) if step.state else ())):
            if not path.is_relative_to(self._results):
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def _execute(self, step: Step) -> tuple[float, float]:
        """Run a step's command; return seconds by the clock and of the processor."""
        for path in step.outputs:
            path.parent.mkdir(parents=True, exist_ok=True)
        log = self.stamps.log(step)
        words = list(step.command)
        if step.resume_option and step.state and step.state.exists():
            words.append(step.resume_option)
        begin = time.monotonic()
        with contextlib.ExitStack() as stack:
            said = stack.enter_context(log.open("ab"))
            said.write(f"$ {step}\n".encode("utf-8", "surrogateescape"))
            said.flush()
            part = None
            if step.standard_output is not None:
                part = step.standard_output.with_name(f".{step.standard_output.name}.part")
            printed = stack.enter_context(part.open("wb")) if part is not None else said
            status, cpu_seconds = self._waited_for(step, words, printed, said)
            if status == 0 and part is not None and step.standard_output is not None:
                part.replace(step.standard_output)
        self._check(step, status, log)
        return round(time.monotonic() - begin, 1), round(cpu_seconds, 1)

    def _waited_for(
        self, step: Step, words: list[str], printed: IO[bytes], said: IO[bytes]
    ) -> tuple[int, float]:
        """Run a program; return its exit status and the processor's seconds."""
        # whoever stops everything must not miss a process between its birth and its entry
        with self._starting:
            if self._stopped:
                raise InterruptedWorkError("interrupted")
            process = self._running[step.name] = self._started(step, words, printed, said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        del self._running[step.name]
        return process.returncode, usage.ru_utime + usage.ru_stime

    def _started(
        self, step: Step, words: list[str], printed: IO[bytes], said: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                [*program(words[0]), *words[1:]],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=said,
                cwd=self._folder,
                env=environment(),
                start_new_session=True,
            )
        except OSError as error:
            raise PhrasescoreError(
                f"the step {step.name} could not be started ({error.strerror})", path=words[0]
            ) from None

    def _check(self, step: Step, status: int, log: Path) -> None:
        if status == 0 and all(path.exists() for path in step.outputs):
            return
        if self._stopped:
            raise InterruptedWorkError("interrupted")
        lines = log.read_bytes().decode("utf-8", "replace").rstrip("\n").split("\n")
        how = f"ended with status {status}" if status else "ended well but left no output"
        raise PhrasescoreError(
            f"the step {step.name} {how}; its last words:\n  "
            + "\n  ".join(lines[-_LAST_WORDS:])
            + "\n",
            path=log,
            remedy="mend that and run the same command again: what is done stays done",
        )

    @contextlib.contextmanager
    def _stopping_children(self) -> Iterator[None]:
        """While the block runs, let SIGTERM act like Ctrl-C; if it is left early, end children."""

        def interrupt(number: int, frame: FrameType | None) -> None:
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGTERM, interrupt)
        try:
            yield
        except KeyboardInterrupt:
            self._stop()
            raise InterruptedWorkError(
                "interrupted", remedy="the same command goes on with what is missing"
            ) from None
        finally:
            signal.signal(signal.SIGTERM, before)

    def _stop(self) -> None:
        with self._starting:
            self._stopped = True
        for number, patience in _SIGNALS:
            for process in list(self._running.values()):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
            end = time.monotonic() + patience
            while self._running and time.monotonic() < end:
                time.sleep(0.05)


def _is_ready(step: Step, makers: Mapping[Path, str], done: set[str]) -> bool:
    """Tell whether all is there that steps before it make, or make as part of a folder."""
    needed = {
        makers[place] for path in step.inputs for place in (path, *path.parents) if place in makers
    }
    return needed <= done


def program(name: str) -> list[str]:
    """Return how to start a program: phrasescore is the one that is running now."""
    return [sys.executable, "-m", PROGRAM] if name == PROGRAM else [name]


def environment() -> dict[str, str]:
    """Return the environment of commands: in another folder, a checkout still finds itself."""
    root = Path(phrasescore.__file__).parent.parent
    if root.name in ("site-packages", "dist-packages"):
        return dict(os.environ)
    known = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{known}" if known else str(root)}
