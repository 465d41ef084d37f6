"""The memory of one searching thread, and the search of one sentence in it.

Compiled code allocates nothing: where it runs out of room it returns, gets more, and continues.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.history_scores import HistoryScores
from moses_integration.decoder.features.lm_scoring import recent_answers
from moses_integration.decoder.features.neural_models import NeuralModels, NeuralTerms
from moses_integration.decoder.search import coverage, cubes, deferral, hypotheses
from moses_integration.decoder.search.coverage import SentenceSpans
from moses_integration.decoder.search.cube_pruning import search_cubes
from moses_integration.decoder.search.hypotheses import Limits, Stacks
from moses_integration.decoder.search.stack_decoding import (
    DONE,
    NEEDS_COVERAGES,
    NEEDS_DEFERRAL,
    NEEDS_EDGES,
    NEEDS_RECORDS,
    NEEDS_SCORES,
    PROGRESS,
    Model,
    SentenceSearch,
    Waiting,
    search_stacks,
)


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
        self.stacks: Stacks = hypotheses.new_stacks(longest_sentence, stack_size)
        self._coverages = coverage.new_coverages(longest_sentence)
        self._cubes = cubes.new_cubes(longest_sentence)
        self._recent = recent_answers(models)
        self.history_scores = HistoryScores(neural)
        self._deferral = deferral.new_deferral()

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
        progress = np.zeros(1, PROGRESS)
        status = NEEDS_RECORDS
        while status != DONE:
            search = SentenceSearch(
                model,
                sentence,
                limits,
                self._recent,
                self.stacks,
                self._coverages,
                progress,
            )
            waiting = None
            if model.neural is not None:
                waiting = Waiting(model.neural, self._deferral, self.history_scores.histories)
            if cube_pruning:
                status = search_cubes(search, waiting, self._cubes)
            else:
                status = search_stacks(search, waiting)
            if status == NEEDS_RECORDS:
                self.stacks = hypotheses.with_room(self.stacks, int(progress["records"][0]))
            elif status == NEEDS_COVERAGES:
                most = sentence.length * sentence.longest
                self._coverages = coverage.with_room(self._coverages, most)
            elif status == NEEDS_EDGES:
                self._cubes = cubes.with_room(self._cubes)
            elif status == NEEDS_DEFERRAL:
                self.history_scores.make_room(int(progress["records"][0]))
                self._deferral = deferral.with_room(self._deferral, int(progress["records"][0]))
            elif status == NEEDS_SCORES and waiting is not None:
                self._settle(search, waiting.neural)
        count = int(self.stacks.size[sentence.length])
        return self.stacks.numbers[:count].copy()

    def _settle(self, search: SentenceSearch, neural: NeuralTerms) -> None:
        """Score what waits, word by word, until all of it is in its stacks or hopeless."""
        model, scores = search.model, self.history_scores
        self.stacks = hypotheses.with_room(self.stacks, int(self._deferral.used[0]) + 1)
        while self._deferral.used[0]:
            scores.score(neural.weights)
            scores.make_room(int(self._deferral.used[0]))
            deferral.settle(
                self._deferral,
                scores.histories,
                neural,
                self.stacks,
                self._coverages,
                search.limits,
                model.options,
                model.lowers,
                search.sentence.length,
            )
