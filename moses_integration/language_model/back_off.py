"""N-gram language models: read a file of n-grams, score words and sentences.

Scores are log10; Moses's feature is ln, so `LN_10` is the factor between them.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from moses_integration.language_model.automaton import UNKNOWN_WORD, AutomatonTables, score
from moses_integration.language_model.automaton_building import AutomatonBuilder, NGramProblem
from moses_integration.language_model.ngram_files import open_ngrams
from moses_integration.language_model.ngrams import NGramFile, NGrams
from phrasescore.errors import LanguageModelError
from phrasescore.words.word_table import WordTable

LN_10 = 2.302585093  # as Moses has it
UNKNOWN_LOG10 = -100.0  # KenLM's log10 p(<unk>) where the ARPA file has none

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SentenceScore:
    """What a model gives a sentence.

    Attributes:
        log10: log10 probability of each word, and of ``</s>`` at the end.
        unknown: For each of these whether the model does not know the word.
    """

    log10: tuple[float, ...]
    unknown: tuple[bool, ...]

    @property
    def total_log10(self) -> float:
        """log10 probability of the sentence, ``</s>`` included."""
        return sum(self.log10)

    @property
    def unknown_words(self) -> int:
        """How many words the model does not know."""
        return sum(self.unknown)


def perplexity(sentences: Sequence[SentenceScore], *, unknown: bool = True) -> float:
    """Return 10 to the power of -(mean log10 probability per word), ``</s>`` counted as a word.

    Args:
        sentences: At least one.
        unknown: Whether unknown words count; the histories are the same either way.
    """
    words = [
        log10
        for sentence in sentences
        for log10, is_unknown in zip(sentence.log10, sentence.unknown, strict=True)
        if unknown or not is_unknown
    ]
    return float(10.0 ** -(sum(words) / len(words)))


class LanguageModel(Protocol):
    """What every backend offers: words and histories are integers."""

    @property
    def order(self) -> int:
        """The longest n-gram, in words."""

    @property
    def begin_state(self) -> int:
        """The state after ``<s>``."""

    @property
    def end_word(self) -> int:
        """The id of ``</s>``."""

    def word_id(self, word: bytes) -> int:
        """Return the id of ``word``; 0 stands for every unknown word."""

    def score(self, state: int, word: int) -> tuple[float, int]:
        """Return log10 p(word | state) and the state after it; equal states, equal futures."""


def score_sentence(model: LanguageModel, words: Sequence[bytes]) -> SentenceScore:
    """Score the words of a sentence and its end, beginning after ``<s>``."""
    ids = [*map(model.word_id, words), model.end_word]
    state, log10 = model.begin_state, []
    for word in ids:
        value, state = model.score(state, word)
        log10.append(value)
    return SentenceScore(tuple(log10), tuple(word == UNKNOWN_WORD for word in ids))


@dataclass(frozen=True, eq=False)
class ArrayLanguageModel:
    """A model held in arrays; ``tables`` is what compiled code takes (`ngram_automaton.score`).

    Attributes:
        order: The longest n-gram, in words.
        words: The vocabulary.
        tables: The automaton.
        begin_state: The state after ``<s>``.
        end_word: The id of ``</s>``.
    """

    order: int
    words: WordTable
    tables: AutomatonTables
    begin_state: int
    end_word: int

    def word_id(self, word: bytes) -> int:
        """Return the id of ``word``; 0 stands for every unknown word."""
        found = self.words.id_of(word)
        return UNKNOWN_WORD if found is None else found

    def score(self, state: int, word: int) -> tuple[float, int]:
        """Return log10 p(word | state) and the state after it."""
        log10, following = score(self.tables, state, word)
        return float(log10), int(following)


def read_language_model(path: str | Path) -> ArrayLanguageModel:
    """Read an ARPA file, plain or gzip, or a KenLM binary into arrays.

    Raises:
        LanguageModelError: It is neither or damaged, or lacks ``<s>`` or ``</s>``.
        InputError: It cannot be read.
    """
    with open_ngrams(path) as model:
        sections = itertools.groupby(model.blocks(), key=lambda ngrams: ngrams.order)
        builder = _start(model, list(next(sections)[1]), path)
        for order, blocks in sections:
            for ngrams in blocks:
                try:
                    builder.add(
                        ngrams.words,
                        ngrams.log10,
                        ngrams.backoff,
                        longest=order == len(model.counts),
                    )
                except NGramProblem as problem:
                    raise _explained(problem, ngrams, model.words) from None
        return ArrayLanguageModel(
            order=len(model.counts),
            words=model.words,
            tables=builder.finish(),
            begin_state=1 + _needed(model.words, b"<s>"),
            end_word=_needed(model.words, b"</s>"),
        )


def _start(model: NGramFile, unigrams: list[NGrams], path: str | Path) -> AutomatonBuilder:
    log10 = np.full(len(model.words), UNKNOWN_LOG10, np.float32)
    backoff = np.zeros(len(model.words), np.float32)
    for block in unigrams:
        log10[block.words[:, 0]] = block.log10
        backoff[block.words[:, 0]] = block.backoff
    builder = AutomatonBuilder(log10, backoff, sum(model.counts[1:]))
    if not model.has_unknown:
        _log.warning("%s has no <unk>: unknown words get log10 probability %g", path, UNKNOWN_LOG10)
    if model.unknown_is_context:
        builder.mark_unknown_as_context()
    return builder


def _needed(words: WordTable, marker: bytes) -> int:
    found = words.id_of(marker)
    if found is None:
        raise LanguageModelError(
            f"the 1-grams lack {marker.decode()}",
            remedy="estimate the model with sentence boundaries",
        )
    return found


def _explained(problem: NGramProblem, ngrams: NGrams, words: WordTable) -> LanguageModelError:
    text = b" ".join(words.word(int(word)) for word in ngrams.words[problem.row])
    return LanguageModelError(
        f"the {ngrams.order}-gram '{text.decode('utf-8', 'backslashreplace')}' cannot be used: "
        f"{problem.problem}",
        line=ngrams.line_of(problem.row),
        remedy="make the file again with the tool that wrote it",
    )
