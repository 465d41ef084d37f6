"""Translate with a moses.ini: load once, then search as often as weights change.

>>> decoder = Decoder(MosesIni.read("moses.ini"))            # doctest: +SKIP
>>> loaded = decoder.load([(b"a", b"small", b"house")])      # doctest: +SKIP
>>> [translation.words() for translation in decoder.translate(loaded)]  # doctest: +SKIP
[[b'une', b'petite', b'maison']]
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.derivations import Derivations, feature_values
from moses_integration.decoder.features.search_settings import CUBE_PRUNING, SearchSettings
from moses_integration.decoder.loaded_input import LoadedInput
from moses_integration.decoder.loading.entries import permuted
from moses_integration.decoder.loading.parsed_tables import ParsedTables
from moses_integration.decoder.loading.system import System, flat_weights, load_language_model
from moses_integration.decoder.own_features import CANDIDATES, WeightedFeature, reordered
from moses_integration.decoder.search.hypotheses import HYPOTHESIS, Limits
from moses_integration.decoder.search.k_best import NBestSettings, best_paths, path_to
from moses_integration.decoder.search.options import spans_of
from moses_integration.decoder.search.stack_decoding import Model
from moses_integration.decoder.search.workspace import Workspace
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.language_model.back_off import ArrayLanguageModel
from phrasescore.compiled import Records


@dataclass(frozen=True)
class SentenceStatistics:
    """What the search of one sentence cost.

    Attributes:
        words: Source words.
        options: Translation options of all spans.
        hypotheses: Hypotheses that were kept at some time.
        complete: Hypotheses that cover the sentence.
        seconds: Time it took.
    """

    words: int = 0
    options: int = 0
    hypotheses: int = 0
    complete: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Translation:
    """The translations of one sentence, the best first.

    An empty sentence has one translation without phrases; a sentence that cannot be covered has
    none.

    Args:
        sentence: Its number in the loaded input, from 0.
        loaded: The input it is from.
        derivations: The N derivations; one, unless a list was asked for.
        features: Their unweighted feature values, in the order of the layout, shape (N, F).
        totals: Their model scores, shape (N,).
        statistics: What the search cost.
        first: The number of its input's first sentence, where that is a part of a file.
        own_features: Values of features of our own by name, each of shape (N, components).
    """

    sentence: int
    loaded: LoadedInput
    derivations: Derivations
    features: NDArray[np.float64]
    totals: NDArray[np.float64]
    statistics: SentenceStatistics = SentenceStatistics()
    first: int = 0
    own_features: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """The number of the sentence in its file, from 0."""
        return self.first + self.sentence

    def __len__(self) -> int:
        return len(self.totals)

    def entries(self, number: int = 0) -> NDArray[np.int32]:
        """Return the table entries of one derivation, in the order they are applied."""
        begin, end = self.derivations.offsets[number : number + 2]
        return self.derivations.entries[begin:end]

    def source(self) -> list[bytes]:
        """Return the words of the source sentence."""
        numbers = self.loaded.source.sentences[self.sentence].tolist()
        return [self.loaded.source.words.word(number) for number in numbers]

    def words(self, number: int = 0) -> list[bytes]:
        """Return the target words of one derivation."""
        return [word for entry in self.entries(number) for word in self.loaded.target_words(entry)]


class Decoder:
    """A decoder for one moses.ini.

    Args:
        ini: The ini.
        settings: Replaces what the ini says about the search.
        weights: Replaces the weights of the features named.
        table_limit: Replaces the limit of all phrase tables.
        cache: Folder of parsed tables and models; ``None`` keeps nothing on disk.
        own_features: Features that the ini does not know, which reorder n-best lists.

    Raises:
        IniError: Something in the ini is unknown or makes no sense.
        SettingsError: A setting makes no sense.
    """

    def __init__(
        self,
        ini: MosesIni,
        *,
        settings: SearchSettings | None = None,
        weights: Mapping[str, Sequence[float]] | None = None,
        table_limit: int | None = None,
        cache: Path | None = None,
        own_features: Sequence[WeightedFeature] = (),
    ) -> None:
        self.system = System.of(ini, settings=settings, weights=weights, table_limit=table_limit)
        self._parsed = ParsedTables(cache)
        self._models: list[ArrayLanguageModel] | None = None
        self._own_features = tuple(own_features)

    @property
    def layout(self) -> FeatureLayout:
        """The order of the feature vector."""
        return self.system.features.layout

    def load(self, sentences: Sequence[Sequence[bytes]]) -> LoadedInput:
        """Load what an input needs of tables and models.

        Args:
            sentences: The words of each sentence.

        Raises:
            InputError: A table or model is missing, damaged, or disagrees with the ini.
        """
        if self._models is None:
            self._models = [
                load_language_model(self.system.find(model.path, model.line), self._parsed)
                for model in self.system.features.language_models
            ]
        return LoadedInput.load(self.system, sentences, self._models, self._parsed)

    def translate(
        self,
        loaded: LoadedInput,
        *,
        weights: Mapping[str, Sequence[float]] | None = None,
        nbest: NBestSettings | None = None,
        threads: int = 1,
    ) -> Iterator[Translation]:
        """Translate all sentences of an input, in their order, with any number of threads.

        Args:
            loaded: The input.
            weights: Of all features; ``None`` takes those of the ini and the constructor.
            nbest: What list of derivations is wanted; ``None`` for the best one.
            threads: How many sentences are searched at once.

        Raises:
            IniError: The weights do not fit the features, or one is not finite.
        """
        flat = self.system.weights if weights is None else flat_weights(self.layout, weights)
        if self._own_features and nbest is None:
            nbest = NBestSettings(CANDIDATES)
        run = _Run(loaded, loaded.model(flat), self.system.settings, nbest)
        numbers = range(len(loaded.source.sentences))
        if threads == 1:
            yield from map(self._reordered, map(run.translate, numbers))
            return
        pool = ThreadPoolExecutor(threads)
        try:
            yield from map(self._reordered, pool.map(run.translate, numbers))
        finally:
            pool.shutdown(cancel_futures=True)

    def _reordered(self, translation: Translation) -> Translation:
        """Let the features of our own say which candidate is the best."""
        return reordered(translation, self._own_features) if self._own_features else translation


class _Run:
    """The translation of one input with one set of weights; threads share it."""

    def __init__(
        self,
        loaded: LoadedInput,
        model: Model,
        settings: SearchSettings,
        nbest: NBestSettings | None,
    ) -> None:
        self._loaded, self._model, self._nbest = loaded, model, nbest
        self._cube_pruning = settings.search_algorithm == CUBE_PRUNING
        features = loaded.system.features
        self._limits = Limits(
            settings.stack,
            settings.beam_ln,
            max(-1, settings.distortion_limit),
            nbest is not None,
            bool(features.distortions),
            bool(features.reorderings),
            settings.cube_pruning_pop_limit,
            settings.cube_pruning_diversity,
        )
        self._longest = max((len(words) for words in loaded.source.sentences), default=0)
        self._own = threading.local()

    def _workspace(self) -> Workspace:
        if not hasattr(self._own, "workspace"):
            models = len(self._loaded.system.features.language_models)
            self._own.workspace = Workspace(self._longest, self._limits.stack, models)
        workspace: Workspace = self._own.workspace
        return workspace

    def translate(self, number: int) -> Translation:
        """Translate one sentence."""
        words = self._loaded.source.sentences[number]
        size = self._loaded.system.features.layout.size
        if not len(words):
            # Moses gives it the score 0, without the end of the sentence
            derivations = Derivations.of([words], np.empty(0, HYPOTHESIS), words)
            return Translation(number, self._loaded, derivations, np.zeros((1, size)), np.zeros(1))
        start = time.perf_counter()
        workspace, options = self._workspace(), self._model.options
        sentence = spans_of(words, self._loaded.source.trie, options, self._loaded.longest)
        complete = workspace.search(
            self._model, sentence, self._limits, cube_pruning=self._cube_pruning
        )
        records = workspace.stacks.records[: workspace.stacks.used[0]]
        paths, totals = self._paths(records, complete, len(words))
        derivations = Derivations.of(paths, records, options.entry)
        features = feature_values(derivations, self._loaded.tables, size)
        statistics = SentenceStatistics(
            len(words),
            int((sentence.stop - sentence.begin).sum()),
            len(records),
            len(complete),
            time.perf_counter() - start,
        )
        return Translation(number, self._loaded, derivations, features, totals, statistics)

    def _paths(
        self, records: Records, complete: NDArray[np.int32], length: int
    ) -> tuple[list[NDArray[np.int32]], NDArray[np.float64]]:
        if not len(complete):
            return [], np.zeros(0)
        if self._nbest is None:
            return [path_to(records, int(complete[0]))], records["total"][complete[:1]]
        phrases = self._model.phrases
        words = (phrases.first, self._words)
        return best_paths(records, complete, words, self._nbest, length)

    @cached_property
    def _words(self) -> NDArray[np.int32]:
        """The target words of all options."""
        entries = self._loaded.entries
        _, order = permuted(entries.word_offsets, self._model.options.entry)
        return entries.words[order]
