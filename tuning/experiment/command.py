"""What does a step of an experiment: a command line."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from phrasescore.runs.steps import Step

PROGRAM = "phrasescore"


@dataclass(frozen=True)
class Command:
    """A command line, all paths absolute; the same line again continues where it was stopped.

    Args:
        words: The first is ``phrasescore`` or the path of another program.
        standard_output: The file that gets what it prints, if one does.
        state: What it keeps while it is interrupted.
    """

    words: tuple[str, ...]
    standard_output: Path | None = None
    state: Path | None = None

    def __str__(self) -> str:
        """The line that a user would type."""
        line = shlex.join(self.words)
        if self.standard_output is not None:
            line += f" > {shlex.quote(str(self.standard_output))}"
        return line

    def step(self, name: str, inputs: tuple[Path, ...], outputs: tuple[Path, ...]) -> CommandStep:
        """Return the step that this command does."""
        settings = {"the command": str(self)}
        return Step(name, self, settings, inputs, outputs, state=self.state)


CommandStep = Step[Command]
