r"""The vocabulary of one side: the shortlist that a model knows, and the words outside it.

In the shortlist, id 0 is the end of sentence ``</s>``, id 1 is ``<unk>`` for every word outside the
shortlist, and the words follow from id 2 on, the most frequent first. The file has one word on each
line. The line number (from 0) is the id, and lines end only at ``\n``.

With byte pairs, the shortlist has pieces of words. A word that cannot be cut into known pieces is a
single ``<unk>``, so a sequence of ids shows where its words end.

A model reads every word outside its shortlist as ``<unk>``, so p(<unk>) is the probability of all
words outside together (footnote 3 of Cho et al. (2014)). If p(<unk>) is divided in proportion to
counts, a word w outside has the probability p(<unk>) q(w), with q(w) = (c(w) + 1) / (N + U + 1).
c(w) is the count of w in the distinct phrases, or the sentences, that the shortlist was made from.
U is the number of words outside, and N is the sum of their counts. Words that were never seen have
c = 0; all of them together count as one word. A second file has a line ``WORD<TAB>COUNT`` for each
word outside; lines end only at ``\n``.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import ModelError, located, refusal, visible
from phrasescore.runs.file_kinds import read_regular
from phrasescore.runs.final_names import write_atomically
from phrasescore.table.block import TokenSpans
from phrasescore.words.byte_pairs import MARK, BytePairs, joined
from phrasescore.words.token_sequences import Ids, TokenSequences, from_lists, offsets_of
from phrasescore.words.word_table import WordTable

UNK_ID = 1
EOS, UNK = b"</s>", b"<unk>"
SPECIALS = (EOS, UNK)
_NOT_IN_A_WORD = re.compile(rb"[\0 \t\n]|\r$")
# a count of 18 digits fits into 64 bits
_WORD_AND_COUNT = re.compile(rb"([^ \t]+)\t([1-9][0-9]{0,17})")
_RESTORE_LINES = "restore the file; line numbers are ids, so lines cannot be added or removed"
_RESTORE = "restore the file, or train the model again"
_SHOWN = 80  # maximum number of bytes of a word or line in an error
_MAX_BYTES = 1 << 30  # maximum size of a file of words: a hundred million words of ten bytes


@dataclass(frozen=True)
class Vocabulary:
    """Words by id; ``words[0]`` is ``</s>`` and ``words[1]`` is ``<unk>``.

    Args:
        words: The words, or the pieces of words.
        byte_pairs: Cuts words into pieces; ``None`` for whole words.

    >>> vocabulary = Vocabulary.from_words([b"the", b"house"])
    >>> vocabulary.encode([b"the", b"white", b"house"])
    [2, 1, 3]
    """

    words: tuple[bytes, ...]
    byte_pairs: BytePairs | None = None

    def __post_init__(self) -> None:
        if self.words[:2] != SPECIALS:
            raise ModelError(
                "a vocabulary begins with the lines </s> and <unk>, but this one does not",
                remedy="use the file that training wrote, unchanged",
            )
        for line, word in enumerate(self.words, 1):
            if not _is_word(word):
                problem = f"'{visible(word[:_SHOWN])}' is not one word"
                raise ModelError(problem, line=line, remedy=_RESTORE_LINES)
        _refuse_repeated(self.words, _RESTORE_LINES)

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def from_words(cls, words: Sequence[bytes]) -> Vocabulary:
        """Put ``</s>`` and ``<unk>`` before the words."""
        return cls((*SPECIALS, *words))

    @classmethod
    def read(cls, path: str | Path, byte_pairs: BytePairs | None = None) -> Vocabulary:
        """Read a vocabulary from a text file.

        Args:
            path: The file.
            byte_pairs: Cuts words into pieces; ``None`` for whole words.

        Raises:
            InputError: The file cannot be read.
            ModelError: A word is repeated, a line is not one word, or </s> or <unk> is missing.
        """
        with located(path):
            return cls(tuple(plain_lines(path)), byte_pairs)

    def write(self, path: str | Path) -> None:
        """Write the words, one per line."""
        write_atomically(path, b"".join(word + b"\n" for word in self.words))

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        # a token </s> or <unk> in a text is an unknown word, never the end of the sentence
        return {word: number for number, word in enumerate(self.words) if number > UNK_ID}

    @cached_property
    def _table(self) -> WordTable:
        return WordTable(self.words[len(SPECIALS) :])

    @cached_property
    def _pieces(self) -> Callable[[bytes], list[int]]:
        """The function that returns the ids of a word's pieces."""
        assert self.byte_pairs is not None
        cut, ids = self.byte_pairs.cutter(self.words), self._ids

        @functools.cache
        def pieces(word: bytes) -> list[int]:
            if word in SPECIALS or word.endswith(MARK):
                return [UNK_ID]
            found = [ids.get(piece, UNK_ID) for piece in cut(word)]
            return [UNK_ID] if UNK_ID in found else found

        return pieces

    def encode(self, tokens: Sequence[bytes]) -> list[int]:
        """Return the ids of tokens, without an end of sentence."""
        if self.byte_pairs is not None:
            return list(itertools.chain.from_iterable(map(self._pieces, tokens)))
        ids = self._ids
        return [ids.get(token, UNK_ID) for token in tokens]

    def knows(self, word: bytes) -> bool:
        """Tell whether the shortlist has a word or, with byte pairs, all pieces of the word."""
        return UNK_ID not in self.encode([word])

    def decode(self, ids: Ids) -> list[bytes]:
        """Return the words of ids; a word with an unknown piece is ``<unk>``."""
        words = [self.words[number] for number in ids.tolist()]
        if self.byte_pairs is None:
            return words
        return [UNK if word.endswith(UNK) else word for word in joined(words)]

    def encode_spans(self, spans: TokenSpans) -> TokenSequences:
        """Return the ids of all phrases of a block."""
        if self.byte_pairs is not None:
            words = WordTable()
            found = words.add_spans(spans.data, spans.begins, spans.ends)
            pieces = from_lists(list(map(self._pieces, words.words()))).select(found)
            return TokenSequences(pieces.tokens, pieces.offsets[spans.offsets])
        # the table numbers words from 0, and -1 means not found: 2 is added, so that -1 becomes the
        # id of <unk>
        numbers: Ids = self._table.find_spans(spans.data, spans.begins, spans.ends)
        numbers += len(SPECIALS)
        return TokenSequences(numbers, spans.offsets)

    def word_ends(self, ids: Ids) -> NDArray[np.bool_]:
        """Return ``(N,)`` bool: true for each id that ends a word; the last id always does."""
        ends = self._ends_word[ids]
        ends[-1:] = True
        return ends

    def count_words(self, ids: Ids) -> int:
        """Return the number of words that the pieces ``ids (N,)`` form."""
        return int(self._ends_word[ids].sum())

    @cached_property
    def _ends_word(self) -> NDArray[np.bool_]:
        cut = self.byte_pairs is not None
        return np.array([not (cut and word.endswith(MARK)) for word in self.words])

    def sums_of_words(
        self, values: NDArray[np.float64], phrases: TokenSequences
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Sum values over the pieces of each word.

        Args:
            values: (tokens + phrases,) for each phrase, a value for each id and one for </s>.
            phrases: Ids as :meth:`encode_spans` returns them.

        Returns:
            A value for each word and each </s>, and (phrases,) the number of these values in each
            phrase.
        """
        if self.byte_pairs is None:
            return values, phrases.lengths + 1
        ends = np.insert(self._ends_word[phrases.tokens], phrases.offsets[1:], True)
        totals = offsets_of(ends)
        counts = np.diff(totals[phrases.offsets + np.arange(len(phrases.offsets))])
        begins = np.flatnonzero(ends)[:-1] + 1
        return np.add.reduceat(values, np.insert(begins, 0, 0)) if len(values) else values, counts


def unknown_counts(phrases: TokenSequences) -> NDArray[np.int64]:
    """Return ``(N,)``: the number of ids of each phrase that are ``<unk>``."""
    return np.diff(offsets_of(phrases.tokens == UNK_ID)[phrases.offsets])


def _refuse_repeated(words: Sequence[bytes], remedy: str) -> None:
    """Raise a ModelError with the line of the first repeated word of a list."""
    seen: set[bytes] = set()
    for line, word in enumerate(words, 1):
        if word in seen:
            problem = f"the word {visible(word[:_SHOWN])} occurs twice"
            raise ModelError(problem, line=line, remedy=remedy)
        seen.add(word)


def plain_lines(path: str | Path) -> list[bytes]:
    """Return the lines, without line feeds, of a file that is never compressed.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        lines = read_regular(path, _MAX_BYTES).split(b"\n")
    except OSError as error:
        raise refusal(error, path) from None
    return lines if lines[-1] else lines[:-1]


def _is_word(word: bytes) -> bool:
    return bool(word) and not _NOT_IN_A_WORD.search(word)


def shortlist(words: Sequence[bytes], counts: NDArray[np.generic], size: int) -> Vocabulary:
    """Return the most frequent words; equally frequent words are sorted by their bytes.

    Words that cannot be written to the file, such as a word that ends with a carriage return, are
    left out.

    Args:
        words: Every distinct word of the side.
        counts: (len(words),) the count of each word.
        size: The maximum number of words, one or more, without ``</s>`` and ``<unk>``.
    """
    counts = np.array(counts, np.int64)
    for number, word in enumerate(words):
        if word in SPECIALS or not _is_word(word):
            counts[number] = 0
    order = np.flatnonzero(counts)
    if size < len(order):
        # before the slow sort, drop words that are too rare to be in the shortlist
        lowest = np.partition(counts[order], -size)[-size]
        order = order[counts[order] >= lowest]
    best = sorted(order.tolist(), key=lambda number: (-int(counts[number]), words[number]))
    return Vocabulary.from_words([words[number] for number in best[:size]])


@dataclass(frozen=True)
class OutsideWords:
    """The words outside a shortlist, if any, and their counts.

    Args:
        words: Distinct words.
        counts: The count of each word, 1 or more.
    """

    words: tuple[bytes, ...]
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        _refuse_repeated(self.words, _RESTORE)

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def from_counts(
        cls, words: Sequence[bytes], counts: NDArray[np.int64], ids: Ids
    ) -> OutsideWords:
        """Take the counted words that are not in the shortlist, the most frequent first.

        Args:
            words: Every distinct word of the side.
            counts: (len(words),) the count of each word, which may be 0.
            ids: (len(words),) the id of each word in the shortlist.
        """
        rows = np.flatnonzero((ids == UNK_ID) & (counts > 0))
        rows = rows[np.argsort(-counts[rows], kind="stable")]
        return cls(tuple(words[row] for row in rows.tolist()), tuple(counts[rows].tolist()))

    @classmethod
    def read(cls, path: str | Path) -> OutsideWords:
        """Read the words and their counts.

        Raises:
            InputError: The file cannot be read.
            ModelError: A line is not a word and a count, or a word occurs twice.
        """
        words, counts = [], []
        for number, line in enumerate(plain_lines(path), 1):
            pair = _WORD_AND_COUNT.fullmatch(line)
            if pair is None:
                problem = f"'{visible(line[:_SHOWN])}' is not a word, a tab and its count"
                raise ModelError(problem, path=path, line=number, remedy=_RESTORE)
            words.append(pair[1])
            counts.append(int(pair[2]))
        with located(path):
            return cls(tuple(words), tuple(counts))

    def write(self, path: str | Path) -> None:
        """Write each word with its count on a line."""
        pairs = zip(self.words, self.counts, strict=True)
        write_atomically(path, b"".join(b"%s\t%d\n" % pair for pair in pairs))

    @cached_property
    def _table(self) -> WordTable:
        return WordTable(self.words)

    @cached_property
    def _ln_q(self) -> NDArray[np.float64]:
        # the last entry is for unseen words, for which the table returns -1
        counts = np.array([*self.counts, 0], np.float64)
        return np.log((counts + 1) / (counts.sum() + len(counts)))

    def ln_share(self, word: bytes) -> float:
        """Return ln q of a word outside the shortlist, at most 0."""
        number = self._table.id_of(word)
        return float(self._ln_q[-1 if number is None else number])

    def ln_shares(self, spans: TokenSpans, ids: Ids) -> NDArray[np.float64]:
        """Return the sum of ln q over the unknown words of each phrase, ``(lines,)``, at most 0.

        Args:
            spans: The phrases of a block.
            ids: (tokens,) the ids of the tokens in the shortlist.
        """
        unknown = np.flatnonzero(ids == UNK_ID)
        numbers = self._table.find_spans(spans.data, spans.begins[unknown], spans.ends[unknown])
        lines = np.searchsorted(spans.offsets, unknown, side="right") - 1
        # a line's sum does not depend on other lines, so its last digits are the same in any block
        shares = np.bincount(lines, self._ln_q[numbers], minlength=len(spans.offsets) - 1)
        return np.asarray(shares, np.float64)


# for models whose shortlist has all words
NO_OUTSIDE_WORDS = OutsideWords((), ())
