"""Decodes with a moses.ini: loads models once, then decodes any sentences with any weights."""

from __future__ import annotations

import contextlib
import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.derivations import Derivations
from moses_integration.decoder.features.features import FeatureSet
from moses_integration.decoder.features.lm_scoring import recent_answers
from moses_integration.decoder.features.neural import HistoryScores, products_on_one_core
from moses_integration.decoder.loaded_input import LanguageModels, LoadedInput, System
from moses_integration.decoder.loading.source_phrases import parse_sentence
from moses_integration.decoder.loading.table_loading import TableLoader
from moses_integration.decoder.output import DecodedSentence
from moses_integration.decoder.rescoring import BLOCK, Rescorer
from moses_integration.decoder.search.coverage import Coverages, SentenceSpans
from moses_integration.decoder.search.cube_pruning import (
    Cubes,
    search_cubes,
    search_cubes_with_networks,
)
from moses_integration.decoder.search.k_best import best_paths
from moses_integration.decoder.search.neural_search import Waiting, search_with_networks, settle
from moses_integration.decoder.search.stack_decoding import (
    DONE,
    NEEDS_SCORES,
    PROGRESS,
    Model,
    SentenceSearch,
    search_stacks,
)
from moses_integration.decoder.search.stacks import Limits, Stacks
from moses_integration.decoder.search.translation_options import spans_of
from moses_integration.decoder.settings import CUBE_PRUNING, NBestSettings, SearchSettings
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.model_files import find_model_file
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.ini.problems import section_problems
from phrasescore.closed_settings import check_path, check_type, check_whole_number
from phrasescore.errors import InputError, SettingsError, located
from phrasescore.runs.stream import in_order

_log = logging.getLogger(__name__)
_AHEAD = 2 * BLOCK  # the number of sentences to decode ahead; their n-best lists are in memory
CANDIDATES = 100  # candidates for own features: the minimum in `translate`, the default in `decode`

Words = Sequence[bytes]


@dataclass(frozen=True)
class WeightedFeature:
    """A feature of your own, which no moses.ini declares; its values reorder candidates.

    N-best lists show the values under the feature's name, and tuning reads them from there.

    Args:
        name: The name in n-best lists, without blanks, ``=`` and ``|``; no other feature has it.
        scores: A function that takes the words of the source and of each of its N candidates, and
            returns finite values, shape (N, weights). It gets all candidates at once, so that a
            neural model can score them in one batch.
        weights: One weight for each value of a candidate.
    """

    name: str
    scores: Callable[[Words, Sequence[Words]], NDArray[np.float64]]
    weights: tuple[float, ...]


@dataclass(frozen=True)
class Translation:
    """One translation of a sentence.

    Attributes:
        text: The translation, words separated by spaces.
        score: The model score, which is the weighted sum of the features (natural logarithms).
        features: The unweighted values of each feature, by the feature's name in n-best lists.
    """

    text: str
    score: float
    features: Mapping[str, tuple[float, ...]]


