"""A lexicalised reordering model as its line in the ini declares it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from moses_integration.decoder.features.orientations import CLASSES, COLUMNS
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from phrasescore.errors import IniError

_NO_COLUMN = -1
_IGNORED_TYPE_PARTS = frozenset(["wbe", "phrase"])  # without hier, all mean phrase-based
_DIRECTIONS = {
    "unidirectional": (True, False),
    "backward": (True, False),
    "forward": (False, True),
    "bidirectional": (True, True),
}


@dataclass(frozen=True)
class ReorderingFeature:
    """A lexicalised reordering model.

    Args:
        name: What the ini calls it.
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

    name: str
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

    def backward_components(self) -> tuple[int, ...]:
        """Where in the feature vector the score of each class goes, -1 for nowhere."""
        return self._components(self.backward_columns(), self.first)

    def forward_components(self) -> tuple[int, ...]:
        """Where in the feature vector the score of each class goes, -1 for nowhere."""
        return self._components(self.forward_columns(), self.first + self.forward_offset)

    def _components(self, columns: tuple[int, ...], collapsed: int) -> tuple[int, ...]:
        return tuple(
            _NO_COLUMN if column < 0 else collapsed if self.collapsed else self.first + column
            for column in columns
        )


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
        line.name,
        line.options["path"],
        line.line,
        first,
        [part for part in parts if part in COLUMNS][-1],
        backward,
        forward,
        collapsed,
        "output-factor" in line.options,
        default_ln,
    )


def _default_ln(ini: MosesIni, line: FeatureLine, text: str) -> tuple[float, ...]:
    try:
        return tuple(math.log(float(score)) for score in text.split(","))
    except ValueError:
        raise IniError(
            f"default-scores of {line.name} is {text!r}, expected positive numbers "
            "with commas between them",
            path=ini.path,
            line=line.line,
        ) from None
