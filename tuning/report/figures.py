"""The scores, weights and figures of a report: tuning rounds and learning curves."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phrasescore.errors import InputError
from phrasescore.model.folder import CurvePoint
from phrasescore.pictures.figure_files import COLOURS, cut_label, plain_label, svg_image
from tuning.loop.tuning_settings import TuningRecord, weights_by_component
from tuning.metrics import metric_settings
from tuning.metrics.significance import ComparedSystem
from tuning.metrics.system_comparison import ComparisonRecord

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_INK, _QUIET, _LINE = "#1b1f23", "#6e7781", "#d0d7de"
_WIDTH = 8.0  # inches; the page stretches a figure to its column
_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)))
_LEGEND_LINE = 0.1  # inches for each curve; two curves share a line of the legend


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
    metric: metric_settings.MetricName
    systems: tuple[ComparedSystem, ...]
    trials: int
    signature: str = ""
    is_dev: bool = False

    @property
    def label(self) -> str:
        """The name of the metric."""
        return metric_settings.LABELS[self.metric]


def score_sets(
    record: ComparisonRecord, title: str, path: Path, *, is_dev: bool = False
) -> list[ScoreSet]:
    """Return the scores of a comparison, one set for each metric.

    Raises:
        InputError: The record has segment scores, or lacks a metric, a reference, a system or a
            system's files.
    """
    if metric_settings.SEGMENTS in record.metrics:
        problem = "a comparison of segment scores, which has no translations to show"
        raise InputError(problem, path=path)
    metrics = [name for name in metric_settings.METRICS if name in record.metrics]
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


def about_scores(scores: ScoreSet) -> str:
    """Return the note below a table of scores; ``compare`` explains intervals and p-values."""
    if scores.is_dev:
        return "Weights were tuned on this text, so every system looks better than it is."
    direction = "lower" if scores.metric in metric_settings.LOWER_IS_BETTER else "higher"
    return (
        f"{scores.label} times 100, {direction} is better; means ± standard deviation over runs. "
        f"Gain: over {scores.systems[0].system}. p: two-level bootstrap; p (AR): approximate "
        f"randomisation; {scores.trials:,} trials each. {scores.signature}"
    )


@dataclass(frozen=True)
class Figure:
    """A figure of the page.

    Args:
        name: A description of the figure for readers who cannot see it.
        image: The picture as a ``data:`` address.
        caption: The caption, which explains the figure.
    """

    name: str
    image: str
    caption: str


def tuning_figure(name: str, runs: Mapping[str, TuningRecord]) -> Figure:
    """Draw each run's decoded score and its best score over all candidates, by round."""
    objective = next(iter(runs.values())).objective
    label = "BLEU" if objective == "bleu" else _short(objective)
    curves: dict[str, list[tuple[float, float]]] = {}
    for run, record in runs.items():
        curves[run] = [(each.number, 100 * each.score) for each in record.curve]
        curves[f"{run}, best over all candidates"] = [
            (each.number, 100 * each.optimized.score)
            for each in record.curve
            if each.optimized.score is not None
        ]

    def draw(canvas: Canvas) -> None:
        from matplotlib.ticker import MaxNLocator

        axes = _draw_lines(canvas, curves, of_one=2)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(xlabel="round", ylabel=f"{label} on the dev set")

    return Figure(
        f"Tuning of {name}: {label} on the dev set by round.",
        svg_image(draw, _WIDTH, 2.7 + _LEGEND_LINE * len(curves)),
        "Solid: the score that the decoder reaches with the weights of the round. Dashed: the best "
        "score that weights can choose from all candidates so far.",
    )


def weights_table(runs: Mapping[str, TuningRecord]) -> metric_settings.ScoreTable:
    """Return a table of each weight before tuning and after each run."""
    before = next(iter(runs.values())).curve[0].weights
    tuned = [dict(weights_by_component(record.weights)) for record in runs.values()]
    rows = [
        [name, *(f"{each:.4f}" for each in (weight, *(own.get(name, weight) for own in tuned)))]
        for name, weight in before.items()
    ]
    return metric_settings.ScoreTable(["weight", "before", *runs], rows)


def learning_figure(name: str, models: Mapping[str, Sequence[CurvePoint]]) -> Figure:
    """Draw the losses of models over the seconds of their training."""
    losses = {
        "training": "training_nll",
        "held-out sources or sentences": "held_out_sources_nll",
        "held-out pairs": "held_out_pairs_nll",
    }
    curves: dict[str, list[tuple[float, float]]] = {}
    for model, curve in models.items():
        for loss, field in losses.items():
            found = [(each.seconds, getattr(each, field)) for each in curve]
            curves[f"{model}: {loss}"] = [(x, y) for x, y in found if y is not None]

    def draw(canvas: Canvas) -> None:
        axes = _draw_lines(canvas, curves, of_one=len(losses))
        axes.set(xlabel="seconds of training", ylabel="nats per word")
        axes.set_xlim(left=0)

    return Figure(
        f"Learning curve of {name}: loss by seconds of training.",
        svg_image(draw, _WIDTH, 2.9 + _LEGEND_LINE * len(curves)),
        "Lower is better. Training: the mean since the previous point.",
    )


def _draw_lines(
    canvas: Canvas, curves: Mapping[str, Sequence[tuple[float, float]]], of_one: int
) -> Axes:
    """Draw curves; each run or model has ``of_one`` curves in one colour, dashed differently.

    Returns:
        The axes, with unobtrusive lines and ticks.
    """
    axes = canvas.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(_LINE)
    axes.tick_params(colors=_QUIET, labelcolor=_INK, length=3)
    axes.grid(color=_LINE, linewidth=0.5)
    axes.set_axisbelow(True)
    for place, (name, curve) in enumerate(curves.items()):
        style: dict[str, Any] = {"color": COLOURS[place // of_one % len(COLOURS)]}
        if curve:
            style |= {"linestyle": _DASHES[place % of_one], "linewidth": 1.6, "marker": "o"}
            axes.plot(*zip(*curve, strict=True), markersize=4, label=_short(name), **style)
    # the legend is above the axes, so that no curve runs through it
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        canvas.legend(handles, labels, loc="outside upper left", ncols=2, frameon=False)
    return axes


def _short(name: str) -> str:
    """Cut a long name to fit into a figure."""
    return plain_label(cut_label(re.sub(r"\s+", " ", name)))