class Decoder:
    """A decoder for one moses.ini, or for the whole system in a folder.

    If the folder is named, relative paths in its ini start there, and the models and programs in
    its ``rescoring.json``, if it has one, choose among the candidates of the search. If the ini is
    named, relative paths start at the current directory, and the search alone chooses.

    Args:
        ini: The path of the folder or of the ini, or the parsed ini.
        settings: Search settings that replace the settings of the ini.
        weights: Weights, by feature, that replace the weights of the ini; features that are not
            listed keep their weights.
        table_limit: A limit that replaces the limit of every phrase table.
        cache: The folder for parsed tables and models; ``None`` keeps nothing on disk.
        own_features: Features that the ini does not declare; they reorder candidates.
        scorers: The command of each program that ``rescoring.json`` needs, by name.

    Raises:
        IniError: The ini contains something unknown or invalid.
        InputError: A phrase table is missing.
        TypeError: An argument has another type.
        SettingsError: A setting is invalid, or the name or a weight of an own feature.
    """

    def __init__(
        self,
        ini: MosesIni | str | Path,
        *,
        settings: SearchSettings | None = None,
        weights: Mapping[str, Sequence[float]] | None = None,
        table_limit: int | None = None,
        cache: Path | None = None,
        own_features: Sequence[WeightedFeature] = (),
        scorers: Mapping[str, str] | None = None,
    ) -> None:
        if not isinstance(ini, MosesIni):
            check_path("ini", ini)
            ini = MosesIni.read(ini)
        check_type("settings", settings, SearchSettings | None, "SearchSettings")
        if cache is not None:
            check_path("cache", cache)
        features = FeatureSet.from_ini(ini)
        for _, problem in section_problems(ini):  # short names; anything else was refused
            _log.warning("%s", problem)
        if table_limit is not None:
            tables = tuple(replace(table, limit=table_limit) for table in features.tables)
            features = replace(features, tables=tables)
        values = {**features.layout.read_weights(ini), **(weights or {})}
        with located(ini.path):
            flat = features.flat_weights(values)
        for table in features.tables:  # report a wrong path now, not at the first sentence
            find_model_file(table.path)
        self.system = System(ini.path, features, settings or SearchSettings.from_ini(ini), flat)
        self._base, self._scorers = ini.base, scorers or {}
        self._tables = TableLoader(cache)
        self._whole_tables = TableLoader(cache, in_memory=True)
        self._lock = threading.Lock()
        self._own_features = tuple(own_features)
        names = [*features.layout.slices, *(feature.name for feature in self._own_features)]
        for feature in self._own_features:
            if not re.fullmatch(r"[^\s=|]+", feature.name) or names.count(feature.name) > 1:
                raise SettingsError(
                    f"an own feature is called {feature.name!r}",
                    remedy="choose a name without blanks, = and |, which no other feature has",
                )
            if len(feature.weights) == 0 or not np.isfinite(feature.weights).all():
                raise SettingsError(
                    f"the weights of {feature.name} are {feature.weights}, expected finite numbers"
                )

    @property
    def layout(self) -> FeatureLayout:
        """The order of the feature vector."""
        return self.system.features.layout

    @cached_property
    def rescorer(self) -> Rescorer | None:
        """What chooses among the candidates of the search, if anything does.

        Raises:
            PhrasescoreError: The system's ``rescoring.json`` or a command cannot be used.
        """
        return Rescorer.of_system(self._base, self.layout, self._scorers)

    @cached_property
    def _models(self) -> LanguageModels:
        return LanguageModels.load(self.system, self._tables.cache)

    def load(
        self, sentences: Sequence[Sequence[bytes]], *, keep_tables: bool = False
    ) -> LoadedInput:
        """Load the models, and the table entries that an input needs.

        Args:
            sentences: The words of each sentence.
            keep_tables: Whether to keep whole tables in memory for the next inputs.

        Raises:
            InputError: A table or model is missing, damaged, or disagrees with the ini.
        """
        tables = self._whole_tables if keep_tables else self._tables
        with self._lock:
            return LoadedInput.load(self.system, sentences, self._models, tables)

    def translate(
        self, sentences: Sequence[str], *, nbest: int = 1, threads: int = 1
    ) -> list[list[Translation]]:
        """Translate sentences, as ``phrasescore decode`` does.

        The first call reads all tables and models, which then stay in memory.

        Args:
            sentences: N strings, prepared like the training text (``phrasescore preprocess``),
                words separated by spaces.
            nbest: The maximum number of translations of a sentence, no two with the same words.
                Features of your own reorder up to 100 candidates even if ``nbest`` is lower.
            threads: The number of sentences to search at once.

        Returns:
            N lists, each with the best translation first. A list is empty if the phrases of the
            tables cannot cover the sentence.

        Raises:
            TypeError: ``sentences`` is not a list of strings, or a number is not a whole number.
            SettingsError: A number is out of bounds.
            InputError: A sentence contains markup or is too long, or a table or model is missing,
                damaged, or disagrees with the ini.
        """
        if isinstance(sentences, str | bytes) or not isinstance(sentences, Sequence):
            raise TypeError(f"expected a list of sentences, got {type(sentences).__name__}")
        check_whole_number("nbest", nbest, 1, 100_000)
        check_whole_number("threads", threads, 1, 256)
        words = [_words_of(sentence, number) for number, sentence in enumerate(sentences)]
        size = max(nbest, CANDIDATES) if self._own_features else nbest
        wanted = NBestSettings(size) if size > 1 else None
        found = self.decode(self.load(words, keep_tables=True), nbest=wanted, threads=threads)
        return [list(_translations(decoded, nbest)) for decoded in found]

    def translate_text(self, lines: Sequence[str], *, threads: int = 1) -> list[str]:
        """Translate raw text, as ``phrasescore decode --raw`` does.

        Args:
            lines: N strings, as people write them. A line with too many words is cut where
                sentences end.
            threads: The number of sentences to search at once.

        Returns:
            N strings: the finished translations.

        Raises:
            TypeError: ``lines`` is not a list of strings.
            InputError: There is no ``text.json`` beside the ini, a sentence is too long, or a table
                or model is missing, damaged, or disagrees with the ini.
        """
        from moses_integration.decoder.raw_text import RawText  # late, for a quick start

        if isinstance(lines, str | bytes) or not all(isinstance(line, str) for line in lines):
            raise TypeError("expected a list of strings")
        check_whole_number("threads", threads, 1, 256)
        raw = RawText.from_lines((line.replace("\n", " ") for line in lines), self.system.ini)
        found = self.decode(self.load(raw.sentences, keep_tables=True), threads=threads)
        return b"".join(map(raw.finished, found)).decode("utf-8").split("\n")[:-1]

    def decode(
        self,
        loaded: LoadedInput,
        *,
        weights: Mapping[str, Sequence[float]] | None = None,
        nbest: NBestSettings | None = None,
        threads: int = 1,
    ) -> Iterator[DecodedSentence]:
        """Decode all sentences of an input; yield results in input order, whatever ``threads`` is.

        Args:
            loaded: The input.
            weights: The weights of all features; ``None`` for the weights from the ini and the
                constructor.
            nbest: Settings of the list of derivations; ``None`` for the best derivation only, or
                for up to 100 derivations if there are own features.
            threads: The number of sentences to search at once.

        Raises:
            IniError: The weights do not fit the features, or a weight is not finite.
        """
        system = self.system
        flat = system.weights if weights is None else system.features.flat_weights(weights)
        if self._own_features and nbest is None:
            nbest = NBestSettings(CANDIDATES)
        if self.rescorer is not None:
            nbest = (nbest or NBestSettings())._replace(size=self.rescorer.candidates)
        model, numbers = loaded.model(flat), range(len(loaded.source.sentences))
        idle: SimpleQueue[_Worker] = SimpleQueue()
        for _ in range(min(threads, max(1, len(numbers)))):
            idle.put(_Worker(loaded, model, nbest))

        def decoded_by_worker(number: int) -> DecodedSentence:
            worker = idle.get()
            try:
                return worker.decode(number)
            finally:
                idle.put(worker)

        with contextlib.ExitStack() as stack:
            stack.enter_context(products_on_one_core(loaded.neural))
            found: Iterator[DecodedSentence] = map(decoded_by_worker, numbers)
            if threads > 1:
                pool = ThreadPoolExecutor(threads)
                stack.callback(pool.shutdown, cancel_futures=True)
                submitted = (pool.submit(decoded_by_worker, number) for number in numbers)
                found = in_order(submitted, _AHEAD + 1)
            if self.rescorer is not None:
                found = self.rescorer.best_first(found)
            for decoded in found:
                yield reordered(decoded, self._own_features) if self._own_features else decoded


