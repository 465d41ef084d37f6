"""What a map shows: some phrases of a table at random, or a model's most frequent words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phrasescore.analysis.phrases import TablePhrases, joined, with_texts
from phrasescore.analysis.summaries import SummaryVectors
from phrasescore.analysis.word_vectors import WordVectors
from phrasescore.errors import CorpusError
from phrasescore.model.folder import LoadedModel
from phrasescore.runs.progress import Progress
from phrasescore.table.block import read_blocks
from phrasescore.words.distinct_phrases import phrase_digests
from phrasescore.words.vocabulary import SPECIALS, Vocabulary

# how Moses writes characters that mean something to it; the last is the one that the others have
_ESCAPED = (
    *((b"&bar;", b"|"), (b"&#124;", b"|"), (b"&lt;", b"<"), (b"&gt;", b">"), (b"&bra;", b"[")),
    *((b"&ket;", b"]"), (b"&quot;", b'"'), (b"&apos;", b"'"), (b"&#91;", b"["), (b"&#93;", b"]")),
    (b"&amp;", b"&"),
)


@dataclass(frozen=True)
class MapPoints:
    """What stands where in a map, before the map is laid out.

    Args:
        texts: N phrases or words, as a reader sees them.
        vectors: ``(N, D)``.
        noun: What one is called.
        of: How many there were to choose from.
    """

    texts: tuple[str, ...]
    vectors: NDArray[np.float32]
    noun: str
    of: int

    def __len__(self) -> int:
        return len(self.texts)


def random_phrases(
    phrases: TablePhrases, loaded: LoadedModel, summaries: SummaryVectors, count: int, seed: int
) -> MapPoints:
    """Draw distinct phrases of a table, each with the same chance.

    Each phrase has a number that depends on it and the seed alone, and those with the lowest ones
    are taken: in one pass, however often a phrase stands there, and wherever.

    Args:
        phrases: Of the table.
        loaded: The model.
        summaries: Of that model.
        count: How many to draw at most.
        seed: Another one draws others.

    Raises:
        CorpusError: The model knows no phrase.
    """
    swap, spread = np.random.default_rng(seed).integers(1 << 63, size=2, dtype=np.uint64)
    ids, keys = joined([]), np.empty(0, np.uint64)
    seen = np.empty(0, np.uint64)
    for block in phrases.blocks():
        digests = phrase_digests(block.tokens, block.offsets)[:, 0]
        seen = np.union1d(seen, digests)
        ids = joined([ids, block])
        keys = np.concatenate([keys, (digests ^ swap) * (spread | np.uint64(1))])
        # sorted, each once
        keys, rows = np.unique(keys, return_index=True)
        keys, ids = keys[:count], ids.select(rows[:count])
    if not len(ids):
        raise phrases.none()
    drawn = with_texts(ids, loaded.source_vocabulary)
    texts = tuple(shown(drawn.text_of(row)) for row in range(len(drawn)))
    return MapPoints(texts, summaries.of(drawn), "phrase", len(seen))


def frequent_words(
    known: WordVectors, count: int, table: str | Path | None, factor: int
) -> MapPoints:
    """Take a model's most frequent words, or those of them that a table has.

    Args:
        known: Words and their vectors, the most frequent first.
        count: How many to take at most.
        table: A phrase table, or ``None``.
        factor: Which factor of a factored token is the word.

    Raises:
        CorpusError: The table has none of them.
    """
    rows = np.arange(len(known.words))
    if table is not None:
        rows = rows[_in_table(table, known, factor)]
        if not len(rows):
            raise CorpusError(
                f"the {known.side} side of this table has no word that the model knows",
                path=table,
                remedy="name a table of the languages that the model was trained on",
            )
    texts = tuple(shown(known.words[row]) for row in rows[:count].tolist())
    return MapPoints(texts, known.vectors[rows[:count]], "word", len(rows))


def _in_table(path: str | Path, known: WordVectors, factor: int) -> NDArray[np.bool_]:
    vocabulary = Vocabulary.from_words(known.words)
    there = np.zeros(len(vocabulary), np.bool_)
    with Progress("reading the phrase table", unit="lines") as progress:
        for block in read_blocks(path):
            there[vocabulary.encode_spans(block.token_spans(known.side, factor)).tokens] = True
            progress.advance(len(block))
    return there[len(SPECIALS) :]


def shown(text: bytes) -> str:
    """Return a text as a reader sees it, what Moses escaped written out.

    >>> shown(b"don &apos;t &amp;lt;")
    "don 't &lt;"
    """
    for code, letter in _ESCAPED:
        text = text.replace(code, letter)
    return text.decode("utf-8", "backslashreplace")
