"""Steps that are command lines: as a script, and run several at a time.

Running can be interrupted at any moment.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from phrasescore.errors import InterruptedWorkError, PhrasescoreError
from phrasescore.runs import processes
from phrasescore.runs.final_names import hidden, own_file
from phrasescore.runs.interruption import interruptible
from phrasescore.runs.ledger import FunctionStep, Ledger, Step
from phrasescore.runs.processes import phrasescore_command
from phrasescore.runs.progress import Say

PROGRAM, COMMANDS, STEPS = "phrasescore", "commands.sh", "steps"
_LAST_LINES = 8
_STATUSES = range(1, 10)  # of a command that found an error (docs/errors.md)
_LOOK = 0.05  # seconds between two checks of a running command
_FIRST_TOLD, _TOLD_AGAIN = 10.0, 30.0  # seconds until the progress of a step is told
_ROUND = re.compile("^round [0-9]+: ", re.MULTILINE)  # how `tune` begins its lines
# SIGINT lets a command save its state; each number is the timeout in seconds until the next signal
_SIGNALS = ((signal.SIGINT, 10.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))


@dataclass(frozen=True)
class Command:
    """A command line with absolute paths; after an interruption, the same command continues.

    Args:
        words: The program and its arguments; the program is ``phrasescore`` or an absolute path.
        standard_output: The file for the command's standard output; ``None`` for the log.
    """

    words: tuple[str, ...]
    standard_output: Path | None = None

    def __str__(self) -> str:
        """Return the line that a user would type."""
        output = self.standard_output
        return shlex.join(self.words) + (f" > {shlex.quote(str(output))}" if output else "")


CommandStep = Step[Command]


def command_step(
    name: str,
    words: Iterable[object],
    outputs: Collection[Path],
    reads: Iterable[Path] = (),
    *,
    state: Path | None = None,
    standard_output: Path | None = None,
    limits: Mapping[str, float] = {},
) -> CommandStep:
    """Return a step that runs a command line; see ``Command`` and ``Step``.

    Args:
        name: The name of the step.
        words: The words of the command. Each that is a ``Path`` is an input, unless it is one of
            the outputs or ``state``.
        outputs: The files and folders that the command creates.
        reads: Further inputs, which the inputs name.
        state: The folder in which the command keeps unfinished work, if any.
        standard_output: The file for the command's standard output; ``None`` for the log.
        limits: Further options with numbers; if only they grow, the command continues its work.
    """
    words = list(words)
    paths = (path for path in (*words, *reads) if isinstance(path, Path))
    inputs = tuple(path for path in paths if path not in outputs and path != state)
    settings = {"the command": str(Command(tuple(map(str, words)), standard_output))}
    added = [word for option, limit in limits.items() for word in (option, f"{limit:.0f}")]
    words[2:2] = added  # after the program and its subcommand
    command = Command(tuple(map(str, words)), standard_output)
    return Step(name, command, settings, inputs, tuple(outputs), state, limits)


def script(folder: Path, steps: Sequence[CommandStep]) -> bytes:
    """Return a shell script of steps whose commands run in a folder."""
    folders = sorted({str(path.parent) for step in steps for path in step.outputs})
    lines = ["#!/usr/bin/env bash", "# the steps; to repeat them, name a new folder", "set -e"]
    lines += [f"cd {shlex.quote(str(folder))}", shlex.join(["mkdir", "-p", *folders])]
    text = "\n".join([*lines, *(str(step.work) for step in steps), ""])
    return text.encode("utf-8", "surrogateescape")


class Runner:
    """Runs steps in a folder.

    Args:
        results: The folder of all outputs; nothing outside this folder is ever deleted.
        folder: The current directory of the commands.
        say: Prints a line for each step.
        after: Called with each step that has run successfully.
        announce: Called with each step before it runs; by default, its name is printed.

    Attributes:
        done: The names of the steps done in this call or earlier.
        ledger: The ledger of the steps.
    """

    def __init__(
        self,
        results: Path,
        folder: Path,
        say: Say,
        after: Callable[[CommandStep], None],
        announce: Callable[[CommandStep], None] | None = None,
    ) -> None:
        self._results, self._folder = results, folder
        self._say, self._after, self._announce = say, after, announce
        self.done: set[str] = set()
        self.ledger = Ledger(results / STEPS)
        self._running: set[str] = set()
        self._stops = 0

    def run(self, steps: Sequence[CommandStep], jobs: int = 1) -> int:
        """Run the steps that are not done, and return their number.

        Args:
            steps: The steps.
            jobs: The maximum number of commands at a time.

        Raises:
            PhrasescoreError: A step failed; the other running steps were allowed to end.
            InterruptedWorkError: Ctrl-C, SIGTERM or SIGHUP.
        """
        makers = {path: step.name for step in steps for path in step.outputs}
        waiting, ran = list(steps), 0
        # the outer _stopping_children is for an interruption while the pool shuts down after a
        # failure and waits for the steps that still run
        with (
            interruptible(self._results),
            self._stopping_children(),
            ThreadPoolExecutor(jobs) as pool,
            self._stopping_children(),
        ):
            running: dict[Future[bool], CommandStep] = {}
            while waiting or running:
                ready = [step for step in waiting if _is_ready(step, makers, self.done)]
                for step in ready[: jobs - len(running)]:
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
        """Run a step unless it is done; return whether it ran."""
        # a command gives its outputs their final names only when the outputs are complete
        work: FunctionStep = Step(**vars(step) | {"work": partial(self._run, step)})
        start = time.monotonic()
        outcome = self.ledger.do(work, self._say, outputs_are_whole=True)
        if not outcome.resumed:
            self._say(f"{step.name}: done in {time.monotonic() - start:,.0f} s")
        return not outcome.resumed

    def _run(self, step: CommandStep) -> None:
        """Run a step's command."""
        if self._announce is not None:
            self._announce(step)
        else:
            self._say(f"{step.name}: {' '.join(step.work.words[:2])} ...")
        for path in step.outputs:
            if path.exists() and not (path.is_file() or path.is_dir()):
                path.unlink()  # writing to a named pipe would block until something reads it
        log = self.log(step)
        with own_file(log, os.O_APPEND) as said:
            said.write(f"$ {step.work}\n".encode("utf-8", "surrogateescape"))
        self._running.add(step.name)
        try:
            if self._stops:
                raise InterruptedWorkError("interrupted")
            status = self._wait_for(step, log)
        finally:
            self._running.discard(step.name)
        if (output := step.work.standard_output) is not None:
            part = hidden(output, "part")
            if status == 0:
                with part.open("rb") as stream:
                    os.fsync(stream.fileno())  # before a stamp declares the output complete
                part.replace(output)
            else:
                part.unlink()
        if status or not all(path.exists() for path in step.outputs):
            raise self._failure(step, status)

    def _wait_for(self, step: CommandStep, log: Path) -> int:
        """Run a step's command on this machine to its end, and return its exit status.

        Its standard output is written to a hidden ``.part`` file, or else to the log, as standard
        error is. Each request to stop sends the next stronger signal.

        Raises:
            PhrasescoreError: The command could not be started.
        """
        words, output = step.work.words, step.work.standard_output
        with contextlib.ExitStack() as stack:
            said = printed = stack.enter_context(own_file(log, os.O_APPEND))
            if output is not None:
                printed = stack.enter_context(own_file(hidden(output, "part"), os.O_TRUNC))
            try:
                process = processes.start(
                    phrasescore_command(words[1:]) if words[0] == PROGRAM else words,
                    stdin=subprocess.DEVNULL,
                    stdout=printed,
                    stderr=said,
                    cwd=self._folder,
                    start_new_session=True,
                )
            except OSError as error:
                raise PhrasescoreError(
                    f"the step {step.name} could not be started ({error.strerror})", path=words[0]
                ) from None
        signals, sent, until, tells = iter(_SIGNALS), 0, 0.0, time.monotonic() + _FIRST_TOLD
        while process.poll() is None:
            if time.monotonic() > tells:
                tells = time.monotonic() + _TOLD_AGAIN
                self._tell_progress(step)
            if self._stops > sent or (sent and time.monotonic() > until):
                number, patience = next(signals, _SIGNALS[-1])
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
                sent, until = sent + 1, time.monotonic() + patience
            time.sleep(_LOOK)
        return process.returncode

    def log(self, step: CommandStep) -> Path:
        """Return the file of what a step's command prints."""
        return self.ledger.folder / f"{step.name}.log"

    def printed(self, step: CommandStep) -> list[str]:
        """Return the lines that a step's command has printed since it was started last."""
        path = self.log(step)
        log = path.read_text("utf-8", "replace") if path.exists() else ""  # users may delete logs
        lines = log.rpartition(f"$ {step.work}\n")[2].split("\n")
        return [line.strip() for line in lines if line.strip()]

    def _tell_progress(self, step: CommandStep) -> None:
        """Print a running command's last line, after its round if any."""
        if lines := self.printed(step):
            rounds = ("", *_ROUND.findall("\n".join(lines)))
            self._say(f"{step.name}: {'' if _ROUND.match(lines[-1]) else rounds[-1]}{lines[-1]}")

    def _failure(self, step: CommandStep, status: int) -> PhrasescoreError:
        if self._stops:
            return InterruptedWorkError("interrupted")
        lines = [f"$ {step.work}", *self.printed(step)]
        how = f"ended with status {status}" if status else "succeeded but left no output"
        error = PhrasescoreError(
            f"the step {step.name} {how}",
            path=self.log(step),
            remedy="correct the cause and run the same command again, which keeps finished steps; "
            "for other texts or options, name a new folder. The last lines:\n  "
            + "\n  ".join(lines[-_LAST_LINES:]).rstrip("."),
        )
        if status in _STATUSES:
            error.exit_code = status
        return error

    @contextlib.contextmanager
    def _stopping_children(self) -> Iterator[None]:
        """If a signal interrupts the block, end the running commands first.

        Each further Ctrl-C sends them the next stronger signal.
        """
        try:
            yield
        except KeyboardInterrupt:
            self._stops += 1
            while self._running:
                try:
                    time.sleep(_LOOK)
                except KeyboardInterrupt:
                    self._stops += 1
            raise


def _is_ready(step: CommandStep, makers: Mapping[Path, str], done: set[str]) -> bool:
    """Return whether the steps that make a step's inputs, or the inputs' folders, are done."""
    places = (place for path in step.inputs for place in (path, *path.parents))
    return {makers[place] for place in places if place in makers} <= done
