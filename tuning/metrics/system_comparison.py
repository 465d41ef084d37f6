"""Scores of translations, and comparisons of each system with the first, as tables and JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from moses_integration.bleu import COLUMNS, log_brevity_penalty
from phrasescore.errors import CorpusError, SettingsError, counted
from phrasescore.runs.json_files import JsonObject
from phrasescore.runs.results import Count, Positive, Record
from phrasescore.table.text_blocks import read_numbers
from tuning.metrics.metric_scores import columns_of, metric_scores
from tuning.metrics.metric_settings import (
    LABELS,
    SEGMENTS,
    TEST_SEED,
    TRIALS,
    MetricName,
    ScoreTable,
    SentenceSelection,
    TextScoring,
    points,
    shown_p,
)
from tuning.metrics.significance import ComparedSystem, compare_segments, compare_statistics
from tuning.metrics.text_scores import (
    NamedLines,
    ReferenceTexts,
    Rows,
    ScoredText,
    SelectedSentences,
    TextFile,
    select_sentences,
    signatures,
)

_FEWEST = 10  # sentences; of fewer, drawing again tells little about others


@dataclass(frozen=True)
class TextScores:
    """The scores of one translation, as fractions.

    Attributes:
        path: The file of the translation.
        scores: The score in each metric, by the metric's name; ``None`` for an error rate if a
            line is too long for it, which ``notes`` then say.
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
            if metric not in text.too_long or not text.too_long[metric][rows].any():
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

    def to_json(self) -> dict[str, object]:
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

    def to_json(self) -> dict[str, object]:
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


@dataclass(frozen=True, kw_only=True)
class ComparisonRecord(Record):
    """The record of ``compare``.

    Args:
        references: The reference files.
        sentences: The number of compared sentences.
        known_words: The model whose vocabularies selected the sentences, if a model selected them.
        signatures: For each metric, its settings as a signature of sacrebleu.
        trials: The number of trials of each test.
        seed: The seed of each test.
        files: For each system, the files of its translations.
        metrics: For each metric, the scores of the systems.
        notes: Messages for the user about faults of the texts.
        by_length: The comparison for each group of sentences of similar length.
        source: The file of the source text; empty if it is not known.
    """

    kind: ClassVar[str] = "compare"
    references: tuple[str, ...]
    sentences: Count
    known_words: JsonObject | None = None
    signatures: dict[str, str]
    trials: Positive
    seed: int
    files: dict[str, tuple[str, ...]]
    metrics: dict[str, tuple[ComparedSystem, ...]]
    notes: tuple[str, ...]
    by_length: Sequence[Any] | None = None
    source: str = ""


@dataclass(frozen=True)
class SystemComparison:
    """The comparison of each system with the first.

    Attributes:
        record: The output of ``compare --json``: files, settings, scores.
        sentences: The scored sentences.
    """

    record: ComparisonRecord
    sentences: SelectedSentences

    @property
    def scores(self) -> Mapping[str, tuple[ComparedSystem, ...]]:
        """The scores of each system by metric; each later system is compared with the first."""
        return self.record.metrics

    def to_text(self) -> str:
        """Return the table that the command ``compare`` prints, and explain its columns."""
        record, first = self.record, next(iter(self.record.files))
        groups = "".join(
            f"\n{group}, {counted(len(group.rows), 'sentence')}\n"
            f"{score_table(found['metrics']).to_text()}"
            for group, found in zip(self.sentences.groups, record.by_length or (), strict=True)
        )
        by_chance = " With many groups, some show a difference by chance alone." if groups else ""
        explanation = (
            f"{self.sentences}. Gain: difference of the means from {first}; error rates (TER, CER, "
            "WER) are better if it is below 0. 95 % and p: bootstrap over sentences and, where a "
            "system has several runs, over runs. AR: approximate randomisation of sentences. Both "
            f"tests: two-sided, {record.trials:,} trials, seed {record.seed}.{by_chance} "
            + " ".join(f"{LABELS[metric]}: {text}." for metric, text in record.signatures.items())
        )
        filled = textwrap.fill(explanation, 100, break_long_words=False)
        return f"{score_table(self.scores).to_text()}{groups}\n{filled}\n"

    def to_json(self) -> dict[str, object]:
        """Return all numbers as JSON values, as ``compare --json`` prints them."""
        return self.record.to_json()


def score_table(scores: Mapping[str, tuple[ComparedSystem, ...]]) -> ScoreTable:
    """Return a table of scores, gains and p-values, given the systems by metric."""
    header = ["", "runs", "mean", "deviation", "gain", "95 %", "p", "p (AR)"]
    rows = []
    for metric, systems in scores.items():
        shown = _segment_score if metric == SEGMENTS else points
        prefix = f"{LABELS[metric]} " if len(scores) > 1 else ""
        for system in systems:
            cells = [prefix + system.system, str(len(system.runs))]
            cells += [shown(system.mean), shown(system.deviation)]
            if (found := system.difference) is None:
                rows.append([*cells, *["–"] * 4])
                continue
            interval = f"{shown(found.low, sign=True)} to {shown(found.high, sign=True)}"
            p_values = shown_p(found.p_bootstrap), shown_p(found.p_randomization)
            rows.append([*cells, shown(found.gain, sign=True), interval, *p_values])
    if len(scores) == 1:
        header[0] = LABELS[next(iter(scores))]
    return ScoreTable(header, rows)