class _Worker:
    """Searches sentences of one input with one set of weights, one after the other.

    The compiled search does not enlarge arrays. When it runs out of room, it returns. The worker
    then enlarges the arrays, and the search continues where it stopped.
    """

    def __init__(self, loaded: LoadedInput, model: Model, nbest: NBestSettings | None) -> None:
        self._loaded, self._nbest = loaded, nbest
        features, settings = loaded.system.features, loaded.system.settings
        self._cube_pruning = settings.search_algorithm == CUBE_PRUNING
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
        longest = max((len(words) for words in loaded.source.sentences), default=0)
        self._stacks = Stacks.new(longest, settings.stack)
        self._coverages = Coverages.new(longest)
        self._cubes = Cubes.new(longest)
        own = model.language._replace(recent=recent_answers(len(features.language_models)))
        self._model = model._replace(language=own)
        self._scores = HistoryScores(loaded.neural)
        self._waiting: Waiting | None = None
        if model.neural is not None:
            self._waiting = Waiting.new(model.neural, self._scores.histories, longest)

    def decode(self, number: int) -> DecodedSentence:
        """Decode one sentence."""
        loaded, model = self._loaded, self._model
        words = loaded.source.sentences[number]
        if not len(words):
            # Moses gives an empty sentence the score 0, and does not score the end of the sentence
            derivations = Derivations(np.zeros(2, np.int64), words, words, words)
            features = np.zeros((1, loaded.system.features.layout.size))
            return DecodedSentence(number, loaded, derivations, features, np.zeros(1))
        sentence = spans_of(words, loaded.source.trie, model.options, loaded.longest)
        complete = self._search(sentence)
        records = self._stacks.records[: self._stacks.used[0]]
        wanted = self._nbest or NBestSettings(1)
        offsets, hypotheses, totals = best_paths(
            records, complete, model.language.phrases.first, model.words, wanted, wanted.pops
        )
        phrases = records[hypotheses]
        derivations = Derivations(
            offsets,
            model.options.entry[phrases["option"]],
            phrases["start"].astype(np.int32),
            phrases["end"].astype(np.int32),
        )
        features = loaded.feature_values(derivations, self._scores)
        return DecodedSentence(number, loaded, derivations, features, totals)

    def _search(self, sentence: SentenceSpans) -> NDArray[np.int32]:
        """Return the hypotheses that cover a sentence of one or more words, highest total first."""
        self._scores.clear()
        progress = np.zeros(1, PROGRESS)
        while True:
            own = self._model.language
            search = SentenceSearch(
                self._model, sentence, self._limits, own, self._stacks, self._coverages, progress
            )
            status = self._continued(search)
            if status == DONE:
                return self._stacks.numbers[: self._stacks.size[sentence.length]].copy()
            if status == NEEDS_SCORES and self._waiting is not None:
                self._settle(search, self._waiting)
            else:
                self._grow(search)

    def _continued(self, search: SentenceSearch) -> int:
        """Continue a search; return ``DONE``, or what the search needs to go on."""
        if self._waiting is not None:
            # the graph of histories grows by itself when derivations are scored
            self._waiting = self._waiting._replace(histories=self._scores.histories)
            if self._cube_pruning:
                return search_cubes_with_networks(search, self._waiting, self._cubes)
            return search_with_networks(search, self._waiting)
        return search_cubes(search, self._cubes) if self._cube_pruning else search_stacks(search)

    def _grow(self, search: SentenceSearch) -> None:
        """Enlarge the arrays for more hypotheses, and for the steps from one more coverage."""
        records = int(search.progress["records"][0])
        spans = search.sentence.length * search.sentence.longest
        self._stacks = self._stacks.with_room(records)
        self._coverages = self._coverages.with_room(spans)
        self._cubes = self._cubes.with_room()
        if self._waiting is not None:
            self._scores.make_room(records * (self._waiting.neural.longest + 1))
            self._waiting = self._waiting.with_room(records, spans)

    def _settle(self, search: SentenceSearch, waiting: Waiting) -> None:
        """Score the deferred hypotheses word by word, until each is in a stack or rejected."""
        self._stacks = self._stacks.with_room(int(waiting.used[0]) + 1)
        search = search._replace(stacks=self._stacks)
        while waiting.used[0]:
            self._scores.score(waiting.neural.weights)
            self._scores.make_room(int(waiting.used[0]))
            settle(search, waiting._replace(histories=self._scores.histories))


