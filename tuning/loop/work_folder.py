"""The work folder of a tuning run: readable by people, and consistent even if the run is killed.

Every file gets its final name only when it is complete, and every step of a round ends with one
file. A stopped run therefore continues after the last finished file. A run with other settings or
inputs cannot use the folder. The files:

* ``run.json``: the settings and input digests of the run that owns the folder;
* ``round01/weights.json``, ``moses.ini``: the weights of the round, alone and in the system;
* ``round01/nbest.gz``: the n-best list of the decoder; ``decoder.log``: messages of real Moses;
* ``round01/optimized.json``: the weights found for the candidates of all rounds so far;
* ``result.json``: scores and weights of the rounds so far, and the result at the end;
* ``weights.json``, ``moses.ini``: the result.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phrasescore.errors import ResumeError
from phrasescore.runs.final_names import open_output, own_folder, whole_names
from phrasescore.runs.identity import refuse_differences
from phrasescore.runs.json_files import read_object, write_json
from phrasescore.runs.lock import LOCK, held

WEIGHTS = "weights.json"
_RUN = "run.json"


class RoundFolder:
    """The files of one round.

    Attributes:
        number: The number of the round, from 1.
        weights: The weights that the round decodes with.
        ini: The system with these weights.
        nbest: The n-best list of the decoder.
        log: The log of real Moses.
        optimized: The weights for the next round.
    """

    def __init__(self, path: Path, number: int) -> None:
        self.number = number
        self.weights = path / "weights.json"
        self.ini = path / "moses.ini"
        self.nbest = path / "nbest.gz"
        self.log = path / "decoder.log"
        self.optimized = path / "optimized.json"

    def adopt(self, other: RoundFolder) -> None:
        """Copy the files of another run's round with the same weights, unless the list exists."""
        if self.nbest.exists():
            return
        # copy the list last, because the round counts as decoded once the list exists
        for name in ("weights", "ini", "nbest"):
            mine, theirs = getattr(self, name), getattr(other, name)
            with theirs.open("rb") as original, open_output(mine, packed=True) as copy:
                shutil.copyfileobj(original, copy)


@dataclass(frozen=True)
class WorkFolder:
    """The folder of one run."""

    path: Path

    @contextlib.contextmanager
    def opened(self, identity: Mapping[str, Any]) -> Iterator[WorkFolder]:
        """Create the folder if it is missing, and lock it while the ``with`` block runs.

        Args:
            identity: Input digests and settings of the run, as JSON values.

        Raises:
            ResumeError: The folder belongs to another run, or another process holds its lock.
            SettingsError: The folder cannot be created.
        """
        with held(self.path, inside=True):
            self._check(identity)
            self._sweep()
            yield self

    def _check(self, identity: Mapping[str, Any]) -> None:
        path = self.path / _RUN
        # a process killed right after its start leaves a lock file or a partial record; ignore both
        names = whole_names(self.path).values()
        others = [name for name in names if name != _RUN and not name.startswith(LOCK)]
        if not path.exists():
            if others:
                raise ResumeError(
                    f"the folder is not empty ({sorted(others)[0]}) and has no {_RUN}",
                    path=self.path,
                    remedy="name a new folder",
                )
            write_json(path, dict(identity))
            return
        known = read_json(path)
        if not others and known.keys() == identity.keys():
            # an earlier run failed on its input before any work, so a corrected run may start
            write_json(path, dict(identity))
            return
        remedy = "name a new folder, or use the settings and inputs that the run began with"
        refuse_differences(known, identity, self.path, remedy)

    def _sweep(self) -> None:
        """Remove the partial files of a killed process."""
        for part in self.path.rglob(".*.part"):
            if part.is_file():
                part.unlink()

    def round(self, number: int) -> RoundFolder:
        """Return a round's folder, created if it is missing."""
        return RoundFolder(own_folder(self.path / f"round{number:02d}"), number)


def read_json(path: Path, *, numbers: Sequence[str] = ()) -> dict[str, Any]:
    """Read a file of the run.

    Args:
        path: The file.
        numbers: The keys that must be present with numbers as values.

    Raises:
        ResumeError: A tuning run did not write this file.
    """
    try:
        content = read_object(path)
        for name in numbers:
            float(content[name])
        return content
    except (ValueError, LookupError, TypeError):
        raise ResumeError(
            "a tuning run did not write this file",
            path=path,
            remedy="delete the file to do this step again",
        ) from None
