"""N-gram language models: a file of n-grams, read into the arrays that compiled code asks.

Scores are log10; Moses's feature is ln, so `LN_10` is the factor between them.
"""

from __future__ import annotations

import itertools
import logging
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from moses_integration.language_model.arpa import ArpaFile, open_arpa
from moses_integration.language_model.automaton import (
    AutomatonBuilder,
    AutomatonTables,
    NGramProblem,
    NGrams,
)
from moses_integration.language_model.kenlm.binary import (
    KenlmBinary,
    is_kenlm_binary,
    open_kenlm_binary,
)
from phrasescore.errors import LanguageModelError
from phrasescore.words.word_table import WordTable

LN_10 = 2.302585093  # as Moses has it
UNKNOWN_LOG10 = -100.0  # KenLM's log10 p(<unk>) where the ARPA file has none

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class ArrayLanguageModel:
    """A model held in arrays; ``tables`` is what compiled code takes (`automaton.score`).

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


def open_ngrams(path: str | Path) -> AbstractContextManager[ArpaFile | KenlmBinary]:
    """Open an ARPA file, plain or gzip, or a KenLM binary; errors are given its name.

    Raises:
        LanguageModelError: It is neither, or damaged.
        InputError: It cannot be read.
    """
    return open_kenlm_binary(path) if is_kenlm_binary(path) else open_arpa(path)


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
                    builder.add(ngrams, longest=order == len(model.counts))
                except NGramProblem as problem:
                    raise _explained(problem, ngrams, model.words) from None
        return ArrayLanguageModel(
            order=len(model.counts),
            words=model.words,
            tables=builder.finish(),
            begin_state=1 + _needed(model.words, b"<s>"),
            end_word=_needed(model.words, b"</s>"),
        )


def _start(
    model: ArpaFile | KenlmBinary, unigrams: list[NGrams], path: str | Path
) -> AutomatonBuilder:
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
