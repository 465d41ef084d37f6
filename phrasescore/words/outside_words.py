r"""The words outside a shortlist, and the share of each in the probability of ``<unk>``.

To a model every word outside its shortlist is ``<unk>``, so what it gives one of them is the sum
over all of them (footnote 3 of Cho et al. (2014)). Shared out by their counts, one such word has
p(<unk>) times q(w) = (c(w) + 1) / (N + U + 1): c(w) is how often it stands in the distinct phrases
that the shortlist was made from, N the sum over all U words outside it, and words that never stood
there have c = 0 and one share together. On disk: a line ``WORD<TAB>COUNT`` for each, which ends at
``\n`` only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import ModelError, visible
from phrasescore.runs.byte_streams import write_atomically
from phrasescore.words.token_sequences import Ids
from phrasescore.words.vocabulary import UNK_ID, plain_lines
from phrasescore.words.word_table import WordTable

if TYPE_CHECKING:
    from phrasescore.table.block import TokenSpans

_RESTORE = "restore the file, or train the model again"
_LONGEST = 80  # bytes of a line in an error
_MOST_DIGITS = 18  # of a count that fits into 64 bits


@dataclass(frozen=True)
class OutsideWords:
    r"""Words outside a shortlist and how often each was seen; there may be none.

    Args:
        words: Each once.
        counts: As many, each 1 or more.

    >>> OutsideWords((b"cat", b"dog"), (2, 1)).to_bytes()
    b'cat\t2\ndog\t1\n'
    """

    words: tuple[bytes, ...]
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self._table) == len(self.words):
            return
        seen: set[bytes] = set()
        for line, word in enumerate(self.words, 1):
            if word in seen:
                raise ModelError(
                    f"the word {visible(word[:_LONGEST])} stands here twice",
                    line=line,
                    remedy=_RESTORE,
                )
            seen.add(word)

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def of(cls, words: Sequence[bytes], counts: NDArray[Any], ids: Ids) -> OutsideWords:
        """Take the words that were seen and are in no shortlist, the most frequent first.

        Args:
            words: Every distinct word of the side.
            counts: (len(words),) how often each occurs in the distinct phrases.
            ids: (len(words),) the id of each in the shortlist.
        """
        rows = np.flatnonzero((ids == UNK_ID) & (counts > 0))
        rows = rows[np.argsort(-counts[rows], kind="stable")]
        return cls(tuple(words[row] for row in rows.tolist()), tuple(counts[rows].tolist()))

    @classmethod
    def read(cls, path: str | Path) -> OutsideWords:
        """Read the words and their counts.

        Raises:
            InputError: The file cannot be read.
            ModelError: A line is not a word and a count, or a word stands twice.
        """
        words, counts = [], []
        for number, line in enumerate(plain_lines(path), 1):
            word, _, count = line.partition(b"\t")
            if not word or b" " in word or not _is_count(count):
                raise ModelError(
                    f"'{visible(line[:_LONGEST])}' is not a word, a tab and its count",
                    path=path,
                    line=number,
                    remedy=_RESTORE,
                )
            words.append(word)
            counts.append(int(count))
        try:
            return cls(tuple(words), tuple(counts))
        except ModelError as error:
            raise error.at(path, error.line) from None

    def to_bytes(self) -> bytes:
        """Return what ``write`` writes."""
        pairs = zip(self.words, self.counts, strict=True)
        return b"".join(b"%s\t%d\n" % pair for pair in pairs)

    def write(self, path: str | Path) -> None:
        """Write the words and their counts, one a line."""
        write_atomically(path, self.to_bytes())

    @cached_property
    def _table(self) -> WordTable:
        return WordTable(self.words)

    @cached_property
    def _ln_q(self) -> NDArray[np.float64]:
        # the last is that of a word that was never seen, which the table gives the number -1
        counts = np.array([*self.counts, 0], np.float64)
        ln_q: NDArray[np.float64] = np.log((counts + 1) / (counts.sum() + len(counts)))
        return ln_q

    def ln_share(self, word: bytes) -> float:
        """Return ln q of a word outside the shortlist, at most 0."""
        number = self._table.id_of(word)
        return float(self._ln_q[-1 if number is None else number])

    def ln_shares(self, spans: TokenSpans, ids: Ids) -> NDArray[np.float64]:
        """Return what sharing p(<unk>) out adds to ln p of each phrase, ``(lines,)``, at most 0.

        Args:
            spans: The phrases of a block.
            ids: (tokens,) their ids in the shortlist; only those that are ``<unk>`` count.
        """
        unknown = np.flatnonzero(ids == UNK_ID)
        numbers = self._table.find_spans(spans.data, spans.begins[unknown], spans.ends[unknown])
        lines = np.searchsorted(spans.offsets, unknown, side="right") - 1
        # each line's sum is its own, so that it does not depend on where a block begins
        shares = np.bincount(lines, self._ln_q[numbers], minlength=len(spans.offsets) - 1)
        return np.asarray(shares, np.float64)


# of a model whose shortlist has every word that it saw
NO_OUTSIDE_WORDS = OutsideWords((), ())


def _is_count(text: bytes) -> bool:
    return text.isdigit() and len(text) <= _MOST_DIGITS and text[:1] != b"0"
