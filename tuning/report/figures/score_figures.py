"""Figures of scores: gains with their intervals, scores by length, scores of sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from phrasescore.pictures.figure_files import COLOURS
from phrasescore.pictures.svg_elements import QUIET
from tuning.metrics.sentence_groups import draw_lengths
from tuning.metrics.text_scores import LABELS
from tuning.report.contents import ScoreSet, TranslatedText
from tuning.report.figures.figure_parts import (
    Cell,
    DataTable,
    Figure,
    drawn,
    legend_height,
    line_style,
    named,
    number_cell,
    plain_axes,
    put_legend,
    score_cell,
    short_label,
    whole_numbers,
)
from tuning.report.sentences import scores_by_length, sentence_scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


def interval_figure(scores: ScoreSet, key: str) -> Figure | None:
    """Draw the gain of each system with its interval; none where there is one system alone."""
    shown = [(system, system.gain) for system in scores.systems if system.gain is not None]
    if not shown:
        return None
    label, first = LABELS[scores.metric], scores.systems[0].name

    def draw(canvas: Canvas) -> None:
        axes = plain_axes(canvas)
        for row, (_, gain) in enumerate(shown):
            axes.plot([100 * gain.low, 100 * gain.high], [row, row], color=COLOURS[0], linewidth=2)
            axes.plot([100 * gain.gain], [row], "o", color=COLOURS[0], markersize=6)
        axes.axvline(0, color=QUIET, linewidth=1)
        axes.set_yticks(range(len(shown)), [short_label(system.name) for system, _ in shown])
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(f"{label} gained over {short_label(first)}")

    rows = tuple(
        (
            named(system.name),
            score_cell(gain.gain, sign=True),
            score_cell(gain.low, sign=True),
            score_cell(gain.high, sign=True),
        )
        for system, gain in shown
    )
    return drawn(
        draw,
        0.8 + 0.34 * len(shown),
        f"{label} gained over {first} on {scores.text}, each system with its 95 % interval.",
        DataTable(("system", "gain", "from", "to"), rows),
        "An interval that crosses the line at 0 leaves open whether there is a gain at all.",
        key,
    )


def length_figure(text: TranslatedText, key: str) -> Figure:
    """Draw the score over the length of sentences."""
    found = scores_by_length(text)
    label = LABELS[text.metric]
    lines = found.lines

    def draw(canvas: Canvas) -> None:
        axes = plain_axes(canvas)
        draw_lengths(axes, label, found.groups, lines)
        axes.set_xlabel(f"words of the {found.by} (above: sentences of each group)")
        whole_numbers(axes)
        axes.grid(axis="x", visible=False)
        put_legend(canvas, axes)

    rows = tuple(
        (
            named(str(group)),
            number_cell(len(group.rows), 0),
            *(
                Cell(f"{points[place].score:.2f}", points[place].score / 100)
                for points in found.lines.values()
            ),
        )
        for place, group in enumerate(found.groups)
    )
    return drawn(
        draw,
        3.2 + legend_height([*lines]),
        f"{label} by the length of the {found.by} on {text.name}.",
        DataTable((f"{found.by}", "sentences", *found.lines), rows),
        "Points are means over runs, bars their standard deviation. Groups of few sentences "
        "differ by chance.",
        key,
    )


def spread_figure(text: TranslatedText, key: str) -> Figure:
    """Draw which share of the sentences has at most some score."""
    label = LABELS[text.metric]
    spread = {
        output.name: np.sort(sentence_scores(text.metric, output.statistics[0]))
        for output in text.outputs
    }

    def draw(canvas: Canvas) -> None:
        axes = plain_axes(canvas)
        share = 100 * (np.arange(len(text.reference_lengths)) + 1) / len(text.reference_lengths)
        for place, (name, scores) in enumerate(spread.items()):
            axes.step(
                100 * scores, share, where="post", label=short_label(name), **line_style(place)
            )
        axes.set_xlabel(f"{label} of a sentence, at most")
        axes.set_ylabel("% of the sentences")
        put_legend(canvas, axes)

    quartiles = (0.1, 0.25, 0.5, 0.75, 0.9)
    rows = tuple(
        (
            named(name),
            score_cell(float(scores.mean())),
            *(score_cell(float(value)) for value in np.quantile(scores, quartiles)),
        )
        for name, scores in spread.items()
    )
    smoothed = " smoothed by adding one," if text.metric == "bleu" else ""
    return drawn(
        draw,
        3.0 + legend_height([*spread]),
        f"How the scores of single sentences are spread on {text.name}, a line for each system.",
        DataTable(("system", "mean", *(f"{q:.0%} below" for q in quartiles)), rows),
        f"{label} of each sentence alone,{smoothed} in the first run. A line further down and "
        "to the right has better sentences.",
        key,
    )
