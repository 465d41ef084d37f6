"""The word vectors of a model, of any kind, without torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import CorpusError, ModelError, SettingsError, visible
from phrasescore.model.folder import StoredWeights
from phrasescore.model.kinds import kind_named
from phrasescore.table.input_files import read_lines
from phrasescore.table.phrase_table import Side
from phrasescore.words.vocabulary import SPECIALS, UNK_ID, Vocabulary

_SHOWN = 60  # bytes of a word in an error

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class WordVectors:
    """The words of one side, the most frequent first, and their vectors.

    Args:
        side: Source or target of a text, whichever of them the model reads.
        words: Without </s> and <unk>.
        vectors: ``(words, E)``, without the bias that all words of a side share.
    """

    side: Side
    words: tuple[bytes, ...]
    vectors: Vectors

    def rows_of(self, texts: Sequence[bytes]) -> list[int]:
        """Return the rows of words that a user named.

        Raises:
            SettingsError: A text is not one word, or one that the model does not know; the line is
                its place in the list.
        """
        vocabulary = Vocabulary.from_words(self.words)
        return [_row(text, line, vocabulary) for line, text in enumerate(texts, 1)]

    def rows_in(self, path: str | Path) -> list[int]:
        """Return the rows of the words of a file, one a line.

        Raises:
            InputError: The file cannot be read, or is empty.
            SettingsError: A line is not one word, or one that the model does not know.
        """
        texts = list(read_lines(path))
        if not texts:
            raise CorpusError("there is no word", path=path, remedy="write words, one a line")
        try:
            return self.rows_of(texts)
        except SettingsError as error:
            raise error.at(path, error.line) from None


def word_vectors(stored: StoredWeights, side: Side | None = None) -> WordVectors:
    """Return the word vectors of a model.

    Args:
        stored: Of any kind.
        side: Which; ``None`` for the side it reads, or the only one it has.

    Raises:
        ModelError: It has none of that side, or no words.
    """
    settings, weights = stored.settings, stored.weights
    read: Side = "source" if settings.direction == "source-target" else "target"
    predicted: Side = "target" if read == "source" else "source"
    found: dict[Side, tuple[Vocabulary, Vectors]] = {}
    if "source_embedding" in weights:
        found[read] = stored.source_vocabulary, weights["source_embedding"]
    for name in ("target_embedding", "embedding"):
        if name in weights:
            found[predicted] = stored.target_vocabulary, weights[name]
    chosen = side or next(iter(found))
    if chosen not in found:
        option = kind_named(settings.kind).option
        raise ModelError(
            f"a model of kind {option} has word vectors of the {next(iter(found))} side only",
            path=stored.path,
            remedy=f"leave out --side {chosen}",
        )
    vocabulary, vectors = found[chosen]
    # a language model has one more vector, for the place before the first word
    begin, end = len(SPECIALS), len(vocabulary)
    if begin == end:
        raise ModelError("the model knows no word", path=stored.path, remedy="train it on a text")
    return WordVectors(chosen, vocabulary.words[begin:], vectors[begin:end])


def _row(text: bytes, line: int, vocabulary: Vocabulary) -> int:
    words = text.split()
    if len(words) != 1:
        raise SettingsError(
            f"{visible(text, _SHOWN)!r} is not one word, and --words is about words",
            line=line,
            remedy="give words one by one, or leave out --words",
        )
    number = vocabulary.encode(words)[0]
    if number == UNK_ID:
        raise SettingsError(
            f"the model does not know the word {visible(words[0], _SHOWN)!r}",
            line=line,
            remedy="give words as its training text has them, in lower case if that is so",
        )
    return number - len(SPECIALS)
