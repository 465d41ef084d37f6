"""Folders whose content is trusted: nobody else can put a file into them or exchange them.

The cache of compiled functions is unpickled, and parsed tables are used without a second look.
Whoever can write the program itself can run code anyway, so its owners are trusted, too.
"""

from __future__ import annotations

import functools
import grp
import os
import pwd
import stat
from pathlib import Path

from phrasescore.errors import SettingsError


def private_folder(path: str | Path, option: str, mode: int = 0o700) -> Path:
    """Make a folder where there is none; return its real path.

    Args:
        path: The folder.
        option: The option or variable that names it, for errors.
        mode: The permissions of folders that are made here.

    Raises:
        SettingsError: Others can write into the folder, or replace it.
        OSError: The folder cannot be made.
    """
    folder = Path(os.path.realpath(path))
    chain = (*reversed(folder.parents), folder)
    _refuse_others(chain, option)
    for each in chain:
        each.mkdir(mode=mode, exist_ok=True)
    _refuse_others(chain, option)  # another process may have made a part of it in the meantime
    return folder


def user_cache_folder() -> Path:
    """Return the folder in the user's cache folder that this program may make."""
    # unlike Path.expanduser, this does not mind a user without a home
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    return Path(base) / "phrasescore"


def _refuse_others(chain: tuple[Path, ...], option: str) -> None:
    """Raise if others can write one of these folders, from the root down."""
    folder = chain[-1]
    for each in chain:
        try:
            found = each.stat()
        except FileNotFoundError:
            return
        if found.st_uid not in _trusted_owners():
            problem = "belongs to another user"
        # in a sticky folder like /tmp others cannot rename or remove what is not theirs
        elif _others_can_write(found) and (each == folder or not found.st_mode & stat.S_ISVTX):
            problem = "can be written by others"
        else:
            continue
        raise SettingsError(
            f"{option} needs a folder that you alone can write, but "
            f"{'it' if each == folder else each} {problem}",
            path=folder,
            remedy="name another folder, or take the right to write from the others",
        )


def _others_can_write(found: os.stat_result) -> bool:
    if found.st_mode & stat.S_IWOTH:
        return True
    return bool(found.st_mode & stat.S_IWGRP) and not _is_own_group(found.st_gid)


@functools.cache
def _trusted_owners() -> frozenset[int]:
    """Return root, this user, and the owners of the program's folders."""
    program = Path(__file__).resolve()
    owners = {each.stat().st_uid for each in (program, *program.parents)}
    return frozenset({0, os.geteuid(), *owners})


@functools.cache
def _is_own_group(group: int) -> bool:
    """Return whether a group is root's, or that of this user alone.

    Many systems give each user such a group, and let it write what the user makes (umask 002).
    """
    if group == 0:
        return True
    try:
        user, found = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == user and set(found.gr_mem) <= {user}
