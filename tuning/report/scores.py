"""Scores of systems on a text, and sentences that explain them to readers new to statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from phrasescore.errors import InputError
from phrasescore.runs.results import ComparedSystem, ComparisonRecord, SystemDifference
from tuning.metrics.metric_settings import LOWER_IS_BETTER, METRICS, MetricName
from tuning.metrics.score_tables import points, shown_p
from tuning.metrics.system_comparison import SEGMENTS
from tuning.metrics.text_scores import LABELS

_LEVEL = 0.05
# with this many comparisons, a p-value below the level may well be due to chance
_MANY = 5


@dataclass(frozen=True)
class ScoreSet:
    """Systems compared with the first of them; scores are fractions.

    Args:
        title: The name of the text, followed by the name of the record.
        metric: The metric of the scores.
        systems: At least one system.
        trials: The number of trials of each test.
        signature: The signature of sacrebleu, if it is known.
        is_dev: Whether weights were tuned on this text.
    """

    title: str
    metric: MetricName
    systems: tuple[ComparedSystem, ...]
    trials: int
    signature: str = ""
    is_dev: bool = False

    @property
    def label(self) -> str:
        """The name of the metric."""
        return LABELS[self.metric]

    @property
    def compared(self) -> list[tuple[ComparedSystem, SystemDifference]]:
        """The systems that are compared with the first one, with their gains."""
        return [(each, each.difference) for each in self.systems if each.difference is not None]

    def is_better(self, gain: float) -> bool:
        """Return whether a difference in the score is an improvement."""
        return gain < 0 if self.metric in LOWER_IS_BETTER else gain > 0


def score_sets(
    record: ComparisonRecord, title: str, path: Path, *, is_dev: bool = False
) -> list[ScoreSet]:
    """Return the scores of a comparison, one set for each metric.

    Raises:
        InputError: The record has segment scores, or lacks a metric, a reference, a system or a
            system's files.
    """
    if SEGMENTS in record.metrics:
        problem = "a comparison of segment scores, which has no translations to show"
        raise InputError(problem, path=path)
    metrics = [name for name in METRICS if name in record.metrics]
    every = [each for name in metrics for each in record.metrics[name]]
    named = all(record.files.get(each.system) and each.runs for each in every)
    if not (record.references and named and metrics and all(map(record.metrics.get, metrics))):
        raise InputError(
            "not a record of phrasescore: a metric, a reference, a system or its file is missing",
            path=path,
        )
    return [
        ScoreSet(
            title, name, record.metrics[name], record.trials, record.signatures.get(name, ""),
            is_dev,
        )
        for name in metrics
    ]  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """The main result of a report: the gain of the best system, and its meaning.

    Args:
        scores: The compared systems.
        system: The best system.
        gain: The gain of the best system.
    """

    scores: ScoreSet
    system: ComparedSystem
    gain: SystemDifference

    @property
    def outcome(self) -> str:
        """The class of the gain, which decides its colour: ``better``, ``worse`` or ``open``."""
        if self.gain.p_bootstrap >= _LEVEL:
            return "open"
        return "better" if self.scores.is_better(self.gain.gain) else "worse"

    @property
    def title(self) -> str:
        """The title of the page."""
        compared = self.scores.compared
        others = self.system.system if len(compared) == 1 else f"{len(compared)} systems"
        return f"Comparison of {others} with {self.scores.systems[0].system} on {self.scores.title}"


def verdict(sets: Sequence[ScoreSet]) -> Verdict | None:
    """Return the verdict on the first comparison whose text was not used for tuning, if any."""
    for scores in sets:
        if scores.compared and not scores.is_dev:
            sign = -1 if scores.metric in LOWER_IS_BETTER else 1
            system, gain = max(scores.compared, key=lambda each: sign * each[1].gain)
            return Verdict(scores, system, gain)
    return None


def in_words(scores: ScoreSet, system: ComparedSystem, gain: SystemDifference) -> str:
    """Explain a system's gain in a sentence."""
    first = scores.systems[0]
    said = f"not shown to differ from {first.system}"
    if gain.p_bootstrap < _LEVEL:
        better = "better" if scores.is_better(gain.gain) else "worse"
        said = f"{better} than {first.system}, hardly by chance"
    said += (
        f". {scores.label} changes by {points(gain.gain, sign=True)}, from {points(first.mean)} to "
        f"{points(system.mean)}; 95 % interval {points(gain.low, sign=True)} to "
        f"{points(gain.high, sign=True)}, p {shown_p(gain.p_bootstrap)}."
    )
    alone = [each.system for each in (first, system) if len(each.runs) == 1]
    runs = f"There is only one run of {' and of '.join(alone)}; another run may differ."
    return f"{said} {runs}" if alone else said


def about_tests(scores: ScoreSet) -> Iterator[str]:
    """Yield the sentences that explain the table of scores."""
    if scores.is_dev:
        yield "Weights were tuned on this text, so every system looks better than it is."
        return
    scale = "lower is better" if scores.metric in LOWER_IS_BETTER else "higher is better"
    yield (
        f"{scores.label} times 100, {scale}; means ± standard deviation over runs. Gain: over "
        f"{scores.systems[0].system}. 95 % interval: of 100 such intervals, for other texts of "
        "this kind and other runs of the systems, about 95 contain the real gain. p: how often "
        "equal systems differ by as much, in either direction (two-level bootstrap, "
        f"{scores.trials:,} trials). A large p does not prove that there is no difference. p (AR): "
        "the same for other sentences but only these runs, by approximate randomisation."
    )
    if len(scores.compared) >= _MANY:
        yield (
            f"There are {len(scores.compared)} comparisons with the same system; about one "
            "comparison in twenty has p below 0.05 by chance alone."
        )
    if scores.signature:
        yield f"Signature: {scores.signature}"
