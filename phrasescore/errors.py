"""The exceptions: an error has a problem and an exit status, and often a file and a remedy.

Library code raises errors; only ``phrasescore.cli`` prints them. This module imports only the
standard library.
"""

from __future__ import annotations

import contextlib
import difflib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path


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
        return terminal_text(f"{place}{self.problem}{remedy}.")


@contextlib.contextmanager
def located(path: str | Path, line: int | None = None) -> Iterator[None]:
    """Name a place in an error of the ``with`` block, unless the error names one already."""
    try:
        yield
    except PhrasescoreError as error:
        raise error.at(path, line) from None


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


def _on_one_line(text: str) -> str:
    return terminal_text(text).replace("\n", r"\n")


def _place(path: str | Path) -> str:
    """Write a path on one line, without the middle if it is long."""
    text, half = _on_one_line(os.fspath(path)), 150
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
    shown = _on_one_line(letters[:max_length])
    return shown if max_length is None or len(letters) <= max_length else f"{shown}..."


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `` (did you mean X?)`` for the closest known word, or an empty string.

    >>> did_you_mean("hiden", ["hidden", "embedding"])
    ' (did you mean hidden?)'
    """
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
