"""Decides which weights are tuned, and reads weights files."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.moses_ini import MosesIni, parse_weights
from phrasescore.errors import IniError, InputError, SettingsError, did_you_mean
from phrasescore.runs.json_files import parse_json
from phrasescore.table.input_files import read_whole
from tuning.metrics.metric_settings import Objective
from tuning.optimizers.candidate_pool import PoolArrays
from tuning.optimizers.optimizer import Problem, Weights

# the part of model scores that n-best lists do not show becomes an extra feature of weight 1
_FIXED_NAME = "what is not tuned"
WEIGHTS = "weights.json"  # the file of the result of a tuning
# the first line of a run*.dense of mert-moses.pl
_DENSE = re.compile(rb"\s*[^\s=\[#]+= ")


@dataclass(frozen=True)
class WeightPlan:
    """The weights of a system, and the changes that tuning may make to them.

    Args:
        layout: All features of the system, including components that are not tuned.
        start: The start weights of each feature.
        sparse_weights: Weights of single sparse features; tuning never changes these.
        hidden: The features with a weight other than 0 that n-best lists show partly or not at all.
        frozen: The indices, among the components in n-best lists, of weights that must not change.
    """

    layout: FeatureLayout
    start: Mapping[str, tuple[float, ...]]
    sparse_weights: Mapping[str, float] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    frozen: frozenset[int] = frozenset()

    @classmethod
    def from_ini(cls, ini: MosesIni) -> WeightPlan:
        """Begin with the weights of a moses.ini.

        Raises:
            IniError: Features and weights do not fit together.
            SettingsError: No feature is tuneable.
        """
        layout = FeatureLayout.from_ini(ini)
        if not layout.nbest.features:
            raise SettingsError(
                "no feature may be tuned", path=ini.path, remedy="remove a tuneable=false"
            )
        weights = layout.read_weights(ini)
        # a hidden unknown-word penalty does no harm: it is nearly always the same for all
        # translations of a sentence
        constant = {line.name for line in ini.features if line.kind == "UnknownWordPenalty"}
        hidden = tuple(
            feature.name
            for feature in layout.features
            if feature.name not in constant
            and any(
                weight and not tuneable
                for weight, tuneable in zip(weights[feature.name], feature.tuneable, strict=True)
            )
        )
        return cls(layout, weights, layout.sparse_weights(ini), hidden)

    @classmethod
    def from_weights(cls, weights: Mapping[str, tuple[float, ...]]) -> WeightPlan:
        """Begin with the weights of features in n-best lists."""
        sizes = {name: len(values) for name, values in weights.items()}
        return cls(FeatureLayout.from_sizes(sizes), weights)

    @property
    def shown(self) -> dict[str, tuple[float, ...]]:
        """The start weights of the components in n-best lists, by feature."""
        return self.layout.nbest.unflatten(self.tuned(self.start))

    @property
    def notes(self) -> tuple[str, ...]:
        """A warning if existing n-best lists do not show all features."""
        if not self.hidden:
            return ()
        return (
            f"the lists do not show all scores of {', '.join(self.hidden)}; "
            "the missing scores are ignored",
        )

    @property
    def expected(self) -> dict[str, int]:
        """The features in n-best lists, and the number of values of each."""
        return {feature.name: feature.components for feature in self.layout.nbest.features}

    @property
    def names(self) -> tuple[str, ...]:
        """(T,) a name for every component in n-best lists, with its index in the moses.ini."""
        return tuple(itertools.compress(self.layout.component_names, self.layout.tuneable))

    def for_lists(self, sizes: Mapping[str, int]) -> WeightPlan:
        """Return the plan for lists with more features; the start weights of these are 0.

        Args:
            sizes: The number of values of each feature, in the order of the lists.

        Raises:
            IniError: The lists lack a feature, or have more or fewer values of one.
        """
        new = {name: (0.0,) * size for name, size in sizes.items() if name not in self.expected}
        FeatureLayout.from_sizes(sizes).flatten({**new, **self.shown})
        own = {each.name: each for each in self.layout.features if each.name not in new}
        every = FeatureLayout.from_sizes({**sizes, **dict.fromkeys(own, 0)})
        layout = FeatureLayout(tuple(own.get(each.name, each) for each in every.features))
        return dataclasses.replace(self, layout=layout, start={**self.start, **new})

    def with_frozen(self, names: Iterable[str]) -> WeightPlan:
        """Return this plan with more frozen weights.

        A name selects a feature, or one component such as ``TranslationModel0_4``.

        Raises:
            SettingsError: A name is unknown.
        """
        more = {number for name in names for number in self._components(name)}
        return dataclasses.replace(self, frozen=self.frozen | more)

    def _components(self, name: str) -> list[int]:
        """Return the indices of the components that a name selects."""
        feature_of = [feature for feature, size in self.expected.items() for _ in range(size)]
        owners = zip(self.names, feature_of, strict=True)
        found = [number for number, pair in enumerate(owners) if name in pair]
        if not found:
            known = sorted({*self.names, *feature_of})
            raise SettingsError(
                f"no weight to freeze is called {name!r}{did_you_mean(name, known)}",
                remedy=f"choose among: {', '.join(known)}",
            )
        return found

    def tuned(self, weights: Mapping[str, Sequence[float]]) -> Weights:
        """Return (T,) the weights of the components in n-best lists, given all weights."""
        return self.layout.flatten(weights)[self.layout.tuneable]

    def complete(self, tuned: Weights) -> dict[str, tuple[float, ...]]:
        """Return all weights of each feature in n-best lists, with (T,) tuned weights filled in."""
        vector = self.layout.flatten(self.start)
        vector[self.layout.tuneable] = tuned
        everything = self.layout.unflatten(vector)
        return {name: everything[name] for name in self.layout.nbest.names}

    def problem(
        self, pool: PoolArrays, objective: Objective, weights: Weights | None = None
    ) -> Problem:
        """Return the optimisation problem over a pool of candidates.

        Args:
            pool: The candidates with the features of n-best lists, possibly followed by the extra
                feature for the part of the score that lists do not show.
            objective: The score to maximise.
            weights: (T,) start weights that replace the plan's.
        """
        start = self.tuned(self.start) if weights is None else weights
        extra = len(pool.features) - len(start)
        return Problem(
            pool,
            objective,
            np.concatenate([start, np.ones(extra)]),
            np.array([n < len(start) and n not in self.frozen for n in range(len(pool.features))]),
            self.names + (_FIXED_NAME,) * extra,
        )


def read_weights_file(path: str | Path) -> dict[str, tuple[float, ...]]:
    """Read the weights of a JSON file.

    Args:
        path: A file with ``{"weights": {"LM0": [0.5], ...}, ...}``, as tuning writes it, or with
            the inner object alone; a single weight needs no brackets.

    Raises:
        InputError: The file is not JSON of this form.
    """
    return _parsed(read_whole(path), path)


def _parsed(data: bytes, path: str | Path) -> dict[str, tuple[float, ...]]:
    """Return the weights in the content of a JSON file."""
    try:
        content: Any = parse_json(data)
    except ValueError as error:
        raise _not_weights(path, f"it is not JSON ({error})") from None
    if isinstance(content, dict) and isinstance(content.get("weights"), dict):
        content = content["weights"]
    if not isinstance(content, dict) or not content:
        raise _not_weights(path, "it has no object of weights by name")
    weights = {}
    for name, values in content.items():
        numbers = values if isinstance(values, list) else [values]
        # the type of true and false is bool, a subclass of int
        if not numbers or not all(type(number) in (int, float) for number in numbers):
            raise _not_weights(path, f"the weights of {name} are not numbers")
        weights[name] = tuple(float(number) for number in numbers)
    return weights


def _not_weights(path: str | Path, reason: str) -> InputError:
    return InputError(
        f"not a weights file: {reason}",
        path=path,
        remedy='expected JSON such as {"weights": {"LM0": [0.5]}}',
    )


def read_plan(path: str) -> WeightPlan:
    """Read start weights from JSON, a ``run*.dense`` of mert-moses.pl, or a moses.ini.

    JSON of weights begins with ``{``, and no moses.ini does. A file whose name ends in ``.json`` is
    never read as a moses.ini. A ``run*.dense`` begins with ``LM0= 0.5``, and has a line for each
    component of the features in n-best lists.

    Raises:
        InputError: The file is none of these.
    """
    data = read_whole(path)
    if path.endswith(".json") or data.lstrip().startswith(b"{"):
        return WeightPlan.from_weights(_parsed(data, path))
    if not _DENSE.match(data):
        return WeightPlan.from_ini(MosesIni.parse(data, path))
    weights: dict[str, tuple[float, ...]] = {}
    try:
        for line in filter(str.strip, data.decode("utf-8", "surrogateescape").split("\n")):
            name, values = parse_weights(line)
            weights[name] = (*weights.get(name, ()), *values)
    except IniError as error:
        raise error.at(path) from None
    return WeightPlan.from_weights(weights)


def read_weights(path: str) -> tuple[dict[str, tuple[float, ...]], tuple[str, ...]]:
    """Read the weights of a file that `read_plan` reads.

    Returns:
        The weights of the features that n-best lists show, and of single sparse features such as
        ``TranslationModel0_name``; and notes for the user.

    Raises:
        InputError: The file has no weights, or has unknown names.
    """
    plan = read_plan(path)
    sparse = {name: (weight,) for name, weight in plan.sparse_weights.items()}
    return {**plan.shown, **sparse}, plan.notes
