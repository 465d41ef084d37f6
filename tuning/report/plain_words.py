"""Explains scores and p-values in sentences, for readers who do not see them every day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from phrasescore.errors import counted
from tuning.metrics.score_tables import points
from tuning.metrics.significance import SystemDifference, SystemScores
from tuning.metrics.text_scores import LABELS
from tuning.report.contents import Results, ScoreSet, TunedSystem, TuningRun

_LEVEL = 0.05
# with this many comparisons, one below the level by chance alone is no surprise
_MANY = 5


def shown_p(p_value: float, trials: int) -> str:
    """Write a p-value; the smallest that this number of trials can give is an upper bound.

    >>> shown_p(0.5298, 10_000), shown_p(1 / 10_001, 10_000)
    ('0.53', '<0.0001')
    """
    least = 1 / (trials + 1)
    if p_value <= 1.01 * least:
        return f"<{1 / trials:.1g}" if trials < 10_000 else f"<{1 / trials:.4f}".rstrip("0")
    return f"{p_value:.2g}" if p_value >= 0.001 else f"{p_value:.1g}"


@dataclass(frozen=True)
class Verdict:
    """The head of a report: one number and its meaning.

    Args:
        title: The title of the page.
        number: The number as text; empty if there is none.
        unit: The unit, e.g. BLEU.
        value: The number that the text rounds.
        sentence: The systems that were compared, and the outcome.
        details: The interval, and a caution.
        outcome: The colour of the number.
    """

    title: str
    number: str = ""
    unit: str = ""
    value: float | None = None
    sentence: str = ""
    details: str = ""
    outcome: Literal["better", "worse", "open"] = "open"


def verdict(results: Results) -> Verdict:
    """Return the most important result of a folder."""
    compared = next((each for each in results.scores if _gains(each) and not each.is_dev), None)
    if compared is not None:
        return _of_comparison(compared)
    if results.tunings:
        return _of_tuning(results.tunings)
    if results.models:
        names = [model.name for model in results.models]
        return Verdict(f"Training of {names[0] if len(names) == 1 else f'{len(names)} models'}")
    titles = [
        (results.scores, "Scores of translations"),
        (results.tables, "New scores of a phrase table"),
    ]
    return Verdict(next((title for parts, title in titles if parts), f"Results of {results.name}"))


def _gains(scores: ScoreSet) -> list[tuple[SystemScores, SystemDifference]]:
    """Return the systems that are compared with the first one, the best one first."""
    sign = 1 if scores.metric == "ter" else -1
    found = [
        (system, system.difference) for system in scores.systems if system.difference is not None
    ]
    return sorted(found, key=lambda each: sign * each[1].gain)


def _of_comparison(scores: ScoreSet) -> Verdict:
    label, first = LABELS[scores.metric], scores.systems[0]
    compared = _gains(scores)
    system, gain = compared[0]
    several = len(compared) > 1
    others = f"{len(compared)} systems" if several else system.name
    title = f"Comparison of {others} with {first.name} on {scores.text}"
    which = f"The best of {others}, {system.name}," if several else system.name
    better = (gain.gain < 0) == (scores.metric == "ter")
    outcome: Literal["better", "worse", "open"] = "open"
    said = f"is not shown to differ from {first.name}"
    if gain.p_bootstrap < _LEVEL:
        outcome = "better" if better else "worse"
        said = f"translates {outcome} than {first.name}, hardly by chance"
    runs = [len(each.runs) for each in (first, system)]
    alone = "One run of each: another may differ." if max(runs) == 1 else ""
    interval = f"{points(gain.low, sign=True)} to {points(gain.high, sign=True)}"
    return Verdict(
        title,
        points(gain.gain, sign=True),
        label,
        gain.gain,
        f"{which} {said}: {points(system.mean)} {label} against {points(first.mean)}.",
        f"95 % interval {interval}, p {shown_p(gain.p_bootstrap, scores.trials)}. {alone}".strip(),
        outcome,
    )


def _of_tuning(tunings: Sequence[TunedSystem]) -> Verdict:
    names = [system.name for system in tunings]
    title = f"Tuning of {names[0] if len(names) == 1 else f'{len(names)} systems'}"
    run, best = next(((run, run.best) for run in tunings[0].runs if run.best), (None, None))
    if run is None or best is None:
        return Verdict(title)
    begin = run.rounds[0]
    which = f", {run.run}" if run.run else ""
    return Verdict(
        title,
        points(best.bleu - begin.bleu, sign=True),
        "BLEU",
        best.bleu - begin.bleu,
        f"{names[0]}{which}: {points(begin.bleu)} BLEU on the dev set with the first weights, "
        f"{points(best.bleu)} with the tuned ones.",
        "Weights are tuned on this text, so it shows no gain on others.",
    )


def in_words(scores: ScoreSet, system: SystemScores) -> str:
    """Explain a system's gain; empty for a system that is not compared."""
    gain = system.difference
    if gain is None:
        return ""
    label, first = LABELS[scores.metric], scores.systems[0]
    better = gain.gain < 0 if scores.metric == "ter" else gain.gain > 0
    verdict = f"not shown to differ from {first.name}"
    if gain.p_bootstrap < _LEVEL:
        verdict = f"{'better' if better else 'worse'} than {first.name}, hardly by chance"
    said = (
        f"{verdict}. {label} moves by {points(gain.gain, sign=True)}, from {points(first.mean)} to "
        f"{points(system.mean)}; systems that do not differ move it as far "
        f"{_how_often(gain, scores)}."
    )
    alone = [each.name for each in (first, system) if len(each.runs) == 1]
    return f"{said} One run of {' and of '.join(alone)}: another may differ." if alone else said


