"""Lexicalised reordering models: orientations of phrases, and the declaration in an ini.

As in Moses's LRModel, all model types classify a phrase by the source span translated before it
(Koehn et al. 2005; Galley and Manning 2008). The decoder uses the finest classes; a model type maps
these to its own classes.
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
from phrasescore.words.token_sequences import offsets_of

MONOTONE, SWAP, LEFT, RIGHT = 0, 1, 2, 3
CLASSES = 4

# model type -> the column of each of the finest classes
COLUMNS = {
    "msd": (0, 1, 2, 2),
    "mslr": (0, 1, 2, 3),
    "monotonicity": (0, 1, 1, 1),
    "leftright": (0, 1, 1, 0),
}
# parts of a model type that have no effect: every model is phrase-based, except with the part
# ``hier``, which this decoder refuses
_IGNORED_TYPE_PARTS = frozenset(["wbe", "phrase"])
_DIRECTIONS = {
    "unidirectional": (True, False),
    "backward": (True, False),
    "forward": (False, True),
    "bidirectional": (True, True),
}


@compiled
def orientation(previous_start: int, previous_end: int, start: int, end: int) -> int:
    """Return the orientation of a phrase towards the phrase translated before it.

    For the first phrase both previous positions are -1: a first phrase at the beginning of the
    sentence is monotone; elsewhere it is discontinuous to the right.
    """
    turn = turn_to(previous_end, start)
    return SWAP if turn != MONOTONE and previous_start == end + 1 else turn


@compiled
def turn_to(previous_end: int, start: int) -> int:
    """Return the `orientation` of a phrase at ``start``, assuming that the phrases do not swap."""
    if start == previous_end + 1:
        return MONOTONE
    return RIGHT if start > previous_end else LEFT


class OrientationPlaces(NamedTuple):
    """For one direction, the table column and the feature component of each orientation class.

    Attributes:
        columns: The column of the table for each model and class, or -1; shape (models,
            classes), or (classes,) for a single model.
        components: The component of the feature vector, in the same shape.
    """

    columns: NDArray[np.int64]
    components: NDArray[np.int64]


@dataclass(frozen=True)
class ReorderingFeature:
    """A lexicalised reordering model.

    Args:
        path: The path of the table.
        line: The line of the ini.
        columns: The number of scores of a line of the table.
        backward: The places of the scores that are read from a phrase's own entry in the table.
        forward: The places of the scores that are read from the previous phrase's entry.
        default_ln: The ln scores of a phrase without an entry; empty if they are 0.
    """

    path: str
    line: int
    columns: int
    backward: OrientationPlaces
    forward: OrientationPlaces
    default_ln: tuple[float, ...]


def reordering_feature(line: FeatureLine, part: slice) -> ReorderingFeature:
    """Parse the line of a lexicalised reordering model.

    Args:
        line: The line.
        part: The line's components in the feature vector.

    Raises:
        IniError: The type or another option is unknown or invalid. The caller adds the file and
            line.
    """
    parts = line.options["type"].split("-")
    known = {*_IGNORED_TYPE_PARTS, *_DIRECTIONS, *COLUMNS, "fe", "allff", "collapseff"}
    for name in parts:
        if name not in known:
            raise IniError(
                f"the type of {line.name} has the part {name!r}, which the embedded decoder "
                "does not know",
                remedy="decode with Moses",
            )
    if not {"input-factor", "output-factor"} <= line.options.keys():
        raise IniError(
            f"{line.name} needs input-factor=0 and output-factor=0",
            remedy="use Moses for models that depend on the source only (type f)",
        )
    directions = [_DIRECTIONS[name] for name in parts if name in _DIRECTIONS]
    backward, forward = directions[-1] if directions else (True, False)
    collapsed = "collapseff" in parts
    default_ln = _default_ln(line)
    if default_ln and (collapsed or len(default_ln) != part.stop - part.start):
        raise IniError(
            f"default-scores of {line.name} has {len(default_ln)} scores; it needs "
            f"{part.stop - part.start}, and a type without collapseff"
        )
    classes = np.array(COLUMNS[[name for name in parts if name in COLUMNS][-1]])
    orientations = int(classes.max()) + 1

    def places(is_there: bool, offset: int) -> OrientationPlaces:
        columns = classes + offset if is_there else np.full(CLASSES, -1)
        # all classes of a collapsed direction share the component of its first column
        components = part.start + (np.full(CLASSES, offset) if collapsed else columns)
        return OrientationPlaces(columns, np.where(columns < 0, -1, components))

    # Like Moses, use the index of the first forward component as the first forward column, too.
    # With both directions collapsed this index is 1, so forward scores begin at column 1.
    return ReorderingFeature(
        path=line.options["path"],
        line=line.line,
        columns=orientations * (backward + forward),
        backward=places(backward, 0),
        forward=places(forward, backward * (1 if collapsed else orientations)),
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


def orientation_places(
    models: Sequence[ReorderingFeature],
) -> tuple[OrientationPlaces, OrientationPlaces]:
    """Return ``backward`` and ``forward`` of `derivations.FeatureTables`."""
    offsets = offsets_of([model.columns for model in models]).tolist()

    def joined(places: Sequence[OrientationPlaces]) -> OrientationPlaces:
        both = np.array(places, np.int64).reshape(-1, 2, CLASSES)
        columns, components = both[:, 0].copy(), both[:, 1].copy()
        columns += np.where(columns < 0, 0, np.array(offsets[:-1], np.int64)[:, None])
        return OrientationPlaces(columns, components)

    return joined([model.backward for model in models]), joined([model.forward for model in models])


def forward_classes(
    features: Sequence[ReorderingFeature],
    scores: Sequence[NDArray[np.float32]],
    rows: Sequence[NDArray[np.int64]],
    entries: int,
) -> NDArray[np.int32]:
    """Assign a class to each entry; entries with equal forward scores share a class.

    Hypotheses recombine only if the models will score the next phrase equally. Entries that are
    missing from a reordering table are equal only to each other.
    """
    columns = [np.zeros((entries, 1), np.float32)]
    for feature, values, found in zip(features, scores, rows, strict=True):
        used = np.unique(feature.forward.columns)
        if used[0] >= 0:
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
    """Add the weighted scores of all reordering models for each class of orientation.

    Args:
        totals: Receives the sums, shape (classes, E).
        values: ln scores of the entries, shape (E, columns).
        weights: The weights of all features.
        places: The columns of the scores to add, and the components of their weights.
    """
    for columns, components in zip(*places, strict=True):
        for turn, (column, component) in enumerate(zip(columns, components, strict=True)):
            if column >= 0:
                totals[turn] += (values[:, column] * weights[component]).astype(np.float32)
