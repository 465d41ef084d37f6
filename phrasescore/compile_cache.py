"""The folder for compiled functions, chosen before numba is imported.

numba unpickles what lies in its cache folder, so whoever can write there can run code as this user.
It also reads ``.numba_config.yaml`` of the current folder, which can name another cache folder.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from phrasescore.errors import SettingsError
from phrasescore.runs.private_folders import private_folder, user_cache_folder

_VARIABLE = "NUMBA_CACHE_DIR"

# readable by everybody, so that an image can be warmed up for users who cannot write it
BESIDE_THE_PROGRAM = Path(__file__).parent / "__pycache__" / "compiled"

# a folder that this user cannot write, but whose compiled functions may be used
read_only_folder: Path | None = None

# whether a command runs, whose user should hear that compiling takes a while
serves_a_command = False


def choose_folder() -> None:
    """Choose numba's cache folder; `phrasescore.compiled` calls this before it imports numba.

    Raises:
        SettingsError: There is no such folder, or the current folder holds settings of numba.
    """
    global read_only_folder
    if os.path.lexists(".numba_config.yaml"):
        raise SettingsError(
            "the current folder holds .numba_config.yaml, which can make numba run code of "
            "whoever wrote it",
            remedy="run the command in another folder, or remove that file",
        )
    # it colours thousands of messages about types that it tried, which nobody reads
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
    named, own = os.environ.get(_VARIABLE), _own_folders()
    given = Path(named) if named and Path(named) not in own else None
    for folder in own if given is None else [given, *own]:
        try:
            mode = 0o755 if folder == BESIDE_THE_PROGRAM else 0o700
            found = private_folder(folder, _VARIABLE, mode)
        except SettingsError:
            if folder is given:
                raise
        except OSError:
            pass
        else:
            if os.access(found, os.W_OK | os.X_OK):
                os.environ[_VARIABLE] = str(found)
                return
            read_only_folder = read_only_folder or found
    raise SettingsError(
        "there is no folder for compiled functions that you alone can write",
        remedy=f"name one with {_VARIABLE}",
    )


def _own_folders() -> list[Path]:
    """Return the folders that are tried where the user names none, the best first."""
    import tempfile  # it costs a help text some milliseconds

    folders = [BESIDE_THE_PROGRAM, user_cache_folder() / "compiled"]
    with contextlib.suppress(OSError):  # there is no temporary folder
        folders.append(Path(tempfile.gettempdir()) / f"phrasescore-compiled-{os.getuid()}")
    return folders
