"""Selects sentences to score: groups by source length, and sentences whose words a model knows.

Bahdanau et al. (2014) report both: Figure 2 has scores by the number of source words, and the
second half of Table 1 has scores of the sentences without unknown words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import CorpusError, PhraseTableError, SettingsError, counted
from phrasescore.runs.json_files import JsonObject
from phrasescore.table.input_files import read_lines
from phrasescore.table.phrase_table import Side, scored_tokens, words_of
from phrasescore.words.vocabulary import UNK_ID
from tuning.metrics.metric_settings import SentenceSelection
from tuning.metrics.text_scores import ReferenceTexts

# groups are 5 words wide if at least 95 % of the sentences have at most 30 words, otherwise 10
_SHORT, _NEARLY_ALL = 30, 0.95
_GROUPS = 6
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class LengthGroup:
    """A group of sentences with similar source lengths.

    Args:
        low: The minimum number of source words.
        high: The maximum number of source words; ``None`` for the last group, without a maximum.
        rows: (K,) the indices of the sentences; at least one.
        mean_length: The mean number of source words.
    """

    low: int
    high: int | None
    rows: Rows = field(compare=False)  # the comparison of arrays has no single truth value
    mean_length: float

    def __str__(self) -> str:
        if self.high is None:
            return f"over {counted(self.low - 1, 'word')}"
        if self.low == self.high:
            return counted(self.low, "word")
        return f"{self.low}–{self.high} words"

    def to_json(self) -> dict[str, object]:
        """Return the bounds, size and mean length of the group as JSON values."""
        return {
            "from": self.low,
            "to": self.high,
            "sentences": len(self.rows),
            "mean_length": self.mean_length,
        }


@dataclass(frozen=True)
class SelectedSentences:
    """The sentences to score.

    Args:
        rows: (K,) the indices of the sentences in the text; at least one.
        total: The number of sentences of the text.
        known_words: The model that must know all words of a sentence; ``None`` for no such rule.
        groups: Groups by source length, shortest first; empty if not requested.
    """

    rows: Rows = field(compare=False)
    total: int
    known_words: str | None = None
    groups: tuple[LengthGroup, ...] = ()

    def __str__(self) -> str:
        if self.known_words is None:
            return counted(self.total, "sentence")
        return (
            f"{len(self.rows):,} of {counted(self.total, 'sentence')}, those with all words in the "
            f"vocabularies of {self.known_words}"
        )

    def to_json(self) -> JsonObject:
        """Return the criterion of the selection as JSON values; empty for all sentences."""
        if self.known_words is None:
            return {}
        return {"known_words": {"model": self.known_words, "of": self.total}}


def select_sentences(selection: SentenceSelection, references: ReferenceTexts) -> SelectedSentences:
    """Return the sentences to score, and their groups.

    Raises:
        CorpusError: Source and references differ in their number of lines, or no sentence remains.
        ModelError: The model is missing or damaged.
        SettingsError: The model has a source vocabulary, and no source is given.
    """
    total = len(references)
    rows = np.arange(total)
    source = None
    if selection.source is not None:
        source = [line.removesuffix(b"\r") for line in read_lines(selection.source)]
        references.check_length(selection.source, source)
    if selection.known_words is not None:
        rows = _without_unknown_words(selection, source, references)
    groups: tuple[LengthGroup, ...] = ()
    if selection.by_length and source is not None:
        lengths = np.array([len(words_of(source[row])) for row in rows.tolist()])
        groups = tuple(length_groups(rows, lengths))
    return SelectedSentences(rows, total, selection.known_words, groups)


def _without_unknown_words(
    selection: SentenceSelection, source: list[bytes] | None, references: ReferenceTexts
) -> Rows:
    # imported here because it loads torch
    from phrasescore.model.folder import load_weights

    model = selection.known_words
    assert model is not None
    words = load_weights(model)
    texts: list[tuple[Side, str | Path, Sequence[bytes]]] = []
    if "source" in words.sides:
        if source is None or selection.source is None:
            raise SettingsError(
                f"{model} has a source vocabulary, but no source is given",
                remedy="name the text that was translated with --source",
            )
        texts.append(("source", selection.source, source))
    if "target" in words.sides:
        for reference, text in zip(references.paths, references.lines, strict=True):
            encoded = [line.removesuffix("\r").encode() for line in text]
            texts.append(("target", reference, encoded))
    is_known = np.ones(len(references), bool)
    for side, path, lines in texts:
        for row, line in enumerate(lines):
            try:
                # a line without a separator of factors has surface forms only
                tokens = scored_tokens(line, side, words.settings.factor if b"|" in line else 0)
            except PhraseTableError as error:
                raise error.at(path, row + 1) from None
            is_known[row] &= UNK_ID not in words.sides[side].encode(tokens)
    if not is_known.any():
        raise CorpusError(
            f"each of {len(references):,} sentences has a word outside the vocabularies of {model}",
            path=references.paths[0],
            remedy="name a model for such texts, with the same preparation and direction",
        )
    return np.flatnonzero(is_known)


def length_groups(rows: Rows, lengths: Rows) -> Iterator[LengthGroup]:
    """Yield non-empty groups of sentences by source length, shortest first.

    If at least 95 % of the sources have at most 30 words, groups are 5 words wide up to 30 words;
    otherwise they are 10 words wide up to 60. The last group has all longer sentences.

    Args:
        rows: (K,) the indices of the sentences.
        lengths: (K,) the number of source words of each sentence.
    """
    width = 5 if (lengths <= _SHORT).mean() >= _NEARLY_ALL else 10
    bounds = range(width, width * _GROUPS + 1, width)
    # sources without words form a separate group
    lows = [0, 1, *(bound + 1 for bound in bounds)]
    highs = [0, *bounds, None]
    for low, high in zip(lows, highs, strict=True):
        inside = (lengths >= low) & ((lengths <= high) if high is not None else True)
        if inside.any():
            yield LengthGroup(low, high, rows[inside], float(lengths[inside].mean()))
