"""Streams for standard output and standard error whose text cannot control the terminal.

Messages contain names and lines from files of other people. The streams escape control characters,
so that commands need not do so. Data (translations, tables, JSON) is written as bytes, which are
not escaped.
"""

from __future__ import annotations

import sys
from typing import Any, TextIO

from phrasescore.errors import terminal_text

# Whether a command is running; a command shows progress to its user. In a program that imports
# these packages, the value is false, because a library must not print.
serves_a_command = False


class EscapingStream:
    """A text stream that escapes unprintable characters before it passes text to another stream."""

    def __init__(self, stream: TextIO) -> None:
        self.unescaped = stream

    def write(self, text: str) -> int:
        """Write a text and return its length."""
        self.unescaped.write(terminal_text(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unescaped, name)


def escape_standard_streams() -> None:
    """Make standard output and standard error escape unprintable characters."""
    for name in ("stdout", "stderr"):
        setattr(sys, name, EscapingStream(getattr(sys, name)))


def cursor_stream() -> TextIO:
    """Return standard error without escaping, for a progress bar, which moves the cursor."""
    return getattr(sys.stderr, "unescaped", sys.stderr)
