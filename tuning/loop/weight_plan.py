"""Which weights are tuned, from where, and within which bounds: between files and arrays."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.moses_ini import MosesIni
from phrasescore.errors import SettingsError, did_you_mean
from tuning.metrics.metric_settings import Objective
from tuning.optimizers.candidate_pool import PoolArrays
from tuning.optimizers.optimizer import Problem, Weights

# what lists do not show of model scores enters as one more feature of weight 1
_FIXED_NAME = "what is not tuned"
_BOUND = re.compile(r"(?P<name>[^=]+)=(?P<low>[^=]*?)\.\.(?P<high>[^=]*)")


@dataclass(frozen=True)
class WeightPlan:
    """The weights of a system, and what tuning may do to them.

    Args:
        layout: All features of the system, components that are not tuned included.
        start: The weights of each feature to begin with.
        sparse_weights: Weights of single sparse features, which stay.
        frozen: (T,) bool, which of the T components in n-best lists must stay as well.
        lower: (T,) the least each may be.
        upper: (T,) the most.
        hidden: The features with weights other than 0 that n-best lists do not show, or not all.
    """

    layout: FeatureLayout
    start: Mapping[str, tuple[float, ...]]
    sparse_weights: Mapping[str, float]
    frozen: NDArray[np.bool_]
    lower: Weights
    upper: Weights
    hidden: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        layout: FeatureLayout,
        start: Mapping[str, tuple[float, ...]],
        sparse_weights: Mapping[str, float] | None = None,
        hidden: tuple[str, ...] = (),
    ) -> WeightPlan:
        """A plan in which everything that n-best lists show is tuned without bounds."""
        count = layout.nbest.size
        infinity = np.full(count, np.inf)
        frozen = np.zeros(count, bool)
        return cls(layout, start, sparse_weights or {}, frozen, -infinity, infinity, hidden)

    @classmethod
    def from_ini(cls, ini: MosesIni) -> WeightPlan:
        """Begin with the weights of a moses.ini.

        Raises:
            IniError: Features and weights do not fit together.
        """
        layout = FeatureLayout.of(ini)
        if not layout.nbest.features:
            raise SettingsError(
                "no feature is tuneable", path=ini.path, remedy="remove tuneable=false from one"
            )
        weights = layout.read_weights(ini)
        # nearly always the same for all translations of a sentence, so that nothing is lost with it
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
        return cls.of(layout, weights, layout.sparse_weights(ini), hidden)

    @property
    def hidden_note(self) -> str:
        """What the user should know about ``hidden``, where that names any."""
        return (
            f"the lists do not show all of what {', '.join(self.hidden)} contribute: "
            "that part is left out of account"
        )

    @property
    def expected(self) -> dict[str, int]:
        """The features in n-best lists and how many values each has."""
        return {feature.name: feature.components for feature in self.layout.nbest.features}

    @property
    def names(self) -> tuple[str, ...]:
        """(T,) a name for every component in n-best lists, numbered as in the ini."""
        flags = self.layout.tuneable
        return tuple(
            name for name, flag in zip(self.layout.component_names, flags, strict=True) if flag
        )

    def restricted(self, freeze: Iterable[str], bounds: Iterable[str]) -> WeightPlan:
        """Return a plan with more weights frozen, and with bounds ``NAME=LOW..HIGH``.

        A name is a feature, or one component of it such as ``TranslationModel0_4``.

        Raises:
            SettingsError: A name is unknown or a bound makes no sense.
        """
        frozen, lower, upper = self.frozen.copy(), self.lower.copy(), self.upper.copy()
        for name in freeze:
            frozen[self._components(name)] = True
        for text in bounds:
            name, low, high = _parse_bound(text)
            lower[self._components(name)], upper[self._components(name)] = low, high
        return dataclasses.replace(self, frozen=frozen, lower=lower, upper=upper)

    def _components(self, name: str) -> list[int]:
        feature_of = [
            feature.name
            for feature in self.layout.nbest.features
            for _ in range(feature.components)
        ]
        found = [
            number
            for number, (component, feature) in enumerate(zip(self.names, feature_of, strict=True))
            if name in (component, feature)
        ]
        if not found:
            known = sorted({*self.names, *feature_of})
            raise SettingsError(
                f"no weight that may be tuned is called {name}{did_you_mean(name, known)}",
                remedy=f"choose among: {', '.join(known)}",
            )
        return found

    def tuned(self, weights: Mapping[str, Sequence[float]]) -> Weights:
        """Return (T,) of all weights those that n-best lists show."""
        return self.layout.flatten(weights)[self.layout.tuneable]

    def complete(self, tuned: Weights) -> dict[str, tuple[float, ...]]:
        """Return the weights of every feature that has a tuned one, given (T,)."""
        vector = self.layout.flatten(self.start)
        vector[self.layout.tuneable] = tuned
        everything = self.layout.unflatten(vector)
        return {name: everything[name] for name in self.layout.nbest.names}

    def problem(
        self, pool: PoolArrays, objective: Objective, weights: Weights | None = None
    ) -> Problem:
        """State the problem of tuning over a pool.

        Args:
            pool: Its features are those of n-best lists, and possibly what they do not show.
            objective: What is maximised.
            weights: (T,) where to begin, instead of the plan's start.
        """
        start = self.tuned(self.start) if weights is None else weights
        extra = len(pool.features) - len(start)
        infinity = np.full(extra, np.inf)
        return Problem(
            pool,
            objective,
            np.concatenate([start, np.ones(extra)]),
            np.concatenate([~self.frozen, np.zeros(extra, bool)]),
            np.concatenate([self.lower, -infinity]),
            np.concatenate([self.upper, infinity]),
            self.names + (_FIXED_NAME,) * extra,
        )


def _parse_bound(text: str) -> tuple[str, float, float]:
    match = _BOUND.fullmatch(text)
    try:
        if not match:
            raise ValueError
        low = float(match["low"]) if match["low"] else -np.inf
        high = float(match["high"]) if match["high"] else np.inf
    except ValueError:
        raise SettingsError(
            f"the bound {text!r} is not NAME=LOW..HIGH",
            remedy="write for example LM0=0..1, or LM0=0.. for no upper bound",
        ) from None
    if not low <= high:
        raise SettingsError(f"the bound {text!r} leaves no room", remedy="give the lower one first")
    return match["name"], low, high
