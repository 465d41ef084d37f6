"""The phrase pairs of an input, and the translation options: the pairs that the search may use.

An entry is a phrase pair of a table, or a word that is not a source phrase of any table, which is
copied or dropped. Entries are sorted by source phrase, then by table, then by their order in the
table. They do not depend on weights.

For every source phrase and table, the entries with the highest future scores (estimated model
scores) become options. (Moses chooses these entries when it loads a table.) Future scores depend on
the weights, so options are chosen again when weights change.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.features import FeatureSet
from moses_integration.decoder.features.lm_scoring import PHRASE_WORD, PhraseWords
from moses_integration.decoder.loading.source_phrases import PhraseTrie, SourcePhrases, child
from moses_integration.decoder.loading.table_loading import TableEntries, TargetPhrases
from moses_integration.decoder.search.coverage import SentenceSpans, close_over_splits
from phrasescore.compiled import borrowed, compiled
from phrasescore.table.phrase_table import FLOOR_LN
from phrasescore.words.token_sequences import offsets_of
from phrasescore.words.word_table import WordTable

_DIGITS = frozenset(b"0123456789")


@dataclass(frozen=True)
class Entries:
    """Phrase pairs for one input.

    Args:
        targets: The target phrases.
        vocabulary: The target words, by index.
        first: The first entry of each source phrase, shape (phrases + 1,).
        table: The decoding path of each entry, shape (E,); for unknown words, the number of paths.
        static: The values of features that depend on the phrase alone, without language models,
            shape (E, S).
        static_components: The indexes of these values in the feature vector, shape (S,).
    """

    targets: TargetPhrases
    vocabulary: WordTable
    first: NDArray[np.int64]
    table: NDArray[np.int8]
    static: NDArray[np.float32]
    static_components: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.table)

    @property
    def phrases(self) -> NDArray[np.int32]:
        """The source phrase of each entry, shape (E,)."""
        return np.repeat(np.arange(self.first.size - 1, dtype=np.int32), np.diff(self.first))


def collect_entries(
    features: FeatureSet,
    tables: Sequence[TableEntries],
    source: SourcePhrases,
    *,
    drop_unknown: bool,
) -> Entries:
    """Join the entries of all tables, and add unknown words.

    Args:
        features: The features of the system.
        tables: The entries of each table of the system.
        source: The phrases of the input.
        drop_unknown: Whether unknown words without a digit are dropped instead of copied.
    """
    vocabulary = WordTable()
    parts = [*tables, _unknown_words(tables, source, drop_unknown=drop_unknown)]
    phrases = np.concatenate([part.phrases for part in parts])
    order = np.argsort(phrases, kind="stable")
    targets = TargetPhrases.joined([_renumbered(part, vocabulary) for part in parts])
    static, components = _static_features(features, parts)
    numbers = np.repeat(np.arange(len(parts)), [len(part.phrases) for part in parts])
    return Entries(
        targets=targets.taken(order),
        vocabulary=vocabulary,
        first=offsets_of(np.bincount(phrases, minlength=len(source))),
        table=numbers[order].astype(np.int8),
        static=static[order],
        static_components=components,
    )


def _renumbered(part: TableEntries, vocabulary: WordTable) -> TargetPhrases:
    numbers = vocabulary.add_spans(*part.vocabulary.spans())
    return part.targets._replace(words=numbers[part.targets.words])


def _unknown_words(
    tables: Sequence[TableEntries], source: SourcePhrases, *, drop_unknown: bool
) -> TableEntries:
    """Make an entry for every input word that is not a source phrase of any table."""
    known = np.zeros(len(source), bool)
    for table in tables:
        known[table.phrases] = True
    phrases = source.word_phrases()
    unknown = np.flatnonzero(~known[phrases])
    texts = [source.words.word(number) for number in unknown.tolist()]
    copied = [not drop_unknown or not _DIGITS.isdisjoint(word) for word in texts]
    vocabulary = WordTable(list(itertools.compress(texts, copied)))
    offsets = offsets_of(copied)
    numbers = np.arange(len(vocabulary), dtype=np.int32)
    links = np.zeros((len(vocabulary), 2), np.int16)
    return TableEntries(
        phrases[unknown],
        np.empty((len(unknown), 0), np.float32),
        TargetPhrases(offsets, numbers, offsets, links),
        vocabulary,
    )


def _static_features(
    features: FeatureSet, parts: Sequence[TableEntries]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the values of features that depend on the phrase alone, and their components."""
    bounds = offsets_of([len(part.phrases) for part in parts]).tolist()
    # the rows of each table; the last ones are those of unknown words
    rows = [slice(begin, end) for begin, end in itertools.pairwise(bounds)]
    columns = defaultdict[int, NDArray[np.float32]](lambda: np.zeros(bounds[-1], np.float32))
    for table, part, own in zip(features.tables, parts, rows, strict=False):
        for score in range(table.scores):
            columns[table.first + score][own] = part.scores[:, score]
    for component, path in features.phrase_penalties:
        columns[component][slice(None) if path is None else rows[path]] = 1.0
    for component in features.word_penalties:
        columns[component] -= np.concatenate([np.diff(part.targets.word_offsets) for part in parts])
    for component in features.unknown_penalties:
        columns[component][rows[-1]] = FLOOR_LN  # for each unknown word
    components = sorted(columns)
    none = np.zeros((bounds[-1], 0), np.float32)
    static = np.column_stack([none, *(columns[component] for component in components)])
    return static, np.array(components, np.int64)


def phrase_words(entries: Entries, vocabularies: Sequence[WordTable]) -> PhraseWords:
    """Convert target words to the ids of each language model; leave states and scores empty.

    Args:
        entries: The entries.
        vocabularies: The words of each model.
    """
    words = entries.vocabulary.spans()
    numbered = np.zeros((len(vocabularies), entries.targets.words.size), PHRASE_WORD)
    for model, vocabulary in enumerate(vocabularies):
        ids = np.maximum(vocabulary.find_spans(*words), 0)
        numbered["word"][model] = ids[entries.targets.words]
    return PhraseWords(entries.targets.word_offsets, numbered)


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
    if max_options > 0:
        rank = np.arange(chosen.size) - np.searchsorted(phrases, phrases)  # within its phrase
        chosen, phrases = chosen[rank < max_options], phrases[rank < max_options]
    first = np.searchsorted(phrases, np.arange(entries.first.size))  # (phrases + 1,)
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
    begin, stop = np.zeros((2, length * longest), np.int32)
    sentence = SentenceSpans(length, longest, begin, stop, np.full((length, length), -np.inf))
    _look_up(words, trie, options, sentence)
    return sentence
