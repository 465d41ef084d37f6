"""KenLM binaries (build_binary's output), read into the n-grams that they were built from.

The arrays stay in a mapped file and are read there; KenLM's library is not needed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moses_integration.language_model.arpa import KENLM_BINARY_MAGIC
from moses_integration.language_model.automaton import LARGEST_LOG10, UNKNOWN_WORD, NGrams
from moses_integration.language_model.kenlm.header import (
    PROBING,
    Sections,
    damaged,
    read_header,
    read_words,
)
from moses_integration.language_model.kenlm.probing import ProbingModel
from moses_integration.language_model.kenlm.trie import TrieModel
from phrasescore.errors import LanguageModelError
from phrasescore.runs.file_kinds import can_be_read_again
from phrasescore.table.input_files import GZIP_MAGIC, open_input

_MISSING_LOG10 = -100.0  # what build_binary gives <unk> where the ARPA file has none


class KenlmBinary:
    """An open binary: its words and 1-grams at once, longer n-grams on request.

    Args:
        data: The file, shape (bytes,).

    Attributes:
        counts: The n-gram counts of the header, order 1 first.
        words: The vocabulary, with KenLM's ids; id 0 is ``<unk>``.
        has_unknown: Whether the ARPA file seems to have listed ``<unk>``.
        unknown_is_context: Whether ``<unk>`` is a state; where the ARPA file had none it is.

    Raises:
        LanguageModelError: It is damaged, cut off, or of a kind that cannot be read.
    """

    def __init__(self, data: NDArray[np.uint8]) -> None:
        header = read_header(data)
        sections = Sections(data, header.size)
        self.counts = header.counts
        self._model: ProbingModel | TrieModel
        if header.kind == PROBING:
            self._model = ProbingModel(sections, header)
        else:
            self._model = TrieModel(sections, header)
        self.words = read_words(sections.rest(), self._model.hashes)
        unknown = self._model.unigrams[UNKNOWN_WORD]
        self.has_unknown = bool(unknown["log10"] != _MISSING_LOG10)
        self.unknown_is_context = bool(
            unknown["backoff"] == 0 and not np.signbit(unknown["backoff"])
        )

    def blocks(self) -> Iterator[NGrams]:
        """Yield the n-grams, lowest order first, a block for each order.

        n-grams that KenLM added because longer ones end with them are among them.

        Raises:
            LanguageModelError: The file is damaged, or it would take too long.
        """
        unigrams = self._model.unigrams
        yield _checked(
            NGrams(
                1,
                np.arange(unigrams.size, dtype=np.int32)[:, None],
                -np.abs(unigrams["log10"]),
                unigrams["backoff"].copy(),
                None,
            )
        )
        yield from map(_checked, self._model.longer())


def _checked(ngrams: NGrams) -> NGrams:
    for weights in (ngrams.log10, ngrams.backoff):
        if not np.all(np.abs(weights) <= LARGEST_LOG10):  # nor is it a number
            raise damaged(f"a weight of its {ngrams.order}-grams is not one of a language model")
    return ngrams


def is_kenlm_binary(path: str | Path) -> bool:
    """Tell a file written by KenLM's build_binary by its first bytes."""
    if not can_be_read_again(path):
        return False
    with open_input(path, is_text=False) as stream:
        return stream.read(len(KENLM_BINARY_MAGIC)) == KENLM_BINARY_MAGIC


@contextlib.contextmanager
def open_kenlm_binary(path: str | Path) -> Iterator[KenlmBinary]:
    """Open a KenLM binary; errors inside the block are given its name.

    Raises:
        LanguageModelError: It is damaged, or of a kind that cannot be read.
    """
    try:
        data = np.asarray(np.memmap(path, np.uint8, "r"))
        if data[:2].tobytes() == GZIP_MAGIC:
            raise LanguageModelError("a KenLM binary in gzip form", remedy="unpack it with gunzip")
        yield KenlmBinary(data)
    except LanguageModelError as error:
        raise error.at(path) from None
