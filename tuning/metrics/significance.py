"""Comparison of systems by several tuning runs each (Clark et al. 2011).

Tuning is random: a system tuned twice scores differently. So every system has several translations
of the test set, one for each tuning run; what counts is the mean, the deviation over runs, and
whether the difference to the first system could be chance (``tuning.metrics.resampling``).
"""

from __future__ import annotations

import dataclasses
import statistics
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import SettingsError
from tuning.metrics.metric_scores import columns_of, metric_scores
from tuning.metrics.metric_settings import TEST_SEED, TRIALS, MetricName, TextScoring
from tuning.metrics.resampling import bootstrap, randomization_p_value, replica_p_value
from tuning.metrics.score_tables import ScoreTable, points
from tuning.metrics.text_scores import LABELS, ReferenceTexts, signatures


@dataclass(frozen=True)
class SystemDifference:
    """How a system differs from the first one in one metric; fractions.

    Args:
        gain: The mean over runs minus that of the first system.
        low: Of the 95 % bootstrap interval of the gain.
        high: The same.
        p_randomization: Of approximate randomisation, a sentence's runs together, two-sided.
        p_replicas: Of randomisation of replicas (Clark et al. 2011), often too small; or none.
        p_bootstrap: Of the paired bootstrap over sentences, two-sided.
    """

    gain: float
    low: float
    high: float
    p_randomization: float
    p_replicas: float | None
    p_bootstrap: float


@dataclass(frozen=True)
class SystemScores:
    """One system in one metric; fractions.

    Args:
        name: Of the system.
        runs: The score of each tuning run.
        difference: To the first system; none for the first itself.
    """

    name: str
    runs: tuple[float, ...]
    difference: SystemDifference | None = None

    @property
    def mean(self) -> float:
        """Over runs."""
        return mean_and_deviation(self.runs)[0]

    @property
    def deviation(self) -> float | None:
        """The standard deviation over runs (n - 1); none of a single one."""
        return mean_and_deviation(self.runs)[1]


