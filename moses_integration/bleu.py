"""BLEU (Papineni et al. 2002): statistics of candidates, and scores from them.

Words are separated only by the space U+0020, as in Moses: a no-break space is part of a word.
(sacrebleu splits words at one; otherwise its ``tokenize="none"`` gives the same numbers.) The
corpus score is not smoothed: it is 0 if no n-gram of some order matches. BLEU is a fraction from 0
to 1.

The statistics of a candidate are a row of nine numbers in Moses's order: for each n from 1 to 4,
the matches (how many n-grams also occur in a reference, clipped) and the total number of n-grams;
then the reference length. The sum of rows gives the statistics of a text.

The n-grams of the references form a trie in arrays. Every sentence has its own root. A node is an
n-gram of one of the references of the sentence. The node holds the maximum count of this n-gram in
a single reference; matches are clipped to this count. A hash table leads from a node and a word id
to the child.

Shapes: N candidates, S sentences, R references of each, four n-gram orders.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phrasescore.compiled import Records, compiled
from phrasescore.errors import CorpusError, counted
from phrasescore.table.input_files import read_lines
from phrasescore.words.hashing import find_pair, pair_key
from phrasescore.words.word_table import WordTable

ORDERS = 4
# matches and totals of each order, and the reference length
COLUMNS = 2 * ORDERS + 1
_WORDS, _REFERENCE_WORDS = 1, COLUMNS - 1
# of poor systems' trigrams, 3.1 % (9 BLEU, Kabyle to Basque) and 1.6 % (2.5 BLEU, English to Hindi)
# matched; of texts in two languages, or with shuffled lines, 0 to 0.13 %
_MIN_TRIGRAMS, _FEW_TRIGRAMS = 200, 1 / 300
_UNKNOWN = -1
_CHILD = np.dtype([("key", np.uint64), ("node", np.int32)])
Counts = NDArray[np.int32]
Offsets = NDArray[np.int64]


def log_brevity_penalty(words: ArrayLike, reference_words: ArrayLike) -> NDArray[np.float64]:
    """Return ln of BLEU's brevity penalty: 0 unless a translation is too short.

    Args:
        words: (...,) the number of words of each translation, more than 0.
        reference_words: (...,) the number of words of each reference.
    """
    return np.minimum(0.0, 1.0 - np.divide(reference_words, words))


_log_brevity_penalty = compiled(log_brevity_penalty)


@compiled
def bleu(sums: NDArray[np.float64]) -> float:
    """Return BLEU of one row of statistics, (9,) float64, for compiled callers; not smoothed.

    The geometric mean is computed as a root of a product, because MERT evaluates BLEU at every
    corner of an envelope, and a root is faster than the logarithms in `bleu_of_sums`. The results
    of the two functions differ only in the last digits.
    """
    matches = sums[0] * sums[2] * sums[4] * sums[6]
    if matches <= 0:
        return 0.0
    mean = math.sqrt(math.sqrt(matches / (sums[1] * sums[3] * sums[5] * sums[7])))
    return mean * math.exp(_log_brevity_penalty(sums[_WORDS], sums[_REFERENCE_WORDS]))


def bleu_of_sums(
    sums: ArrayLike, *, added: float = 0.0, first_order: int = 1
) -> NDArray[np.float64]:
    """Return BLEU of each row of statistics: the row of a candidate, or the sum of a text's rows.

    Args:
        sums: (..., 9) rows of statistics.
        added: The value to add to matches and totals of the smoothed orders; 0 does not smooth.
        first_order: The lowest order that is smoothed: 1 in Moses's PRO, 2 in its MBR and in Lin
            and Och (2004).

    Returns:
        (...,) scores between 0 and 1. The score is 0 for an empty candidate, or if an order that is
        not smoothed has no match. The brevity penalty is not smoothed.

    >>> float(bleu_of_sums([4, 4, 3, 3, 2, 2, 1, 1, 4]))
    1.0
    """
    counts = np.asarray(sums, np.float64)
    extra = np.where(np.arange(1, ORDERS + 1) >= first_order, added, 0.0)
    matches, totals = counts[..., 0:-1:2] + extra, counts[..., 1:-1:2] + extra
    words = counts[..., _WORDS]
    some = (matches > 0).all(-1) & (words > 0)
    # if the score is 0, replace the numbers by 1, so that quotient and logarithms are defined
    precisions = np.where(some[..., None], matches, 1) / np.where(some[..., None], totals, 1)
    penalty = log_brevity_penalty(np.where(some, words, 1), counts[..., _REFERENCE_WORDS])
    return np.where(some, np.exp(np.log(precisions).mean(-1) + penalty), 0.0)


def reference_mismatch(sums: ArrayLike, text: object) -> list[str]:
    """Return a warning if a text shares almost no trigram with its references.

    Then one of the files is probably the wrong one. Bigrams would not show this: even texts in two
    languages share some, of punctuation.

    Args:
        sums: (9,) the sum of the text's statistics; more columns are ignored.
        text: The file or the name of the text, for the warning.
    """
    matches, total = np.asarray(sums)[4:6]
    if total < _MIN_TRIGRAMS or matches >= _FEW_TRIGRAMS * total:
        return []
    return [f"{text} shares almost no three-word sequence with the references: check the files"]


def statistics_rows(matches: Counts, lengths: Counts, reference_lengths: Counts) -> Counts:
    """Return (N, 9) rows of statistics.

    Args:
        matches: (N, 4) the clipped number of n-grams that also occur in a reference.
        lengths: (N,) the number of words of each candidate.
        reference_lengths: (N,) the reference length of each candidate.
    """
    rows = np.empty((len(lengths), COLUMNS), np.int32)
    rows[:, 0:-1:2] = matches
    rows[:, 1:-1:2] = np.maximum(lengths[:, None] - np.arange(ORDERS), 0)
    rows[:, -1] = reference_lengths
    return rows


class _ReferenceNgrams(NamedTuple):
    """The trie of the references' n-grams.

    Attributes:
        slots: The hash table (`hashing.find_pair`). Its keys are pairs of a node, counted from 1,
            and a word id; its values are child nodes.
        limits: (nodes,) the maximum count of the n-gram in one reference; nodes 0 to S - 1 are the
            roots of the S sentences.
    """

    slots: Records
    limits: NDArray[np.int32]


@compiled
def _add_references(
    ngrams: _ReferenceNgrams, size: int, tokens: Counts, offsets: Offsets, used: Counts,
    touched: Counts,
) -> int:  # fmt: skip
    """Add the n-grams of one reference of each sentence; return how many nodes there are now.

    Args:
        ngrams: The trie.
        size: The number of nodes.
        tokens: The word ids of all sentences, joined.
        offsets: (S + 1,) the start of each sentence in ``tokens``.
        used: (nodes,) scratch memory; zeros before and after the call.
        touched: (>= 4 * words of the longest sentence,) scratch memory.
    """
    slots, limits = ngrams
    for root in range(offsets.size - 1):
        count = 0
        for start in range(offsets[root], offsets[root + 1]):
            node = np.int64(root)
            for place in range(start, min(start + ORDERS, offsets[root + 1])):
                key = pair_key(node + 1, tokens[place])
                child = slots[find_pair(slots, key)]
                if child.key != key:
                    child.key, child.node = key, size
                    size += 1
                node = np.int64(child.node)
                used[node] += 1
                touched[count] = node
                count += 1
        for i in range(count):
            limits[touched[i]] = max(limits[touched[i]], used[touched[i]])
            used[touched[i]] = 0
    return size


@compiled
def _count_matches(
    ngrams: _ReferenceNgrams, sentences: NDArray[np.int64], tokens: Counts, offsets: Offsets,
    used: Counts, touched: Counts, matches: Counts,
) -> None:  # fmt: skip
    """Fill (N, 4) ``matches`` with the clipped matches of N candidates.

    ``sentences`` holds the sentence of each candidate; other arguments are as in `_add_references`.
    """
    slots, limits = ngrams
    for i in range(sentences.size):
        count = 0
        for start in range(offsets[i], offsets[i + 1]):
            node = sentences[i]
            for place in range(start, min(start + ORDERS, offsets[i + 1])):
                if tokens[place] == _UNKNOWN:
                    break
                child = slots[find_pair(slots, pair_key(node + 1, tokens[place]))]
                if child.key == 0:
                    break
                node = np.int64(child.node)
                if used[node] < limits[node]:
                    used[node] += 1
                    matches[i, place - start] += 1
                    touched[count] = node
                    count += 1
        for j in range(count):
            used[touched[j]] = 0


def _room(offsets: Offsets) -> Counts:
    """Allocate room for the nodes that the longest line may touch."""
    return np.empty(ORDERS * int(np.diff(offsets).max(initial=0)), np.int32)


def _build_trie(references: list[tuple[Counts, Offsets]]) -> _ReferenceNgrams:
    """Build the trie of R references for S sentences, given as `References.encode` returns them."""
    sentences = len(references[0][1]) - 1
    max_ngrams = ORDERS * sum(len(tokens) for tokens, _ in references)
    slots = np.zeros(1 << max(2 * max_ngrams - 1, 1).bit_length(), _CHILD)
    ngrams = _ReferenceNgrams(slots, np.zeros(sentences + max_ngrams, np.int32))
    used = np.zeros(sentences + max_ngrams, np.int32)
    size = sentences
    for tokens, offsets in references:
        size = _add_references(ngrams, size, tokens, offsets, used, _room(offsets))
    return ngrams._replace(limits=ngrams.limits[:size].copy())


class References:
    """The references of a corpus, prepared for scoring candidates.

    Args:
        references: R references of S lines each, words separated by spaces.
        names: The files of the references, for errors.

    Attributes:
        vocabulary: The words of the references by id.
        lengths: (S, R) the number of words of each reference.

    Raises:
        CorpusError: There is no reference, or the references have different numbers of lines.

    >>> references = References([[b"la maison bleue est petite"]])
    >>> references.score([0], [b"la maison est petite"]).tolist()
    [[4, 4, 2, 3, 0, 2, 0, 1, 5]]
    """

    def __init__(
        self, references: Sequence[Sequence[bytes]], *, names: Sequence[str | Path] = ()
    ) -> None:
        if not references:
            raise CorpusError("no reference translation is given")
        names = names or [f"reference {number}" for number in range(1, len(references) + 1)]
        for name, lines in zip(names, references, strict=True):
            if len(lines) != len(references[0]):
                found, wanted = counted(len(lines), "line"), len(references[0])
                remedy = "references must be translations of the same text, line by line"
                problem = f"{found}, where {names[0]} has {wanted:,}"
                raise CorpusError(problem, path=name, remedy=remedy)
        self.vocabulary = WordTable()
        encoded = [self.encode(lines, grow=True) for lines in references]
        self._ngrams = _build_trie(encoded)
        self.lengths = np.stack([np.diff(offsets) for _, offsets in encoded], 1)

    @classmethod
    def read(cls, paths: Sequence[str | Path]) -> References:
        """Read each reference from a file, plain or gzip.

        Raises:
            CorpusError: The files have different numbers of lines.
        """
        return cls([list(read_lines(path)) for path in paths], names=paths)

    def __len__(self) -> int:
        return len(self.lengths)

    def encode(self, lines: Sequence[bytes], *, grow: bool = False) -> tuple[Counts, Offsets]:
        """Return the word ids of N lines (-1 if in no reference), and (N + 1,) offsets."""
        text = b"".join([line + b"\n" for line in lines])
        return self.vocabulary.encode_lines(text, grow=grow)

    def score(self, sentences: ArrayLike, lines: Sequence[bytes]) -> Counts:
        """Return the statistics of candidates, (N, 9).

        Args:
            sentences: (N,) the index of the sentence that each candidate translates.
            lines: N candidates, words separated by spaces.

        Raises:
            CorpusError: A sentence has no reference.
        """
        return self.score_tokens(sentences, *self.encode(lines))

    def score_tokens(self, sentences: ArrayLike, tokens: Counts, offsets: Offsets) -> Counts:
        """Return the statistics, (N, 9), of candidates that ``encode`` has encoded."""
        chosen = np.asarray(sentences, np.int64)
        if len(chosen) and not (chosen.min() >= 0 and chosen.max() < len(self)):
            raise CorpusError(
                f"a candidate of sentence {chosen.max()} (counted from 0), but there are "
                f"references of {len(self)} sentences",
                remedy="give the complete references of the text that the candidates translate",
            )
        matches = np.zeros((len(chosen), ORDERS), np.int32)
        used = np.zeros_like(self._ngrams.limits)
        _count_matches(self._ngrams, chosen, tokens, offsets, used, _room(offsets), matches)
        lengths = np.diff(offsets).astype(np.int32)
        return statistics_rows(matches, lengths, self._reference_lengths(chosen, lengths))

    def _reference_lengths(self, sentences: NDArray[np.int64], lengths: Counts) -> Counts:
        """Return (N,) the length of the reference that is closest to each candidate's length."""
        choices = np.sort(self.lengths, 1)[sentences]  # shorter references first
        # if two lengths are equally near, argmin takes the first, which is the shorter one
        nearest = np.abs(choices - lengths[:, None]).argmin(1)
        return choices[np.arange(len(choices)), nearest].astype(np.int32)
