"""What figures mean, in sentences for those who do not read p-values every day."""

from __future__ import annotations

from collections.abc import Iterator

from phrasescore.errors import counted
from tuning.metrics.score_tables import points
from tuning.metrics.text_scores import LABELS
from tuning.report.contents import Gain, ScoredSystem, ScoreSet, TuningRun

_LEVEL = 0.05
# among so many comparisons one that is below the level by chance is no surprise
_MANY = 5


def shown_p(p_value: float, trials: int) -> str:
    """Write a p-value; the least that so many trials can give is an upper bound.

    >>> shown_p(0.5298, 10_000), shown_p(1 / 10_001, 10_000)
    ('0.53', '<0.0001')
    """
    least = 1 / (trials + 1)
    if p_value <= 1.01 * least:
        return f"<{1 / trials:.1g}" if trials < 10_000 else f"<{1 / trials:.4f}".rstrip("0")
    return f"{p_value:.2g}" if p_value >= 0.001 else f"{p_value:.1g}"


def in_words(scores: ScoreSet, system: ScoredSystem) -> str:
    """Say what a system's gain shows, and what it does not."""
    gain = system.gain
    if gain is None:
        return ""
    label, first = LABELS[scores.metric], scores.systems[0]
    better = gain.gain < 0 if scores.metric == "ter" else gain.gain > 0
    verdict = f"not shown to differ from {first.name}"
    if gain.p_value < _LEVEL:
        verdict = f"{'better' if better else 'worse'} than {first.name}, hardly by chance"
    said = (
        f"{verdict}. {label} moves by {points(gain.gain, sign=True)}, from {points(first.mean)} to "
        f"{points(system.mean)}; systems that do not differ move it as far "
        f"{_how_often(gain, scores)}."
    )
    alone = [each.name for each in (first, system) if len(each.runs) == 1]
    return f"{said} One run of {' and of '.join(alone)}: another may differ." if alone else said


def _how_often(gain: Gain, scores: ScoreSet) -> str:
    for of in (100, 1000, 10_000):
        times = gain.p_value * of
        if times >= 1:
            return f"in {times:.0f} of {of:,} trials"
    return f"in fewer than 1 of {scores.trials:,} trials"


def about_tests(scores: ScoreSet) -> Iterator[str]:
    """Yield what one must know to read the table."""
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
    compared = sum(system.gain is not None for system in scores.systems)
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
    if run.best is None:
        return f"{name}{rounds} so far."
    best = next(each for each in run.rounds if each.number == run.best)
    begin = run.rounds[0]
    return (
        f"{name}{points(begin.bleu)} BLEU on the dev set with the first weights, "
        f"{points(best.bleu)} with those of round {best.number}, the best of {rounds}. It "
        f"ended there: {run.why}."
    )
