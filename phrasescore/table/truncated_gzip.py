"""Where gzip data break off: the line, for the error that says so."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator
from pathlib import Path

from phrasescore.errors import PhraseTableError
from phrasescore.files import STANDARD_STREAM

_BLOCK = 1 << 20
_GZIP_WINDOW = 31


@contextlib.contextmanager
def truncation_named(path: str | Path) -> Iterator[None]:
    """Turn the end of gzip data in the middle into an error that names the line it happens in.

    Raises:
        PhraseTableError: In the place of ``EOFError``; without a line for standard input.
    """
    try:
        yield
    except EOFError:
        raise PhraseTableError(
            "the gzip data end in the middle",
            path=path,
            line=None if str(path) == STANDARD_STREAM else _lines_that_can_be_read(path) + 1,
            remedy="copy or make the file again",
        ) from None


def _lines_that_can_be_read(path: str | Path) -> int:
    """Decompress what there is once more, without the read-ahead that an error throws away."""
    lines = 0
    member = zlib.decompressobj(_GZIP_WINDOW)
    with Path(path).open("rb") as stream:
        while data := stream.read(_BLOCK):
            while data:
                lines += member.decompress(data).count(b"\n")
                data = member.unused_data
                if member.eof:
                    member = zlib.decompressobj(_GZIP_WINDOW)
    return lines