def _segment_score(score: float | None, *, sign: bool = False) -> str:
    return "–" if score is None else f"{score:{'+' if sign else ''}.4f}"


def compare_systems(
    references: Sequence[TextFile],
    systems: Mapping[str, Sequence[TextFile]],
    *,
    scoring: TextScoring | None = None,
    selection: SentenceSelection | None = None,
    trials: int = TRIALS,
    seed: int = TEST_SEED,
) -> SystemComparison:
    """Compare each system with the first.

    Args:
        references: Files or lists of lines, one for each reference.
        systems: Each system's name, mapped to its translations, one for each tuning run.
        scoring: The metrics, and the preparation of texts for them.
        selection: The sentences to score, and their groups; by default all sentences.
        trials: The number of trials of each test.
        seed: The seed of each test; every comparison of two systems starts from this seed.

    Raises:
        CorpusError: A file is not UTF-8, files have different numbers of lines, or no sentence
            remains to score.
        ModelError: The model whose vocabulary is used to select sentences cannot be read.
        SettingsError: There are fewer than two systems, or a system has no translation.
    """
    _must_be_comparable(systems)
    texts = ReferenceTexts(references, scoring)
    chosen = select_sentences(selection or SentenceSelection(), texts)
    notes: dict[str, None] = {}  # each once: a note on a reference comes with every text
    every: dict[str, NDArray[np.int64]] = {}
    for name, paths in systems.items():
        scored = [texts.score(path) for path in paths]
        notes |= dict.fromkeys(note for text in scored for note in text.notes)
        every[name] = np.stack([text.statistics for text in scored])

    if min(map(len, (chosen.rows, *(group.rows for group in chosen.groups)))) < _FEWEST:
        notes[f"do not rely on intervals and p of fewer than {_FEWEST} sentences"] = None

    def compared(rows: Rows) -> dict[str, tuple[ComparedSystem, ...]]:
        parts = {name: runs[:, rows] for name, runs in every.items()}
        return {
            metric: compare_statistics(metric, parts, trials=trials, seed=seed)
            for metric in texts.scoring.metrics
        }

    groups = [{**group.to_json(), "metrics": compared(group.rows)} for group in chosen.groups]
    record = ComparisonRecord(
        references=tuple(str(Path(path)) for path in references),
        sentences=len(chosen.rows),
        **chosen.to_json(),
        signatures=signatures(texts.scoring, len(references)),
        trials=trials,
        seed=seed,
        files=_names(systems),
        metrics=compared(chosen.rows),
        notes=tuple(notes),
        by_length=groups or None,
    )
    return SystemComparison(record, chosen)


def _names(systems: Mapping[str, Sequence[TextFile]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(str(Path(path)) for path in paths) for name, paths in systems.items()}


def compare_segment_scores(
    systems: Mapping[str, Sequence[TextFile]], *, trials: int = TRIALS, seed: int = TEST_SEED
) -> SystemComparison:
    """Compare each system with the first by segment scores from files.

    Args:
        systems: Each system's name, mapped to its files, one for each tuning run; a file has one
            number per segment, and larger is better.
        trials: The number of trials of each test.
        seed: The seed of each test; every comparison of two systems starts from this seed.

    Raises:
        CorpusError: A line is not one finite number, or files are empty or differ in their number
            of lines.
        SettingsError: There are fewer than two systems, or a system has no file.
    """
    _must_be_comparable(systems)
    every = {name: list(map(_numbers_of, paths)) for name, paths in systems.items()}
    first = Path(next(iter(systems.values()))[0])
    segments = len(next(iter(every.values()))[0])
    if not segments:
        raise CorpusError("no score", path=first, remedy="give one number for each segment")
    for name, runs in every.items():
        for path, scores in zip(systems[name], runs, strict=True):
            if len(scores) != segments:
                raise CorpusError(
                    f"{counted(len(scores), 'score')}, where {first} has {segments:,}",
                    path=Path(path),
                    remedy="give files with one number for each segment of the same text",
                )
    stacked = {name: np.stack(runs) for name, runs in every.items()}
    record = ComparisonRecord(
        references=(),
        sentences=segments,
        signatures={SEGMENTS: "the mean of the segment scores in the files, not multiplied by 100"},
        trials=trials,
        seed=seed,
        files=_names(systems),
        metrics={SEGMENTS: compare_segments(stacked, trials=trials, seed=seed)},
        notes=(),
    )
    return SystemComparison(record, SelectedSentences(np.arange(segments), segments))


def _numbers_of(text: TextFile) -> NDArray[np.float64]:
    return np.array(text.lines, np.float64) if isinstance(text, NamedLines) else read_numbers(text)


def _must_be_comparable(systems: Mapping[str, Sequence[object]]) -> None:
    if len(systems) < 2:
        raise SettingsError("nothing to compare with", remedy="give two systems or more")
    for name, paths in systems.items():
        if not paths:
            raise SettingsError(
                f"{name} has no translation", remedy="give it one file for each run"
            )
