"""Scores of candidates by a program that the user names on the command line.

The program reads lines ``source TAB candidate`` until the end of its input, and writes a number a
line. It runs once for each block of candidates, so it may read everything before it answers.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING

from phrasescore.errors import NBestError, SettingsError, counted, visible
from phrasescore.runs import processes
from phrasescore.table.input_files import finite_number

if TYPE_CHECKING:
    from moses_integration.nbest.rescoring import Candidate


def scores_of_program(name: str, command: str, candidates: Sequence[Candidate]) -> list[float]:
    """Return the score of each candidate.

    Args:
        name: The name of the feature, for errors.
        command: The program and its arguments, split like a command of a shell, but not run by one.
        candidates: The candidates.

    Raises:
        SettingsError: The command cannot be started.
        NBestError: The program fails, or does not write one number for each candidate.
    """
    lines = (b"%b\t%b\n" % (b" ".join(c.source), b" ".join(c.words)) for c in candidates)
    try:
        done = processes.run(
            shlex.split(command),
            given=b"".join(lines),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
    except (OSError, ValueError, IndexError) as error:
        raise SettingsError(
            f"the scorer {name} cannot be started ({error})",
            remedy=f"check the command {command!r}",
        ) from None
    written = done.stdout.split(b"\n")
    if not written[-1]:
        written.pop()
    numbers = [finite_number(line.strip()) for line in written]
    problem = ""
    if done.returncode:
        problem = f"ended with status {done.returncode}"
    elif None in numbers:
        at = numbers.index(None)
        problem = f"wrote {visible(written[at], 40)!r} for candidate {at + 1:,}, and no number"
    elif len(numbers) != len(candidates):
        wrote, of = counted(len(numbers), "number"), counted(len(candidates), "candidate")
        problem = f"wrote {wrote} for {of}"
    if problem:
        raise NBestError(
            f"the scorer {name} {problem}",
            remedy="it has to write one number for each line that it reads: the source, a tab and "
            "a candidate",
        )
    return [number for number in numbers if number is not None]
