"""Scores of translations against references, as ``phrasescore evaluate`` prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from moses_integration.bleu import COLUMNS, log_brevity_penalty
from tuning.metrics.metric_scores import columns_of, metric_scores
from tuning.metrics.metric_settings import MetricName, SentenceSelection, TextScoring
from tuning.metrics.score_tables import ScoreTable, points
from tuning.metrics.sentence_groups import Rows, SelectedSentences, select_sentences
from tuning.metrics.text_scores import LABELS, ReferenceTexts, ScoredText, TextFile, signatures


@dataclass(frozen=True)
class TextScores:
    """The scores of one translation, as fractions.

    Attributes:
        path: The file of the translation.
        scores: The score in each metric, by the metric's name; ``None`` for TER if a line is too
            long for it, which ``notes`` then say.
        precisions: The precisions of n-grams of one to four words.
        brevity_penalty: BLEU's brevity penalty; 1 if the translation is long enough.
        words: The number of words of the translation, as BLEU counts them.
        reference_words: The reference length, in words.
        length_ratio: Words per reference word; ``None`` if the references are empty.
        notes: Warnings for the user.
    """

    path: Path
    scores: Mapping[str, float | None]
    precisions: tuple[float, ...]
    brevity_penalty: float
    words: int
    reference_words: int
    length_ratio: float | None
    notes: tuple[str, ...] = ()

    @classmethod
    def from_text(cls, text: ScoredText, metrics: Sequence[MetricName], rows: Rows) -> TextScores:
        """Score part of a text: the sentences with the indices ``rows`` (K,)."""
        sums = text.statistics[rows].sum(0)
        matches, totals = sums[0 : COLUMNS - 1 : 2], sums[1 : COLUMNS - 1 : 2]
        scores: dict[str, float | None] = dict.fromkeys(metrics)
        for metric in metrics:
            if metric != "ter" or not text.without_shifts[rows].any():
                scores[metric] = float(metric_scores(metric, sums[columns_of(metric)]))
        words, wanted = int(totals[0]), int(sums[COLUMNS - 1])
        return cls(
            path=text.path,
            scores=scores,
            precisions=tuple((matches / np.maximum(totals, 1)).tolist()),
            brevity_penalty=float(np.exp(log_brevity_penalty(words, wanted))) if words else 0.0,
            words=words,
            reference_words=wanted,
            length_ratio=words / wanted if wanted else None,
            notes=text.notes,
        )

    def to_json(self) -> dict[str, Any]:
        """Return all numbers as JSON values; scores are fractions."""
        return {
            "file": str(self.path),
            **self.scores,
            "length_ratio": self.length_ratio,
            "words": self.words,
            "reference_words": self.reference_words,
            "precisions": list(self.precisions),
            "brevity_penalty": self.brevity_penalty,
        }


@dataclass(frozen=True)
class Evaluation:
    """The scores of several translations of the same text.

    Args:
        references: The reference files.
        sentences: The scored sentences.
        signatures: The settings of each metric, as a sacrebleu signature.
        texts: The scores of each translation.
    """

    references: tuple[Path, ...]
    sentences: SelectedSentences
    signatures: Mapping[str, str]
    texts: tuple[TextScores, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings for the user."""
        return tuple(dict.fromkeys(note for text in self.texts for note in text.notes))

    def to_text(self) -> str:
        """Return the scores (times 100), length ratios and signatures, for a terminal."""
        header = ["", *(LABELS[metric] for metric in self.signatures), "length ratio"]
        rows = []
        for text in self.texts:
            scores = [points(text.scores[metric]) for metric in self.signatures]
            ratio = "–" if text.length_ratio is None else f"{text.length_ratio:.3f}"
            rows.append([str(text.path), *scores, ratio])
        lines = [f"{self.sentences}"] if self.sentences.known_words is not None else []
        lines += [f"{LABELS[metric]}: {text}" for metric, text in self.signatures.items()]
        return ScoreTable(header, rows).to_text() + "\n" + "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values; scores are fractions."""
        return {
            "references": [str(path) for path in self.references],
            "sentences": len(self.sentences.rows),
            **self.sentences.to_json(),
            "signatures": dict(self.signatures),
            "results": [text.to_json() for text in self.texts],
        }


def evaluate(
    translations: Sequence[TextFile],
    references: Sequence[TextFile],
    scoring: TextScoring | None = None,
    selection: SentenceSelection | None = None,
) -> Evaluation:
    """Score translations of the same text.

    Args:
        translations: Files or lists of lines, one for each translation.
        references: Files or lists of lines, one for each reference; all texts have the same number
            of lines.
        scoring: The metrics, and the preparation of texts for them.
        selection: The sentences to score; by default all sentences.

    Raises:
        CorpusError: A file is not UTF-8, files have different numbers of lines, or no sentence
            remains to score.
        ModelError: The model whose vocabulary is used to select sentences cannot be read.
    """
    texts = ReferenceTexts(references, scoring)
    metrics = texts.scoring.metrics
    chosen = select_sentences(selection or SentenceSelection(), texts)
    scored = [texts.score(path) for path in translations]
    return Evaluation(
        references=tuple(map(Path, references)),
        sentences=chosen,
        signatures=signatures(texts.scoring, len(references)),
        texts=tuple(TextScores.from_text(text, metrics, chosen.rows) for text in scored),
    )
