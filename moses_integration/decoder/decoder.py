"""Decode with a moses.ini: load once, then search as often as weights change.

>>> decoder = Decoder(MosesIni.read("moses.ini"))            # doctest: +SKIP
>>> loaded = decoder.load([(b"a", b"small", b"house")])      # doctest: +SKIP
>>> [decoded.words() for decoded in decoder.decode(loaded)]  # doctest: +SKIP
[[b'une', b'petite', b'maison']]
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.decoded_sentence import DecodedSentence, SentenceStatistics
from moses_integration.decoder.features.derivations import Derivations
from moses_integration.decoder.features.features import FeatureSet
from moses_integration.decoder.features.neural_models import products_on_one_core
from moses_integration.decoder.loaded_input import LoadedInput
from moses_integration.decoder.loading.parsed_tables import ParsedTables
from moses_integration.decoder.loading.system import LoadedModels, System, flat_weights
from moses_integration.decoder.own_features import CANDIDATES, WeightedFeature, reordered
from moses_integration.decoder.runs import offsets_of, taken_runs
from moses_integration.decoder.search.hypotheses import HYPOTHESIS, Limits
from moses_integration.decoder.search.k_best import OptionWords, best_paths, path_to
from moses_integration.decoder.search.options import spans_of
from moses_integration.decoder.search.stack_decoding import Model
from moses_integration.decoder.search.workspace import SearchWorkspace
from moses_integration.decoder.settings import CUBE_PRUNING, NBestSettings, SearchSettings
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.moses_ini import MosesIni
from phrasescore.compiled import Records
from phrasescore.errors import IniError


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
        features = FeatureSet.of(ini)
        if table_limit is not None:
            tables = tuple(replace(table, limit=table_limit) for table in features.tables)
            features = replace(features, tables=tables)
        values = {**features.layout.read_weights(ini), **(weights or {})}
        try:
            flat = flat_weights(features.layout, values)
        except IniError as error:
            raise error.at(ini.path) from None
        self.system = System(ini.path, features, settings or SearchSettings.of(ini), flat)
        self._parsed = ParsedTables(cache)
        self._models: LoadedModels | None = None
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
            self._models = LoadedModels.of(self.system, self._parsed)
        return LoadedInput.load(self.system, sentences, self._models, self._parsed)

    def decode(
        self,
        loaded: LoadedInput,
        *,
        weights: Mapping[str, Sequence[float]] | None = None,
        nbest: NBestSettings | None = None,
        threads: int = 1,
    ) -> Iterator[DecodedSentence]:
        """Decode all sentences of an input, in their order, whatever the number of threads.

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
        search = _InputSearch(loaded, loaded.model(flat), self.system.settings, nbest)
        numbers = range(len(loaded.source.sentences))
        with contextlib.ExitStack() as stack:
            stack.enter_context(products_on_one_core(loaded.neural))
            if threads == 1:
                yield from map(self._reordered, map(search.decode, numbers))
                return
            pool = ThreadPoolExecutor(threads)
            stack.callback(pool.shutdown, cancel_futures=True)
            yield from map(self._reordered, pool.map(search.decode, numbers))

    def _reordered(self, decoded: DecodedSentence) -> DecodedSentence:
        """Let the features of our own say which candidate is the best."""
        return reordered(decoded, self._own_features) if self._own_features else decoded


class _InputSearch:
    """The search of one input with one set of weights; threads share it."""

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
            stack=settings.stack,
            beam_ln=settings.beam_ln,
            distortion=max(-1, settings.distortion_limit),
            keep_arcs=nbest is not None,
            joins_by_end=bool(features.distortions),
            joins_by_span=bool(features.reorderings),
            pop_limit=settings.cube_pruning_pop_limit,
            diversity=settings.cube_pruning_diversity,
        )
        self._longest = max((len(words) for words in loaded.source.sentences), default=0)
        self._own = threading.local()

    def _workspace(self) -> SearchWorkspace:
        if not hasattr(self._own, "workspace"):
            models = len(self._loaded.system.features.language_models)
            self._own.workspace = SearchWorkspace(
                self._longest, self._limits.stack, models, self._loaded.neural
            )
        workspace: SearchWorkspace = self._own.workspace
        return workspace

    def decode(self, number: int) -> DecodedSentence:
        """Decode one sentence."""
        words = self._loaded.source.sentences[number]
        size = self._loaded.system.features.layout.size
        if not len(words):
            # Moses gives it the score 0, without the end of the sentence
            derivations = Derivations.of(offsets_of([0]), words, np.empty(0, HYPOTHESIS), words)
            return DecodedSentence(
                number, self._loaded, derivations, np.zeros((1, size)), np.zeros(1)
            )
        start = time.perf_counter()
        workspace, options = self._workspace(), self._model.options
        sentence = spans_of(words, self._loaded.source.trie, options, self._loaded.longest)
        complete = workspace.search(
            self._model, sentence, self._limits, cube_pruning=self._cube_pruning
        )
        records = workspace.stacks.records[: workspace.stacks.used[0]]
        offsets, hypotheses, totals = self._paths(records, complete, len(words))
        derivations = Derivations.of(offsets, hypotheses, records, options.entry)
        scores = workspace.history_scores
        asked, read = scores.asked, scores.read
        features = self._loaded.feature_values(derivations, scores)
        statistics = SentenceStatistics(
            words=len(words),
            options=int((sentence.stop - sentence.begin).sum()),
            hypotheses=len(records),
            complete=len(complete),
            asked=asked,
            histories=read,
            seconds=time.perf_counter() - start,
        )
        return DecodedSentence(number, self._loaded, derivations, features, totals, statistics)

    def _paths(
        self, records: Records, complete: NDArray[np.int32], length: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Return where derivations begin, their hypotheses, and their totals."""
        if not len(complete):
            return offsets_of([]), np.empty(0, np.int32), np.zeros(0)
        if self._nbest is None:
            path = path_to(records, int(complete[0]))
            return np.array([0, len(path)]), path, records["total"][complete[:1]]
        return best_paths(records, complete, self._target, self._nbest, length)

    @cached_property
    def _target(self) -> OptionWords:
        """The target words of all options."""
        entries = self._loaded.entries
        first, order = taken_runs(entries.word_offsets, self._model.options.entry)
        return OptionWords(first, entries.words[order])
