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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.derivations import Derivations
from moses_integration.decoder.features.features import FeatureSet
from moses_integration.decoder.features.neural import products_on_one_core
from moses_integration.decoder.loaded_input import (
    LoadedInput,
    LoadedModels,
    System,
    flat_weights,
)
from moses_integration.decoder.loading.table_loading import ParsedTables
from moses_integration.decoder.search.k_best import best_paths, path_to
from moses_integration.decoder.search.options import spans_of
from moses_integration.decoder.search.stack_decoding import Model
from moses_integration.decoder.search.stacks import Limits
from moses_integration.decoder.search.workspace import SearchWorkspace
from moses_integration.decoder.settings import CUBE_PRUNING, NBestSettings, SearchSettings
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.moses_ini import MosesIni
from phrasescore.compiled import Records
from phrasescore.errors import IniError, SettingsError

CANDIDATES = 100  # that are reordered where no list is asked for

Words = Sequence[bytes]


@dataclass(frozen=True)
class SentenceStatistics:
    """What the search of one sentence cost.

    Attributes:
        words: Source words.
        options: Translation options of all spans.
        hypotheses: Hypotheses that were kept at some time.
        complete: Hypotheses that cover the sentence.
        asked: Words that neural language models were asked for.
        histories: Histories that went through one for that.
        seconds: Time it took.
    """

    words: int = 0
    options: int = 0
    hypotheses: int = 0
    complete: int = 0
    asked: int = 0
    histories: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class DecodedSentence:
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


class OwnFeature(Protocol):
    """Scores candidates: a feature that no moses.ini knows.

    It gets all candidates of a sentence at once, so that a neural model can score them in one
    batch. Its values reorder the candidates and join the others in n-best lists under its name,
    where tuning finds it.

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
        loaded, model = self._loaded, self._model
        words = loaded.source.sentences[number]
        if not len(words):
            # Moses gives it the score 0, without the end of the sentence
            derivations = Derivations(np.zeros(2, np.int64), words, words, words)
            features = np.zeros((1, loaded.system.features.layout.size))
            return DecodedSentence(number, loaded, derivations, features, np.zeros(1))
        start = time.perf_counter()
        workspace = self._workspace()
        sentence = spans_of(words, loaded.source.trie, model.options, loaded.longest)
        complete = workspace.search(model, sentence, self._limits, cube_pruning=self._cube_pruning)
        records = workspace.stacks.records[: workspace.stacks.used[0]]
        offsets, hypotheses, totals = self._paths(records, complete)
        phrases = records[hypotheses]
        derivations = Derivations(
            offsets,
            model.options.entry[phrases["option"]],
            phrases["start"].astype(np.int32),
            phrases["end"].astype(np.int32),
        )
        scores = workspace.history_scores
        asked, read = scores.asked, scores.read
        features = loaded.feature_values(derivations, scores)
        statistics = SentenceStatistics(
            words=len(words),
            options=int((sentence.stop - sentence.begin).sum()),
            hypotheses=len(records),
            complete=len(complete),
            asked=asked,
            histories=read,
            seconds=time.perf_counter() - start,
        )
        return DecodedSentence(number, loaded, derivations, features, totals, statistics)

    def _paths(
        self, records: Records, complete: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Return where derivations begin, their hypotheses, and their totals."""
        if not len(complete):
            return np.zeros(1, np.int64), np.empty(0, np.int32), np.zeros(0)
        if self._nbest is None:
            path = path_to(records, int(complete[0]))
            return np.array([0, len(path)]), path, records["total"][complete[:1]]
        first, words = self._model.phrases.first, self._model.words
        return best_paths(records, complete, first, words, self._nbest, self._nbest.pops)


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
