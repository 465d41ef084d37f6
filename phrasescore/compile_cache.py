"""The folder for compiled functions, chosen before numba is imported.

numba unpickles what lies in its cache folder, so whoever can write there can run code as this user.
It also reads ``.numba_config.yaml`` of the current folder, which can name another cache folder.

numba compiles a function again when its own file has changed, but not when a function or a constant
in another file has. So the name of the folder holds a digest of all modules with compiled functions
and of all that these import, directly or not.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import shutil
from pathlib import Path

from phrasescore import __version__
from phrasescore.errors import SettingsError
from phrasescore.runs.file_kinds import private_folder, user_cache_folder

_VARIABLE = "NUMBA_CACHE_DIR"
_PREFIX = "phrasescore-"
_MAX_OLD = 3  # folders of other versions that are kept

_ROOT = Path(__file__).resolve().parents[1]
_PACKAGES = ("phrasescore", "moses_integration", "tuning")
_MARK = b"phrasescore.compiled"  # what a module with compiled functions imports
# what a module imports from, and what it imports, which may be modules, too
_IMPORT = re.compile(
    rb"^ *from ((?:phrasescore|moses_integration|tuning)[\w.]*) import (\([^)]*\)|.*)", re.M
)
_NAME = re.compile(rb"\w+")

# readable by everybody, so that an image can be warmed up for users who cannot write it
_BESIDE_THE_PROGRAM = Path(__file__).parent / "__pycache__" / "compiled"

# the folder that was chosen
chosen_folder = Path()


def choose_folder() -> None:
    """Choose numba's cache folder; `phrasescore.compiled` calls this before it imports numba.

    Raises:
        SettingsError: There is no such folder, or the current folder holds settings of numba.
    """
    global chosen_folder
    if os.path.lexists(".numba_config.yaml"):
        raise SettingsError(
            "the current folder holds .numba_config.yaml, which can make numba run code of "
            "whoever wrote it",
            remedy="run the command in another folder, or remove that file",
        )
    # it colours thousands of messages about types that it tried, which nobody reads
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
    version = f"{_PREFIX}{__version__}-{_digest()}"
    named, own, read_only = os.environ.get(_VARIABLE), _own_folders(), None
    # a process that was started by another one finds the whole name
    given = re.sub(rf"/{_PREFIX}[^/]*-[0-9a-f]+$", "", named) if named else None
    if given and Path(given) in own:
        given = None
    for folder in [Path(given), *own] if given else own:
        try:
            mode = 0o755 if folder == _BESIDE_THE_PROGRAM else 0o700
            private = private_folder(folder, _VARIABLE, mode)
            chosen = private_folder(private / version, _VARIABLE, mode)
        except SettingsError:
            if given and folder == Path(given):
                raise
        except OSError:
            pass
        else:
            if os.access(chosen, os.W_OK | os.X_OK):
                _begin_to_use(chosen, read_only)
                chosen_folder, os.environ[_VARIABLE] = chosen, str(chosen)
                return
            read_only = read_only or chosen
    raise SettingsError(
        "there is no folder for compiled functions that you alone can write",
        remedy=f"name one with {_VARIABLE}",
    )


def _own_folders() -> list[Path]:
    """Return the folders that are tried where the user names none, the best first."""
    import tempfile  # it costs a help text some milliseconds

    folders = [_BESIDE_THE_PROGRAM, user_cache_folder() / "compiled"]
    with contextlib.suppress(OSError):  # there is no temporary folder
        folders.append(Path(tempfile.gettempdir()) / f"phrasescore-compiled-{os.getuid()}")
    return folders


def _begin_to_use(folder: Path, read_only: Path | None) -> None:
    """Fill a new folder from one that cannot be written; remove those of other versions."""
    with contextlib.suppress(OSError):  # a full disk, or another process does the same
        if not any(folder.iterdir()):
            if read_only:
                copy = folder.with_name(f".{folder.name}.{os.getpid()}")
                try:
                    shutil.copytree(read_only, copy, ignore=shutil.ignore_patterns(".lock"))
                    copy.rename(folder)
                finally:
                    shutil.rmtree(copy, ignore_errors=True)
            others = [each for each in folder.parent.glob(f"{_PREFIX}*") if each != folder]
            others.sort(key=lambda each: each.stat().st_mtime, reverse=True)
            for each in others[_MAX_OLD:]:
                shutil.rmtree(each, ignore_errors=True)
        for path in folder.glob("*/*.nb[ic]"):
            if not _is_whole(path):
                path.unlink()
        os.utime(folder)  # as in use


def _is_whole(path: Path) -> bool:
    """Tell whether a file of numba ends as one does; numba fails at one that was cut short.

    A machine that loses power leaves empty or short files. All of them are pickles, whose last
    byte is a stop.
    """
    with path.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - 1))
        return stream.read() == b"."


def _digest() -> str:
    """Return a digest of all that compiled code depends on but the processor, which numba knows."""
    from importlib import metadata  # it costs a help text a fifth of its time

    versions = [metadata.version(name) for name in ("numba", "llvmlite", "numpy")]
    sources = {}
    for package in _PACKAGES:
        for folder, _, names in os.walk(_ROOT / package):
            for name in names:
                if name.endswith(".py"):
                    path = os.path.join(folder, name)  # noqa: PTH118
                    module = os.path.relpath(path, _ROOT)[:-3].replace(os.sep, ".").encode()
                    with open(path, "rb") as stream:  # noqa: PTH123
                        sources[module] = stream.read()
    pending = [module for module, text in sources.items() if _MARK in text]
    used: set[bytes] = set()
    while pending:
        module = pending.pop()
        if module in sources and module not in used:
            used.add(module)
            for imported, names in _IMPORT.findall(sources[module]):
                pending += [
                    imported,
                    *(b"%s.%s" % (imported, name) for name in _NAME.findall(names)),
                ]
    digest = hashlib.sha256("\n".join([platform.python_version(), *versions]).encode())
    for module in sorted(used):
        digest.update(b"\0%s\0%s" % (module, sources[module]))
    return digest.hexdigest()[:16]
