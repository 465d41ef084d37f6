"""BLEU (Papineni et al. 2002): statistics of candidates as named arrays, and scores from them.

Words are separated by the space U+0020 alone, as in Moses: a no-break space is part of its word
(sacrebleu would split there; elsewhere its ``tokenize="none"`` gives the same numbers). The corpus
score is not smoothed: it is 0 where an order has no match. BLEU is a fraction, 0 to 1.

Shapes: N candidates, S sentences, R references of each, four n-gram orders.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moses_integration.bleu.reference_ngrams import ORDERS, build, count_matches, encode
from phrasescore.errors import CorpusError, counted
from phrasescore.table.input_files import read_lines
from phrasescore.words.word_table import WordTable, as_array

# matches and totals of each order, and the reference length
COLUMNS = 2 * ORDERS + 1
Counts = NDArray[np.int32]


class ReferenceLength(enum.Enum):
    """Which length of several references counts for the brevity penalty."""

    CLOSEST = "closest"
    """To the candidate's; of two equally close, the shorter."""
    SHORTEST = "shortest"
    AVERAGE = "average"
    """Over the sentence's references, rounded down, as Moses does it."""


@dataclass(frozen=True)
class BleuStatistics:
    """What BLEU is computed from, for each of N candidates.

    Args:
        matches: (N, 4) n-grams that a reference has too, clipped.
        totals: (N, 4) n-grams in all; ``totals[:, 0]`` is the candidate's length.
        reference_length: (N,) the length it should have.
    """

    matches: Counts
    totals: Counts
    reference_length: Counts

    def __len__(self) -> int:
        return len(self.reference_length)

    def matrix(self) -> Counts:
        """Return (N, 9) in Moses's order: match 1, total 1, ... total 4, reference length."""
        matrix = np.empty((len(self), COLUMNS), np.int32)
        matrix[:, 0:-1:2] = self.matches
        matrix[:, 1:-1:2] = self.totals
        matrix[:, -1] = self.reference_length
        return matrix

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> BleuStatistics:
        """Undo ``matrix``."""
        rows = np.asarray(matrix, np.int32).reshape(-1, COLUMNS)
        return cls(rows[:, 0:-1:2], rows[:, 1:-1:2], rows[:, -1])

    def bleu(self) -> float:
        """Return the corpus BLEU of all N together, 0 to 1."""
        return float(bleu_of_sums(self.matrix().sum(0, dtype=np.int64)))

    def length_ratio(self) -> float:
        """Return candidate words per reference word; infinite if the references are empty."""
        length, wanted = int(self.totals[:, 0].sum()), int(self.reference_length.sum())
        return length / wanted if wanted else float("inf" if length else 1.0)


def bleu_of_sums(sums: ArrayLike) -> NDArray[np.float64]:
    """Return BLEU, not smoothed, of summed statistics.

    Args:
        sums: (..., 9) in the order of ``BleuStatistics.matrix``.

    Returns:
        (...,) between 0 and 1; 0 where an order has no match.

    >>> float(bleu_of_sums([4, 4, 3, 3, 2, 2, 1, 1, 4]))
    1.0
    """
    counts = np.asarray(sums, np.float64)
    matches, totals = counts[..., 0:-1:2], counts[..., 1:-1:2]
    some = (matches > 0).all(-1)
    safe = np.where(matches > 0, matches, 1) / np.where(matches > 0, totals, 1)
    length = np.where(some, counts[..., 1], 1)
    brevity = np.minimum(0.0, 1.0 - np.where(some, counts[..., -1], 0) / length)
    return np.where(some, np.exp(np.log(safe).mean(-1) + brevity), 0.0)


def sentence_bleu(
    statistics: BleuStatistics, *, added: float = 1.0, first_order: int = 1
) -> NDArray[np.float64]:
    """Return a smoothed BLEU of each candidate by itself.

    Args:
        statistics: Of N candidates.
        added: What is added to matches and totals of the smoothed orders.
        first_order: The lowest order that is smoothed: 1 in Moses's PRO, 2 in its MBR and in Lin
            and Och (2004).

    Returns:
        (N,) between 0 and 1; 0 for an empty candidate and where an order that is not smoothed
        has no match. The brevity penalty is not smoothed.
    """
    extra = np.where(np.arange(1, ORDERS + 1) >= first_order, added, 0.0)
    matches, totals = statistics.matches + extra, statistics.totals + extra
    length = statistics.totals[:, 0]
    some = (matches > 0).all(1) & (length > 0)
    precision = np.where(some[:, None], matches, 1) / np.where(some[:, None], totals, 1)
    brevity = np.minimum(0.0, 1.0 - statistics.reference_length / np.where(some, length, 1))
    return np.where(some, np.exp(np.log(precision).mean(1) + brevity), 0.0)


