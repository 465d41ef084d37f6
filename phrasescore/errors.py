"""The exceptions: an error has a problem and an exit status, and often a file and a remedy.

Library code raises errors; only ``phrasescore.cli`` prints them. This module imports only the
standard library.

Errors of the operating system become errors that a user can act on. Code that reads or writes a
file uses `refusal` and `unwritable`, because such code knows the file's purpose. The command line
uses them for all other errors of the operating system, so that none is reported as an internal
error.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

STANDARD_OUTPUT = "standard output"  # the name of the stream in errors
# the message of numpy when a disk is full
_NUMPY_FULL = re.compile(r"[0-9]+ requested and [0-9]+ written")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_PROBLEMS = {
    errno.ENOENT: "no such file",
    errno.EISDIR: "a folder, where a file was expected",
    errno.ENOTDIR: "a part of this path is a file, where a folder was expected",
    errno.EACCES: "no permission to read it",
    errno.EPERM: "no permission to read it",
    errno.ENAMETOOLONG: "the path, or a name in it, is too long",
    errno.ELOOP: "its symbolic links form a circle",
    errno.EBADF: "it is closed",
}
# messages for errors without the name of a file
_NAMELESS = {
    errno.ENOENT: "the current folder no longer exists",
    errno.EBADF: "standard input or output is needed, but it is closed",
}
_OUT_OF_MEMORY = (
    *("allocate memory", "not enough memory", "out of memory", "start new thread"),
    "failed to map segment",  # while a library is being loaded
)
_REMEDIES = {
    errno.EMFILE: "allow more open files with ulimit -n",
    errno.EDQUOT: "your quota of this disk is used up: make room, then run the command again",
    errno.EFBIG: "raise the file size limit (ulimit -f), then run the command again",
    errno.ENOSPC: "make room, then run the command again",
}


class PhrasescoreError(Exception):
    """The base class of all errors that a user can understand and act on.

    Attributes:
        problem: What was expected and what was found, one sentence without a final full stop.
        path: The file with the problem, or ``None``.
        line: The line number in that file, from 1, or ``None``.
        remedy: What the user can do, one sentence without a final full stop, or ``None``.
        exit_code: The exit status of a command that ends with this error.
    """

    exit_code = 1
    remedy_ends_in_command = False  # a full stop after a command would be copied with it

    def __init__(
        self,
        problem: str,
        *,
        path: str | Path | None = None,
        line: int | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path
        self.line = line
        self.remedy = remedy

    def at(self, path: str | Path, line: int | None = None) -> PhrasescoreError:
        """Set path and line unless they are known already, and return the error itself."""
        if self.path is None:
            self.path = path
            if self.line is None:
                self.line = line
        return self

    def __str__(self) -> str:
        place = ""
        if self.path is not None:
            name = "standard input" if str(self.path) == "-" else _place(self.path)
            place = f"{name}:{self.line}: " if self.line is not None else f"{name}: "
        remedy = f". {self.remedy[0].upper()}{self.remedy[1:]}" if self.remedy else ""
        stop = "" if remedy and self.remedy_ends_in_command else "."
        return terminal_text(f"{place}{self.problem}{remedy}{stop}")


@contextlib.contextmanager
def located(path: str | Path, line: int | None = None) -> Iterator[None]:
    """Name a place in an error of the ``with`` block, unless the error names one already."""
    try:
        yield
    except PhrasescoreError as error:
        raise error.at(path, line) from None


@contextlib.contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Turn errors of the operating system in the ``with`` block into errors of this output."""
    try:
        yield
    except OSError as error:
        raise unwritable(error, path) from None


