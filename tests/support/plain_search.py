"""Stack decoding like `search` but without arrays, to read and to compare with.

A hypothesis is an object, a stack is a dictionary, and every score is computed when it is needed.
This code prunes exactly like the compiled search, but is thousands of times slower.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.lm_scoring import model_tables
from moses_integration.decoder.features.reordering import orientation
from moses_integration.decoder.loaded_input import LoadedInput
from moses_integration.decoder.search.translation_options import Options, spans_of
from moses_integration.decoder.settings import SearchSettings
from moses_integration.language_model.automaton import score as score_word
from moses_integration.language_model.back_off import LN_10

State = tuple[int, ...]
Weights = NDArray[np.float64]


@dataclass(frozen=True)
class Hypothesis:
    """A translation of some words of the source.

    Args:
        covered: The coverage, one bit for each source word.
        start: The first source word of the last phrase, -1 for the empty hypothesis.
        end: The last source word of the last phrase.
        entry: The table entry of the last phrase, -1 for the empty hypothesis.
        states: The state of each language model.
        score: The model score so far.
        total: The score plus the future estimate.
        previous: The hypothesis that was expanded.
    """

    covered: int
    start: int
    end: int
    entry: int
    states: State
    score: float
    total: float
    previous: Hypothesis | None

    def phrases(self) -> list[tuple[int, int, int]]:
        """Return the entry, first and last source word of each phrase, in order."""
        if self.previous is None:
            return []
        return [*self.previous.phrases(), (self.entry, self.start, self.end)]


class Stack:
    """Hypotheses that cover equally many words, one for each recombination signature.

    Args:
        size: The number of hypotheses to expand; 0 for all.
        beam: The lowest total that may enter, relative to the best total so far.
    """

    def __init__(self, size: int, beam: float) -> None:
        self.members: dict[object, Hypothesis] = {}
        self._size, self._beam = size, beam
        self._best = self._worst = -math.inf

    def add(self, signature: object, hypothesis: Hypothesis) -> bool:
        """Add a hypothesis unless it is outside the beam or recombines with a better one.

        Returns:
            Whether the signature is new.
        """
        if hypothesis.total < self._worst or hypothesis.total == -math.inf:
            return False
        rival = self.members.get(signature)
        if rival is not None and rival.total >= hypothesis.total:
            return False
        self.members[signature] = hypothesis
        if hypothesis.total > self._best:
            self._best = hypothesis.total
            self._worst = max(self._worst, self._best + self._beam)
        # pruning after every addition would take most of the time
        if rival is None and 0 < self._size < (len(self.members) + 2) // 2:
            self.prune()
        return rival is None

    def ranked(self) -> list[Hypothesis]:
        """Return the hypotheses, the best first."""
        return sorted(self.members.values(), key=lambda one: -one.total)

    def prune(self) -> None:
        """Keep the best hypotheses up to the size, and of these only those within the beam."""
        if self._size == 0 or len(self.members) <= self._size:
            return
        best = sorted(self.members.items(), key=lambda item: -item[1].total)[: self._size]
        lowest = self._best + self._beam
        self.members = {key: one for key, one in best if one.total > lowest}
        if len(self.members) == self._size:
            self._worst = best[-1][1].total


class PlainSearch:
    """Searches sentences of one input by stack decoding.

    Args:
        loaded: The input.
        weights: (F,) the weights in the order of the feature vector.
        settings: The limits of the search; only the limits of stack decoding are used.
    """

    def __init__(self, loaded: LoadedInput, weights: Weights, settings: SearchSettings) -> None:
        self._loaded, self._weights, self._settings = loaded, weights, settings
        self._options: Options = loaded.model(weights).options
        self._static = loaded.tables.static @ weights[loaded.tables.static_components]

    def search(self, sentence: int) -> Hypothesis | None:
        """Return the best translation of a sentence that has words; ``None`` if there is none."""
        words = self._loaded.source.sentences[sentence]
        spans = spans_of(words, self._loaded.source.trie, self._options, self._loaded.longest)
        self._length, self._spans = len(words), spans
        begin = int(self._loaded.tables.models.begin_state[0])
        states = []
        for nodes in np.diff(self._loaded.tables.models.node_offsets).tolist():
            states.append(begin % nodes)
            begin //= nodes
        first = Hypothesis(0, -1, -1, -1, tuple(states), 0.0, self._estimate(0), None)
        size, beam = self._settings.stack, self._settings.beam_ln
        stacks = [Stack(size, beam) for _ in range(len(words) + 1)]
        stacks[0].add(self._signature(first), first)
        self._fill(stacks)
        return max(stacks[-1].members.values(), key=lambda one: one.total, default=None)

    def _fill(self, stacks: list[Stack]) -> None:
        """Fill all stacks except the first, which is given."""
        for stack in stacks[:-1]:
            stack.prune()
            for hypothesis in stack.ranked():
                for following in self._expansions(hypothesis):
                    number = following.covered.bit_count()
                    stacks[number].add(self._signature(following), following)

    def _expansions(self, hypothesis: Hypothesis) -> Iterator[Hypothesis]:
        for start, end in self._next_spans(hypothesis):
            for entry in self._entries(start, end):
                yield self._applied(hypothesis, entry, start, end)

    def _entries(self, start: int, end: int) -> list[int]:
        """Return the table entries that translate a span, the best first."""
        span = start * self._spans.longest + end - start
        options = slice(self._spans.begin[span], self._spans.stop[span])
        entries: list[int] = self._options.entry[options].tolist()
        return entries

    def _next_spans(self, hypothesis: Hypothesis) -> Iterator[tuple[int, int]]:
        """Yield the spans that may be translated next, by Moses's two conditions on distance."""
        limit = self._settings.distortion_limit
        gap = _first_gap(hypothesis.covered)
        for start in range(gap, self._length):
            if 0 <= limit < abs(hypothesis.end + 1 - start):
                continue
            for end in range(start, min(start + self._spans.longest, self._length)):
                if hypothesis.covered >> end & 1:
                    break
                # the jump back to the gap after this phrase must not be too long either
                if 0 <= limit < end + 1 - gap and start != gap:
                    break
                yield start, end

    def _applied(self, before: Hypothesis, entry: int, start: int, end: int) -> Hypothesis:
        covered = before.covered | ((1 << (end + 1 - start)) - 1) << start
        last = covered.bit_count() == self._length
        words, states = self._language_models(before.states, entry, last=last)
        score = before.score + float(self._static[entry]) + words
        score -= self._jump_cost(before, start)
        score += self._reordering(before, entry, start, end)
        total = score + self._estimate(covered)
        return Hypothesis(covered, start, end, entry, states, score, total, before)

    def _jump_cost(self, before: Hypothesis, start: int) -> float:
        weight = float(self._weights[self._loaded.tables.distortions].sum())
        return weight * abs(before.end + 1 - start)

    def _language_models(self, states: State, entry: int, *, last: bool) -> tuple[float, State]:
        """Return the language model score of a phrase, and the states after it."""
        tables, total, after = self._loaded.tables, 0.0, []
        begin, stop = tables.phrases.first[entry : entry + 2].tolist()
        for model, state in enumerate(states):
            automaton = model_tables(tables.models, model)
            log10, unknown = 0.0, 0
            for word in tables.phrases.words["word"][model, begin:stop].tolist():
                word_log10, state = score_word(automaton, state, word)
                log10 += word_log10
                unknown += word == 0
            if last and stop > begin:
                end_log10, state = score_word(automaton, state, tables.models.end_word[model])
                log10 += end_log10
            after.append(int(state))
            total += float(self._weights[tables.lm_components[model]]) * LN_10 * log10
            if tables.unknown_components[model] >= 0:
                total += float(self._weights[tables.unknown_components[model]]) * unknown
        return total, tuple(after)

    def _reordering(self, before: Hypothesis, entry: int, start: int, end: int) -> float:
        tables, total = self._loaded.tables, 0.0
        turn = orientation(before.start, before.end, start, end)
        for side, whose in ((tables.backward, entry), (tables.forward, before.entry)):
            for columns, components in zip(*side, strict=True):
                if whose >= 0 and columns[turn] >= 0:
                    value = float(tables.reordering[whose, columns[turn]])
                    total += float(self._weights[components[turn]]) * value
        return total

    def _estimate(self, covered: int) -> float:
        """Sum the future estimates of the uncovered spans."""
        total, begin = 0.0, None
        for position in range(self._length + 1):
            free = position < self._length and not covered >> position & 1
            if free and begin is None:
                begin = position
            elif not free and begin is not None:
                total += float(self._spans.estimates[begin, position - 1])
                begin = None
        return total if not math.isnan(total) else -math.inf

    def _signature(self, hypothesis: Hypothesis) -> object:
        """Return the recombination signature; hypotheses with equal signatures recombine."""
        features = self._loaded.system.features
        signature: tuple[object, ...] = (hypothesis.covered, hypothesis.states)
        if features.distortions or features.reorderings:
            signature += (hypothesis.end,)
        if features.reorderings:
            forward = -1
            if hypothesis.entry >= 0:
                forward = int(self._loaded.forward_class[hypothesis.entry])
            signature += (hypothesis.start, forward)
        return signature


def _first_gap(covered: int) -> int:
    """Return the first uncovered word.

    >>> _first_gap(0b1011)
    2
    """
    return (~covered & (covered + 1)).bit_length() - 1
