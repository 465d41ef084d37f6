"""Lexicalised reordering models: orientations of phrases, and what a line of the ini declares.

As in Moses's LRModel, every model type classes a phrase by the span before it (Koehn et al. 2005;
Galley and Manning 2008). The decoder works with the finest classes; models map them to their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
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
        """How many orientations the model tells apart."""
        return max(COLUMNS[self.model]) + 1

    @property
    def columns(self) -> int:
        """How many scores a line of the table has."""
        return self.orientations * (self.backward + self.forward)

    @property
    def forward_offset(self) -> int:
        """The first component of the forward direction, and the first column it reads.

        Moses takes the same number for both, so a collapsed model reads its forward scores from
        column 1 on, not from where they begin. That is followed here.
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
        if not self.collapsed:
            return tuple(_NO_COLUMN if column < 0 else self.first + column for column in columns)
        # of all classes of a direction the same: that of its first column
        return tuple(_NO_COLUMN if column < 0 else self.first + min(columns) for column in columns)


def reordering_feature(
    ini: MosesIni, line: FeatureLine, layout: FeatureLayout
) -> ReorderingFeature:
    """Understand the line of a lexicalised reordering model.

    Raises:
        IniError: Its type or another option is unknown or makes no sense.
    """
    parts = line.options["type"].split("-")
    known = {*_IGNORED_TYPE_PARTS, *_DIRECTIONS, *COLUMNS, "f", "fe", "allff", "collapseff"}
    for part in parts:
        if part not in known:
            raise IniError(
                f"the type of {line.name} has the part {part!r}, which the embedded decoder "
                "does not know",
                path=ini.path,
                line=line.line,
                remedy="decode hierarchical reordering models with Moses",
            )
    if "input-factor" not in line.options or (
        "fe" in parts and "output-factor" not in line.options
    ):
        raise IniError(
            f"{line.name} needs input-factor=0 and, for a model of type fe, output-factor=0",
            path=ini.path,
            line=line.line,
        )
    directions = [_DIRECTIONS[part] for part in parts if part in _DIRECTIONS]
    backward, forward = directions[-1] if directions else (True, False)
    collapsed = "collapseff" in parts
    defaults = line.options.get("default-scores")
    first = layout.slices[line.name].start
    default_ln = () if defaults is None else _default_ln(ini, line, defaults)
    components = layout.slices[line.name].stop - first
    if default_ln and (collapsed or len(default_ln) != components):
        raise IniError(
            f"default-scores of {line.name} has {len(default_ln)} scores, expected {components} "
            "of a model that is not collapsed",
            path=ini.path,
            line=line.line,
        )
    return ReorderingFeature(
        path=line.options["path"],
        line=line.line,
        first=first,
        model=[part for part in parts if part in COLUMNS][-1],
        backward=backward,
        forward=forward,
        collapsed=collapsed,
        uses_target="output-factor" in line.options,
        default_ln=default_ln,
    )


def _default_ln(ini: MosesIni, line: FeatureLine, text: str) -> tuple[float, ...]:
    scores = [finite_number(score) or 0.0 for score in text.split(",")]
    if min(scores) <= 0:
        raise IniError(
            f"default-scores of {line.name} is {text!r}, expected positive numbers "
            "with commas between them",
            path=ini.path,
            line=line.line,
        )
    return tuple(map(math.log, scores))
