"""The memory of one searching thread, and the search of one sentence in it.

Compiled code allocates nothing: where it runs out of room it returns, gets more, and continues.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.arrays import with_room
from moses_integration.decoder.features.lm_scoring import PhraseScorer, recent_answers
from moses_integration.decoder.features.neural import HistoryScores, NeuralModels, NeuralTerms
from moses_integration.decoder.search.coverage import (
    SentenceSpans,
    coverages_with_room,
    new_coverages,
)
from moses_integration.decoder.search.cube_pruning import cubes_with_room, new_cubes, search_cubes
from moses_integration.decoder.search.stack_decoding import (
    DEFERRED,
    DONE,
    ENOUGH,
    NEEDS_EDGES,
    NEEDS_ROOM,
    PROGRESS,
    Model,
    SentenceSearch,
    Waiting,
    search_stacks,
    settle,
)
from moses_integration.decoder.search.stacks import Limits, new_stacks, stacks_with_room

_FIRST_WAITING = 2 * ENOUGH


class SearchWorkspace:
    """Memory for searches of sentences up to a length, one after the other.

    Args:
        longest_sentence: In source words.
        stack_size: Most hypotheses of a stack that are expanded; 0 for all.
        models: How many n-gram models there are.
        neural: The neural language models.
    """

    def __init__(
        self, longest_sentence: int, stack_size: int, models: int, neural: NeuralModels
    ) -> None:
        self.stacks = new_stacks(longest_sentence, stack_size)
        self.history_scores = HistoryScores(neural)
        self._coverages = new_coverages(longest_sentence)
        self._cubes = new_cubes(longest_sentence)
        self._recent = recent_answers(models)
        self._deferred = np.empty(_FIRST_WAITING, DEFERRED)
        self._waiting = np.zeros(1, np.int64)  # how many of the deferred there are

    def search(
        self, model: Model, sentence: SentenceSpans, limits: Limits, *, cube_pruning: bool
    ) -> NDArray[np.int32]:
        """Search for the best translations of a sentence.

        Args:
            model: What things score.
            sentence: The options of the sentence, at least one word.
            limits: The bounds of the search.
            cube_pruning: Whether to search with cube pruning instead of stack decoding.

        Returns:
            The hypotheses that cover the sentence, the best first; their records are in
            ``stacks``.
        """
        self.history_scores.clear()
        language = PhraseScorer(model.models, model.phrases, self._recent)
        progress = np.zeros(1, PROGRESS)
        while True:
            stacks, coverages = self.stacks, self._coverages
            search = SentenceSearch(model, sentence, limits, language, stacks, coverages, progress)
            waiting = None
            if model.neural is not None:
                waiting = self._waiting_for(model, model.neural, sentence.length)
            if cube_pruning:
                status = search_cubes(search, waiting, self._cubes)
            else:
                status = search_stacks(search, waiting)
            if status == DONE:
                return stacks.numbers[: stacks.size[sentence.length]].copy()
            if status == NEEDS_EDGES:
                self._cubes = cubes_with_room(self._cubes)
            elif status == NEEDS_ROOM:
                self._make_room(search)
            elif waiting is not None:
                self._settle(search, waiting.neural)

    def _waiting_for(self, model: Model, neural: NeuralTerms, length: int) -> Waiting:
        return Waiting(
            neural,
            self.history_scores.histories,
            self._deferred,
            self._waiting,
            model.phrases.first,
            model.words,
            model.lowers,
            length,
        )

    def _make_room(self, search: SentenceSearch) -> None:
        """Make room for more hypotheses, and for the steps out of one more coverage."""
        records, sentence = int(search.progress["records"][0]), search.sentence
        self.stacks = stacks_with_room(self.stacks, records)
        self._coverages = coverages_with_room(self._coverages, sentence.length * sentence.longest)
        if search.model.neural is not None:
            self._deferred = with_room(self._deferred, int(self._waiting[0]) + records)
            self.history_scores.make_room(records)

    def _settle(self, search: SentenceSearch, neural: NeuralTerms) -> None:
        """Score what waits, word by word, until all of it is in its stacks or hopeless."""
        self.stacks = stacks_with_room(self.stacks, int(self._waiting[0]) + 1)
        search = search._replace(stacks=self.stacks)
        while self._waiting[0]:
            self.history_scores.score(neural.weights)
            self.history_scores.make_room(int(self._waiting[0]))
            settle(self._waiting_for(search.model, neural, search.sentence.length), search)
