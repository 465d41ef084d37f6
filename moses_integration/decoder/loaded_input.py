"""A system as declared in an ini, and one input with its table entries and model scores.

The weights may change between searches; nothing that is loaded depends on them.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features import lm_scoring
from moses_integration.decoder.features.derivations import Derivations, FeatureTables
from moses_integration.decoder.features.features import FeatureSet, ModelFeature
from moses_integration.decoder.features.neural import HistoryScores, NeuralModels, NeuralTerms
from moses_integration.decoder.features.reordering import (
    CLASSES,
    ReorderingFeature,
    add_weighted,
    forward_classes,
    orientation_places,
)
from moses_integration.decoder.loading import table_loading
from moses_integration.decoder.loading.source_phrases import SourcePhrases
from moses_integration.decoder.search.stack_decoding import Model
from moses_integration.decoder.search.translation_options import (
    Entries,
    Options,
    choose_entries,
    collect_entries,
    phrase_words,
)
from moses_integration.decoder.settings import SearchSettings
from moses_integration.ini.model_files import find_model_file
from moses_integration.language_model.automaton import AutomatonTables
from moses_integration.language_model.back_off import LN_10, ArrayLanguageModel, read_language_model
from moses_integration.language_model.neural import read_feed_forward_lm
from phrasescore.model.folder import LoadedModel, load_outside
from phrasescore.runs.identity import sha256_of
from phrasescore.table.input_files import HIDDEN_GZIP, is_hidden_gzip
from phrasescore.words.token_sequences import offsets_of, taken_runs
from phrasescore.words.vocabulary import OutsideWords
from phrasescore.words.word_table import WordTable

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class System:
    """The content of an ini.

    Args:
        ini: The path of the ini, for errors.
        features: The features.
        settings: The search settings.
        weights: The weights in the order of the feature vector, shape (F,).
    """

    ini: str
    features: FeatureSet
    settings: SearchSettings
    weights: NDArray[np.float64]

    def find(self, feature: ModelFeature | ReorderingFeature) -> Path:
        """Find the file that a line of the ini names.

        Raises:
            InputError: The file does not exist.
        """
        found = find_model_file(feature.path)
        if found != Path(feature.path):
            told = self.ini, feature.line, feature.path, found
            _log.warning("%s:%d: %s does not exist; reading %s instead", *told)
        if isinstance(feature, ReorderingFeature) and is_hidden_gzip(found):
            _log.warning("%s: %s", found, HIDDEN_GZIP)
        return found


class LanguageModels(NamedTuple):
    """The language models of a system, in the order of its features.

    Attributes:
        ngrams: The n-gram models.
        neural: Each neural language model with the words outside its shortlist, which share
            p(<unk>); ``None`` in place of the words if each such word gets all of p(<unk>).
    """

    ngrams: list[ArrayLanguageModel]
    neural: list[tuple[LoadedModel, OutsideWords | None]]

    @classmethod
    def load(cls, system: System, cache: Path | None) -> LanguageModels:
        """Load the models that a system names.

        Args:
            system: The system.
            cache: The folder of parsed models; ``None`` keeps nothing on disk.

        Raises:
            InputError: A model cannot be read, is damaged, or has a type that decoding cannot use.
        """
        features = system.features
        ngrams = [_load_ngram_model(system.find(each), cache) for each in features.language_models]
        neural = []
        for model in features.neural_models:
            path = system.find(model)
            stored = read_feed_forward_lm(path)
            neural.append((stored, load_outside(path) if model.shares_unknown else None))
        return cls(ngrams, neural)


def _load_ngram_model(path: Path, cache: Path | None) -> ArrayLanguageModel:
    """Read an ARPA file or a KenLM binary, or load its parsed arrays from the cache.

    Raises:
        LanguageModelError: The file has neither format, or is damaged.
        InputError: The file cannot be read.
    """

    def parse() -> table_loading.Arrays:
        model = read_language_model(path)
        numbers = np.array([model.order, model.begin_state, model.end_word])
        return [numbers, *model.tables, *model.words.arrays]

    key = "language model", sha256_of(path)
    numbers, unigrams, nodes, slots, *words = table_loading.cached_arrays(cache, key, parse)
    order, begin_state, end_word = numbers.tolist()
    tables = AutomatonTables(unigrams, nodes, slots)
    return ArrayLanguageModel(order, begin_state, end_word, tables, WordTable.from_arrays(*words))


@dataclass(frozen=True)
class LoadedInput:
    """An input, with the table entries that it needs.

    Args:
        system: The system.
        source: The input's phrases.
        entries: The phrase pairs of all tables.
        tables: The arrays from which features are computed.
        neural: The neural language models.
        forward_class: The index of each entry's class, shape (E,); entries with equal forward
            reordering scores share a class.
        inner_log10: The log10 probability of the target words whose n - 1 predecessors are all in
            the phrase, by each n-gram model, shape (E, models).
        estimate_log10: The log10 probability of the first n - 1 words, scored as if nothing
            preceded the phrase, shape (E, models).
        longest: The number of words of the longest source phrase that has entries.
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
        models: LanguageModels,
        loader: table_loading.TableLoader,
    ) -> LoadedInput:
        """Load the table entries that the input needs.

        Args:
            system: The system.
            sentences: The input.
            models: The system's language models.
            loader: The loader of the tables.

        Raises:
            InputError: A table cannot be read.
            PhraseTableError: A table violates its format or disagrees with the ini.
        """
        features, settings = system.features, system.settings
        source = SourcePhrases(sentences, settings.max_phrase_length)
        tables = [
            loader.load(system.find(table), table.scores, f"{system.ini}:{table.line}", source)
            for table in features.tables
        ]
        entries = collect_entries(features, tables, source, drop_unknown=settings.drop_unknown)
        reordering, forward_class = _load_reordering(system, entries, source, loader)
        backward, forward = orientation_places(features.reorderings)
        joined = lm_scoring.join_models(models.ngrams)
        phrases = phrase_words(entries, [model.words for model in models.ngrams])
        inner, estimate = lm_scoring.score_alone(joined, phrases)
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
                [model.unknown for model in features.language_models], np.int64
            ),
        )
        return cls(
            system=system,
            source=source,
            entries=entries,
            tables=feature_tables,
            neural=NeuralModels.prepare(
                features.neural_models, models.neural, entries.vocabulary.words()
            ),
            forward_class=forward_class,
            inner_log10=inner,
            estimate_log10=estimate,
            longest=source.longest_of(entries.first),
        )

    @cached_property
    def vocabulary(self) -> list[bytes]:
        """The target words, by index."""
        return self.entries.vocabulary.words()

    @cached_property
    def unknown_words(self) -> NDArray[np.bool_]:
        """For each source word, whether no table has it as a source phrase, shape (words,)."""
        unknown = self.entries.table == len(self.system.features.tables)
        return np.isin(self.source.word_phrases(), self.entries.phrases[unknown])

    def target_words(self, entry: int) -> list[bytes]:
        """Return the target phrase of a table entry."""
        targets = self.entries.targets
        begin, end = targets.word_offsets[entry : entry + 2].tolist()
        return [self.vocabulary[number] for number in targets.words[begin:end].tolist()]

    def feature_values(
        self, derivations: Derivations, scores: HistoryScores
    ) -> NDArray[np.float64]:
        """Compute all feature values of derivations of one sentence.

        Args:
            derivations: N derivations that cover the sentence.
            scores: The scores of neural language models for this sentence; scores of earlier calls
                are not computed again.

        Returns:
            Unweighted values in the order of n-best lists, shape (N, F).
        """
        features = self.tables.values(derivations, self.system.features.layout.size)
        if self.neural.networks:
            words, offsets = self.entries.targets.words, self.entries.targets.word_offsets
            features[:, self.neural.components] = scores.values(derivations, words, offsets)
        return features

    def model(self, weights: NDArray[np.float64]) -> Model:
        """Apply the weights to all scores, and choose the translation options.

        Args:
            weights: The weights in the order of the feature vector, shape (F,).
        """
        tables, features = self.tables, self.system.features
        lm_weights = weights[tables.lm_components]
        static = tables.static @ weights[tables.static_components]
        static += LN_10 * (self.inner_log10 @ lm_weights)
        static += self._unknown_counts(weights)
        # The neural models need the history, so they cannot contribute to the future cost of
        # uncovered words: there the first n-gram model replaces the neural models. Without an
        # n-gram model, the neural share of the future cost is 0.
        own = weights[self.neural.components]
        estimating = lm_weights.copy()
        estimating[:1] += own.sum()
        stand_in = LN_10 * (self.inner_log10 @ (estimating - lm_weights))
        estimates = LN_10 * (self.estimate_log10 @ estimating) + stand_in
        future = (static + estimates).astype(np.float32)
        limits = [table.limit for table in features.tables]
        max_options = self.system.settings.max_trans_opt_per_coverage
        first, chosen = choose_entries(self.entries, limits, max_options, future)
        scores = np.tile(static[chosen].astype(np.float32), (CLASSES, 1))
        forward = np.zeros((CLASSES, len(chosen)), np.float32)
        values = tables.reordering[chosen]
        add_weighted(scores, values, weights, tables.backward)
        add_weighted(forward, values, weights, tables.forward)
        offsets, order = taken_runs(tables.phrases.first, chosen)
        phrases = lm_scoring.PhraseWords(
            offsets, np.ascontiguousarray(tables.phrases.words[:, order])
        )
        neural = None
        if np.any(own != 0):
            neural = NeuralTerms(
                numbers=self.neural.numbers,
                boundary=self.neural.boundary,
                longest=int(np.diff(offsets).max(initial=0)),
                stand_in=stand_in[chosen],
                lm_weights=estimating,
                weights=own,
            )
        return Model(
            options=Options(
                first, chosen, future[chosen], scores, forward, self.forward_class[chosen]
            ),
            words=self.entries.targets.words[order],
            language=lm_scoring.PhraseScorer(
                tables.models, phrases, lm_scoring.recent_answers(len(lm_weights))
            ),
            lm_weights=lm_weights,
            lowers=bool(np.all(lm_weights >= 0) and np.all(own >= 0)),
            distortion_weight=float(weights[tables.distortions].sum()),
            neural=neural,
        )

    def _unknown_counts(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return each entry's weighted count of words that the models do not know, shape (E,)."""
        total = np.zeros(len(self.entries))
        first = self.entries.targets.word_offsets
        for model, component in enumerate(self.tables.unknown_components.tolist()):
            if component >= 0:
                unknown = self.tables.phrases.words["word"][model] == 0
                total += weights[component] * np.diff(offsets_of(unknown)[first])
        return total


def _load_reordering(
    system: System, entries: Entries, source: SourcePhrases, loader: table_loading.TableLoader
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return the reordering scores of all entries, shape (E, R), and their forward classes."""
    features = system.features.reorderings
    scores, rows = [], []
    for feature in features:
        path, where = system.find(feature), f"{system.ini}:{feature.line}"
        table = loader.load(path, feature.columns, where, source, reordering=True)
        found = _rows_of(entries, table)
        missing = np.array(feature.default_ln or (0.0,) * feature.columns, np.float32)
        values = np.tile(missing, (len(entries), 1))
        values[found >= 0] = table.scores[found[found >= 0]]
        rows.append(found)
        scores.append(values)
    classes = forward_classes(features, scores, rows, len(entries))
    return np.column_stack([np.zeros((len(entries), 0), np.float32), *scores]), classes


def _rows_of(entries: Entries, table: table_loading.TableEntries) -> NDArray[np.int64]:
    """For each entry, find the last row of a reordering table with the same pair, -1 for none."""
    numbers = entries.vocabulary.find_spans(*table.vocabulary.spans())
    offsets, words, *_ = table.targets
    pairs = WordTable()
    rows = pairs.add_spans(*_pair_bytes(table.phrases, offsets, numbers[words]))
    # a pair that is not found has the index -1, which selects the last element: it is always -1
    last = np.full(len(pairs) + 1, -1)
    last[rows] = np.arange(len(rows))
    offsets, words, *_ = entries.targets
    return last[pairs.find_spans(*_pair_bytes(entries.phrases, offsets, words))]


def _pair_bytes(
    phrases: NDArray[np.int32], offsets: NDArray[np.int64], words: NDArray[np.int32]
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Return phrase pairs as byte strings in one array, with the begin and the end of each.

    Args:
        phrases: The index of the source phrase of each pair, shape (pairs,).
        offsets: The start of each pair's target words, shape (pairs + 1,).
        words: The indexes of the target words.
    """
    numbers = np.insert(words, offsets[:-1], phrases)
    bounds = 4 * (offsets + np.arange(len(offsets)))
    return numbers.view(np.uint8), bounds[:-1], bounds[1:]
