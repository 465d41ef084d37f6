"""The phrase pairs of all tables of a system for one input, as arrays.

An entry is a phrase pair of a table, or an unknown word that is copied or dropped. Entries are
sorted by source phrase, then by table, then by their order in the table. They do not depend on
weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.features import FeatureSet
from moses_integration.decoder.features.lm_scoring import PHRASE_WORD, PhraseWords
from moses_integration.decoder.loading.source_phrases import SourcePhrases
from moses_integration.decoder.loading.table_loading import TableEntries, TargetPhrases
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
    words = part.targets.words
    return part.targets._replace(words=numbers[words] if len(numbers) else words)


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
    sizes = [len(part.phrases) for part in parts]
    ends = np.cumsum(sizes)
    total = int(ends[-1])
    columns: dict[int, NDArray[np.float32]] = {}

    def column(component: int) -> NDArray[np.float32]:
        return columns.setdefault(component, np.zeros(total, np.float32))

    for table, part, end in zip(features.tables, parts, ends, strict=False):
        rows = slice(int(end) - len(part.phrases), int(end))
        for score in range(table.scores):
            column(table.first + score)[rows] = part.scores[:, score]
    for component, number in features.table_penalty_components():
        end = int(ends[number])
        column(component)[end - sizes[number] : end] = 1.0
    target_words = np.concatenate([np.diff(part.targets.word_offsets) for part in parts])
    for component in features.word_penalties:
        column(component)[:] = -target_words
    for component in features.phrase_penalties:
        column(component)[:] = 1.0
    for component in features.unknown_penalties:
        column(component)[total - sizes[-1] :] = FLOOR_LN  # for each unknown word
    components = sorted(columns)
    values = [columns[component] for component in components] or [np.zeros((total, 0), np.float32)]
    return np.column_stack(values).astype(np.float32), np.array(components, np.int64)


def phrase_words(entries: Entries, vocabularies: Sequence[WordTable]) -> PhraseWords:
    """Convert target words to the ids of each language model; leave states and scores empty.

    Args:
        entries: The entries.
        vocabularies: The words of each model.
    """
    words = entries.vocabulary.spans()
    shape = (len(vocabularies), entries.targets.words.size)
    numbered = np.zeros(shape, PHRASE_WORD)
    for model, vocabulary in enumerate(vocabularies):
        ids = np.maximum(vocabulary.find_spans(*words), 0)
        numbered["word"][model] = ids[entries.targets.words] if len(ids) else 0
    return PhraseWords(entries.targets.word_offsets, numbered)
