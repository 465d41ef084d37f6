"""Runs the steps that are not done yet, several at a time; may be stopped at any moment."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from phrasescore.errors import InterruptedWorkError, PhrasescoreError, StorageError
from phrasescore.runs import processes
from phrasescore.runs.final_names import hidden, own_file
from phrasescore.runs.interruption import interruptible
from phrasescore.runs.processes import phrasescore_command
from phrasescore.runs.steps import Steps
from tuning.experiment.plan import PROGRAM, CommandStep

_LAST_WORDS = 8
_MOST = 1000  # steps at a time, wherever they run
_LOOK = 5.0  # seconds
Say = Callable[[str], None]
# Ctrl-C lets a command save its state; one that does not end is ended
SIGNALS = ((signal.SIGINT, 10.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))


@dataclass(frozen=True)
class Job:
    """A command that is to run.

    Args:
        name: Of its step.
        words: The program and its arguments.
        folder: Where it runs.
        log: Gets what it says.
        printed: Gets what it prints; ``None`` for the log.
        outputs: What is there when it has ended well.
        states: The folder in which it keeps unfinished work, if it does.
    """

    name: str
    words: tuple[str, ...]
    folder: Path
    log: Path
    printed: Path | None
    outputs: tuple[Path, ...] = ()
    states: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit status, seconds by the clock and of the processor."""

    status: int
    seconds: float
    cpu_seconds: float


class LocalSteps:
    """Runs commands on this machine; threads may share it.

    Args:
        jobs: How many at a time.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._stopped = False
        self._starting = threading.Lock()

    def room(self) -> int:
        """Return how many commands may run at a time."""
        return self._jobs

    def run(self, job: Job) -> Ended:
        """Run a command to its end.

        Raises:
            InterruptedWorkError: All was stopped before it began.
            PhrasescoreError: It could not be started.
        """

        def starting() -> subprocess.Popen[bytes]:
            # stopping everything must not miss a process between its start and its entry
            with self._starting:
                if self._stopped:
                    raise InterruptedWorkError("interrupted")
                return self._running.setdefault(job.name, begin(job, said, printed))

        with contextlib.ExitStack() as stack:
            said, printed = opened(job, stack)
            try:
                return waited_for(starting(), time.monotonic(), lambda process: None, 0)
            finally:
                self._running.pop(job.name, None)

    def stop(self) -> None:
        """End what runs."""
        with self._starting:
            self._stopped = True
        for number, patience in SIGNALS:
            # another Ctrl-C ends the patience
            with contextlib.suppress(KeyboardInterrupt):
                self._send(number, patience)

    def _send(self, number: signal.Signals, patience: float) -> None:
        """Send a signal to what runs; wait so many seconds for the end."""
        for process in list(self._running.values()):
            send(process, number)
        end = time.monotonic() + patience
        while self._running and time.monotonic() < end:
            time.sleep(0.05)


def opened(job: Job, stack: contextlib.ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    """Open what a command says and prints into, until the stack is left."""
    said = stack.enter_context(own_file(job.log, os.O_APPEND))
    if job.printed is None:
        return said, said
    return said, stack.enter_context(own_file(job.printed, os.O_TRUNC))


def begin(job: Job, said: IO[bytes], printed: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a command.

    Raises:
        PhrasescoreError: It could not be started.
    """
    try:
        return processes.start(
            phrasescore_command(job.words[1:]) if job.words[0] == PROGRAM else job.words,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=said,
            cwd=job.folder,
            start_new_session=True,
        )
    except OSError as error:
        raise PhrasescoreError(
            f"the step {job.name} could not be started ({error.strerror})", path=job.words[0]
        ) from None


def send(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to a command and all that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def waited_for(
    process: subprocess.Popen[bytes],
    began: float,
    look: Callable[[subprocess.Popen[bytes]], None],
    every: float,
) -> Ended:
    """Wait for the end of a command.

    Args:
        process: It.
        began: When, on the clock that only goes forward.
        look: Called now and then while it runs.
        every: After how many seconds; 0 for never.
    """
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG if every else 0)
        if pid:
            break
        look(process)
        time.sleep(every)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds, cpu_seconds = time.monotonic() - began, usage.ru_utime + usage.ru_stime
    return Ended(process.returncode, round(seconds, 1), round(cpu_seconds, 1))


