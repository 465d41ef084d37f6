"""Features of our own, which no moses.ini knows: they see whole candidates and reorder them.

A feature gets all candidates of a sentence at once, so that a neural model can score them in one
batch. What it says joins the other values in n-best lists, under its name, where tuning finds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.decoded_sentence import DecodedSentence
from phrasescore.errors import SettingsError

CANDIDATES = 100  # that are reordered where no list is asked for

Words = Sequence[bytes]


class OwnFeature(Protocol):
    """Scores candidates.

    Attributes:
        name: What n-best lists call it.
        components: How many values it gives.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def components(self) -> int: ...  # noqa: D102

    def scores(self, source: Words, candidates: Sequence[Words]) -> NDArray[np.float64]:
        """Return the values of N candidates of one sentence, shape (N, components)."""
        ...


@dataclass(frozen=True)
class WeightedFeature:
    """A feature and its weights.

    Args:
        feature: The feature.
        weights: One for each of its components.

    Raises:
        SettingsError: There are more or fewer weights than components.
    """

    feature: OwnFeature
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.weights) != self.feature.components:
            raise SettingsError(
                f"{len(self.weights)} weights for {self.feature.name}, "
                f"which has {self.feature.components} components"
            )


def reordered(decoded: DecodedSentence, features: Sequence[WeightedFeature]) -> DecodedSentence:
    """Return a sentence's candidates with these features counted, the best first.

    Raises:
        SettingsError: A feature gives values of another shape than it promises.
    """
    if not len(decoded):
        return decoded
    source = decoded.source()
    candidates = [decoded.words(number) for number in range(len(decoded))]
    totals, own = decoded.totals.copy(), {}
    for weighted in features:
        feature = weighted.feature
        values = np.asarray(feature.scores(source, candidates), np.float64)
        if values.shape != (len(candidates), feature.components):
            raise SettingsError(
                f"{feature.name} gives values of shape {values.shape}, "
                f"expected ({len(candidates)}, {feature.components})"
            )
        own[feature.name] = values
        totals += values @ np.array(weighted.weights)
    order = np.argsort(-totals, kind="stable")
    return replace(
        decoded,
        derivations=decoded.derivations.taken(order),
        features=decoded.features[order],
        totals=totals[order],
        own_features={name: values[order] for name, values in own.items()},
    )
