"""N-gram language models: an ARPA file or a KenLM binary, read into arrays for compiled code.

KenLM binaries (the output of build_binary) are decoded into their n-grams, directly from a mapped
file; KenLM's library is not needed.

A model's scores are log10; Moses's feature values are ln. `LN_10` converts log10 to ln.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moses_integration.language_model.arpa import KENLM_BINARY_MAGIC, ArpaFile
from moses_integration.language_model.automaton import (
    LARGEST_LOG10,
    UNKNOWN_WORD,
    AutomatonBuilder,
    AutomatonTables,
    NGrams,
)
from moses_integration.language_model.kenlm.header import (
    PROBING,
    Sections,
    damaged,
    read_header,
    read_words,
)
from moses_integration.language_model.kenlm.probing import ProbingModel
from moses_integration.language_model.kenlm.trie import TrieModel
from phrasescore.errors import LanguageModelError, located
from phrasescore.runs.file_kinds import can_be_read_again
from phrasescore.table.input_files import GZIP_MAGIC, open_input
from phrasescore.words.word_table import WordTable

LN_10 = 2.302585093  # the digits that Moses uses
# KenLM's log10 p(<unk>) if the ARPA file does not list <unk>; KenLM's binaries contain this value
UNKNOWN_LOG10 = -100.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class ArrayLanguageModel:
    """A model in arrays; compiled code uses ``tables`` (see `automaton.score`).

    Attributes:
        order: The number of words of the longest n-gram.
        begin_state: The state after ``<s>``.
        end_word: The id of ``</s>``.
        tables: The automaton.
        words: The vocabulary.
    """

    order: int
    begin_state: int
    end_word: int
    tables: AutomatonTables
    words: WordTable


class KenlmBinary:
    """An open binary; words and 1-grams are read immediately, longer n-grams on request.

    Args:
        data: The file, shape (bytes,).

    Attributes:
        counts: The n-gram counts of the header, order 1 first.
        words: The vocabulary, with KenLM's ids; id 0 is ``<unk>``.
        has_unknown: Whether the ARPA file seems to have listed ``<unk>``.
        unknown_is_context: Whether states keep ``<unk>``: as in KenLM, only if the ARPA file did
            not list it.

    Raises:
        LanguageModelError: The file is damaged, cut off, or of an unsupported type.
    """

    def __init__(self, data: NDArray[np.uint8]) -> None:
        sections = Sections(data)
        header = read_header(sections)
        self.counts = header.counts
        kind = ProbingModel if header.kind == PROBING else TrieModel
        self._model: ProbingModel | TrieModel = kind(sections, header)
        self.words = read_words(sections.rest(), self._model.hashes)
        unknown = self._model.unigrams[UNKNOWN_WORD]
        self.has_unknown = bool(unknown["log10"] != UNKNOWN_LOG10)
        backoff = unknown["backoff"]
        self.unknown_is_context = bool(backoff == 0 and not np.signbit(backoff))

    def blocks(self) -> Iterator[NGrams]:
        """Yield the n-grams, lowest order first, a block for each order.

        The blocks include the n-grams that KenLM added because longer n-grams end with them.

        Raises:
            LanguageModelError: The file is damaged, or reading would take too long.
        """
        unigrams = self._model.unigrams
        words = np.arange(unigrams.size, dtype=np.int32)[:, None]
        shortest = NGrams(words, -np.abs(unigrams["log10"]), unigrams["backoff"].copy())
        yield from map(_checked, itertools.chain([shortest], self._model.longer()))


def _checked(ngrams: NGrams) -> NGrams:
    np.maximum(ngrams.log10, -LARGEST_LOG10, out=ngrams.log10)  # nan stays
    for weights in (ngrams.log10, ngrams.backoff):
        if not np.all(np.abs(weights) <= LARGEST_LOG10):  # the comparison is false for nan, too
            raise damaged(f"a weight of its {ngrams.order}-grams is not a number, or is too large")
    return ngrams


def is_kenlm_binary(path: str | Path) -> bool:
    """Return whether a file begins like the output of KenLM's build_binary."""
    if not can_be_read_again(path):
        return False
    with open_input(path, is_text=False) as stream:
        return stream.read(len(KENLM_BINARY_MAGIC)) == KENLM_BINARY_MAGIC


@contextlib.contextmanager
def open_ngrams(path: str | Path) -> Iterator[ArpaFile | KenlmBinary]:
    """Open an ARPA file, plain or gzip, or a KenLM binary.

    Errors inside the ``with`` block name the file.

    Raises:
        LanguageModelError: The file has neither format, or is damaged.
        InputError: The file cannot be read.
    """
    with located(path):
        if is_kenlm_binary(path):
            data = np.asarray(np.memmap(path, np.uint8, "r"))
            if data[:2].tobytes() == GZIP_MAGIC:
                problem = "a KenLM binary in gzip form"
                raise LanguageModelError(problem, remedy="unpack it with gunzip")
            yield KenlmBinary(data)
        else:
            with open_input(path, is_text=False) as stream:  # ArpaFile diagnoses zero bytes
                yield ArpaFile(stream)


def read_language_model(path: str | Path) -> ArrayLanguageModel:
    """Read an ARPA file, plain or gzip, or a KenLM binary into arrays.

    Raises:
        LanguageModelError: The file has neither format, is damaged, or lacks ``<s>`` or ``</s>``.
        InputError: The file cannot be read.
    """
    with open_ngrams(path) as model:
        sections = itertools.groupby(model.blocks(), key=lambda ngrams: ngrams.order)
        builder = _start(model, list(next(sections)[1]), path)
        for order, blocks in sections:
            for ngrams in blocks:
                builder.add(ngrams, longest=order == len(model.counts))
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
        words, listed = block.words[:, 0], block.words[:, 0] >= 0
        log10[words[listed]] = block.log10[listed]
        backoff[words[listed]] = block.backoff[listed]
    if not model.has_unknown:
        _log.warning("%s has no <unk>: unknown words get log10 probability %g", path, UNKNOWN_LOG10)
    return AutomatonBuilder(
        *(log10, backoff, sum(model.counts[1:]), model.words),
        unknown_is_context=model.unknown_is_context,
    )


def _needed(words: WordTable, marker: bytes) -> int:
    found = words.id_of(marker)
    if found is None:
        raise LanguageModelError(
            f"the 1-grams lack {marker.decode()}",
            remedy="estimate the model with sentence boundaries",
        )
    return found
