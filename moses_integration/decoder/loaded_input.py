"""One input with all that the system's models say about it; weights may change, this stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.derivations import (
    Derivations,
    FeatureTables,
    feature_values,
    orientation_places,
)
from moses_integration.decoder.features.history_scores import HistoryScores
from moses_integration.decoder.features.lm_scoring import PhraseWords, join_models, score_alone
from moses_integration.decoder.features.neural_models import NeuralModels, NeuralTerms
from moses_integration.decoder.features.reordering_feature import CLASSES
from moses_integration.decoder.loading.entries import (
    Entries,
    collect_entries,
    phrase_words,
)
from moses_integration.decoder.loading.parsed_tables import ParsedTables
from moses_integration.decoder.loading.reordering_table import (
    PhrasePairKeys,
    add_weighted,
    find_rows,
    forward_classes,
    reordering_scores,
)
from moses_integration.decoder.loading.source_phrases import SourcePhrases
from moses_integration.decoder.loading.system import LoadedModels, System
from moses_integration.decoder.loading.table_loading import (
    TableEntries,
    load_phrase_table,
    load_reordering_table,
)
from moses_integration.decoder.runs import offsets_of, taken_runs
from moses_integration.decoder.search.options import Options, choose_entries, highest_behind
from moses_integration.decoder.search.stack_decoding import Model
from moses_integration.language_model.back_off import LN_10


@dataclass(frozen=True)
class LoadedInput:
    """An input, and the entries of the tables that it needs.

    Args:
        system: The system.
        source: The input's phrases.
        entries: The phrase pairs of all tables.
        tables: What features are computed from.
        neural: The neural language models.
        forward_class: Equal where forward reordering scores are, shape (E,).
        inner_log10: log10 of target words whose full history is in the phrase, for each language
            model, shape (E, models).
        estimate_log10: log10 of the words before these, without context, shape (E, models).
        longest: Words of the longest source phrase that has entries.
    """

    system: System
    source: SourcePhrases
    entries: Entries
    tables: FeatureTables
    neural: NeuralModels
    forward_class: NDArray[np.int32]
    inner_log10: NDArray[np.float32]
    estimate_log10: NDArray[np.float32]
    longest: int

    @classmethod
    def load(
        cls,
        system: System,
        sentences: Sequence[Sequence[bytes]],
        models: LoadedModels,
        parsed: ParsedTables,
    ) -> LoadedInput:
        """Load what the input needs of the tables.

        Args:
            system: The system.
            sentences: The input.
            models: The system's language models.
            parsed: Where parsed tables are kept.

        Raises:
            InputError: A table cannot be read.
            PhraseTableError: A table breaks its format or disagrees with the ini.
        """
        features, settings = system.features, system.settings
        source = SourcePhrases(sentences, settings.max_phrase_length)
        tables = [
            load_phrase_table(
                system.find(table.path, table.line),
                table.scores,
                f"{system.ini}:{table.line}",
                source,
                parsed,
            )
            for table in features.tables
        ]
        entries = collect_entries(features, tables, source, drop_unknown=settings.drop_unknown)
        reordering, forward_class = _load_reordering(system, entries, source, parsed)
        backward, forward = orientation_places(features)
        joined = join_models(models.ngrams)
        phrases = phrase_words(entries, [model.words for model in models.ngrams])
        inner = np.zeros((len(entries), len(models.ngrams)), np.float32)
        estimate = np.zeros((len(entries), len(models.ngrams)), np.float32)
        score_alone(joined, phrases, inner, estimate)
        feature_tables = FeatureTables(
            static=entries.static,
            static_components=entries.static_components,
            distortions=np.array(features.distortions, np.int64),
            reordering=reordering,
            backward=backward,
            forward=forward,
            models=joined,
            phrases=phrases,
            lm_components=np.array([model.first for model in features.language_models], np.int64),
            unknown_components=np.array(
                [
                    model.first + 1 if model.counts_unknown else -1
                    for model in features.language_models
                ],
                np.int64,
            ),
        )
        return cls(
            system=system,
            source=source,
            entries=entries,
            tables=feature_tables,
            neural=_neural_models(system, entries, models),
            forward_class=forward_class,
            inner_log10=inner,
            estimate_log10=estimate,
            longest=source.longest_of(entries.first),
        )

    @cached_property
    def vocabulary(self) -> list[bytes]:
        """The target words by number."""
        return self.entries.vocabulary.words()

    @cached_property
    def _neural_words(self) -> NDArray[np.int32]:
        """The target words of all entries, as neural language models number them."""
        return self.neural.numbers[self.entries.words]

    @cached_property
    def unknown_words(self) -> NDArray[np.bool_]:
        """Whether no table translates a source word on its own, shape (source words,)."""
        unknown = self.entries.table == len(self.system.features.tables)
        return np.isin(self.source.word_phrases(), self.entries.phrases[unknown])

    def target_words(self, entry: int) -> list[bytes]:
        """Return the target phrase of a table entry."""
        begin, end = self.entries.word_offsets[entry : entry + 2].tolist()
        return [self.vocabulary[number] for number in self.entries.words[begin:end].tolist()]

    def feature_values(
        self, derivations: Derivations, scores: HistoryScores
    ) -> NDArray[np.float64]:
        """Compute all feature values of derivations of one sentence.

        Args:
            derivations: N derivations that cover it.
            scores: Of neural language models; what it knows of the sentence is not asked again.

        Returns:
            Unweighted values in the order of n-best lists, shape (N, F).
        """
        features = feature_values(derivations, self.tables, self.system.features.layout.size)
        if self.neural.networks:
            offsets = self.entries.word_offsets
            values = scores.values(derivations, self._neural_words, offsets)
            features[:, self.neural.components] = values
        return features

    def model(self, weights: NDArray[np.float64]) -> Model:
        """Weight everything, and choose the translation options.

        Args:
            weights: In the order of the feature vector, shape (F,).
        """
        tables, features = self.tables, self.system.features
        lm_weights = weights[tables.lm_components]
        static = tables.static @ weights[tables.static_components]
        static += LN_10 * (self.inner_log10 @ lm_weights)
        static += self._unknown_counts(weights)
        own, estimating = self._neural_weights(weights)
        stand_in = LN_10 * (self.inner_log10 @ (estimating - lm_weights))
        estimates = LN_10 * (self.estimate_log10 @ estimating) + stand_in
        future = (static + estimates).astype(np.float32)
        limits = [table.limit for table in features.tables]
        most = self.system.settings.max_trans_opt_per_coverage
        first, chosen = choose_entries(self.entries, limits, most, future)
        scores = np.tile(static[chosen].astype(np.float32), (CLASSES, 1))
        forward = np.zeros((CLASSES, len(chosen)), np.float32)
        values = tables.reordering[chosen]
        add_weighted(scores, values, weights, tables.backward)
        add_weighted(forward, values, weights, tables.forward)
        offsets, order = taken_runs(tables.phrases.first, chosen)
        words = np.ascontiguousarray(tables.phrases.words[:, order])
        return Model(
            options=Options(
                first=first,
                entry=chosen,
                future=future[chosen],
                score=scores,
                reach=highest_behind(scores, first),
                forward=forward,
                forward_class=self.forward_class[chosen],
            ),
            phrases=PhraseWords(offsets, words),
            models=tables.models,
            lm_weights=lm_weights,
            lowers=bool(np.all(lm_weights >= 0) and np.all(own >= 0)),
            distortion_weight=float(weights[tables.distortions].sum()),
            neural=self._neural_terms(own, estimating, chosen, stand_in[chosen])
            if np.any(own != 0)
            else None,
        )

    def _neural_weights(
        self, weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the weights of neural models, and those of n-gram models where these stand in.

        What neural models say of words that nothing covers yet is not known. The first n-gram
        model stands in for them there; without one they count nothing.
        """
        own = weights[self.neural.components]
        estimating = weights[self.tables.lm_components]
        estimating[:1] += own.sum()
        return own, estimating

    def _neural_terms(
        self,
        own: NDArray[np.float64],
        estimating: NDArray[np.float64],
        chosen: NDArray[np.int32],
        stand_in: NDArray[np.float64],
    ) -> NeuralTerms:
        """Return what the search must know of neural models, for the chosen options."""
        offsets, order = taken_runs(self.entries.word_offsets, chosen)
        return NeuralTerms(
            first=offsets,
            words=self._neural_words[order],
            boundary=self.neural.boundary,
            longest=int(np.diff(offsets).max(initial=0)),
            stand_in=stand_in,
            lm_weights=estimating,
            weights=own,
        )

    def _unknown_counts(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weighted counts of words that language models do not know, shape (E,)."""
        total = np.zeros(len(self.entries))
        first = self.entries.word_offsets
        for model, component in enumerate(self.tables.unknown_components.tolist()):
            if component >= 0:
                unknown = self.tables.phrases.words["word"][model] == 0
                counts = offsets_of(unknown)
                total += weights[component] * (counts[first[1:]] - counts[first[:-1]])
        return total


def _neural_models(system: System, entries: Entries, models: LoadedModels) -> NeuralModels:
    features = system.features.neural_models
    return NeuralModels.of(
        models.neural,
        models.outside,
        [feature.normalised for feature in features],
        [feature.first for feature in features],
        entries.vocabulary.words(),
    )


def _load_reordering(
    system: System, entries: Entries, source: SourcePhrases, parsed: ParsedTables
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return the reordering scores of all entries, shape (E, R), and their forward classes."""
    scores, rows = [], []
    for feature in system.features.reorderings:
        table = load_reordering_table(
            system.find(feature.path, feature.line),
            feature.columns,
            target=feature.uses_target,
            source=source,
            parsed=parsed,
        )
        found = _rows_of(entries, table, uses_target=feature.uses_target)
        rows.append(found)
        scores.append(reordering_scores(feature, table, found))
    classes = forward_classes(system.features.reorderings, scores, rows, len(entries))
    return np.column_stack([np.zeros((len(entries), 0), np.float32), *scores]), classes


def _rows_of(entries: Entries, table: TableEntries, *, uses_target: bool) -> NDArray[np.int64]:
    """Find the row of a reordering table for every entry, -1 for none."""
    numbers = entries.vocabulary.find_spans(*table.vocabulary.spans())
    words = numbers[table.words] if len(numbers) else table.words
    pairs = PhrasePairKeys(table.phrases, table.word_offsets, words)
    if uses_target:
        wanted = PhrasePairKeys(entries.phrases, entries.word_offsets, entries.words)
    else:
        empty = np.zeros(len(entries) + 1, np.int64)
        wanted = PhrasePairKeys(entries.phrases, empty, np.empty(0, np.int32))
    return find_rows(pairs, wanted)
