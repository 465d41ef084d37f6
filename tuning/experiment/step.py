"""One step of an experiment: a command line, what it reads, what it leaves."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

PROGRAM = "phrasescore"


@dataclass(frozen=True)
class Step:
    """A command line and its files, all paths absolute.

    Args:
        name: Unlike all others; its log and its stamp are called so.
        command: The words; the first is ``phrasescore`` or the path of another program.
        inputs: Files and model folders that decide the result.
        outputs: Files and folders that it makes; a folder is finished when it is there.
        standard_output: Which of the outputs gets what the command prints, if one does.
        state: What is there while the command is interrupted, if it then needs ``resume_option``.
        resume_option: Added to the command where ``state`` is there.
    """

    name: str
    command: tuple[str, ...]
    inputs: tuple[Path, ...]
    outputs: tuple[Path, ...]
    standard_output: Path | None = None
    state: Path | None = None
    resume_option: str | None = None

    def __str__(self) -> str:
        """The line that a user would type."""
        line = shlex.join(self.command)
        if self.standard_output is not None:
            line += f" > {shlex.quote(str(self.standard_output))}"
        return line
