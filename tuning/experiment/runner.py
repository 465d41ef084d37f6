"""Runs the steps that are not done yet, several at a time; may be stopped at any moment."""

from __future__ import annotations

import contextlib
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
from typing import IO

import phrasescore
from phrasescore.errors import InterruptedWorkError, PhrasescoreError, StorageError
from phrasescore.files.parts import hidden
from phrasescore.resuming import child_processes
from phrasescore.resuming.interruption import interruptible
from phrasescore.resuming.stamps import Stamps
from tuning.experiment.command import PROGRAM, CommandStep

_LAST_WORDS = 8
# Ctrl-C lets a command save its state; one that does not end is ended
_SIGNALS = ((signal.SIGINT, 10.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))
Say = Callable[[str], None]


class Runner:
    """Runs steps in a folder.

    Args:
        results: The folder of all outputs; nothing outside is ever deleted.
        folder: Where commands run.
        jobs: Steps at a time.
        say: Gets a line for each step.
        after: Called with each step that ran to its end.

    Attributes:
        done: The names of the steps that are done, from earlier or now.
    """

    def __init__(
        self, results: Path, folder: Path, jobs: int, say: Say, after: Callable[[CommandStep], None]
    ) -> None:
        self._results, self._folder, self._jobs = results, folder, jobs
        self._say, self._after = say, after
        self.done: set[str] = set()
        self.stamps = Stamps(results / "steps")
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._stopped = False
        self._starting = threading.Lock()

    def run(self, steps: Sequence[CommandStep]) -> int:
        """Run what is not done; return how many steps that were.

        Raises:
            PhrasescoreError: A step failed; steps beside it were allowed to end.
            InterruptedWorkError: Ctrl-C, SIGTERM or SIGHUP.
        """
        makers = {path: step.name for step in steps for path in step.outputs}
        waiting = list(steps)
        ran = 0
        # the outer one for the time in which the pool waits for steps beside one that failed
        with (
            interruptible(self._results),
            self._stopping_children(),
            ThreadPoolExecutor(self._jobs) as pool,
            self._stopping_children(),
        ):
            running: dict[Future[bool], CommandStep] = {}
            while waiting or running:
                ready = [step for step in waiting if _is_ready(step, makers, self.done)]
                for step in ready[: self._jobs - len(running)]:
                    running[pool.submit(self._do, step)] = step
                    waiting.remove(step)
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    step = running.pop(future)
                    is_new = future.result()
                    self.done.add(step.name)
                    if is_new:
                        ran += 1
                        self._after(step)
        return ran

    def _do(self, step: CommandStep) -> bool:
        """Run a step unless it is done; tell whether it ran."""
        stamp = self.stamps.read(step.name)
        changes = self.stamps.changes(step, stamp) if stamp is not None else []
        if changes:
            self._say(f"{step.name}: {'; '.join(changes)}; so it runs again")
            self._delete(step)
            (self.stamps.folder / f"{step.name}.json").unlink()
        elif stamp is not None and self.stamps.is_whole(step, stamp):
            if not stamp.finished:
                # commands give outputs their names when they are whole: only the stamp is missing
                self.stamps.finish(step, stamp)
            return False
        begun = self.stamps.begun(step)
        self.stamps.write(step.name, begun)
        self._say(f"{step.name}: {' '.join(step.work.words[:2])} ...")
        seconds, cpu_seconds = self._execute(step)
        self.stamps.finish(step, begun, seconds=seconds, cpu_seconds=cpu_seconds)
        self._say(f"{step.name}: done in {seconds:,.0f} s")
        return True

    def _delete(self, step: CommandStep) -> None:
        for path in (*step.outputs, *((step.work.state,) if step.work.state else ())):
            if not path.is_relative_to(self._results):
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def _execute(self, step: CommandStep) -> tuple[float, float]:
        """Run a step's command; return seconds by the clock and of the processor."""
        for path in step.outputs:
            path.parent.mkdir(parents=True, exist_ok=True)
        log = self.stamps.folder / f"{step.name}.log"
        begin = time.monotonic()
        with contextlib.ExitStack() as stack:
            said = stack.enter_context(log.open("ab"))
            said.write(f"$ {step.work}\n".encode("utf-8", "surrogateescape"))
            said.flush()
            output = step.work.standard_output
            part = hidden(output, "part") if output is not None else None
            printed = stack.enter_context(part.open("wb")) if part is not None else said
            status, cpu_seconds = self._waited_for(step, printed, said)
            if part is not None and output is not None:
                part.replace(output) if status == 0 else part.unlink()
        self._check(step, status, log)
        return round(time.monotonic() - begin, 1), round(cpu_seconds, 1)

    def _waited_for(
        self, step: CommandStep, printed: IO[bytes], said: IO[bytes]
    ) -> tuple[int, float]:
        """Run a program; return its exit status and the processor's seconds."""
        # stopping everything must not miss a process between its start and its entry
        with self._starting:
            if self._stopped:
                raise InterruptedWorkError("interrupted")
            process = self._running[step.name] = self._started(step, printed, said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        del self._running[step.name]
        return process.returncode, usage.ru_utime + usage.ru_stime

    def _started(
        self, step: CommandStep, printed: IO[bytes], said: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        words = step.work.words
        try:
            return child_processes.start(
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

    def _check(self, step: CommandStep, status: int, log: Path) -> None:
        if status == 0 and all(path.exists() for path in step.outputs):
            return
        if self._stopped:
            raise InterruptedWorkError("interrupted")
        lines = log.read_bytes().decode("utf-8", "replace").rstrip("\n").split("\n")
        how = f"ended with status {status}" if status else "ended well but left no output"
        kind = StorageError if status == StorageError.exit_code else PhrasescoreError
        raise kind(
            f"the step {step.name} {how}; its last words:\n  "
            + "\n  ".join(lines[-_LAST_WORDS:])
            + "\n",
            path=log,
            remedy="repair that and run the same command again: finished steps stay",
        )

    @contextlib.contextmanager
    def _stopping_children(self) -> Iterator[None]:
        """If the block is left by a signal, end the children first."""
        try:
            yield
        except KeyboardInterrupt:
            self._stop()
            raise

    def _stop(self) -> None:
        with self._starting:
            self._stopped = True
        for number, patience in _SIGNALS:
            # another Ctrl-C ends the patience
            with contextlib.suppress(KeyboardInterrupt):
                self._send(number, patience)

    def _send(self, number: signal.Signals, patience: float) -> None:
        """Send a signal to what runs; wait so many seconds for the end."""
        for process in list(self._running.values()):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        end = time.monotonic() + patience
        while self._running and time.monotonic() < end:
            time.sleep(0.05)


def _is_ready(step: CommandStep, makers: Mapping[Path, str], done: set[str]) -> bool:
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
