"""Translation options: the table entries that the search may use, weighted and limited.

For every source phrase and table, the entries with the highest future scores (estimated model
scores) become options. (Moses chooses these entries when it loads a table.) Future scores depend on
the weights, so options are chosen again when weights change. A word that is not a source phrase of
any table gets an extra entry, which copies or drops the word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.loading.entries import Entries
from moses_integration.decoder.loading.source_phrases import PhraseTrie, child
from moses_integration.decoder.search.coverage import SentenceSpans, close_over_splits
from phrasescore.compiled import borrowed, compiled


class Options(NamedTuple):
    """All options, sorted by source phrase, then by future score, the highest first.

    Attributes:
        first: The first option of each source phrase, shape (phrases + 1,).
        entry: The table entry of each option, shape (options,).
        future: The future score of each option, shape (options,).
        score: The contribution of an option to the model score, for each orientation of the phrase,
            shape (orientations, options). Not included are distortion, neural language models, and
            the n-gram model scores of the first n - 1 words of the phrase.
        forward: The forward reordering score of an option for each orientation of the next phrase,
            shape (orientations, options). The search adds this score with the next phrase.
        forward_class: The index of each option's class, shape (options,); options with equal
            forward reordering scores share a class.
    """

    first: NDArray[np.int32]
    entry: NDArray[np.int32]
    future: NDArray[np.float32]
    score: NDArray[np.float32]
    forward: NDArray[np.float32]
    forward_class: NDArray[np.int32]


@compiled
def _adjust(
    heap: NDArray[np.int64], size: int, hole: int, item: int, future: NDArray[np.float32]
) -> None:
    """Insert an item into a heap with a hole; the lowest future score is on top.

    As in std::__adjust_heap of the C++ library, the hole first moves down to the bottom, and then
    the item moves up from there.
    """
    top = child = hole
    while child < (size - 1) // 2:
        child = 2 * (child + 1)
        if future[heap[child]] > future[heap[child - 1]]:
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * child + 1
        heap[hole] = heap[child]
        hole = child
    parent = (hole - 1) // 2
    while hole > top and future[heap[parent]] > future[item]:
        heap[hole] = heap[parent]
        hole = parent
        parent = (hole - 1) // 2
    heap[hole] = item


@compiled
def _select(
    chosen: NDArray[np.int64], begin: int, stop: int, limit: int, future: NDArray[np.float32]
) -> int:
    """Write the best of the entries ``begin`` to ``stop - 1`` to ``chosen``; return their number.

    The best entries have the highest future scores. If scores tie at the limit, this function
    chooses the same entries as std::partial_sort of the C++ library, which Moses calls. The first
    ``limit`` entries form a heap, and a later entry enters the heap only if its future score is
    higher than the lowest in the heap.
    """
    size = stop - begin
    kept = size if limit == 0 else min(size, limit)  # 0 is no limit
    for entry in range(begin, begin + kept):
        chosen[entry - begin] = entry
    if kept < size:
        for hole in range((kept - 2) // 2, -1, -1):  # make a heap, the lowest on top
            _adjust(chosen, kept, hole, chosen[hole], future)
        for entry in range(begin + kept, stop):
            if future[entry] > future[chosen[0]]:
                _adjust(chosen, kept, 0, entry, future)
    return kept


@compiled
def _select_all(
    first: NDArray[np.int64],
    table: NDArray[np.int8],
    limits: NDArray[np.int64],
    future: NDArray[np.float32],
    chosen: NDArray[np.int64],
) -> int:
    first, table, limits, future, chosen = borrowed((first, table, limits, future, chosen))
    count = 0
    for phrase in range(first.size - 1):
        begin = first[phrase]
        while begin < first[phrase + 1]:
            stop = begin + 1
            while stop < first[phrase + 1] and table[stop] == table[begin]:
                stop += 1
            count += _select(chosen[count:], begin, stop, limits[table[begin]], future)
            begin = stop
    return count


def choose_entries(
    entries: Entries, limits: Sequence[int], max_options: int, future: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """For each source phrase and table, choose the entries with the highest future scores.

    Args:
        entries: All entries.
        limits: The table limit of each decoding path, 0 for none.
        max_options: The maximum number of options of a source phrase, over all tables; 0 for no
            limit.
        future: The future score of every entry, float32 as in Moses, shape (E,).

    Returns:
        The first option of each source phrase, shape (phrases + 1,), and the entry of each option.
        The options of a phrase are sorted by future score, highest first.
    """
    chosen = np.empty(len(entries), np.int64)
    # unknown words count as an extra table without a limit
    all_limits = np.array([*limits, 0], np.int64)
    chosen = chosen[: _select_all(entries.first, entries.table, all_limits, future, chosen)]
    phrases = entries.phrases[chosen]
    order = np.lexsort((chosen, -future[chosen], phrases))  # by phrase, then score, then entry
    chosen, phrases = chosen[order], phrases[order]
    first = np.searchsorted(phrases, np.arange(entries.first.size))  # (phrases + 1,)
    if max_options > 0:
        kept = np.arange(chosen.size) - first[phrases] < max_options  # rank within its phrase
        chosen, phrases = chosen[kept], phrases[kept]
        first = np.searchsorted(phrases, np.arange(entries.first.size))
    return first.astype(np.int32), chosen.astype(np.int32)


@compiled
def _look_up(
    words: NDArray[np.int32], trie: PhraseTrie, options: Options, sentence: SentenceSpans
) -> None:
    words, trie, options, sentence = borrowed((words, trie, options, sentence))
    for start in range(sentence.length):
        phrase = np.int64(0)
        # one word longer each time
        for size in range(min(sentence.longest, sentence.length - start)):
            phrase = child(trie, phrase, words[start + size])
            if phrase < 0:
                break
            begin, stop = options.first[phrase], options.first[phrase + 1]
            span = start * sentence.longest + size
            sentence.begin[span], sentence.stop[span] = begin, stop
            if begin < stop:
                # sorted: the first is best
                sentence.estimates[start, start + size] = options.future[begin]
    close_over_splits(sentence.estimates)


def spans_of(
    words: NDArray[np.int32], trie: PhraseTrie, options: Options, longest: int
) -> SentenceSpans:
    """Find the options of all spans of a sentence, and the future costs of the spans.

    Args:
        words: The sentence, as ids of the trie's words, shape (n,), n at least 1.
        trie: The source phrases.
        options: The options of these phrases.
        longest: The number of words of the longest span to look up.
    """
    length = len(words)
    longest = max(1, min(longest, length))
    sentence = SentenceSpans(
        length=length,
        longest=longest,
        begin=np.zeros(length * longest, np.int32),
        stop=np.zeros(length * longest, np.int32),
        estimates=np.full((length, length), -np.inf),
    )
    _look_up(words, trie, options, sentence)
    return sentence
