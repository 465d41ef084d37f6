"""Word alignments as arrays: which source word is linked to which target word.

The text form is that of Moses and of every aligner: one line per sentence pair, ``0-0 1-2 2-1``,
source position first, counted from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray

from phrasescore.errors import CorpusError
from phrasescore.files import open_input

_BLOCK_LINES = 20_000
_NEWLINE, _SPACE, _TAB, _RETURN, _MINUS, _ZERO, _NINE = 10, 32, 9, 13, 45, 48, 57
_LONGEST_NUMBER = 6  # digits; longer ones are no word position
_LINK = re.compile(rb"[0-9]{1,6}-[0-9]{1,6}")


@dataclass(frozen=True)
class Links:
    """The word alignment of a parallel text.

    Args:
        sources: (links,) int32, positions in the source sentences.
        targets: (links,) int32, positions in the target sentences.
        offsets: (sentences + 1,) int64; sentence i has links offsets[i] to offsets[i + 1].
    """

    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1


def read_links(path: str | Path) -> Links:
    """Read an alignment file, plain or gzip.

    Raises:
        CorpusError: A line is not an alignment.
    """
    none = np.zeros(0, np.int32)
    sources, targets, counts = [none], [none], [np.zeros(1, np.int64)]
    line = 0
    with open_input(path) as stream:
        while lines := list(islice(stream, _BLOCK_LINES)):
            data = b"".join(lines)
            links = np.empty((2, data.count(b"-")), np.int32)
            per_line = np.zeros(len(lines), np.int64)
            used, bad_line = _parse_links(np.frombuffer(data, np.uint8), links, per_line)
            if bad_line >= 0:
                raise _bad_link(lines[bad_line]).at(path, line + bad_line + 1)
            sources.append(links[0, :used])
            targets.append(links[1, :used])
            counts.append(per_line)
            line += len(lines)
    return Links(
        np.concatenate(sources), np.concatenate(targets), np.cumsum(np.concatenate(counts))
    )


def check_links(
    links: Links,
    source_lengths: NDArray[np.int64],
    target_lengths: NDArray[np.int64],
    path: str | Path,
) -> None:
    """Make sure that every link joins two words that exist.

    Args:
        links: The alignment.
        source_lengths: (sentences,) words of each source sentence.
        target_lengths: (sentences,) words of each target sentence.
        path: The file that the links are from, for errors.

    Raises:
        CorpusError: There is not one line per sentence pair, or a link points outside.
    """
    if len(links) != len(source_lengths):
        raise CorpusError(
            f"{len(links):,} lines of word alignment for {len(source_lengths):,} sentence pairs",
            path=path,
            remedy="give the alignment that was made from exactly these two texts",
        )
    sentences = np.repeat(np.arange(len(links)), np.diff(links.offsets))
    outside = (links.sources >= source_lengths[sentences]) | (
        links.targets >= target_lengths[sentences]
    )
    if outside.any():
        link = int(outside.argmax())
        sentence = int(sentences[link])
        raise CorpusError(
            f"the link {links.sources[link]}-{links.targets[link]} points outside its sentence "
            f"pair, which has {source_lengths[sentence]} source and {target_lengths[sentence]} "
            "target words (positions count from 0)",
            path=path,
            line=sentence + 1,
            remedy="give the alignment that was made from exactly these two texts, source first",
        )


def format_links(links: Iterable[tuple[int, int]]) -> bytes:
    """Return the links of one sentence pair as text.

    >>> format_links([(0, 0), (1, 2)])
    b'0-0 1-2'
    """
    return b" ".join(b"%d-%d" % link for link in links)


def link_lines(links: Links) -> Iterator[bytes]:
    """Yield the alignment as lines of text, without line feeds."""
    pairs = list(zip(links.sources.tolist(), links.targets.tolist(), strict=True))
    offsets = links.offsets.tolist()
    for begin, end in pairwise(offsets):
        yield format_links(pairs[begin:end])


def _bad_link(line: bytes) -> CorpusError:
    """Say which part of a line is not a link."""
    parts = [part for part in re.split(rb"[ \t\r\n]+", line) if part]
    bad = next(part for part in parts if not _LINK.fullmatch(part)).decode("utf-8", "replace")
    return CorpusError(
        f"{bad[:40]!r} is not a link such as 0-1 (source position, target position)",
        remedy="give a word alignment in Moses's form, one line per sentence pair",
    )


@njit(cache=True, nogil=True)
def _parse_links(
    data: NDArray[np.uint8], links: NDArray[np.int32], per_line: NDArray[np.int64]
) -> tuple[int, int]:
    """Parse lines of links; return how many, and the number of a line with something else or -1."""
    used, line, at, end = 0, 0, 0, len(data)
    while at < end:
        if data[at] == _NEWLINE:
            line += 1
            at += 1
            continue
        if data[at] in (_SPACE, _TAB, _RETURN):
            at += 1
            continue
        source, at = _parse_position(data, at)
        if source < 0 or at >= end or data[at] != _MINUS:
            return used, line
        target, at = _parse_position(data, at + 1)
        if target < 0 or (at < end and data[at] not in (_SPACE, _TAB, _RETURN, _NEWLINE)):
            return used, line
        links[0, used], links[1, used] = source, target
        used += 1
        per_line[line] += 1
    return used, -1


@njit(cache=True, nogil=True)
def _parse_position(data: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """Parse digits; return their value, -1 where there are none or too many, and what follows."""
    value, begin = 0, at
    while at < len(data) and _ZERO <= data[at] <= _NINE:
        value = 10 * value + np.int64(data[at]) - _ZERO
        at += 1
    if not 0 < at - begin <= _LONGEST_NUMBER:
        return -1, at
    return value, at
