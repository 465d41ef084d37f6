"""Phrase pairs of word-aligned sentences, with their orientation, as numbers.

A pair of spans is extracted where at least one link is inside, no link leaves it, and neither span
is longer than the longest phrase; spans also extend over words without a link (Koehn, Och and
Marcu 2003, as Moses does it). The orientation towards the neighbouring phrase is judged by words
(wbe-msd): monotone where the word diagonally before (or after) both spans is linked, swapped
where the one on the other diagonal is, other where neither or both are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moses_integration.system_building.alignment.links import Links
from moses_integration.system_building.corpus.numbered_text import NumberedText
from moses_integration.system_building.phrases.pair_counts import (
    MASK_BITS,
    PairCounts,
    empty_counts,
)
from moses_integration.system_building.phrases.phrase_numbers import PhraseNumbers

MONOTONE, SWAP, OTHER = 0, 1, 2
# the columns of the counts: three towards the phrase before, then three towards the one after
_BEHIND = 3


@dataclass(frozen=True)
class AlignedText:
    """A word-aligned parallel text, its phrases numbered."""

    source: NumberedText
    target: NumberedText
    links: Links
    source_phrases: PhraseNumbers
    target_phrases: PhraseNumbers


class SpanLimits(NamedTuple):
    """The most words of a phrase, of a source sentence, and of a target sentence."""

    longest: int
    source_length: int
    target_length: int


class SentenceLinks(NamedTuple):
    """A sentence pair while it is extracted from.

    Attributes:
        linked: Whether two words are linked, by target and source position counted from 1, with
            the ends of both sentences linked too.
        degree: The links of each source word.
        target_length: The target words.
        source_numbers: The numbers of the phrases from each source word on.
        target_numbers: The same for the target.
    """

    linked: NDArray[np.bool_]
    degree: NDArray[np.int64]
    target_length: int
    source_numbers: NDArray[np.uint32]
    target_numbers: NDArray[np.uint32]


def extract_phrase_pairs(
    text: AlignedText, sentences: tuple[int, int], rows: int
) -> Iterator[tuple[int, PairCounts]]:
    """Extract from a range of sentences, in buffers of about ``rows`` rows.

    Yields:
        How many sentences are done, and one row for each place where a pair occurs, each counted
        once, in no particular order. The rows are views of one buffer, which is filled again for
        the next: copy what must last.
    """
    limits = SpanLimits(
        text.source_phrases.longest,
        int(text.source.lengths.max(initial=0)),
        int(text.target.lengths.max(initial=0)),
    )
    most = _most_rows(limits.source_length, limits.target_length, limits.longest)
    buffer = empty_counts(max(rows, int(most)), limits.longest)
    sentence, end = sentences
    while sentence < end:
        sentence, used = _extract(
            (text.source.starts, text.target.starts),
            (text.links.sources, text.links.targets, text.links.offsets),
            (text.source_phrases.at, text.target_phrases.at),
            limits,
            (sentence, end),
            buffer,
        )
        yield sentence - sentences[0], buffer.first(used)


@njit(cache=True, nogil=True)
def _most_rows(source_length: int, target_length: int, longest: int) -> int:
    """A bound on the phrase pairs of one sentence pair."""
    return target_length * longest * min(longest, source_length) ** 2


@njit(cache=True, nogil=True)
def _extract(
    starts: Any, links: Any, numbers: Any, limits: Any, sentences: Any, out: Any
) -> tuple[int, int]:
    """Fill the buffer; return the first sentence that did not fit, and the rows in use."""
    source_starts, target_starts = starts
    link_sources, link_targets, link_offsets = links
    source_numbers, target_numbers = numbers
    first, end = sentences
    # one row and column more on each side, for the links before the first and after the last word
    linked = np.zeros((limits.target_length + 2, limits.source_length + 2), np.bool_)
    degree = np.zeros(limits.source_length, np.int64)
    used, room = 0, len(out.pairs)
    for sentence in range(first, end):
        source_length = source_starts[sentence + 1] - source_starts[sentence] - 1
        target_length = target_starts[sentence + 1] - target_starts[sentence] - 1
        if used + _most_rows(source_length, target_length, limits.longest) > room:
            return sentence, used
        linked[: target_length + 2, : source_length + 2] = False
        linked[0, 0] = linked[target_length + 1, source_length + 1] = True
        degree[:source_length] = 0
        for link in range(link_offsets[sentence], link_offsets[sentence + 1]):
            source, target = link_sources[link], link_targets[link]
            if not linked[target + 1, source + 1]:
                linked[target + 1, source + 1] = True
                degree[source] += 1
        here = SentenceLinks(
            linked,
            degree[:source_length],
            target_length,
            source_numbers[source_starts[sentence] :],
            target_numbers[target_starts[sentence] :],
        )
        used = _extract_sentence(here, limits.longest, out, used)
    return end, used


@njit(cache=True, nogil=True)
def _extract_sentence(here: Any, longest: int, out: Any, used: int) -> int:
    """Write the rows of one sentence; return the rows in use."""
    linked, degree, target_length = here.linked, here.degree, here.target_length
    source_length = len(degree)
    inside = np.zeros(source_length, np.int64)
    for t1 in range(target_length):
        inside[:] = 0
        low, high = source_length, -1
        for t2 in range(t1, min(t1 + longest, target_length)):
            for s in range(source_length):
                if linked[t2 + 1, s + 1]:
                    inside[s] += 1
                    low, high = min(low, s), max(high, s)
            if high >= low > high - longest and not _leaves(inside, degree, low, high):
                used = _extend(here, (low, high, t1, t2), longest, out, used)
    return used


@njit(cache=True, nogil=True)
def _leaves(inside: Any, degree: Any, low: int, high: int) -> bool:
    """Tell whether a source word of the span is also linked to a word outside."""
    for s in range(low, high + 1):  # noqa: SIM110 - compiled, and a generator is not
        if inside[s] < degree[s]:
            return True
    return False


@njit(cache=True, nogil=True)
def _extend(here: Any, span: Any, longest: int, out: Any, used: int) -> int:
    """Write the pair, and those whose source also covers words without a link around it."""
    degree = here.degree
    low, high, t1, t2 = span
    target_number = np.uint64(here.target_numbers[t1, t2 - t1])
    s1 = low
    while s1 >= 0 and s1 > high - longest and (s1 == low or degree[s1] == 0):
        s2 = high
        while s2 < len(degree) and s2 < s1 + longest and (s2 == high or degree[s2] == 0):
            source_number = np.uint64(here.source_numbers[s1, s2 - s1])
            out.pairs[used] = (source_number << np.uint64(32)) | target_number
            _write_links(here.linked, (s1, s2, t1, t2), longest, out, used)
            used += 1
            s2 += 1
        s1 -= 1
    return used


@njit(cache=True, nogil=True)
def _write_links(linked: Any, span: Any, longest: int, out: Any, row: int) -> None:
    """Write the alignment inside the spans, and the orientation that the links around give."""
    s1, s2, t1, t2 = span
    out.alignments[row] = 0
    for t in range(t1, t2 + 1):
        for s in range(s1, s2 + 1):
            if linked[t + 1, s + 1]:
                bit = (t - t1) * longest + s - s1
                out.alignments[row, bit // MASK_BITS] |= np.uint64(1) << np.uint64(bit % MASK_BITS)
    out.orientations[row] = 0
    out.orientations[row, _orientation(linked[t1, s1], linked[t1, s2 + 2])] = 1
    behind = _orientation(linked[t2 + 2, s2 + 2], linked[t2 + 2, s1])
    out.orientations[row, _BEHIND + behind] = 1


@njit(cache=True, nogil=True)
def _orientation(diagonal: bool, crossed: bool) -> int:
    if diagonal and not crossed:
        return MONOTONE
    if crossed and not diagonal:
        return SWAP
    return OTHER
