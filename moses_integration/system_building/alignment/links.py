"""Word alignments as arrays: which source word is linked to which target word.

The text form is that of Moses and of every aligner: one line per sentence pair, ``0-0 1-2 2-1``,
source position first, counted from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import CorpusError
from phrasescore.table.input_files import open_input

_BLOCK_LINES = 20_000
_NEWLINE, _MINUS, _ZERO, _NINE = b"\n-09"
_LONGEST_NUMBER = 6  # digits; longer ones are not word positions
_LINK = re.compile(rb"[0-9]{1,6}-[0-9]{1,6}")
_BLANKS = re.compile(rb"[ \t\r\n]+")


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
            numbers, per_line = _parse_links(b"".join(lines), len(lines), (path, line))
            sources.append(numbers[::2])
            targets.append(numbers[1::2])
            counts.append(per_line)
            line += len(lines)
    return Links(
        np.concatenate(sources), np.concatenate(targets), np.cumsum(np.concatenate(counts))
    )


def select_links(links: Links, lines: NDArray[np.int64], total: int, path: str | Path) -> Links:
    """Take the alignment of some sentence pairs.

    Args:
        links: One alignment for every line of the text.
        lines: The 1-based lines to take, ascending.
        total: The lines of the text.
        path: The file that the links are from, for errors.

    Raises:
        CorpusError: There is not one line of links for every line of text.
    """
    if len(links) != total:
        raise CorpusError(
            f"{len(links):,} lines of word alignment for {total:,} sentence pairs",
            path=path,
            remedy="give the alignment that was made from exactly these two texts",
        )
    counts = np.diff(links.offsets)
    taken = np.zeros(total, np.bool_)
    taken[lines - 1] = True
    chosen = np.repeat(taken, counts)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts[taken])])
    return Links(links.sources[chosen], links.targets[chosen], offsets)


def check_links(
    links: Links,
    lines: NDArray[np.int64],
    lengths: tuple[NDArray[np.int64], NDArray[np.int64]],
    path: str | Path,
) -> None:
    """Make sure that every link joins two words that exist.

    Args:
        links: The alignment.
        lines: (sentences,) the 1-based line of each sentence pair, for errors.
        lengths: (sentences,) words of each source sentence, and of each target sentence.
        path: The file that the links are from, for errors.

    Raises:
        CorpusError: A link points outside.
    """
    sentences = np.repeat(np.arange(len(links)), np.diff(links.offsets))
    outside = (links.sources >= lengths[0][sentences]) | (links.targets >= lengths[1][sentences])
    if outside.any():
        link = int(outside.argmax())
        sentence = int(sentences[link])
        raise CorpusError(
            f"the link {links.sources[link]}-{links.targets[link]} points outside its sentence "
            f"pair, which has {lengths[0][sentence]} source and {lengths[1][sentence]} target "
            "words (positions count from 0)",
            path=path,
            line=int(lines[sentence]),
            remedy="give the alignment that was made from exactly these two texts, source first",
        )


def link_lines(links: Links, at_once: int) -> Iterator[bytes]:
    """Yield the alignment as text, this many lines at once."""
    for begin in range(0, len(links), at_once):
        offsets = links.offsets[begin : begin + at_once + 1]
        chosen = slice(offsets[0], offsets[-1])
        pairs = zip(links.sources[chosen].tolist(), links.targets[chosen].tolist(), strict=True)
        texts = [b"%d-%d" % pair for pair in pairs]
        bounds = pairwise((offsets - offsets[0]).tolist())
        yield b"".join(b" ".join(texts[first:end]) + b"\n" for first, end in bounds)


def _parse_links(
    text: bytes, lines: int, place: tuple[str | Path, int]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return all positions of some lines, source and target in turn, and the links of each line.

    Raises:
        CorpusError: There is something else in the lines, which follow ``place``.
    """
    data = np.frombuffer(b"\n" + text + b"\n", np.uint8)
    # where runs of digits begin and end; a link is one before a minus, and one right behind it
    digits = (data >= _ZERO) & (data <= _NINE)
    turns = np.flatnonzero(digits[1:] != digits[:-1]) + 1
    begins, ends = turns[::2], turns[1::2]
    minus = np.flatnonzero(data == _MINUS)
    well_formed = (
        2 * len(minus) == len(begins)
        and (ends - begins <= _LONGEST_NUMBER).all()
        and np.array_equal(ends[::2], minus)
        and np.array_equal(begins[1::2], minus + 1)
        and _only_blanks(data, digits, minus)
    )
    if not well_formed:
        raise _bad_link(text, place)
    numbers = np.zeros(len(begins), np.int32)
    for digit in range(_LONGEST_NUMBER):
        more = np.flatnonzero(ends - begins > digit)
        numbers[more] = 10 * numbers[more] + data[begins[more] + digit] - _ZERO
    line_ends = np.flatnonzero(data == _NEWLINE)[: lines + 1]
    return numbers, np.diff(np.searchsorted(minus, line_ends))


def _only_blanks(
    data: NDArray[np.uint8], digits: NDArray[np.bool_], minus: NDArray[np.int64]
) -> bool:
    """Tell whether there is nothing but blanks beside links, and at least one between two."""
    others = ~digits
    others[minus] = False
    return not data[others].tobytes().strip(b" \t\r\n")


def _bad_link(text: bytes, place: tuple[str | Path, int]) -> CorpusError:
    """Say which part of some lines is the first that is not a link."""
    for number, line in enumerate(text.split(b"\n"), 1):
        for part in _BLANKS.split(line):
            if part and not _LINK.fullmatch(part):
                shown = part.decode("utf-8", "replace")[:40]
                return CorpusError(
                    f"{shown!r} is not a link such as 0-1 (source position, target position)",
                    path=place[0],
                    line=place[1] + number,
                    remedy="give a word alignment in Moses's form, one line per sentence pair",
                )
    raise AssertionError("all links are well formed")
