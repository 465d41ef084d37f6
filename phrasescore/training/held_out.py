"""Which pairs are learnt from, and which are set aside to see what was learnt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import SettingsError
from phrasescore.training.training_pairs import Rows, TrainingPairs

_AT_ONCE = 1 << 20  # pairs; what is held of a table at a time
_FEW = 1 << 21  # sources; an order of all of so many takes little room


@dataclass(frozen=True)
class Remainder:
    """The rows 0 .. ``count`` - 1 but a few, ascending; takes no room for those that it has.

    Args:
        count: Of all rows.
        without: ``(K,)`` rows that are not in it, ascending.
    """

    count: int
    without: Rows

    def __len__(self) -> int:
        return self.count - len(self.without)

    def __getitem__(self, places: slice | NDArray[np.int64]) -> Rows:
        """Return the rows at some places, counted from 0.

        >>> rows = Remainder(6, np.array([0, 3]))
        >>> rows[:].tolist(), rows[np.array([3, 1])].tolist()
        ([1, 2, 4, 5], [5, 2])
        """
        if isinstance(places, slice):
            places = np.arange(*places.indices(len(self)))
        # how many rows of it stand before each of the others
        before = self.without - np.arange(len(self.without))
        return np.asarray(places + np.searchsorted(before, places, side="right"), np.int64)


@dataclass(frozen=True)
class Split:
    """Rows of pairs, each ascending, that together are all pairs once.

    Args:
        training: To learn from.
        held_out_sources: All pairs of some sources; none of these sources is in another part.
        held_out_pairs: Pairs drawn at random among the others; their sources may be trained on.
    """

    training: Remainder
    held_out_sources: Rows
    held_out_pairs: Rows


def split(pairs: TrainingPairs, held_out_sources: int, held_out_pairs: int, seed: int) -> Split:
    """Set two kinds of pairs aside, the same ones for the same seed.

    A text that was set aside from the beginning counts as unseen sources, and nothing is drawn.

    Args:
        pairs: All pairs.
        held_out_sources: Draw whole sources until there are at least this many pairs.
        held_out_pairs: Then draw this many single pairs from the rest.
        seed: For the draws.

    Raises:
        SettingsError: Nothing would be left to learn from.
    """
    if min(held_out_sources, held_out_pairs) < 0:
        raise SettingsError("the number of held-out pairs cannot be negative")
    N = len(pairs)
    if pairs.set_aside:
        aside = np.arange(N - pairs.set_aside, N)
        return Split(Remainder(N, aside), aside, aside[:0])
    generator = np.random.default_rng(seed)
    of_sources = _pairs_of_drawn_sources(pairs.source.groups, held_out_sources, generator)
    rest = Remainder(N, of_sources)
    if len(rest) <= held_out_pairs:
        raise SettingsError(
            f"there are {N:,} pairs; with {len(of_sources):,} held out "
            f"by source and {held_out_pairs:,} at random, none is left to learn from",
            remedy="lower --held-out-sources, where there is a source, and --held-out-pairs",
        )
    single = rest[np.sort(generator.choice(len(rest), held_out_pairs, replace=False))]
    return Split(Remainder(N, np.union1d(of_sources, single)), of_sources, single)


def _pairs_of_drawn_sources(
    groups: NDArray[np.int32], wanted: int, generator: np.random.Generator
) -> Rows:
    """Return the pairs of sources in random order, as many as have ``wanted`` pairs or more.

    Args:
        groups: ``(N,)`` the number of each pair's source.
        wanted: How many pairs.
        generator: Draws the order.
    """
    parts = [groups[first : first + _AT_ONCE] for first in range(0, len(groups), _AT_ONCE)]
    sources = 1 + max((int(part.max()) for part in parts), default=-1)
    if sources <= _FEW:
        order = generator.permutation(sources)[:wanted]
    else:
        order = generator.choice(sources, min(wanted, sources), replace=False)
    if not wanted:
        return np.empty(0, np.int64)
    # each source has a pair, so as many sources are enough
    among = np.sort(order)
    rows, found = [], []
    for number, part in enumerate(parts):
        inside = np.flatnonzero(np.isin(part, among))
        rows.append(inside + number * _AT_ONCE)
        found.append(part[inside])
    row, source = np.concatenate(rows), np.concatenate(found)
    sizes = np.bincount(np.searchsorted(among, source), minlength=len(among))
    sizes = sizes[np.searchsorted(among, order)]
    taken = order[: np.searchsorted(np.cumsum(sizes), wanted) + 1]
    return row[np.isin(source, taken)]
