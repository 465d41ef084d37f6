"""Scores of translations against references: what ``phrasescore evaluate`` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from moses_integration.bleu.statistics import COLUMNS, BleuStatistics
from tuning.metrics.metric_scores import columns_of, metric_scores
from tuning.metrics.metric_settings import MetricName, TextScoring
from tuning.metrics.score_tables import ScoreTable, points
from tuning.metrics.text_scores import LABELS, ReferenceTexts, ScoredText, signatures


@dataclass(frozen=True)
class TextScores:
    """The scores of one translation, fractions all.

    Args:
        path: Of the translation.
        scores: By metric.
        precisions: Of n-grams of one to four words.
        brevity_penalty: 1 where the translation is long enough.
        words: How many it has, as BLEU counts them.
        reference_words: How many it should have.
        length_ratio: Words per reference word; none where the references are empty.
        notes: What may be wrong with it.
    """

    path: Path
    scores: Mapping[str, float]
    precisions: tuple[float, ...]
    brevity_penalty: float
    words: int
    reference_words: int
    length_ratio: float | None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: ScoredText, metrics: Sequence[MetricName]) -> TextScores:
        """Score a text whose statistics are known."""
        sums = text.statistics.sum(0)
        bleu = BleuStatistics.from_matrix(sums[:COLUMNS])
        words, wanted = int(bleu.totals[0, 0]), int(bleu.reference_length[0])
        totals = np.maximum(bleu.totals[0], 1)
        return cls(
            path=text.path,
            scores={
                metric: float(metric_scores(metric, sums[columns_of(metric)])) for metric in metrics
            },
            precisions=tuple((bleu.matches[0] / totals).tolist()),
            brevity_penalty=float(np.exp(min(0.0, 1 - wanted / words))) if words else 0.0,
            words=words,
            reference_words=wanted,
            length_ratio=words / wanted if wanted else None,
            notes=text.notes,
        )


@dataclass(frozen=True)
class Evaluation:
    """The scores of some translations of the same text.

    Args:
        references: The files they were compared with.
        sentences: How many.
        signatures: By metric, how sacrebleu calls it.
        texts: One for each translation.
    """

    references: tuple[Path, ...]
    sentences: int
    signatures: Mapping[str, str]
    texts: tuple[TextScores, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What may be wrong with the texts."""
        return tuple(note for text in self.texts for note in text.notes)

    def table(self) -> ScoreTable:
        """Return the table: scores times 100, and the length ratio."""
        header = ["", *(LABELS[metric] for metric in self.signatures), "length ratio"]
        rows = []
        for text in self.texts:
            ratio = "–" if text.length_ratio is None else f"{text.length_ratio:.3f}"
            scores = [points(text.scores[metric]) for metric in self.signatures]
            rows.append([str(text.path), *scores, ratio])
        return ScoreTable(header, rows)

    def to_text(self) -> str:
        """Return the table and the signatures, to read."""
        lines = [f"{LABELS[metric]}: {text}" for metric, text in self.signatures.items()]
        return self.table().to_text() + "\n" + "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values; scores are fractions."""
        return {
            "references": [str(path) for path in self.references],
            "sentences": self.sentences,
            "signatures": dict(self.signatures),
            "results": [
                {
                    "file": str(text.path),
                    **text.scores,
                    "length_ratio": text.length_ratio,
                    "words": text.words,
                    "reference_words": text.reference_words,
                    "precisions": list(text.precisions),
                    "brevity_penalty": text.brevity_penalty,
                }
                for text in self.texts
            ],
        }


def evaluate(
    translations: Sequence[str | Path],
    references: Sequence[str | Path],
    scoring: TextScoring | None = None,
) -> Evaluation:
    """Score translations of the same text.

    Raises:
        CorpusError: A file is not UTF-8, or files have different numbers of lines.
    """
    texts = ReferenceTexts(references, scoring)
    metrics = texts.scoring.metrics
    return Evaluation(
        references=tuple(map(Path, references)),
        sentences=len(texts),
        signatures=signatures(texts.scoring, len(references)),
        texts=tuple(TextScores.of(texts.score(path), metrics) for path in translations),
    )
