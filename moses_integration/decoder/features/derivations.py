"""The feature values of derivations, computed from their phrases alone.

The search computes only weighted sums. This module computes every feature of a derivation by its
definition, for n-best lists and for derivations from other decoders.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.lm_scoring import LanguageModels, PhraseWords, model_tables
from moses_integration.decoder.features.reordering import OrientationPlaces, orientation
from moses_integration.language_model.automaton import UNKNOWN_WORD, score
from moses_integration.language_model.back_off import LN_10
from phrasescore.compiled import borrowed, compiled
from phrasescore.words.token_sequences import taken_runs


class Derivations(NamedTuple):
    """Derivations of one sentence; phrases are in the order in which they are applied.

    Args:
        offsets: The start of each derivation's phrases in the arrays below, shape (N + 1,).
        entries: The table entry of each phrase.
        starts: The position of the first source word of each phrase.
        ends: The position of the last source word of each phrase.
    """

    offsets: NDArray[np.int64]
    entries: NDArray[np.int32]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]

    def taken(self, order: NDArray[np.integer]) -> Derivations:
        """Select derivations.

        Args:
            order: The derivations to return, in this order, shape (M,).
        """
        offsets, places = taken_runs(self.offsets, order)
        return Derivations(offsets, self.entries[places], self.starts[places], self.ends[places])


class FeatureTables(NamedTuple):
    """The arrays from which features are computed.

    Attributes:
        static: Values that depend on the phrase alone, shape (E, S).
        static_components: The indexes of these values in the feature vector, shape (S,).
        distortions: The indexes of the distortion features, shape (D,).
        reordering: ln scores of all reordering models, shape (E, R).
        backward: The columns of ``reordering`` to read from the phrase's own entry.
        forward: The columns of ``reordering`` to read from the previous phrase's entry.
        models: The language models.
        phrases: The target phrases of all entries, in the word ids of the models.
        lm_components: The index of each model's score in the feature vector, shape (models,).
        unknown_components: The index of each model's count of unknown words in the feature vector,
            -1 for none, shape (models,).
    """

    static: NDArray[np.float32]
    static_components: NDArray[np.int64]
    distortions: NDArray[np.int64]
    reordering: NDArray[np.float32]
    backward: OrientationPlaces
    forward: OrientationPlaces
    models: LanguageModels
    phrases: PhraseWords
    lm_components: NDArray[np.int64]
    unknown_components: NDArray[np.int64]

    def values(self, derivations: Derivations, size: int) -> NDArray[np.float64]:
        """Compute all feature values of derivations.

        Args:
            derivations: N derivations that cover their sentence.
            size: The number of components of the feature vector.

        Returns:
            The unweighted values, with components in their order in n-best lists, shape (N, size).
        """
        features = np.zeros((len(derivations.offsets) - 1, size))
        _add_features(self, derivations, features)
        return features


@compiled
def _add_reordering(
    values: NDArray[np.float64],
    places: OrientationPlaces,
    scores: NDArray[np.float32],
    entry: int,
    turn: int,
) -> None:
    values, places, scores = borrowed((values, places, scores))
    for model in range(places.columns.shape[0]):
        column = places.columns[model, turn]
        if column >= 0:
            values[places.components[model, turn]] += scores[entry, column]


@compiled
def _add_language_models(
    values: NDArray[np.float64], tables: FeatureTables, entries: NDArray[np.int32]
) -> None:
    """Score the words of all phrases, and ``</s>`` unless the last phrase is empty."""
    values, tables, entries = borrowed((values, tables, entries))
    state_of_all = tables.models.begin_state[0]
    for model in range(tables.models.order.size):
        automaton = model_tables(tables.models, model)
        nodes = automaton.nodes.size
        state = state_of_all % nodes
        state_of_all //= nodes
        total = 0.0
        size = 0
        for entry in entries:
            begin, end = tables.phrases.first[entry], tables.phrases.first[entry + 1]
            size = end - begin
            for at in range(begin, end):
                word = np.int64(tables.phrases.words[model, at].word)
                log10, state = score(automaton, state, word)
                total += log10
                if word == UNKNOWN_WORD and tables.unknown_components[model] >= 0:
                    values[tables.unknown_components[model]] += 1.0
        if size > 0:
            log10, state = score(automaton, state, tables.models.end_word[model])
            total += log10
        values[tables.lm_components[model]] += LN_10 * total


@compiled
def _add_features(
    tables: FeatureTables, derivations: Derivations, features: NDArray[np.float64]
) -> None:
    tables, derivations, features = borrowed((tables, derivations, features))
    offsets, entries, starts, ends = derivations
    for number in range(features.shape[0]):
        values = features[number]
        previous_start, previous_end = -1, -1
        begin, stop = offsets[number], offsets[number + 1]
        for at in range(begin, stop):
            entry = entries[at]
            for column in range(tables.static_components.size):
                values[tables.static_components[column]] += tables.static[entry, column]
            for component in tables.distortions:
                values[component] -= abs(previous_end + 1 - starts[at])
            turn = orientation(previous_start, previous_end, starts[at], ends[at])
            _add_reordering(values, tables.backward, tables.reordering, entry, turn)
            if at > begin:
                before = entries[at - 1]
                _add_reordering(values, tables.forward, tables.reordering, before, turn)
            previous_start, previous_end = starts[at], ends[at]
        if stop > begin:
            _add_language_models(values, tables, entries[begin:stop])