def mean_and_deviation(scores: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean over runs, and the standard deviation (n - 1); none of a single one."""
    return statistics.fmean(scores), statistics.stdev(scores) if len(scores) > 1 else None


@dataclass(frozen=True)
class SystemComparison:
    """Systems, compared with the first of them.

    Args:
        scores: By metric, one entry for each system, in the order given.
        signatures: By metric, how sacrebleu calls it.
        files: The translations by system.
        references: The references.
        sentences: How many.
        trials: Of both tests.
        seed: Of both tests.
        notes: What may be wrong with the texts.
    """

    scores: Mapping[str, tuple[SystemScores, ...]]
    signatures: Mapping[str, str]
    files: Mapping[str, tuple[Path, ...]]
    references: tuple[Path, ...]
    sentences: int
    trials: int
    seed: int
    notes: tuple[str, ...] = ()

    def table(self) -> ScoreTable:
        """Return the table: scores times 100."""
        header = ["", "runs", "mean", "deviation", "gain", "95 %", "p (AR)", "p (bootstrap)"]
        rows = []
        for metric, systems in self.scores.items():
            prefix = f"{LABELS[metric]} " if len(self.scores) > 1 else ""
            rows += [[prefix + system.name, *self._cells(system)] for system in systems]
        if len(self.scores) == 1:
            header[0] = LABELS[next(iter(self.scores))]
        return ScoreTable(header, rows)

    def _cells(self, system: SystemScores) -> list[str]:
        deviation = "–" if system.deviation is None else points(system.deviation)
        cells = [str(len(system.runs)), points(system.mean), deviation]
        if (difference := system.difference) is None:
            return [*cells, *["–"] * 4]
        low, high = points(difference.low, sign=True), points(difference.high, sign=True)
        return [
            *cells,
            points(difference.gain, sign=True),
            f"{low} to {high}",
            self._shown(difference.p_randomization),
            self._shown(difference.p_bootstrap),
        ]

    def _shown(self, p_value: float) -> str:
        """Return a p-value; the least there can be is said to be an upper bound."""
        least = 1 / (self.trials + 1)
        return f"<{1.5 * least:.1g}" if p_value <= 1.01 * least else f"{p_value:.2g}"

    def explanation(self) -> str:
        """Return what one must know to read the table."""
        first = next(iter(self.files))
        return (
            f"{self.sentences:,} sentences. Gain: mean over runs against {first}, with its 95 % "
            f"bootstrap interval. AR: approximate randomisation of sentences, their runs together. "
            f"Bootstrap: over sentences, of means over runs. Both two-sided, "
            f"{self.trials:,} trials, seed {self.seed}. "
            + " ".join(f"{LABELS[metric]}: {text}." for metric, text in self.signatures.items())
        )

    def to_text(self) -> str:
        """Return table and explanation for a terminal."""
        said = textwrap.fill(self.explanation(), 100, break_long_words=False)
        return f"{self.table().to_text()}\n{said}\n"

    def to_markdown(self) -> str:
        """Return table and explanation as Markdown."""
        return f"{self.table().to_markdown()}\n{self.explanation()}\n"

    def to_latex(self) -> str:
        """Return the table for a paper (package booktabs), explained in a comment."""
        return f"% {self.explanation()}\n{self.table().to_latex()}"

    def to_json(self) -> dict[str, Any]:
        """Return every number as JSON values; scores are fractions."""
        return {
            "references": [str(path) for path in self.references],
            "sentences": self.sentences,
            "signatures": dict(self.signatures),
            "trials": self.trials,
            "seed": self.seed,
            "files": {name: [str(path) for path in paths] for name, paths in self.files.items()},
            "metrics": {
                metric: [_system_json(system) for system in systems]
                for metric, systems in self.scores.items()
            },
            "notes": list(self.notes),
        }


def _system_json(system: SystemScores) -> dict[str, Any]:
    difference = system.difference
    return {
        "system": system.name,
        "runs": list(system.runs),
        "mean": system.mean,
        "deviation": system.deviation,
        **({} if difference is None else dataclasses.asdict(difference)),
    }


def compare_systems(
    references: Sequence[str | Path],
    systems: Mapping[str, Sequence[str | Path]],
    *,
    scoring: TextScoring | None = None,
    trials: int = TRIALS,
    seed: int = TEST_SEED,
) -> SystemComparison:
    """Compare systems with the first of them.

    Args:
        references: Files of the same lines, one translation of the text each.
        systems: By name, the translations of each system, one file for each tuning run.
        scoring: Which metrics, and how.
        trials: Of both tests.
        seed: Of both tests; every comparison begins with it.

    Raises:
        CorpusError: A file is not UTF-8, or files have different numbers of lines.
        SettingsError: There are fewer than two systems, or one without a translation.
    """
    if len(systems) < 2:
        raise SettingsError("nothing to compare with", remedy="give two systems or more")
    for name, paths in systems.items():
        if not paths:
            raise SettingsError(f"{name} has no translation", remedy="give it one file a run")
    texts = ReferenceTexts(references, scoring)
    notes: list[str] = []
    counted: dict[str, NDArray[np.int64]] = {}
    for name, paths in systems.items():
        scored = [texts.score(path) for path in paths]
        notes += [note for text in scored for note in text.notes]
        counted[name] = np.stack([text.statistics for text in scored])
    return SystemComparison(
        scores={
            metric: compare_statistics(metric, counted, trials=trials, seed=seed)
            for metric in texts.scoring.metrics
        },
        signatures=signatures(texts.scoring, len(references)),
        files={name: tuple(map(Path, paths)) for name, paths in systems.items()},
        references=tuple(map(Path, references)),
        sentences=len(texts),
        trials=trials,
        seed=seed,
        notes=tuple(notes),
    )


def compare_statistics(
    metric: MetricName,
    systems: Mapping[str, NDArray[np.int64]],
    *,
    trials: int = TRIALS,
    seed: int = TEST_SEED,
    replicas: bool = True,
) -> tuple[SystemScores, ...]:
    """Compare systems with the first of them in one metric.

    Args:
        metric: ``bleu``, ``chrf`` or ``ter``.
        systems: By name, (R, S, K) statistics of R runs over the same S sentences.
        trials: Of each test.
        seed: Of each test.
        replicas: Whether to randomise replicas too, which takes longest.
    """
    score = partial(metric_scores, metric)
    parts = {name: runs[:, :, columns_of(metric)] for name, runs in systems.items()}
    first = next(iter(parts.values()))
    rows: list[SystemScores] = []
    for name, runs in parts.items():
        scores = tuple(score(runs.sum(1)).tolist())
        if not rows:
            rows.append(SystemScores(name, scores))
            continue
        drawn = bootstrap(first, runs, score, trials, seed)
        difference = SystemDifference(
            gain=statistics.fmean(scores) - rows[0].mean,
            low=drawn.low,
            high=drawn.high,
            p_randomization=randomization_p_value(first, runs, score, trials, seed),
            p_bootstrap=drawn.p_value,
            p_replicas=replica_p_value(first, runs, score, trials, seed) if replicas else None,
        )
        rows.append(SystemScores(name, scores, difference))
    return tuple(rows)