class References:
    """The references of a corpus, ready to score candidates against.

    Args:
        references: R sequences of the same S lines, words separated by spaces.
        length: Which reference length counts.
        lowercase: Whether to compare without case (ASCII only, as in Moses).

    Raises:
        CorpusError: There is no reference, or they have different numbers of lines.

    >>> references = References([[b"la maison bleue est petite"]])
    >>> statistics = references.score([0], [b"la maison est petite"])
    >>> statistics.matrix().tolist()
    [[4, 4, 2, 3, 0, 2, 0, 1, 5]]
    """

    def __init__(
        self,
        references: Sequence[Sequence[bytes]],
        *,
        length: ReferenceLength = ReferenceLength.CLOSEST,
        lowercase: bool = False,
    ) -> None:
        if not references:
            raise CorpusError("no reference translation is given")
        for number, lines in enumerate(references[1:], 2):
            if len(lines) != len(references[0]):
                raise CorpusError(
                    f"reference {number} has {len(lines)} lines, reference 1 has "
                    f"{len(references[0])}",
                    remedy="references must be translations of the same text, line by line",
                )
        self._lowercase = lowercase
        self._length = length
        self._words = WordTable()
        encoded = [self._encode(lines, grow=True) for lines in references]
        self._ngrams = build(encoded)
        self._lengths = np.stack([np.diff(offsets) for _, offsets in encoded], 1)

    @classmethod
    def read(
        cls,
        paths: Sequence[str | Path],
        *,
        length: ReferenceLength = ReferenceLength.CLOSEST,
        lowercase: bool = False,
    ) -> References:
        """Read references, one file each, plain or gzip.

        Raises:
            CorpusError: The files have different numbers of lines.
        """
        references = [list(read_lines(path)) for path in paths]
        for path, lines in zip(paths, references, strict=True):
            if len(lines) != len(references[0]):
                raise CorpusError(
                    f"{counted(len(lines), 'line')}, where {paths[0]} has {len(references[0])}",
                    path=path,
                    remedy="references must be translations of the same text, line by line",
                )
        return cls(references, length=length, lowercase=lowercase)

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(S, R) the number of words of each reference."""
        return self._lengths

    @property
    def vocabulary(self) -> WordTable:
        """The words of the references, lower-cased if so asked, by id."""
        return self._words

    def encode(self, lines: Sequence[bytes]) -> tuple[Counts, NDArray[np.int64]]:
        """Return word ids of all lines (-1: no reference has the word), and (N + 1,) offsets."""
        return self._encode(lines, grow=False)

    def _encode(self, lines: Sequence[bytes], *, grow: bool) -> tuple[Counts, NDArray[np.int64]]:
        text = b"".join([line + b"\n" for line in lines])
        if self._lowercase:
            text = text.lower()
        return encode(self._words, as_array(text), grow=grow)

    def score(self, sentences: ArrayLike, lines: Sequence[bytes]) -> BleuStatistics:
        """Return the statistics of N candidates.

        Args:
            sentences: (N,) which sentence each translates, from 0.
            lines: N candidates, words separated by spaces.

        Raises:
            CorpusError: A sentence has no reference.
        """
        return self.score_tokens(sentences, *self.encode(lines))

    def score_tokens(
        self, sentences: ArrayLike, tokens: Counts, offsets: NDArray[np.int64]
    ) -> BleuStatistics:
        """Return the statistics of N candidates given as ``encode`` returns them."""
        chosen = np.asarray(sentences, np.int64)
        if len(chosen) and not (chosen.min() >= 0 and chosen.max() < len(self)):
            raise CorpusError(
                f"a candidate of sentence {chosen.max()} (counted from 0), but there are "
                f"{len(self)} references",
                remedy="give the references of the same text, all of it",
            )
        matches = count_matches(self._ngrams, chosen, tokens, offsets)
        lengths = np.diff(offsets).astype(np.int32)
        totals = np.maximum(lengths[:, None] - np.arange(ORDERS, dtype=np.int32), 0)
        return BleuStatistics(matches, totals, self._reference_length(chosen, lengths))

    def _reference_length(self, sentences: NDArray[np.int64], lengths: Counts) -> Counts:
        if self._length is ReferenceLength.AVERAGE:
            wanted = self._lengths.sum(1) // self._lengths.shape[1]
            return wanted[sentences].astype(np.int32)
        shorter_first = np.sort(self._lengths, 1)
        if self._length is ReferenceLength.SHORTEST:
            return shorter_first[sentences, 0].astype(np.int32)
        # argmin takes the first of equals: the shorter
        choices = shorter_first[sentences]
        nearest = np.abs(choices - lengths[:, None]).argmin(1)
        return choices[np.arange(len(choices)), nearest].astype(np.int32)
