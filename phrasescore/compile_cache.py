"""The folder for compiled functions, chosen before numba is imported.

numba unpickles the files in its cache folder, so anybody who can write to that folder can run code
as this user. numba also reads the file ``.numba_config.yaml`` in the current folder; this file can
name another cache folder.

numba compiles a function again when the file of the function has changed, but not when a function
or a constant in another file has changed. So the name of the folder contains a digest of all
modules with compiled functions and of all modules that these modules import, directly or not.
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
_MAX_OLD = 3  # number of folders of other versions that are kept

_ROOT = Path(__file__).resolve().parents[1]
_PACKAGES = ("phrasescore", "moses_integration", "tuning")
_MARK = b"phrasescore.compiled"  # modules with compiled functions import it
# the module or package of an import, and the imported names, which may be modules
_IMPORT = re.compile(
    rb"from ((?:phrasescore|moses_integration|tuning)[\w.]*) import (\([^)]*\)|.*)"
)
_NAME = re.compile(rb"\w+")

# everybody can read this folder, so it can be filled for users who cannot write to it
_BESIDE_THE_PROGRAM = _ROOT / "phrasescore" / "__pycache__" / "compiled"

# variable -> the values with which numba can compile; it would fail late, or abort the process
_COMPILABLE = {"NUMBA_DISABLE_JIT": "0*", "NUMBA_CPU_FEATURES": r"([+-][^,]+(,|$))*"}

chosen_folder: Path | None = None  # without a safe folder, nothing is cached


def choose_folder() -> None:
    """Choose numba's cache folder; `phrasescore.compiled` calls this before it imports numba.

    Raises:
        SettingsError: The folder that the user named cannot be used, numba could not compile with
            a variable, or the current folder contains settings of numba.
    """
    global chosen_folder
    if os.path.lexists(".numba_config.yaml"):
        raise SettingsError(
            "the current folder holds .numba_config.yaml, which can make numba run any code of "
            "its author",
            remedy="run the command in another folder, or remove that file",
        )
    _refuse_variables()
    # numba makes thousands of messages that are not shown; colouring them would take time
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
    version = f"{_PREFIX}{__version__}-{_digest()}"
    named, own, read_only = os.environ.get(_VARIABLE), _own_folders(), None
    # a parent process may have set the variable to the full name, with the version
    given = Path(re.sub(rf"/{_PREFIX}[^/]*-[0-9a-f]+$", "", named)) if named else None
    if given and not given.is_absolute():
        raise SettingsError(
            f"{_VARIABLE} is a relative path, so any current folder could supply compiled code",
            remedy="name an absolute path",
        )
    if given in own:
        given = None
    for folder in [given, *own] if given else own:
        try:
            mode = 0o755 if folder == _BESIDE_THE_PROGRAM else 0o700
            private = private_folder(folder, _VARIABLE, mode)
            chosen = private_folder(private / version, _VARIABLE, mode)
        except SettingsError:
            if folder == given:
                raise
        except OSError:
            pass
        else:
            if os.access(chosen, os.W_OK | os.X_OK):
                _prepare(chosen, read_only)
                chosen_folder, os.environ[_VARIABLE] = chosen, str(chosen)
                return
            read_only = read_only or chosen
    chosen_folder = None
    os.environ.pop(_VARIABLE, None)


def _refuse_variables() -> None:
    for variable, values in _COMPILABLE.items():
        value = os.environ.get(variable, "")
        if not re.fullmatch(values, value):
            raise SettingsError(
                f"{variable} is {value!r}, with which numba cannot compile",
                remedy="unset or correct the variable",
            )


def _own_folders() -> list[Path]:
    """Return the folders to try if the user names none, in order of preference.

    None of them depends on the current folder, whose files may be of someone else. (tempfile falls
    back to the current folder.)
    """
    temporary = Path(os.environ.get("TMPDIR") or "/tmp")
    folders = [user_cache_folder() / "compiled", temporary / f"phrasescore-compiled-{os.getuid()}"]
    here = os.path.realpath(".")
    return [_BESIDE_THE_PROGRAM] + [
        each for each in folders if each.is_absolute() and os.path.realpath(each.parent) != here
    ]


def _prepare(folder: Path, read_only: Path | None) -> None:
    """Fill a new folder from a read-only folder; remove old versions and broken files."""
    with contextlib.suppress(OSError):  # the disk is full, or another process is doing the same
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
        os.utime(folder)  # so that folders in use are the newest and are not removed


def _is_whole(path: Path) -> bool:
    """Tell whether a file of numba is complete; numba fails if a power loss has cut a file off.

    The files are pickles, which end with a full stop.
    """
    with path.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - 1))
        return stream.read() == b"."


def _digest() -> str:
    """Digest all that compiled code depends on, except the processor, which numba checks."""
    from importlib import metadata  # late, because it would make --help a fifth slower

    versions = [metadata.version(name) for name in ("numba", "llvmlite", "numpy")]
    sources = {}
    for package in _PACKAGES:
        for place, folders, names in os.walk(_ROOT / package):
            # another process may be removing old compiled functions in there
            folders[:] = [name for name in folders if name != "__pycache__"]
            for path in (f"{place}/{name}" for name in names if name.endswith(".py")):
                module = path[len(f"{_ROOT}/") : -len(".py")].replace("/", ".").encode()
                sources[module] = Path(path).read_bytes()
    pending = [module for module, text in sources.items() if _MARK in text]
    used: set[bytes] = set()
    while pending:
        module = pending.pop()
        if module in sources and module not in used:
            used.add(module)
            for imported, names in _IMPORT.findall(sources[module]):
                pending.append(imported)
                pending += (b"%s.%s" % (imported, name) for name in _NAME.findall(names))
    digest = hashlib.sha256("\n".join([platform.python_version(), *versions]).encode())
    for module in sorted(used):
        digest.update(b"\0%s\0%s" % (module, sources[module]))
    return digest.hexdigest()[:16]
