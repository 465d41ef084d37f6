"""Two one-directional word alignments joined into one: grow-diag-final-and, as in Moses's symal.

Start from the links both directions agree on; add, again and again, links of either direction that
touch one already there (also diagonally) and cover a word that has none; last, add links of one
direction whose two words are both still without a link (Koehn, Och and Marcu 2003). Links are
visited by target position, then by source position, and one added is visited in the same round if
its turn is still to come: the outcome depends on that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from moses_integration.system_building.alignment.links import Links
from phrasescore.compiled import borrowed, compiled

# what joins two words: links of one direction, or of both and what was added
_FORWARD, _BACKWARD, _JOINT = 1, 2, 3
# in the order in which symal looks around a link: (target, source)
_NEIGHBOURS = np.array(
    [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)], np.int64
)


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
        source_lengths: (sentences,) words of each source sentence.
        target_lengths: (sentences,) words of each target sentence.

    Returns:
        The joint alignment, its links sorted by source, then by target position.
    """
    most = len(forward.sources) + len(backward.sources)
    links = np.empty((2, most), np.int32)
    offsets = np.zeros(len(forward) + 1, np.int64)
    longest = int(source_lengths.max(initial=0)), int(target_lengths.max(initial=0))
    _join_all(
        (forward.sources, forward.targets, forward.offsets),
        (backward.sources, backward.targets, backward.offsets),
        (source_lengths, target_lengths),
        (
            np.empty(longest, np.uint8),
            np.empty(longest[0], np.bool_),
            np.empty(longest[1], np.bool_),
        ),
        links,
        offsets,
    )
    return Links(links[0, : offsets[-1]].copy(), links[1, : offsets[-1]].copy(), offsets)


@compiled
def _join_all(
    forward: Any, backward: Any, lengths: Any, room: Any, links: Any, offsets: Any
) -> None:
    """Join sentence by sentence: ``grid`` tells of each pair of words which links join it."""
    forward, backward, lengths, room, links, offsets = borrowed(
        (forward, backward, lengths, room, links, offsets)
    )
    grid, sources, targets = room
    used = 0
    for sentence in range(len(lengths[0])):
        source_length, target_length = lengths[0][sentence], lengths[1][sentence]
        _mark_links(forward, backward, sentence, (source_length, target_length), room)
        _grow(source_length, target_length, grid, sources, targets)
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


@compiled
def _mark_links(forward: Any, backward: Any, sentence: int, shape: Any, room: Any) -> None:
    """Fill the grid with the links of a sentence, and mark the words that joint ones cover."""
    grid, sources, targets = room
    for t in range(shape[1]):
        targets[t] = False
        for s in range(shape[0]):
            sources[s] = False
            grid[s, t] = 0
    for link in range(forward[2][sentence], forward[2][sentence + 1]):
        grid[forward[0][link], forward[1][link]] = _FORWARD
    for link in range(backward[2][sentence], backward[2][sentence + 1]):
        s, t = backward[0][link], backward[1][link]
        grid[s, t] |= _BACKWARD
        if grid[s, t] == _JOINT:
            sources[s] = targets[t] = True


@compiled
def _grow(source_length: int, target_length: int, grid: Any, sources: Any, targets: Any) -> None:
    """Add neighbours of links that are there, and go over all again until none is added."""
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