def terminal_text(text: str) -> str:
    r"""Escape all characters but printable ones and line feeds, to protect the terminal.

    >>> terminal_text("a\x1b[2J\nb")
    'a\\x1b[2J\nb'
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(letter: str) -> str:
    if letter.isprintable() or letter == "\n":
        return letter
    if "\udc80" <= letter <= "\udcff":  # a byte of a name that is not UTF-8
        return f"\\x{ord(letter) - 0xDC00:02x}"
    return letter.encode("unicode_escape").decode()


def on_one_line(text: str) -> str:
    """Escape all characters but printable ones."""
    return terminal_text(text).replace("\n", r"\n")


def _place(path: str | Path) -> str:
    """Write a path on one line, without the middle if it is long."""
    text, half = on_one_line(os.fspath(path)), 150
    return text if len(text) <= 2 * half else f"{text[:half]}...{text[-half:]}"


class SettingsError(PhrasescoreError):
    """An option or setting that makes no sense, alone or together with another."""

    exit_code = 2


class InputError(PhrasescoreError):
    """An input file that cannot be used."""

    exit_code = 3


class PhraseTableError(InputError):
    """A phrase table, reordering table or lexical table that violates its format."""


class IniError(InputError):
    """A moses.ini that violates its format, or that cannot be edited without guessing."""


class NBestError(InputError):
    """An n-best list that violates its format, or does not match its references."""


class LanguageModelError(InputError):
    """A language model, ARPA or KenLM binary, that violates its format."""


class CorpusError(InputError):
    """Text, parallel text or a word alignment that cannot be used."""


class ModelError(PhrasescoreError):
    """A model folder that is damaged, incomplete, foreign or from a newer version."""

    exit_code = 4


class MissingDependencyError(PhrasescoreError):
    """An optional library or an external program that is not installed."""

    exit_code = 5

    @classmethod
    def extra(cls, library: str, extra: str) -> MissingDependencyError:
        """Return the error for a missing ``library``; the error names the extra to install."""
        return cls(
            f"this needs the Python package {library}, which is not installed",
            remedy=f"install it with: pip install 'phrasescore[{extra}]'",
        )


class ResumeError(PhrasescoreError):
    """A work folder or journal that belongs to another run."""

    exit_code = 6


class StorageError(PhrasescoreError):
    """A disk that is full, or memory that is exhausted."""

    exit_code = 8


class ClusterError(PhrasescoreError):
    """A scheduler that does not answer, or a worker that cannot do the work."""

    exit_code = 9


class InterruptedWorkError(PhrasescoreError):
    """Ctrl-C, SIGTERM or SIGHUP, after everything was saved that the work needs to continue."""

    exit_code = 130
    remedy_ends_in_command = True


def counted(count: int, noun: str) -> str:
    """Write a count with its noun, in the plural unless the count is 1.

    >>> counted(1, "line"), counted(1234, "line")
    ('1 line', '1,234 lines')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def visible(text: bytes, max_length: int | None = None) -> str:
    r"""Write bytes so that every character can be seen; keep at most ``max_length`` characters.

    >>> visible("caf\xe9\xa0".encode())
    'café\\xa0'
    """
    letters = text.decode("utf-8", "backslashreplace")
    shown = on_one_line(letters[:max_length])
    return shown if max_length is None or len(letters) <= max_length else f"{shown}..."


def quoted(name: str) -> str:
    """Write at most 80 characters of a name that an error quotes, so that each can be seen."""
    return visible(name.encode("utf-8", "backslashreplace"), 80)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `` (did you mean X?)`` for the closest known word, or an empty string.

    >>> did_you_mean("hiden", ["hidden", "embedding"])
    ' (did you mean hidden?)'
    """
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def is_full(error: OSError) -> bool:
    """Tell whether writing failed because the disk is full."""
    # numpy's error for an array that was written in part has no error number
    return error.errno in _FULL or _NUMPY_FULL.fullmatch(str(error)) is not None


def refusal(error: OSError, path: str | Path | None = None) -> PhrasescoreError:
    """Return the error for a file that cannot be read, or for any other failure.

    Args:
        error: The error of the operating system.
        path: The file; by default, the file that the error names, if any.
    """
    place = path if path is not None else _named(error)
    if is_full(error):
        return _full(error, place)
    if place is None and error.errno in _NAMELESS:
        # some of Python's messages contain more, e.g. that no folder for temporary files is usable
        is_bare = error.strerror == os.strerror(error.errno or 0)
        return InputError(_NAMELESS[error.errno or 0] if is_bare else str(error.strerror))
    problem = _PROBLEMS.get(error.errno or 0) or (error.strerror or str(error))
    remedy = _REMEDIES.get(error.errno or 0)
    if error.errno == errno.ENOENT and os.access(f"{place}.gz", os.R_OK):
        remedy = f"name {place}.gz, which is there"
    return InputError(problem, path=place, remedy=remedy)


def unwritable(error: OSError, path: str | Path) -> PhrasescoreError:
    """Return the error for an output that cannot be opened or written.

    Args:
        error: The error of the system.
        path: The output.
    """
    if is_full(error):
        return _full(error, path)
    problem = f"cannot write there ({error.strerror or error})"
    return SettingsError(problem, path=path, remedy="name another output")


def out_of_memory(error: BaseException) -> StorageError | None:
    """Return the error for exhausted memory, if an error of a library has this meaning."""
    words = str(error)
    # torch has no separate class of error for the memory of a CPU
    told = isinstance(error, RuntimeError | ImportError)
    torch_says = told and any(text in words for text in _OUT_OF_MEMORY)
    if not (isinstance(error, MemoryError) or torch_says):
        return None
    return StorageError(
        "out of memory" + (f" ({words.splitlines()[0]})" if words else ""),
        remedy="give smaller sizes or batches, or more memory",
    )


def _full(error: OSError, path: str | Path | None) -> StorageError:
    number = error.errno or errno.ENOSPC
    which = "an output " if path is None else ""
    problem = f"{which}cannot be written further ({error.strerror or os.strerror(number)})"
    return StorageError(problem, path=path, remedy=_REMEDIES[number])


def _named(error: OSError) -> str | None:
    name = error.filename
    return None if name is None or isinstance(name, int) else os.fsdecode(name)
