"""Lexicalised reordering models: orientations of phrases, and the declaration in an ini.

As in Moses's LRModel, all model types classify a phrase by the span before it (Koehn et al. 2005;
Galley and Manning 2008). The decoder uses the finest classes; models map them to their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.ini.moses_ini import FeatureLine
from phrasescore.compiled import compiled
from phrasescore.errors import IniError
from phrasescore.table.input_files import finite_number

MONOTONE, SWAP, LEFT, RIGHT = 0, 1, 2, 3
CLASSES = 4

# model type -> the column of each of the finest classes
COLUMNS = {
    "msd": (0, 1, 2, 2),
    "mslr": (0, 1, 2, 3),
    "monotonicity": (0, 1, 1, 1),
    "leftright": (0, 1, 1, 0),
}
_NO_COLUMN = -1
_IGNORED_TYPE_PARTS = frozenset(["wbe", "phrase"])  # without hier, all mean phrase-based
_DIRECTIONS = {
    "unidirectional": (True, False),
    "backward": (True, False),
    "forward": (False, True),
    "bidirectional": (True, True),
}


@compiled
def orientation(previous_start: int, previous_end: int, start: int, end: int) -> int:
    """Return the class of the phrase ``start`` to ``end`` after another one.

    For the first phrase both previous positions are -1: it is monotone at the beginning of the
    sentence, otherwise discontinuous to the right.
    """
    turn = turn_to(previous_end, start)
    if turn != MONOTONE and previous_start == end + 1:
        return SWAP
    return turn


@compiled
def turn_to(previous_end: int, start: int) -> int:
    """Return what `orientation` is for all phrases from ``start`` on that do not swap."""
    if start == previous_end + 1:
        return MONOTONE
    if start > previous_end:
        return RIGHT
    return LEFT


@dataclass(frozen=True)
class ReorderingFeature:
    """A lexicalised reordering model.

    Args:
        path: Where its table is.
        line: The ini's line.
        first: Its first component in the feature vector.
        model: ``msd``, ``mslr``, ``monotonicity`` or ``leftright``.
        backward: Whether it scores a phrase by its own entry.
        forward: Whether it scores a phrase by the entry of the phrase before.
        collapsed: Whether each direction is one component.
        uses_target: Whether entries are found by source and target, or by source alone.
        default_ln: What missing entries count, as ln; empty for nothing.
    """

    path: str
    line: int
    first: int
    model: str
    backward: bool
    forward: bool
    collapsed: bool
    uses_target: bool
    default_ln: tuple[float, ...]

    @property
    def orientations(self) -> int:
        """The number of orientations that the model distinguishes."""
        return max(COLUMNS[self.model]) + 1

    @property
    def columns(self) -> int:
        """The number of scores of a line of the table."""
        return self.orientations * (self.backward + self.forward)

    @property
    def forward_offset(self) -> int:
        """The first component of the forward direction, and the first column it reads.

        Moses uses the same number for both, so a collapsed model reads its forward scores from
        column 1 on, not from their first column. This decoder does the same.
        """
        if not self.backward:
            return 0
        return 1 if self.collapsed else self.orientations

    def backward_columns(self) -> tuple[int, ...]:
        """The column of the phrase's own entry for each class of orientation, -1 for none."""
        return COLUMNS[self.model] if self.backward else (_NO_COLUMN,) * CLASSES

    def forward_columns(self) -> tuple[int, ...]:
        """The column of the entry before for each class of orientation, -1 for none."""
        if not self.forward:
            return (_NO_COLUMN,) * CLASSES
        return tuple(self.forward_offset + column for column in COLUMNS[self.model])

    def components(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        """Return where in the feature vector the scores of these columns go, -1 for nowhere."""
        # all classes of a collapsed direction share a component: that of its first column
        return tuple(
            _NO_COLUMN if column < 0 else self.first + (min(columns) if self.collapsed else column)
            for column in columns
        )


def reordering_feature(line: FeatureLine, part: slice) -> ReorderingFeature:
    """Parse the line of a lexicalised reordering model.

    Args:
        line: The line.
        part: Its components in the feature vector.

    Raises:
        IniError: Its type or another option is unknown or makes no sense (without its place).
    """
    parts = line.options["type"].split("-")
    known = {*_IGNORED_TYPE_PARTS, *_DIRECTIONS, *COLUMNS, "f", "fe", "allff", "collapseff"}
    for name in parts:
        if name not in known:
            raise IniError(
                f"the type of {line.name} has the part {name!r}, which the embedded decoder "
                "does not know",
                remedy="decode hierarchical reordering models with Moses",
            )
    if "input-factor" not in line.options or (
        "fe" in parts and "output-factor" not in line.options
    ):
        raise IniError(
            f"{line.name} needs input-factor=0 and, for a model of type fe, output-factor=0"
        )
    directions = [_DIRECTIONS[name] for name in parts if name in _DIRECTIONS]
    backward, forward = directions[-1] if directions else (True, False)
    collapsed = "collapseff" in parts
    default_ln = _default_ln(line)
    if default_ln and (collapsed or len(default_ln) != part.stop - part.start):
        raise IniError(
            f"default-scores of {line.name} has {len(default_ln)} scores, expected "
            f"{part.stop - part.start} of a model that is not collapsed"
        )
    return ReorderingFeature(
        path=line.options["path"],
        line=line.line,
        first=part.start,
        model=[name for name in parts if name in COLUMNS][-1],
        backward=backward,
        forward=forward,
        collapsed=collapsed,
        uses_target="output-factor" in line.options,
        default_ln=default_ln,
    )


def _default_ln(line: FeatureLine) -> tuple[float, ...]:
    text = line.options.get("default-scores")
    if text is None:
        return ()
    scores = [finite_number(score) or 0.0 for score in text.split(",")]
    if min(scores) <= 0:
        raise IniError(
            f"default-scores of {line.name} is {text!r}, expected positive numbers "
            "with commas between them"
        )
    return tuple(map(math.log, scores))


class OrientationPlaces(NamedTuple):
    """The reordering score of each class of orientation, and its place in the feature vector.

    Attributes:
        columns: Its column for each model and class, -1 for none, shape (models, classes).
        components: Its component, the same.
    """

    columns: NDArray[np.int64]
    components: NDArray[np.int64]


def orientation_places(
    models: Sequence[ReorderingFeature],
) -> tuple[OrientationPlaces, OrientationPlaces]:
    """Return ``backward`` and ``forward`` of `derivations.FeatureTables`."""
    shape = (2, len(models), CLASSES)
    columns, components = np.empty(shape, np.int64), np.empty(shape, np.int64)
    offset = 0
    for number, model in enumerate(models):
        for side, own in enumerate((model.backward_columns(), model.forward_columns())):
            components[side, number] = model.components(own)
            columns[side, number] = [column + offset if column >= 0 else -1 for column in own]
        offset += model.columns
    backward, forward = map(OrientationPlaces, columns, components)
    return backward, forward


def forward_classes(
    features: Sequence[ReorderingFeature],
    scores: Sequence[NDArray[np.float32]],
    rows: Sequence[NDArray[np.int64]],
    entries: int,
) -> NDArray[np.int32]:
    """Number the entries so that those with equal forward scores get equal numbers.

    Hypotheses recombine only if the models will score the next phrase equally; a missing entry
    equals only another missing one.
    """
    columns = [np.zeros((entries, 1), np.float32)]
    for feature, values, found in zip(features, scores, rows, strict=True):
        if feature.forward:
            used = sorted(set(feature.forward_columns()))
            columns += [values[:, used], (found >= 0)[:, None].astype(np.float32)]
    table = np.ascontiguousarray(np.concatenate(columns, axis=1))
    keys = table.view(np.dtype((np.void, table.dtype.itemsize * table.shape[1]))).ravel()
    _, classes = np.unique(keys, return_inverse=True)
    return classes.astype(np.int32)


def add_weighted(
    totals: NDArray[np.float32],
    values: NDArray[np.float32],
    weights: NDArray[np.float64],
    places: OrientationPlaces,
) -> None:
    """Add what all reordering models say of entries after each class of orientation.

    Args:
        totals: Where to add, shape (classes, E).
        values: ln scores of the entries, shape (E, columns).
        weights: The weights of all features.
        places: Which of the scores count, and which weights they take.
    """
    for columns, components in zip(*places, strict=True):
        for turn, (column, component) in enumerate(zip(columns, components, strict=True)):
            if column >= 0:
                totals[turn] += (values[:, column] * weights[component]).astype(np.float32)
