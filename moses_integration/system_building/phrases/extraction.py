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
from numpy.typing import NDArray

from moses_integration.system_building.alignment.links import Links
from moses_integration.system_building.corpus.numbered_text import NumberedText
from moses_integration.system_building.phrases.pair_counts import (
    MASK_BITS,
    PairCounts,
    empty_counts,
)
from moses_integration.system_building.phrases.phrase_numbers import PhraseNumbers
from phrasescore.compiled import borrowed, compiled

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


class SentenceLinks(NamedTuple):
    """A sentence pair while it is extracted from.

    Attributes:
        linked: Whether two words are linked, by target and source position counted from 1, with
            the ends of both sentences linked too; False all around.
        degree: The links of each source word.
        inside: Room for a number for each source word.
    """

    linked: NDArray[np.bool_]
    degree: NDArray[np.int64]
    inside: NDArray[np.int64]


def extract_phrase_pairs(
    text: AlignedText, sentences: tuple[int, int], rows: int
) -> Iterator[tuple[int, PairCounts]]:
    """Extract from a range of sentences, in buffers of about ``rows`` rows.

    Yields:
        How many sentences are done, and one row for each place where a pair occurs, each counted
        once, in no particular order. The rows are views of one buffer, which is filled again for
        the next: copy what must last.
    """
    longest = text.source_phrases.longest
    source, target = (int(side.lengths.max(initial=0)) for side in (text.source, text.target))
    buffer = empty_counts(max(rows, target * longest * min(longest, source) ** 2), longest)
    # one row and column more on each side, for the links before the first and after the last word
    linked = np.zeros((target + 2, source + 2), np.bool_)
    here = SentenceLinks(linked, np.zeros(source, np.int64), np.zeros(source, np.int64))
    sentence, end = sentences
    while sentence < end:
        sentence, used = _extract(
            (text.source.starts, text.target.starts),
            (text.links.sources, text.links.targets, text.links.offsets),
            (text.source_phrases.at, text.target_phrases.at),
            (sentence, end),
            here,
            buffer,
        )
        yield sentence - sentences[0], buffer.first(used)


@compiled
def _extract(
    starts: Any, links: Any, numbers: Any, sentences: Any, here: Any, out: Any
) -> tuple[int, int]:
    """Fill the buffer; return the first sentence that did not fit, and the rows in use."""
    starts, links, numbers, sentences, here, out = borrowed(
        (starts, links, numbers, sentences, here, out)
    )
    linked, degree = here.linked, here.degree
    longest = numbers[0].shape[1]
    sentence, used = sentences[0], np.int64(0)  # a literal would have callees compiled twice
    while sentence < sentences[1]:
        source_start, target_start = starts[0][sentence], starts[1][sentence]
        source_length = starts[0][sentence + 1] - source_start - 1
        target_length = starts[1][sentence + 1] - target_start - 1
        most = target_length * longest * min(longest, source_length) ** 2
        if used + most > len(out.pairs):
            break
        linked[0, 0] = linked[target_length + 1, source_length + 1] = True
        for link in range(links[2][sentence], links[2][sentence + 1]):
            s, t = links[0][link], links[1][link]
            degree[s] += not linked[t + 1, s + 1]
            linked[t + 1, s + 1] = True
        places = (source_start, target_start, source_length, target_length)
        used = _extract_sentence(here, places, numbers, out, used)
        for t in range(target_length + 2):
            for s in range(source_length + 2):
                linked[t, s] = False
        for s in range(source_length):
            degree[s] = 0
        sentence += 1
    return sentence, used


@compiled
def _extract_sentence(here: Any, places: Any, numbers: Any, out: Any, used: int) -> int:
    """Write the rows of one sentence; return the rows in use."""
    linked, degree, inside = here
    source_start, target_start, source_length, target_length = places
    longest = numbers[0].shape[1]
    for t1 in range(target_length):
        for s in range(source_length):
            inside[s] = 0
        low, high = source_length, np.int64(-1)
        for t2 in range(t1, min(t1 + longest, target_length)):
            for s in range(source_length):
                if linked[t2 + 1, s + 1]:
                    inside[s] += 1
                    low, high = min(low, s), max(high, s)
            if high < low or high - low >= longest or _leaves(inside, degree, low, high):
                continue
            # the pair, and those whose source also covers words without a link around it
            target = np.uint64(numbers[1][target_start + t1, t2 - t1])
            s1 = low
            while s1 >= 0 and s1 > high - longest and (s1 == low or degree[s1] == 0):
                s2 = high
                while s2 < source_length and s2 < s1 + longest and (s2 == high or degree[s2] == 0):
                    source = np.uint64(numbers[0][source_start + s1, s2 - s1])
                    out.pairs[used] = (source << np.uint64(32)) | target
                    _write_links(linked, (s1, s2, t1, t2), longest, out, used)
                    used += 1
                    s2 += 1
                s1 -= 1
    return used


@compiled
def _leaves(inside: Any, degree: Any, low: int, high: int) -> bool:
    """Tell whether a source word of the span is also linked to a word outside."""
    for s in range(low, high + 1):  # noqa: SIM110 - compiled, and a generator is not
        if inside[s] < degree[s]:
            return True
    return False


@compiled
def _write_links(linked: Any, span: Any, longest: int, out: Any, row: int) -> None:
    """Write the alignment inside the spans, and the orientation that the links around give."""
    s1, s2, t1, t2 = span
    for word in range(out.alignments.shape[1]):
        out.alignments[row, word] = 0
    for t in range(t1, t2 + 1):
        for s in range(s1, s2 + 1):
            if linked[t + 1, s + 1]:
                bit = (t - t1) * longest + s - s1
                out.alignments[row, bit // MASK_BITS] |= np.uint64(1) << np.uint64(bit % MASK_BITS)
    for column in range(6):
        out.orientations[row, column] = 0
    for side in range(2):  # towards the phrase before, and behind
        t = t2 + 2 if side else t1
        diagonal, crossed = linked[t, s1], linked[t, s2 + 2]
        if side:
            diagonal, crossed = crossed, diagonal
        kind = OTHER if diagonal == crossed else (SWAP if crossed else MONOTONE)
        out.orientations[row, _BEHIND * side + kind] = 1
