"""Words for those that a model can only call ``<unk>``: what it looks at, or its translation."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from phrasescore.generation.soft_alignments import Alignment
from phrasescore.words.token_sequences import Ids
from phrasescore.words.vocabulary import UNK_ID


class UnknownWords:
    """Replaces unknown words by way of their source words.

    Args:
        lexicon: The translation of each word; one that is not there stands for itself.
    """

    def __init__(self, lexicon: Mapping[bytes, bytes] | None = None) -> None:
        self._lexicon = lexicon or {}

    @property
    def digest(self) -> str:
        """SHA-256 of what the lexicon says."""
        lines = sorted(b"%s %s\n" % item for item in self._lexicon.items())
        return hashlib.sha256(b"".join(lines)).hexdigest()

    def replaced(
        self, words: Sequence[bytes], ids: Ids, source: Sequence[bytes], alignment: Alignment
    ) -> list[bytes]:
        """Return a target's words with those for the unknown ones.

        Args:
            words: T words.
            ids: (T,) their ids.
            source: S words, at least one.
            alignment: (T + 1, S + 1) alpha; what is looked at at the source's </s> is no word.
        """
        seen = np.argmax(alignment[:-1, :-1], axis=1).tolist()
        return [
            self._for(source[at]) if number == UNK_ID else word
            for word, number, at in zip(words, ids.tolist(), seen, strict=True)
        ]

    def _for(self, word: bytes) -> bytes:
        return self._lexicon.get(word, word)
