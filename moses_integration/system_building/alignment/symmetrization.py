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
from numba import njit
from numpy.typing import NDArray

from moses_integration.system_building.alignment.links import Links

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
    _join_all(
        (forward.sources, forward.targets, forward.offsets),
        (backward.sources, backward.targets, backward.offsets),
        source_lengths,
        target_lengths,
        links,
        offsets,
    )
    return Links(links[0, : offsets[-1]].copy(), links[1, : offsets[-1]].copy(), offsets)


@njit(cache=True, nogil=True)
def _join_all(
    forward: Any, backward: Any, source_lengths: Any, target_lengths: Any, links: Any, offsets: Any
) -> None:
    used = 0
    for sentence in range(len(source_lengths)):
        shape = (target_lengths[sentence], source_lengths[sentence])
        one = _matrix(forward, sentence, shape)
        other = _matrix(backward, sentence, shape)
        joint = _join(one, other)
        for s in range(source_lengths[sentence]):
            for t in range(target_lengths[sentence]):
                if joint[t, s]:
                    links[0, used], links[1, used] = s, t
                    used += 1
        offsets[sentence + 1] = used


@njit(cache=True, nogil=True)
def _matrix(links: Any, sentence: int, shape: Any) -> NDArray[np.bool_]:
    """Return the links of a sentence as (target words, source words) bool."""
    matrix = np.zeros(shape, np.bool_)
    sources, targets, offsets = links
    for link in range(offsets[sentence], offsets[sentence + 1]):
        matrix[targets[link], sources[link]] = True
    return matrix


@njit(cache=True, nogil=True)
def _join(one: Any, other: Any) -> NDArray[np.bool_]:
    joint = one & other
    sources = np.zeros(joint.shape[1], np.bool_)
    targets = np.zeros(joint.shape[0], np.bool_)
    for t in range(joint.shape[0]):
        for s in range(joint.shape[1]):
            if joint[t, s]:
                sources[s] = targets[t] = True
    while _grow(one, other, joint, sources, targets):
        pass
    _add_final(one, joint, sources, targets)
    _add_final(other, joint, sources, targets)
    return joint


@njit(cache=True, nogil=True)
def _grow(one: Any, other: Any, joint: Any, sources: Any, targets: Any) -> bool:
    """Go over all links once and add neighbours; tell whether any was added."""
    added = False
    for t in range(joint.shape[0]):
        for s in range(joint.shape[1]):
            if not joint[t, s]:
                continue
            for i in range(len(_NEIGHBOURS)):
                nt, ns = t + _NEIGHBOURS[i, 0], s + _NEIGHBOURS[i, 1]
                if (
                    0 <= nt < joint.shape[0]
                    and 0 <= ns < joint.shape[1]
                    and (one[nt, ns] or other[nt, ns])
                    and not (targets[nt] and sources[ns])
                ):
                    joint[nt, ns] = targets[nt] = sources[ns] = True
                    added = True
    return added


@njit(cache=True, nogil=True)
def _add_final(direction: Any, joint: Any, sources: Any, targets: Any) -> None:
    """Add the links of one direction that join two words without a link."""
    for t in range(joint.shape[0]):
        for s in range(joint.shape[1]):
            if direction[t, s] and not sources[s] and not targets[t]:
                joint[t, s] = targets[t] = sources[s] = True
