"""The work folder of a training run: known from a foreign one, and gone in one step.

``MODEL.training/`` beside the model to come holds ``settings.json``, which is written first, the
encoded pairs, the curve and the checkpoints. A folder with anything else in it is somebody's, and
stays as it is. To be removed, the folder leaves its name at once; what a kill leaves of it then is
a part, which the next run sweeps away.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

from phrasescore.errors import ResumeError, visible
from phrasescore.runs.final_names import part_path, remove, whole_name
from phrasescore.runs.json_files import read_object
from phrasescore.training.checkpoint import BEST, LATEST, load_checkpoint
from phrasescore.training.encoding import FILES_OF_PAIRS
from phrasescore.training.evaluation import CURVES
from phrasescore.training.training_settings import INPUT

SETTINGS = "settings.json"
PAIRS = "pairs"

_OWN = re.compile(
    rf"{re.escape(SETTINGS)}|{re.escape(LATEST)}|{re.escape(BEST)}|{re.escape(CURVES)}"
    rf"|{PAIRS}(/({FILES_OF_PAIRS}))?"
)


def is_begun(work: Path) -> bool:
    """Tell whether an earlier run has left its work folder, possibly before it said what it is.

    Raises:
        ResumeError: Something else is there.
    """
    if not os.path.lexists(work):
        return False
    if work.is_symlink() or not work.is_dir():
        raise _foreign(work, "it is no folder of its own")
    names = _names(work)
    for name in names:
        if not _OWN.fullmatch(name):
            raise _foreign(work, f"{visible(os.fsencode(name), 80)} is no file of one")
    if SETTINGS in names:
        known_settings(work)
    elif names and PAIRS not in names and not _has_checkpoint(work):
        raise _foreign(work, f"it has no {SETTINGS}")
    return True


def known_settings(work: Path) -> dict[str, Any] | None:
    """Return what the run of a work folder was asked for; ``None`` if it has not said it yet.

    Raises:
        ResumeError: The file is damaged, or no run has written it.
    """
    try:
        known = read_object(work / SETTINGS)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise _foreign(work, f"its {SETTINGS} is no JSON ({error})") from None
    if INPUT not in known:
        raise _foreign(work, f"its {SETTINGS} is another program's")
    return known


def remove_work(work: Path) -> None:
    """Remove a work folder.

    Raises:
        ResumeError: Something is in it that no run has written; then it stays.
    """
    if not is_begun(work):
        return
    gone = part_path(work)
    work.rename(gone)
    try:
        # what came into it meanwhile has moved along, and must move back
        is_begun(gone)
    except ResumeError as error:
        gone.rename(work)
        error.path = work
        raise
    remove(gone)


def _names(work: Path) -> set[str]:
    """All that is in it, by the names relative to it; a part counts as what it is a part of."""
    names = set()
    for folder, folders, files in os.walk(work):
        place = Path(folder).relative_to(work)
        for name in (*folders, *files):
            own = (place / (whole_name(name) or name)).as_posix()
            names.add(own + _oddity((Path(folder) / name).lstat().st_mode))
    return names


def _oddity(mode: int) -> str:
    """Return what to add to the name of something that is neither a regular file nor a folder."""
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return ""
    return " (a link)" if stat.S_ISLNK(mode) else " (a pipe or a device)"


def _has_checkpoint(work: Path) -> bool:
    for name in (LATEST, BEST):
        try:
            load_checkpoint(work / name)
        except ResumeError:
            continue
        return True
    return False


def _foreign(work: Path, why: str) -> ResumeError:
    return ResumeError(
        f"not the work folder of a training run: {why}",
        path=work,
        remedy="move it away, or name another folder for the model",
    )
