"""The back-off model written like its definition, with dictionaries, to read and to compare with.

log10 p(w | h) is the entry of ``h w`` if there is one, otherwise the back-off weight of h (0 if
there is none) plus log10 p(w | h without its first word).
"""

from __future__ import annotations

from pathlib import Path

from moses_integration.language_model.automaton import EMPTY_STATE, UNKNOWN_WORD
from moses_integration.language_model.back_off import UNKNOWN_LOG10, open_ngrams

NGram = tuple[int, ...]


class PlainLanguageModel:
    """The model without compiled code; `ArrayLanguageModel` must give equal results.

    Args:
        path: A plain or gzip ARPA file.
    """

    def __init__(self, path: str | Path) -> None:
        self._log10: dict[NGram, float] = {(UNKNOWN_WORD,): UNKNOWN_LOG10}
        self._backoff: dict[NGram, float] = {}
        with open_ngrams(path) as arpa:
            for ngrams in arpa.blocks():
                rows = list(map(tuple, ngrams.words.tolist()))
                self._log10.update(zip(rows, ngrams.log10.tolist(), strict=True))
                self._backoff.update(zip(rows, ngrams.backoff.tolist(), strict=True))
            words = [arpa.words.word(number) for number in range(len(arpa.words))]
            self.order = len(arpa.counts)
            lacks_unknown = not arpa.has_unknown
        self._word_ids = {word: number for number, word in enumerate(words)}
        self._extendable = {ngram for ngram, weight in self._backoff.items() if weight != 0}
        for ngram in self._log10:
            # the suffixes of an n-gram's context count too, because backing off reaches them
            self._extendable.update(ngram[start:-1] for start in range(len(ngram) - 1))
        if lacks_unknown:
            self._extendable.add((UNKNOWN_WORD,))  # as in KenLM
        self._states: list[NGram] = [()]
        self._state_ids: dict[NGram, int] = {(): EMPTY_STATE}
        self.begin_state = self._number((self._word_ids[b"<s>"],))
        self.end_word = self._word_ids[b"</s>"]

    def word_id(self, word: bytes) -> int:
        """Return the id of ``word``; 0 for every unknown word."""
        return self._word_ids.get(word, UNKNOWN_WORD)

    def score(self, state: int, word: int) -> tuple[float, int]:
        """Return log10 p(word | state) and the next state."""
        history = self._states[state]
        following = (*history, word)[-(self.order - 1) :] if self.order > 1 else ()
        while following and following not in self._extendable:
            following = following[1:]
        return self._log10_of(history, word), self._number(following)

    def _log10_of(self, history: NGram, word: int) -> float:
        ngram = (*history, word)
        if ngram in self._log10:
            return self._log10[ngram]
        return self._backoff.get(history, 0.0) + self._log10_of(history[1:], word)

    def _number(self, state: NGram) -> int:
        if state not in self._state_ids:
            self._state_ids[state] = len(self._states)
            self._states.append(state)
        return self._state_ids[state]
