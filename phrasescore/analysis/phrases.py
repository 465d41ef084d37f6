"""Phrases of the side that a model reads: of a phrase table, or one a line of a text.

Of a table only phrases count whose words the model knows, every one: to it all unknown words are
one, so that phrases with them would look alike that are not. Such a phrase is its ids, and takes no
Python object.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import CorpusError, SettingsError, counted
from phrasescore.generation.phrase_output import phrase_texts
from phrasescore.model.folder import LoadedModel
from phrasescore.runs.progress import Progress
from phrasescore.table.block import LONGEST_PHRASE, read_blocks
from phrasescore.table.phrase_table import Side, scored_tokens
from phrasescore.table.text_blocks import Texts
from phrasescore.words.distinct_phrases import first_rows, is_first, phrase_digests
from phrasescore.words.token_sequences import TokenSequences, from_lists
from phrasescore.words.vocabulary import UNK_ID, Vocabulary


@dataclass(frozen=True)
class PhraseList:
    """Some phrases and their texts, with no object for a phrase.

    Args:
        ids: N phrases in the model's numbers.
        text: The bytes of all of them, one after the other.
        offsets: (N + 1,) int64, where each begins.
    """

    ids: TokenSequences
    text: bytes
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def text_of(self, row: int) -> bytes:
        """Return the text of one phrase."""
        return self.text[self.offsets[row] : self.offsets[row + 1]]

    def words_of(self, row: int) -> list[bytes]:
        """Return the words of one phrase."""
        return self.text_of(row).split(b" ")

    def unknown_words(self, row: int) -> list[bytes]:
        """Return the words of one phrase that the model does not know."""
        return [
            word
            for word, number in zip(self.words_of(row), self.ids[row].tolist(), strict=True)
            if number == UNK_ID
        ]

    @classmethod
    def of(cls, ids: TokenSequences, texts: Sequence[bytes]) -> PhraseList:
        """Join texts."""
        return cls(ids, b"".join(texts), _offsets([len(text) for text in texts]))


def read_side(loaded: LoadedModel) -> Side:
    """Return which side of a table a model reads."""
    return "source" if loaded.direction == "source-target" else "target"


class TablePhrases:
    """The phrases of a table that a model knows, block by block, distinct within a block.

    Args:
        path: A plain or gzip phrase table, or ``-``.
        loaded: The model.
        least_words: How many words a phrase must have.

    Attributes:
        known: How many phrases it had so far.
        unknown: How many were left out because of a word that the model does not know.
    """

    def __init__(self, path: str | Path, loaded: LoadedModel, least_words: int = 1) -> None:
        self._path, self._least = path, least_words
        self._vocabulary, self._side = loaded.source_vocabulary, read_side(loaded)
        self._factor = loaded.model.settings.factor
        self.known = self.unknown = 0

    def blocks(self) -> Iterator[TokenSequences]:
        """Yield the phrases, as ids.

        Raises:
            InputError: The file cannot be read.
            PhraseTableError: It breaks the format.
        """
        with Progress("reading the phrase table", unit="lines") as progress:
            for block in read_blocks(self._path):
                spans = block.token_spans(self._side, self._factor)
                ids = self._vocabulary.encode_spans(spans)
                # unknown words are one id, so what is counted of their phrases is a little less
                ids = ids.select(np.flatnonzero(is_distinct(ids)))
                ids = ids.select(np.flatnonzero(ids.lengths >= self._least))
                knows = _knows(ids)
                known = int(knows.sum())
                self.known, self.unknown = self.known + known, self.unknown + len(ids) - known
                if known:
                    yield ids.select(np.flatnonzero(knows))
                progress.advance(len(block))

    def all(self) -> PhraseList:
        """Return all the phrases of the table, each once, in the order of their first lines."""
        blocks = list(self.blocks())
        ids = joined(blocks)
        ids = ids.select(np.flatnonzero(is_distinct(ids)))
        if not len(ids):
            raise self.none()
        return with_texts(ids, self._vocabulary)

    def none(self) -> CorpusError:
        """Return the error for a table without any such phrase."""
        least = "" if self._least == 1 else f" of at least {self._least} words"
        return CorpusError(
            f"the model knows all words of no {self._side} phrase{least} in this table "
            f"({counted(self.unknown, 'phrase')} with unknown words)",
            path=self._path,
            remedy="name a table of the language that the model was trained on",
        )


def with_texts(ids: TokenSequences, vocabulary: Vocabulary, at_once: int = 65_536) -> PhraseList:
    """Write out phrases whose words are all known."""
    parts, lengths = [], list[NDArray[np.int64]]()
    for begin in range(0, len(ids), at_once):
        rows = np.arange(begin, min(begin + at_once, len(ids)))
        texts = phrase_texts(ids.select(rows), vocabulary)
        parts.append(b"".join(texts))
        lengths.append(np.array([len(text) for text in texts], np.int64))
    return PhraseList(ids, b"".join(parts), _offsets(np.concatenate(lengths)))


def read_phrases(path: str | Path, loaded: LoadedModel) -> PhraseList:
    """Read phrases, one a line; words that the model does not know are ``<unk>`` to it.

    Raises:
        InputError: The file cannot be read.
        CorpusError: A line is empty or longer than a model reads in any time, or the file is empty.
    """
    ids, texts, lengths = [], [], list[int]()
    for block in Texts((path,), columns=1, factor=loaded.model.settings.factor).blocks():
        spans = block.tokens[0]
        words = np.diff(spans.offsets)
        wrong = np.flatnonzero((words == 0) | (words > LONGEST_PHRASE))
        if len(wrong):
            row = int(wrong[0])
            raise _unreadable(int(words[row])).at(path, block.first_line + row)
        ids.append(loaded.source_vocabulary.encode_spans(spans))
        lines = [b" ".join(spans.tokens(line)) for line in range(len(block))]
        texts.append(b"".join(lines))
        lengths += map(len, lines)
    if not ids:
        raise CorpusError("there is no phrase", path=path, remedy="write phrases, one a line")
    return PhraseList(joined(ids), b"".join(texts), _offsets(lengths))


def _unreadable(words: int) -> CorpusError:
    if not words:
        return CorpusError("an empty phrase", remedy="delete the line")
    return CorpusError(
        f"a phrase of {words:,} words, where a model reads at most {LONGEST_PHRASE:,}",
        remedy="delete the line",
    )


def asked_phrases(
    texts: Sequence[bytes], path: str | Path | None, loaded: LoadedModel
) -> PhraseList:
    """Take the phrases that a user typed, and then those of a file.

    Raises:
        InputError: The file cannot be read.
        CorpusError: It has a line without a phrase.
        SettingsError: What was typed has no word, or too many.
        PhraseTableError: A word lacks the model's factor.
    """
    parts = [typed_phrase(text, loaded, read_side(loaded), "a PHRASE") for text in texts]
    if path is not None:
        parts.append(read_phrases(path, loaded))
    ids = joined([part.ids for part in parts])
    texts = [part.text_of(row) for part in parts for row in range(len(part))]
    return PhraseList.of(ids, texts)


def typed_phrase(text: bytes, loaded: LoadedModel, side: Side, label: str) -> PhraseList:
    """Take apart a phrase that a user typed.

    Args:
        text: The phrase.
        loaded: The model.
        side: Of which side of a table it is.
        label: What the command line calls it, for errors.

    Raises:
        SettingsError: It has no word, or too many.
        PhraseTableError: A word lacks the model's factor.
    """
    words = scored_tokens(text, side, loaded.model.settings.factor)
    if not 0 < len(words) <= LONGEST_PHRASE:
        raise SettingsError(
            f"{label} has {counted(len(words), 'word')}",
            remedy=f"give it from 1 to {LONGEST_PHRASE:,} words, between quotes",
        )
    reads = side == read_side(loaded)
    vocabulary = loaded.source_vocabulary if reads else loaded.target_vocabulary
    return PhraseList.of(from_lists([vocabulary.encode(words)]), [b" ".join(words)])


def joined(parts: Sequence[TokenSequences]) -> TokenSequences:
    """Put some phrases after others."""
    if not parts:
        return from_lists([])
    tokens = np.concatenate([part.tokens for part in parts])
    return TokenSequences(tokens, _offsets(np.concatenate([part.lengths for part in parts])))


def is_distinct(ids: TokenSequences) -> NDArray[np.bool_]:
    """(N,) bool, whether a phrase is the first of its kind."""
    return is_first(first_rows(phrase_digests(ids.tokens, ids.offsets)))


def _knows(ids: TokenSequences) -> NDArray[np.bool_]:
    """(N,) bool, whether all words of a phrase are known."""
    unknown_before = np.concatenate([[0], np.cumsum(ids.tokens == UNK_ID)])
    return np.asarray(np.diff(unknown_before[ids.offsets]) == 0)


def _offsets(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.fromiter(itertools.accumulate(lengths, initial=0), np.int64, len(lengths) + 1)
