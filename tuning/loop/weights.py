"""Decides which weights are tuned."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.moses_ini import MosesIni
from phrasescore.errors import SettingsError, did_you_mean
from tuning.metrics.metric_settings import Objective
from tuning.optimizers.candidate_pool import PoolArrays
from tuning.optimizers.optimizer import Problem, Weights

# the part of model scores that n-best lists do not show becomes an extra feature of weight 1
_FIXED_NAME = "what is not tuned"
WEIGHTS = "weights.json"  # the file of the result of a tuning


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
        untuned = layout.unflatten(np.where(layout.tuneable, 0, layout.flatten(weights)))
        hidden = tuple(name for name in untuned if name not in constant and any(untuned[name]))
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
        names = ", ".join(self.hidden)
        told = f"the lists do not show all scores of {names}; the missing scores are ignored"
        return (told,) if self.hidden else ()

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
        feature_of = [feature for feature, size in self.expected.items() for _ in range(size)]
        known, frozen = {*self.names, *feature_of}, set(self.frozen)
        for name in names:
            if name not in known:
                raise SettingsError(
                    f"no weight to freeze is called {name!r}{did_you_mean(name, sorted(known))}",
                    remedy=f"choose among: {', '.join(sorted(known))}",
                )
            owners = zip(self.names, feature_of, strict=True)
            frozen |= {number for number, pair in enumerate(owners) if name in pair}
        return dataclasses.replace(self, frozen=frozenset(frozen))

    def tuned(self, weights: Mapping[str, Sequence[float]]) -> Weights:
        """Return (T,) the weights of the components in n-best lists, given all weights."""
        return self.layout.flatten(weights)[self.layout.tuneable]

    def complete(self, tuned: Weights) -> dict[str, tuple[float, ...]]:
        """Return all weights of each feature in n-best lists, with (T,) tuned weights filled in."""
        vector = self.layout.flatten(self.start)
        vector[self.layout.tuneable] = tuned
        everything = self.layout.unflatten(vector)
        return {name: everything[name] for name in self.layout.nbest.slices}

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
