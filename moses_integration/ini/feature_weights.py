"""The features of a moses.ini and their weights: order, number of components, tuned or not.

N-best lists and tuning have the features in this order: stateful feature functions first, then
stateless ones, each in the order of the ini. Lists omit feature functions that are not tuneable and
single components that ``tuneable-components`` freezes, but the model score includes them. Source:
ScoreComponentCollection.cpp and the constructors of the feature functions in mosesdecoder
34452895f.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from moses_integration.ini import feature_kinds
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from phrasescore.errors import IniError, counted, did_you_mean, located

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Moses's weight for features without weights in the ini
_DEFAULT_WEIGHT = 1.0


@dataclass(frozen=True)
class Feature:
    """One feature function and its dense components.

    Args:
        name: The name, such as ``TranslationModel0``.
        tuneable: Whether each component is tuned.
        stateful: Whether the values depend on more than the phrase.
        kind: The class in the ini; empty if only an n-best list is known.
    """

    name: str
    tuneable: tuple[bool, ...]
    stateful: bool = False
    kind: str = ""

    @property
    def components(self) -> int:
        """The number of dense values."""
        return len(self.tuneable)

    @classmethod
    def from_line(cls, line: FeatureLine) -> Feature:
        """Derive a feature from its line in the ini.

        Raises:
            IniError: The class is unknown, or an option is invalid (the error has no line number
                yet).
        """
        if line.kind not in feature_kinds.FEATURE_KINDS:
            guess = did_you_mean(line.kind, feature_kinds.FEATURE_KINDS)
            raise IniError(f"unknown feature class {line.kind}{guess}")
        kind = feature_kinds.FEATURE_KINDS[line.kind]
        count = feature_kinds.component_count(line.kind, line.options)
        tuneable = boolean_option("tuneable", line.options.get("tuneable", str(kind.tuneable)))
        flags = (tuneable,) * count
        if (mask := line.options.get("tuneable-components")) is not None:
            if not tuneable:
                raise IniError(f"{line.name} has tuneable-components, but is not tuneable")
            # Moses skips empty items
            items = [item for item in mask.split(",") if item]
            flags = tuple(boolean_option("tuneable-components", item) for item in items)
            if len(flags) != count:
                found = f"tuneable-components of {line.name} has {len(flags)} flags"
                problem = f"{found}, but the feature has {count} components"
                raise IniError(problem, remedy="write one flag for each component")
        return cls(line.name, flags, kind.stateful, line.kind)


def boolean_option(key: str, text: str) -> bool:
    """Read an option of a feature line as Moses reads it.

    Raises:
        IniError: The value is neither true nor false (the error has no line number yet).

    >>> boolean_option("tuneable", "No")
    False
    """
    if text.lower() not in (*feature_kinds.TRUE, *feature_kinds.FALSE):
        raise IniError(f"{key} is {text!r}, expected true or false")
    return text.lower() in feature_kinds.TRUE


@dataclass(frozen=True)
class FeatureLayout:
    """The order of all dense feature values, in which n-best lists print the tuneable ones.

    A vector of all values or weights has one slot for each component, tuneable or not.

    Args:
        features: The stateful features first, then the stateless ones, both in the order of the
            ini.
    """

    features: tuple[Feature, ...]

    @classmethod
    def from_ini(cls, ini: MosesIni) -> FeatureLayout:
        """Derive the layout from an ini.

        Raises:
            IniError: The file is old-style or has no features, a class is unknown, an option is
                invalid, or another section overrides ``[feature]`` or ``[weight]``.
        """
        ini.refuse_rewriting()
        features = []
        for line in ini.features:
            with located(ini.path, line.line):
                features.append(Feature.from_line(line))
        return cls(tuple(sorted(features, key=lambda feature: not feature.stateful)))

    @classmethod
    def from_sizes(cls, sizes: Mapping[str, int]) -> FeatureLayout:
        """Derive the layout from the number of values of each feature in an n-best list."""
        return cls(tuple(Feature(name, (True,) * count) for name, count in sizes.items()))

    @cached_property
    def size(self) -> int:
        """The number of components of all features."""
        return sum(feature.components for feature in self.features)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """The components of each feature in a vector."""
        slices, start = {}, 0
        for feature in self.features:
            slices[feature.name] = slice(start, start + feature.components)
            start += feature.components
        return slices

    @cached_property
    def tuneable(self) -> NDArray[np.bool_]:
        """(size,) bool: the components that are tuned, and printed in n-best lists."""
        import numpy as np

        return np.array([flag for feature in self.features for flag in feature.tuneable], bool)

    @cached_property
    def component_names(self) -> tuple[str, ...]:
        """A name for every component: the feature's name, numbered from 0 if there are several."""
        return tuple(
            feature.name if feature.components == 1 else f"{feature.name}_{index}"
            for feature in self.features
            for index in range(feature.components)
        )

    @cached_property
    def nbest(self) -> FeatureLayout:
        """The layout of n-best lines: the tuneable components only, grouped by feature."""
        tuned = (each for each in self.features if any(each.tuneable))
        return FeatureLayout(
            tuple(Feature(each.name, (True,) * sum(each.tuneable), each.stateful) for each in tuned)
        )

    def flatten(self, values: Mapping[str, Sequence[float]]) -> NDArray[np.float64]:
        """Return (size,) float64: the values of all features in order.

        Raises:
            IniError: A feature is missing or unknown, or has the wrong number of values.
        """
        import numpy as np

        for name in values:
            if name not in self.slices:
                guess = did_you_mean(name, self.slices)
                raise IniError(f"values for {name}, but there is no such feature{guess}")
        for feature in self.features:
            if feature.name not in values:
                raise IniError(f"no values for the feature {feature.name}")
            if (found := len(values[feature.name])) != feature.components:
                given, wanted = counted(found, "value"), counted(feature.components, "component")
                raise IniError(f"{given} for {feature.name}, which has {wanted}")
        return np.array([value for name in self.slices for value in values[name]], np.float64)

    def unflatten(
        self, vector: Sequence[float] | NDArray[np.floating]
    ) -> dict[str, tuple[float, ...]]:
        """Split a vector of ``size`` values by feature, as the inverse of ``flatten``."""
        return {name: tuple(map(float, vector[part])) for name, part in self.slices.items()}

    def read_weights(self, ini: MosesIni) -> dict[str, tuple[float, ...]]:
        """Return the weights of every feature; as in Moses, 1 for features without weights.

        Raises:
            IniError: The number of weights differs from the number of components, or weights are
                given for a feature that does not exist.
        """
        known = {feature.name: feature for feature in self.features}
        for name, weights in ini.weights.items():
            owner = known.get(name)
            if owner is not None:
                _check_count(ini, name, len(weights), owner.components, ini.weight_line(name))
            elif name.partition("_")[0] not in known:
                guess, remedy = did_you_mean(name, known), "correct the name, or delete the line"
                problem = f"weights for {name}, but there is no such feature{guess}"
                raise ini.error(problem, line=ini.weight_line(name), remedy=remedy)
        return {
            feature.name: ini.weights.get(feature.name, (_DEFAULT_WEIGHT,) * feature.components)
            for feature in self.features
        }

    def sparse_weights(self, ini: MosesIni) -> dict[str, float]:
        """Return the ini's weights of sparse features, which are named like ``Name_sparse``."""
        return {
            name: weights[0]
            for name, weights in ini.weights.items()
            if name not in self.slices and name.partition("_")[0] in self.slices
        }


