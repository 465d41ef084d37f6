"""A model queried through KenLM's own library: the way to its binary formats.

KenLM's states are objects, so this serves scoring of sentences and lists, not the compiled core
of the decoder, which needs the arrays of an ARPA file.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from moses_integration.arpa_diagnosis import KENLM_BINARY_MAGIC
from moses_integration.language_model import LanguageModel, read_language_model
from moses_integration.ngram_automaton import UNKNOWN_WORD
from phrasescore.errors import LanguageModelError, MissingDependencyError, SettingsError
from phrasescore.files import open_input

BACKENDS = ("auto", "own", "kenlm")


def open_language_model(path: str | Path, backend: str = "auto") -> LanguageModel:
    """Open a model with the reader that fits it.

    Args:
        path: An ARPA file, plain or gzip, or a KenLM binary.
        backend: ``own`` reads ARPA files into arrays; ``kenlm`` queries through KenLM; ``auto``
            takes KenLM for its binaries and our arrays for everything else.

    Raises:
        MissingDependencyError: KenLM is needed and not installed.
        LanguageModelError: The file is not such a model.
        SettingsError: There is no such backend.
    """
    if backend not in BACKENDS:
        raise SettingsError(f"unknown backend {backend}; there are: {', '.join(BACKENDS)}")
    if backend == "kenlm" or (backend == "auto" and is_kenlm_binary(path)):
        return KenlmLanguageModel(path)
    return read_language_model(path)


def is_kenlm_binary(path: str | Path) -> bool:
    """Tell a file written by KenLM's build_binary by its first bytes."""
    with open_input(path) as stream:
        return stream.read(len(KENLM_BINARY_MAGIC)) == KENLM_BINARY_MAGIC


class KenlmLanguageModel:
    """A `LanguageModel` in KenLM's memory; words and states are numbered as they are met.

    Args:
        path: Anything KenLM reads: ARPA, gzip ARPA, probing or trie binaries.
    """

    def __init__(self, path: str | Path) -> None:
        try:
            kenlm = importlib.import_module("kenlm")
        except ImportError:
            raise MissingDependencyError.extra("kenlm", "kenlm") from None
        if not Path(path).is_file():
            raise LanguageModelError("no such file", path=path)
        try:
            self._model = kenlm.Model(str(path))
        except (OSError, RuntimeError) as error:
            raise LanguageModelError(f"KenLM cannot read it: {error}", path=path) from None
        self._new_state = kenlm.State
        self.order: int = self._model.order
        self._words = ["<unk>"]
        self._word_ids: dict[bytes, int] = {b"<unk>": UNKNOWN_WORD}
        empty, begin = kenlm.State(), kenlm.State()
        self._model.NullContextWrite(empty)
        self._model.BeginSentenceWrite(begin)
        self._states: list[Any] = []
        self._state_ids: dict[Any, int] = {}
        self._number(empty)
        self.begin_state = self._number(begin)
        self.end_word = self.word_id(b"</s>")

    def word_id(self, word: bytes) -> int:
        """Return the id of ``word``; 0 stands for every unknown word."""
        if word not in self._word_ids:
            text = word.decode("utf-8", "replace")  # KenLM takes str only
            known = text in self._model and text.encode() == word
            self._word_ids[word] = len(self._words) if known else UNKNOWN_WORD
            if known:
                self._words.append(text)
        return self._word_ids[word]

    def score(self, state: int, word: int) -> tuple[float, int]:
        """Return log10 p(word | state) and the state after it."""
        following = self._new_state()
        log10 = self._model.BaseScore(self._states[state], self._words[word], following)
        return log10, self._number(following)

    def _number(self, state: Any) -> int:
        if state not in self._state_ids:
            self._state_ids[state] = len(self._states)
            self._states.append(state)
        return self._state_ids[state]
