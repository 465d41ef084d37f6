"""Where compiled functions are kept from one call to the next, found before the first is compiled.

numba keeps them beside the code or, where it cannot write there, in the user's cache folder. Where
neither can be written (a read-only container, a home that is missing) it refuses to work at all.
"""

from __future__ import annotations

import os
from pathlib import Path

from phrasescore.errors import SettingsError

_VARIABLE = "NUMBA_CACHE_DIR"

# in the name of a folder of our own, where nothing else can be written
OWN_FOLDER = "phrasescore-compiled-"

# whether somebody waits who should hear that compiling takes a while
serves_a_command = False


def find_place() -> None:
    """See to it, for a command, that numba does no needless work and can write what it did.

    Raises:
        SettingsError: There is none.
    """
    global serves_a_command
    serves_a_command = True
    # it colours thousands of messages about types that it tried, which nobody reads
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
    if any(map(_is_writable, _places())):
        return
    import tempfile  # it costs a help text some milliseconds

    folder = Path()
    try:
        folder = Path(tempfile.gettempdir()) / f"{OWN_FOLDER}{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        # what others can write there would run as this user
        is_ours = found.st_uid == os.getuid() and not found.st_mode & 0o022
    except OSError:
        is_ours = False
    if not is_ours or not folder.is_dir() or folder.is_symlink():
        raise SettingsError(
            "there is no folder for compiled functions that can be written",
            remedy=f"name one with {_VARIABLE}",
        )
    os.environ[_VARIABLE] = str(folder)


def _places() -> list[Path]:
    """Return the folders that numba would try."""
    named = os.environ.get(_VARIABLE)
    # unlike Path.expanduser, this does not mind a user without a home
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    return [*([Path(named)] if named else []), Path(__file__).parent, Path(home) / "numba"]


def _is_writable(folder: Path) -> bool:
    """Tell whether a folder, made if need be, can be written."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