def table_weights(ini: MosesIni, line: FeatureLine) -> tuple[float, ...]:
    """Return the weight of each score of a phrase table; as in Moses, 1 if the ini gives none.

    Raises:
        IniError: There are more or fewer weights than scores.
    """
    with located(ini.path, line.line):
        count = feature_kinds.component_count(line.kind, line.options)
    weights = ini.weights.get(line.name, (_DEFAULT_WEIGHT,) * count)
    _check_count(ini, line.name, len(weights), count, ini.weight_line(line.name) or line.line)
    return weights


def _check_count(ini: MosesIni, name: str, weights: int, components: int, line: int | None) -> None:
    """Raise an IniError if a feature has more or fewer weights than components."""
    if weights != components:
        found, expected = counted(weights, "weight"), counted(components, "component")
        remedy = "give one weight for each component, or correct num-features"
        raise ini.error(f"{found} for {name}, which has {expected}", line=line, remedy=remedy)


def listed_sizes(sizes: Mapping[str, int]) -> str:
    """Return features and their numbers of values for a message.

    >>> listed_sizes({"LM0": 1, "TranslationModel0": 4})
    'LM0(1) TranslationModel0(4)'
    """
    return " ".join(f"{name}({size})" for name, size in sizes.items())


def has_tuned_weights(ini: MosesIni) -> bool:
    """Guess whether weights are tuned: before tuning, scores of a table have equal weights."""
    tables = (line.name for line in ini.features if line.kind in feature_kinds.PHRASE_TABLE_KINDS)
    return any(len(set(ini.weights.get(name, ()))) > 1 for name in tables)