def _words_of(sentence: str, number: int) -> tuple[bytes, ...]:
    """Return the words of a sentence; ``number`` is its index in the list, for errors."""
    check_type(f"sentences[{number}]", sentence, str, "a string")
    with located(f"sentences[{number}]"):
        if "\n" in sentence:
            raise InputError("the sentence contains a line feed")
        try:
            return parse_sentence(sentence.encode("utf-8", "surrogateescape"))
        except UnicodeEncodeError:
            problem = "the sentence contains a surrogate code point, which UTF-8 cannot encode"
            raise InputError(problem) from None


def _translations(decoded: DecodedSentence, limit: int) -> Iterator[Translation]:
    values = decoded.nbest_features()
    for number in range(min(limit, len(decoded))):
        yield Translation(
            b" ".join(decoded.words(number)).decode("utf-8", "backslashreplace"),
            float(decoded.totals[number]),
            {name: tuple(columns[number].tolist()) for name, columns in values.items()},
        )


def reordered(decoded: DecodedSentence, features: Sequence[WeightedFeature]) -> DecodedSentence:
    """Return a sentence's candidates, best first, with weighted features added to their totals.

    Raises:
        SettingsError: A feature returns values of the wrong shape, or a value that is not finite.
    """
    if not len(decoded):
        return decoded
    source = decoded.source()
    candidates = [decoded.words(number) for number in range(len(decoded))]
    totals, own = decoded.totals.copy(), {}
    for feature in features:
        try:
            values = np.asarray(feature.scores(source, candidates), np.float64)
        except (TypeError, ValueError) as error:
            raise SettingsError(f"{feature.name} gives no array of numbers ({error})") from error
        expected = len(candidates), len(feature.weights)
        if values.shape != expected:
            raise SettingsError(
                f"{feature.name} gives values of shape {values.shape}, expected {expected}: one "
                "for each candidate and weight"
            )
        if not np.isfinite(values).all():
            raise SettingsError(f"{feature.name} gives a value that is not a finite number")
        own[feature.name] = values
        totals += values @ np.array(feature.weights)
    return decoded.ranked(totals, own)
