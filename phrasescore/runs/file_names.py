"""Names that a file gives, as names of files: users hand each other such files.

A feature of a moses.ini or a model of an experiment may be called anything. Where its name becomes
the name of a file, it must not lead out of the folder that the file belongs in.
"""

from __future__ import annotations

import os
import unicodedata

from phrasescore.errors import InputError, visible

_LONGEST = 255  # bytes, on all usual file systems
_SHOWN = 60


def file_name(name: str, ending: str = "", *, of: str) -> str:
    """Return a name with an ending as the name of one file of a folder.

    Args:
        name: What another file calls something; bytes that are not UTF-8 are surrogates.
        ending: What follows it, e.g. ``.gz``.
        of: What is called so, for errors, e.g. ``feature``.

    Raises:
        InputError: It is empty, ``.`` or ``..``, too long, or has a separator of folders or a
            control character; without its place.

    >>> file_name("TranslationModel0", ".gz", of="feature")
    'TranslationModel0.gz'
    """
    size = len(os.fsencode(name + ending))
    if not name:
        problem = "is empty"
    elif name in (".", ".."):
        problem = "means a folder"
    elif "/" in name or "\\" in name:
        problem = "has a separator of folders"
    elif any(unicodedata.category(letter) == "Cc" for letter in name):
        problem = "has a control character"
    elif size > _LONGEST:
        problem = f"makes a name of {size:,} bytes, where {_LONGEST} are possible"
    else:
        return name + ending
    shown = visible(os.fsencode(name), _SHOWN)
    raise InputError(
        f"the name of a {of}, {shown!r}, cannot be that of a file: it {problem}",
        remedy=f"call the {of} otherwise, with letters, digits, '.', '-' and '_'",
    )