class StepPlace(Protocol):
    """Where commands run: this machine or others; threads share it."""

    def room(self) -> int:
        """Return how many commands may run at a time."""
        ...

    def run(self, job: Job) -> Ended:
        """Run a command to its end.

        Raises:
            InterruptedWorkError: All was stopped.
            PhrasescoreError: It could not be started.
        """
        ...

    def stop(self) -> None:
        """End what runs."""
        ...


class Runner:
    """Runs steps in a folder.

    Args:
        results: The folder of all outputs; nothing outside is ever deleted.
        folder: Where commands run.
        place: Where commands run, and how many at a time.
        say: Gets a line for each step.
        after: Called with each step that ran to its end.

    Attributes:
        done: The names of the steps that are done, from earlier or now.
    """

    def __init__(
        self,
        results: Path,
        folder: Path,
        place: StepPlace,
        say: Say,
        after: Callable[[CommandStep], None],
    ) -> None:
        self._results, self._folder, self._place = results, folder, place
        self._say, self._after = say, after
        self.done: set[str] = set()
        self.stamps = Steps(results / "steps")
        self._stopped = False

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
            ThreadPoolExecutor(_MOST) as pool,
            self._stopping_children(),
        ):
            running: dict[Future[bool], CommandStep] = {}
            while waiting or running:
                ready = [step for step in waiting if _is_ready(step, makers, self.done)]
                for step in ready[: max(0, self._place.room() - len(running))]:
                    running[pool.submit(self._do, step)] = step
                    waiting.remove(step)
                # now and then there is room for more
                for future in wait(running, _LOOK, return_when=FIRST_COMPLETED).done:
                    step = running.pop(future)
                    is_new = future.result()
                    self.done.add(step.name)
                    if is_new:
                        ran += 1
                        self._after(step)
        return ran

    def _do(self, step: CommandStep) -> bool:
        """Run a step unless it is done; tell whether it ran."""
        # commands give outputs their names when they are whole
        return self.stamps.do(step, lambda: self._timed(step), self._say, outputs_are_whole=True)

    def _timed(self, step: CommandStep) -> dict[str, float]:
        self._say(f"{step.name}: {' '.join(step.work.words[:2])} ...")
        seconds, cpu_seconds = self._execute(step)
        self._say(f"{step.name}: done in {seconds:,.0f} s")
        return {"seconds": seconds, "cpu_seconds": cpu_seconds}

    def _execute(self, step: CommandStep) -> tuple[float, float]:
        """Run a step's command; return seconds by the clock and of the processor."""
        for path in step.outputs:
            if path.exists() and not (path.is_file() or path.is_dir()):
                path.unlink()  # the command would wait for somebody to read the pipe
        log = self.stamps.folder / f"{step.name}.log"
        with own_file(log, os.O_APPEND) as said:
            said.write(f"$ {step.work}\n".encode("utf-8", "surrogateescape"))
        output = step.work.standard_output
        part = hidden(output, "part") if output is not None else None
        made = tuple(path for path in step.outputs if path != output)
        states = (step.state,) if step.state else ()
        job = Job(step.name, step.work.words, self._folder, log, part, made, states)
        ended = self._place.run(job)
        if part is not None and output is not None:
            if ended.status == 0:
                with part.open("rb") as printed:
                    os.fsync(printed.fileno())  # the stamp that follows says that it is whole
                part.replace(output)
            else:
                part.unlink()
        self._check(step, ended.status, log)
        return ended.seconds, ended.cpu_seconds

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
            self._stopped = True
            self._place.stop()
            raise


def _is_ready(step: CommandStep, makers: Mapping[Path, str], done: set[str]) -> bool:
    """Tell whether all is there that steps before it make, or make as part of a folder."""
    needed = {
        makers[place] for path in step.inputs for place in (path, *path.parents) if place in makers
    }
    return needed <= done
