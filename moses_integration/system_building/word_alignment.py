"""Word alignments: reading and writing them, and joining the links of both directions.

Moses and all common aligners use the same text format: one line per sentence pair, such as
``0-0 1-2 2-1``, source position first, counted from 0.

The two directions of an aligner are joined by grow-diag-final-and, as in
Moses's symal. This method starts from joint links, which both directions share. It repeatedly adds
links of either direction that touch a joint link (also diagonally) and cover an unlinked word.
Finally it adds links of one direction whose words are both still unlinked (Koehn, Och and Marcu
2003). Links are visited by target position, then by source position, and an added link may be
visited in the same round; the result depends on this order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled
from phrasescore.errors import CorpusError
from phrasescore.table.input_files import open_input
from phrasescore.words.token_sequences import offsets_of

_BLOCK_LINES = 20_000
# a link; word positions have at most six digits
_LINK = re.compile(rb"[0-9]{1,6}-[0-9]{1,6}")
_LINE = re.compile(rb"[ \t\r\n]*(?:%b(?:[ \t\r\n]+|$))*" % _LINK.pattern)
_BLANKS = re.compile(rb"[ \t\r\n]+")
# links of one direction, links of the other, and joint links (shared by both directions, or added)
_FORWARD, _BACKWARD, _JOINT = 1, 2, 3
# the neighbours of a link as (target, source), in the order in which symal visits them
_NEIGHBOURS = np.array(
    [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)], np.int64
)


class Links(NamedTuple):
    """The word alignment of a parallel text.

    Args:
        sources: (links,) int32, positions in the source sentences.
        targets: (links,) int32, positions in the target sentences.
        offsets: (sentences + 1,) int64; sentence i has the links from offsets[i] up to, but not
            including, offsets[i + 1].
    """

    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def read(cls, path: str | Path) -> Links:
        """Read an alignment file, plain or gzip.

        Raises:
            CorpusError: A line is not an alignment.
        """
        numbers, counts = [np.zeros(0, np.int32)], list[int]()
        line = 0
        with open_input(path) as stream:
            while lines := list(islice(stream, _BLOCK_LINES)):
                for number, text in enumerate(lines, line + 1):
                    if not _LINE.fullmatch(text):
                        raise _bad_link(text).at(path, number)
                links = [text.count(b"-") for text in lines]
                positions = np.fromstring(b"".join(lines).replace(b"-", b" "), np.int32, sep=" ")
                # a block of only blanks is read as a single 0: cut it off
                numbers.append(positions[: 2 * sum(links)])
                counts += links
                line += len(lines)
        positions = np.concatenate(numbers)
        return cls(positions[::2].copy(), positions[1::2].copy(), offsets_of(counts))

    @property
    def sentences(self) -> int:
        """The number of sentence pairs."""
        return len(self.offsets) - 1


def _bad_link(line: bytes) -> CorpusError:
    """Return the error for the first part of a line that is not a link."""
    wrong = next(part for part in _BLANKS.split(line) if part and not _LINK.fullmatch(part))
    return CorpusError(
        f"{wrong.decode('utf-8', 'replace')[:40]!r} is not a link such as 0-1 (source position, "
        "target position)"
    )


def read_kept_links(
    path: str | Path, kept: NDArray[np.bool_], lengths: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> Links:
    """Read the alignment of some sentence pairs of a text, and check that it links their words.

    Args:
        path: An alignment file with a line for every pair of the text.
        kept: (pairs,) whether to take each pair.
        lengths: (kept pairs,) the number of words of each source and of each target sentence.

    Raises:
        CorpusError: A line is not an alignment, there are more or fewer lines than pairs, or a link
            has a position outside its sentence.
    """
    given = Links.read(path)
    if given.sentences != len(kept):
        problem = f"{given.sentences:,} lines of word alignment for {len(kept):,} sentence pairs"
        remedy = "give one line for each sentence pair of SOURCE and TARGET"
        raise CorpusError(problem, path=path, remedy=remedy)
    counts = np.diff(given.offsets)
    chosen = np.repeat(kept, counts)
    counts = counts[kept]
    links = Links(given.sources[chosen], given.targets[chosen], offsets_of(counts))
    sentences = np.repeat(np.arange(links.sentences), counts)
    outside = (links.sources >= lengths[0][sentences]) | (links.targets >= lengths[1][sentences])
    if outside.any():
        link = int(outside.argmax())
        sentence = int(sentences[link])
        raise CorpusError(
            f"the link {links.sources[link]}-{links.targets[link]} points outside its sentence "
            f"pair, which has {lengths[0][sentence]} source and {lengths[1][sentence]} target "
            "words (positions count from 0)",
            path=path,
            line=int(np.flatnonzero(kept)[sentence]) + 1,
            remedy="name the alignment of this text",
        )
    return links


def link_lines(links: Links, at_once: int) -> Iterator[bytes]:
    """Yield the alignment as text, ``at_once`` lines at a time."""
    for begin in range(0, links.sentences, at_once):
        offsets = links.offsets[begin : begin + at_once + 1]
        chosen = slice(offsets[0], offsets[-1])
        pairs = zip(links.sources[chosen].tolist(), links.targets[chosen].tolist(), strict=True)
        texts = [b"%d-%d" % pair for pair in pairs]
        bounds = pairwise((offsets - offsets[0]).tolist())
        yield b"".join(b" ".join(texts[first:end]) + b"\n" for first, end in bounds)


@compiled
def grow_diag_final_and(
    forward: Links,
    backward: Links,
    source_lengths: NDArray[np.int64],
    target_lengths: NDArray[np.int64],
) -> Links:
    """Join the alignments of all sentence pairs.

    Args:
        forward: The links of p(target | source), at most one for each target word.
        backward: The links of p(source | target), at most one for each source word.
        source_lengths: (sentences,) the number of words of each source sentence.
        target_lengths: (sentences,) the number of words of each target sentence.

    Returns:
        The joint alignment, with links sorted by source position, then by target position.
    """
    forward, backward = borrowed((forward, backward))
    links = np.empty((2, forward.sources.size + backward.sources.size), np.int32)
    offsets = np.zeros(source_lengths.size + 1, np.int64)
    used = 0
    for sentence in range(source_lengths.size):
        source_length, target_length = source_lengths[sentence], target_lengths[sentence]
        # the kind of link of each word pair
        grid = np.zeros((source_length, target_length), np.uint8)
        # whether each word has a joint link
        sources, targets = np.zeros(source_length, np.bool_), np.zeros(target_length, np.bool_)
        _mark_links(forward, backward, sentence, grid, sources, targets)
        _grow(grid, sources, targets)
        # "final-and": add links of one direction between two words that are still unlinked
        for direction in range(_FORWARD, _BACKWARD + 1):
            for t in range(target_length):
                for s in range(source_length):
                    if grid[s, t] == direction and not sources[s] and not targets[t]:
                        grid[s, t] = _JOINT
                        sources[s] = targets[t] = True
        for s in range(source_length):
            for t in range(target_length):
                if grid[s, t] == _JOINT:
                    links[0, used], links[1, used] = s, t
                    used += 1
        offsets[sentence + 1] = used
    return Links(links[0, :used].copy(), links[1, :used].copy(), offsets)


@compiled
def _mark_links(
    forward: Links,
    backward: Links,
    sentence: int,
    grid: NDArray[np.uint8],
    sources: NDArray[np.bool_],
    targets: NDArray[np.bool_],
) -> None:
    """Fill the grid with the links of a sentence, and mark the words of joint links."""
    for link in range(forward.offsets[sentence], forward.offsets[sentence + 1]):
        grid[forward.sources[link], forward.targets[link]] = _FORWARD
    for link in range(backward.offsets[sentence], backward.offsets[sentence + 1]):
        s, t = backward.sources[link], backward.targets[link]
        grid[s, t] |= _BACKWARD
        if grid[s, t] == _JOINT:
            sources[s] = targets[t] = True


@compiled
def _grow(grid: NDArray[np.uint8], sources: NDArray[np.bool_], targets: NDArray[np.bool_]) -> None:
    """Step "grow-diag": add neighbours of joint links in rounds until a round adds nothing."""
    source_length, target_length = grid.shape
    added = True
    while added:
        added = False
        for t in range(target_length):
            for s in range(source_length):
                if grid[s, t] != _JOINT:
                    continue
                for i in range(8):
                    nt, ns = t + _NEIGHBOURS[i, 0], s + _NEIGHBOURS[i, 1]
                    if (
                        0 <= nt < target_length
                        and 0 <= ns < source_length
                        and 0 < grid[ns, nt] < _JOINT
                        and not (targets[nt] and sources[ns])
                    ):
                        grid[ns, nt] = _JOINT
                        targets[nt] = sources[ns] = added = True