def _how_often(gain: SystemDifference, scores: ScoreSet) -> str:
    for of in (100, 1000, 10_000):
        times = gain.p_bootstrap * of
        if times >= 1:
            return f"in {times:.0f} of {of:,} trials"
    return f"in fewer than 1 of {scores.trials:,} trials"


def about_tests(scores: ScoreSet) -> Iterator[str]:
    """Yield the sentences that explain the table of scores."""
    first, label = scores.systems[0], LABELS[scores.metric]
    if scores.is_dev:
        yield "Weights were tuned on this text, which flatters every system."
        return
    deviates = any(system.deviation is not None for system in scores.systems)
    scale = "lower is better" if scores.metric == "ter" else "higher is better"
    spread = " ± standard deviation over runs" if deviates else ""
    yield f"{label} times 100, {scale}; means{spread}. Gain: over {first.name}."
    yield (
        "95 % interval: of 100 such intervals, for other texts of this kind and other runs of the "
        "systems, about 95 hold the real gain. p: how often systems that do not differ show a gain "
        f"as large, either way (two-level bootstrap, {scores.trials:,} trials). A large p shows no "
        "difference; it does not show that there is none. p (AR): the same for other sentences "
        "and these runs, by approximate randomisation."
    )
    compared = sum(system.difference is not None for system in scores.systems)
    if compared >= _MANY:
        yield (
            f"Among {compared} comparisons with the same system, one in twenty comes below 0.05 "
            "by chance alone."
        )
    if scores.signature:
        yield f"Signature: {scores.signature}"


def about_tuning(run: TuningRun) -> str:
    """Say how a run of tuning went."""
    rounds = counted(len(run.rounds), "round")
    name = f"{run.run}: " if run.run else ""
    best, begin = run.best, run.rounds[0]
    if best is None:
        return f"{name}{rounds} so far."
    return (
        f"{name}{points(begin.bleu)} BLEU on the dev set with the first weights, "
        f"{points(best.bleu)} with those of round {best.number}, the best of {rounds}. It "
        f"ended there: {run.record.why}."
    )
