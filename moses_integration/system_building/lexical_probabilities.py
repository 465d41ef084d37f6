"""Translation probabilities of words, counted and rounded as in Moses.

Every link counts once, and an unlinked word counts once as linked to the special word NULL of the
other side. Values are rounded to seven decimals, because Moses computes phrase scores from a file
with seven decimals.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.system_building.phrase_numbers import NumberedText
from moses_integration.system_building.word_alignment import Links
from phrasescore.runs.final_names import open_output

NULL = b"NULL"
_SENTENCES_AT_ONCE = 50_000


class LexicalTable(NamedTuple):
    """p(column word | row word), as rows of a sparse matrix that compiled loops can search.

    Args:
        starts: (row words + 1,) int64; row i has the entries from starts[i] up to, but not
            including, starts[i + 1].
        columns: (entries,) int32, ascending within a row.
        prob: (entries,) float64, rounded to seven decimals.
        null: The index of the row of the word NULL.
    """

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    prob: NDArray[np.float64]
    null: int


@dataclass(frozen=True)
class LexicalCounts:
    """Counts of links between source words and target words.

    Args:
        source_words: The source words by id, including NULL.
        target_words: The target words by id, including NULL.
        sources: (pairs,) int32, the source word of each pair, ascending.
        targets: (pairs,) int32, the target word of each pair, ascending within a source word.
        counts: (pairs,) int64, the number of links of each pair.
    """

    source_words: list[bytes]
    target_words: list[bytes]
    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    counts: NDArray[np.int64]

    @cached_property
    def source_given_target(self) -> NDArray[np.float64]:
        """(pairs,) float64: p(source word | target word), rounded to seven decimals."""
        return _shares(self.counts, self.targets)

    @cached_property
    def target_given_source(self) -> NDArray[np.float64]:
        """(pairs,) float64: p(target word | source word), rounded to seven decimals."""
        return _shares(self.counts, self.sources)

    def by_source(self) -> LexicalTable:
        """Return p(target word | source word), with a row for each source word."""
        starts = np.searchsorted(self.sources, np.arange(len(self.source_words) + 1))
        null = self.source_words.index(NULL)
        return LexicalTable(starts, self.targets, self.target_given_source, null)

    def by_target(self) -> LexicalTable:
        """Return p(source word | target word), with a row for each target word."""
        order = np.lexsort((self.sources, self.targets))
        starts = np.searchsorted(self.targets[order], np.arange(len(self.target_words) + 1))
        null = self.target_words.index(NULL)
        return LexicalTable(starts, self.sources[order], self.source_given_target[order], null)

    def write(self, e2f: Path, f2e: Path) -> None:
        """Write Moses's two files (e source, f target): ``e f p(e|f)`` and ``f e p(f|e)``."""
        sources = [self.source_words[number] for number in self.sources.tolist()]
        targets = [self.target_words[number] for number in self.targets.tolist()]
        _write_lines(e2f, sources, targets, self.source_given_target)
        _write_lines(f2e, targets, sources, self.target_given_source)


def count_linked_words(
    source: NumberedText, target: NumberedText, alignments: Sequence[Links]
) -> LexicalCounts:
    """Count linked words, and words without a link, in all alignments of a text."""
    # called once, so a linear search for NULL is enough
    words = [text.words if NULL in text.words else [*text.words, NULL] for text in (source, target)]
    nulls = words[0].index(NULL), words[1].index(NULL)
    keys = np.zeros(0, np.uint64)
    counts = np.zeros(0, np.int64)
    begins = range(0, len(source), _SENTENCES_AT_ONCE)
    for links, begin in itertools.product(alignments, begins):
        end = min(begin + _SENTENCES_AT_ONCE, links.sentences)
        block = _pairs_of_words(source, target, links, (begin, end), nulls)
        new_keys, new_counts = np.unique(block, return_counts=True)
        keys, inverse = np.unique(np.concatenate([keys, new_keys]), return_inverse=True)
        counts = np.bincount(inverse, np.concatenate([counts, new_counts]), len(keys))
    return LexicalCounts(
        words[0],
        words[1],
        (keys >> np.uint64(32)).astype(np.int32),
        (keys & np.uint64(0xFFFFFFFF)).astype(np.int32),
        counts.astype(np.int64),
    )


def _pairs_of_words(
    source: NumberedText,
    target: NumberedText,
    links: Links,
    sentences: tuple[int, int],
    nulls: tuple[int, int],
) -> NDArray[np.uint64]:
    """Return the linked pairs of words, source id and target id packed in one integer."""
    begin, end = sentences
    chosen = slice(links.offsets[begin], links.offsets[end])
    sentence = np.repeat(np.arange(begin, end), np.diff(links.offsets[begin : end + 1]))
    source_positions = source.starts[sentence] + links.sources[chosen]
    target_positions = target.starts[sentence] + links.targets[chosen]
    linked = _packed(source.ids[source_positions], target.ids[target_positions])
    lonely_sources = _unlinked(source, begin, end, source_positions)
    lonely_targets = _unlinked(target, begin, end, target_positions)
    return np.concatenate(
        [linked, _packed(lonely_sources, nulls[1]), _packed(nulls[0], lonely_targets)]
    )


def _unlinked(
    text: NumberedText, begin: int, end: int, linked: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the ids of the unlinked words of some sentences."""
    first = int(text.starts[begin])
    ids = text.ids[first : text.starts[end]]
    lonely = ids != 0  # ends of sentences are not words
    lonely[linked - first] = False
    return ids[lonely]


def _packed(
    sources: NDArray[np.int32] | int, targets: NDArray[np.int32] | int
) -> NDArray[np.uint64]:
    return (np.asarray(sources, np.uint64) << np.uint64(32)) | np.asarray(targets, np.uint64)


def _shares(counts: NDArray[np.int64], words: NDArray[np.int32]) -> NDArray[np.float64]:
    """Divide each count by the sum over its word, as if printed with seven decimals and read."""
    shares = counts / np.bincount(words, counts)[words]
    return np.array([float(f"{share:.7f}") for share in shares.tolist()], np.float64)


def _write_lines(
    path: Path, firsts: list[bytes], seconds: list[bytes], prob: NDArray[np.float64]
) -> None:
    rows = zip(firsts, seconds, prob.tolist(), strict=True)
    with open_output(path) as stream:
        stream.writelines(b"%b %b %.7f\n" % row for row in rows)
