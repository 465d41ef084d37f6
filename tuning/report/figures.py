"""The figures of a report, with the table of numbers beside each.

Figures of scores: gains with their intervals, scores by length, scores of sentences. Figures of
work: tuning by round, weights, learning curves, new columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from phrasescore.pictures.figure_files import (
    COLOURS,
    FAINT,
    INK,
    LINE,
    QUIET,
    cut_label,
    plain_label,
    svg_text,
)
from phrasescore.runs.results import CurvePoint, ScoringRecord
from tuning.metrics.score_tables import points
from tuning.metrics.sentence_groups import draw_lengths
from tuning.metrics.text_scores import LABELS
from tuning.report.contents import (
    ScoredTable,
    ScoreSet,
    Spent,
    TrainedModel,
    TranslatedText,
    TunedSystem,
    TuningRun,
)
from tuning.report.plain_words import shown_p
from tuning.report.sentences import scores_by_length, sentence_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_WIDTH = 8.0  # inches; the page stretches them to its column
DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)))
_LETTERS = 110  # that a figure is wide, about


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Args:
        text: What is shown.
        value: The number that it rounds, as the files have it.
    """

    text: str
    value: float | None = None


@dataclass(frozen=True)
class DataTable:
    """Numbers; the first column says what they belong to."""

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Figure:
    """A figure of the page.

    Args:
        name: What it shows, for those who cannot see it.
        svg: The picture: ours, and safe as it is.
        table: Its numbers.
        caption: What to know to read it.
        key: Differs from figure to figure.
    """

    name: str
    svg: str
    table: DataTable
    caption: str
    key: str


def score_cells(*scores: float | None, sign: bool = False) -> list[Cell]:
    """Return fractions times 100; a dash for ``None``."""
    return [
        Cell("–") if score is None else Cell(points(score, sign=sign), score) for score in scores
    ]


def number_cells(digits: int, *values: float | None) -> list[Cell]:
    """Return numbers as they are, rounded to some digits; a dash for ``None``."""
    return [Cell("–") if value is None else Cell(f"{value:,.{digits}f}", value) for value in values]


def score_table(scores: ScoreSet) -> DataTable:
    """Return the systems with their scores, gains and p-values."""
    several = any(len(system.runs) > 1 for system in scores.systems)
    runs, deviation = (["runs"], ["±"]) if several else ([], [])
    header = ["system", *runs, LABELS[scores.metric], *deviation]
    rows = []
    for system in scores.systems:
        row = [Cell(system.name), *(number_cells(0, len(system.runs)) if several else [])]
        row += score_cells(system.mean, *([system.deviation] if several else []))
        if (gain := system.difference) is None:
            row += [Cell("–")] * 5
        else:
            row += score_cells(gain.gain, gain.low, gain.high, sign=True)
            chances = gain.p_bootstrap, gain.p_randomization
            row += [Cell(shown_p(each, scores.trials), each) for each in chances]
        rows.append(tuple(row))
    return DataTable((*header, "gain", "95 % from", "to", "p", "p (AR)"), tuple(rows))


def work_table(record: ScoringRecord) -> DataTable:
    """Return the steps of the models that pairs shared, and the share of unknown words."""
    work, unknown = record.work, (record.source_unknown_rate, record.target_unknown_rate)
    steps = (
        ("source", work.source_asked, work.source_done),
        ("target", work.target_asked, work.target_done),
    )
    rows = tuple(
        (
            Cell(side),
            *number_cells(0, asked, done),
            *number_cells(2, record.savings.get(side)),
            Cell(f"{100 * rate:.2f} %", rate),
        )
        for (side, asked, done), rate in zip(steps, unknown, strict=True)
    )
    header = ("side", "steps asked for", "steps done", "times fewer", "words outside the lists")
    return DataTable(header, rows)


def time_table(spent: Sequence[Spent]) -> DataTable:
    """Return the seconds of each piece of work, and of the processor if any are known."""
    with_processor = any(each.cpu_seconds is not None for each in spent)
    rows = tuple(
        (
            Cell(each.what),
            *number_cells(1, each.seconds, *([each.cpu_seconds] if with_processor else [])),
        )
        for each in spent
    )
    return DataTable(("work", "seconds", *(["of the processor"] if with_processor else [])), rows)


def drawn(
    draw: Callable[[Canvas], None],
    height: float,
    name: str,
    table: DataTable,
    caption: str,
    key: str,
) -> Figure:
    """Return a figure of some height in inches; ``draw`` draws it on an empty canvas."""
    return Figure(name, svg_text(draw, _WIDTH, height, salt=key), table, caption, key)


def plain_axes(canvas: Canvas) -> Axes:
    """Return axes that keep in the background."""
    axes = canvas.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(LINE)
    axes.tick_params(colors=QUIET, labelcolor=INK, length=3)
    axes.grid(color=LINE, linewidth=0.5)
    axes.set_axisbelow(True)
    return axes


def whole_numbers(axes: Axes) -> None:
    """Let the horizontal axis have ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def line_style(place: int) -> dict[str, Any]:
    """Return how the line of that place is drawn: colours first, then dashes."""
    return {
        "color": COLOURS[place % len(COLOURS)],
        "linestyle": DASHES[place // len(COLOURS) % len(DASHES)],
        "linewidth": 1.6,
    }


def put_legend(canvas: Canvas, axes: Axes) -> None:
    """Put the legend above the axes, where no line runs through it."""
    if old := axes.get_legend():
        old.remove()
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        short = [*map(cut_label, labels)]
        columns = _legend_columns(short)
        canvas.legend(handles, short, loc="outside upper left", ncols=columns, frameon=False)


def legend_height(names: Sequence[str]) -> float:
    """Return the inches that a legend of some names takes."""
    return 0.2 * -(-len(names) // _legend_columns([*map(cut_label, names)]))


def _legend_columns(labels: Sequence[str]) -> int:
    return max(1, min(4, _LETTERS // (max(map(len, labels)) + 6)))


def short_label(name: str) -> str:
    """Return a name as a figure shows it, the end of a long one left out."""
    return plain_label(cut_label(re.sub(r"\s+", " ", name)))


def interval_figure(scores: ScoreSet, key: str) -> Figure | None:
    """Draw the gain of each system with its interval; none where there is one system alone."""
    shown = [
        (system, system.difference) for system in scores.systems if system.difference is not None
    ]
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
            Cell(system.name),
            *score_cells(gain.gain, gain.low, gain.high, sign=True),
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
            Cell(str(group)),
            *number_cells(0, len(group.rows)),
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
            Cell(name),
            *score_cells(float(scores.mean()), *np.quantile(scores, quartiles).tolist()),
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


_BEFORE, _AFTER, _NEW = FAINT, COLOURS[0], COLOURS[1]
_BINS = 40


def tuning_figure(system: TunedSystem, key: str) -> Figure:
    """Draw the score by round: as decoded, and the best over all candidates."""
    objective = system.runs[0].record.objective

    def draw(canvas: Canvas) -> None:
        axes = plain_axes(canvas)
        for place, run in enumerate(system.runs):
            style = line_style(place)
            rounds = [each.number for each in run.rounds]
            name = run.run or "decoded"
            decoded = [100 * each.score for each in run.rounds]
            axes.plot(rounds, decoded, marker="o", markersize=4, label=short_label(name), **style)
            pooled = [
                (each.number, 100 * each.optimized.score)
                for each in run.rounds
                if each.optimized.score
            ]
            if pooled:
                label = "" if run.run else "best over all candidates"
                plain = {**style, "linestyle": ":", "linewidth": 1.2}
                axes.plot(*zip(*pooled, strict=True), label=label, **plain)
        whole_numbers(axes)
        axes.set_xlabel("round")
        axes.set_ylabel(f"{_objective(objective)} on the dev set")
        put_legend(canvas, axes)

    rows = tuple(
        (
            Cell(f"{run.run} round {each.number}".strip()),
            *score_cells(each.score, each.optimized.score),
            *number_cells(3, each.length_ratio),
            *number_cells(0, each.new, each.candidates),
        )
        for run in system.runs
        for each in run.rounds
    )
    header = ("round", "decoded", "over all candidates", "length ratio", "new", "candidates")
    return drawn(
        draw,
        2.7 + legend_height([run.run or "best over all candidates" for run in system.runs]),
        f"Tuning of {system.name}: {_objective(objective)} on the dev set by round.",
        DataTable(header, rows),
        "Solid: what the decoder reaches with the weights of the round. Dotted: the best that "
        "weights can choose from all candidates so far.",
        key,
    )


def weights_figure(system: TunedSystem, new: Mapping[str, str], key: str) -> Figure | None:
    """Draw each weight before and after tuning; of several runs the mean, and each as a dot.

    Without a weight there is no figure.

    Args:
        system: Whose weights.
        new: The model that each new score is of, by the component of the table.
        key: Differs from figure to figure.
    """
    runs = system.runs
    names = list(runs[0].before)
    if not names:
        return None
    before = [runs[0].before[name] for name in names]
    after = [[run.after.get(name, run.before.get(name, 0.0)) for run in runs] for name in names]
    means = [float(np.mean(values)) for values in after]
    shown = {name: f"{new[name]} ({name})" if name in new else name for name in names}

    def draw(canvas: Canvas) -> None:
        axes = plain_axes(canvas)
        places = np.arange(len(names))
        axes.barh(places - 0.2, before, 0.36, color=_BEFORE, label="before")
        axes.barh(places + 0.2, means, 0.36, color=_AFTER, label="after")
        fresh = [place for place, name in enumerate(names) if name in new]
        if fresh:
            values = [means[place] for place in fresh]
            label = "after, the new score"
            axes.barh(places[fresh] + 0.2, values, 0.36, color=_NEW, label=label)
        if len(runs) > 1:
            for place, values in enumerate(after):
                axes.plot(values, [place + 0.2] * len(values), "o", color=INK, markersize=2.5)
        axes.axvline(0, color=QUIET, linewidth=1)
        axes.set_yticks(places, [short_label(shown[name]) for name in names])
        for place in fresh:
            axes.get_yticklabels()[place].set_fontweight("bold")
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("weight")
        put_legend(canvas, axes)

    several = tuple(run.run for run in runs) if len(runs) > 1 else ()
    rows = tuple(
        (
            Cell(shown[name]),
            *number_cells(4, before[place], means[place], *(after[place] if several else [])),
        )
        for place, name in enumerate(names)
    )
    return drawn(
        draw,
        1.2 + 0.28 * len(names),
        f"Weights of {system.name} before and after tuning.",
        DataTable(("weight", "before", "mean after" if several else "after", *several), rows),
        _about_weights(runs),
        key,
    )


def _about_weights(runs: Sequence[TuningRun]) -> str:
    said = "The weights with which the best round was decoded."
    if any(run.best is None for run in runs):
        said = "Tuning goes on: these are the weights of the last round so far."
    return said + (" Bars are means over runs, dots the runs." if len(runs) > 1 else "")


def learning_figure(group: Sequence[TrainedModel], title: str, key: str) -> Figure | None:
    """Draw the loss of models over the seconds of their training; none without an evaluation."""
    models = [model for model in group if model.points]
    if not models:
        return None
    several = len(models) > 1
    names = [
        "training",
        f"unseen {'sentences' if models[0].of_text else 'sources'}",
        "unseen pairs",
    ]

    def draw(canvas: Canvas) -> None:
        axes = plain_axes(canvas)
        for place, model in enumerate(models):
            for which, (name, losses) in enumerate(zip(names, _losses(model), strict=True)):
                # of several models what they learned from would be lines too many
                if not losses or (several and which == 0 and any(_losses(model)[1:])):
                    continue
                label = f"{short_label(model.name)}: {name}" if several else name
                axes.plot(
                    [seconds for seconds, _ in losses], [loss for _, loss in losses],
                    color=COLOURS[(place if several else which) % len(COLOURS)],
                    linestyle=DASHES[which if several else 0], linewidth=1.6,
                    marker="o", markersize=4, label=label,
                )  # fmt: skip
        axes.set_xlabel("seconds of training")
        axes.set_ylabel("nats per word")
        axes.set_xlim(left=0)
        put_legend(canvas, axes)

    rows = tuple(
        (
            Cell(f"{model.name}, update {each.updates:,}" if several else f"{each.updates:,}"),
            *number_cells(3, each.epoch),
            *number_cells(1, each.seconds),
            *number_cells(4, *_losses_of_point(each)),
        )
        for model in models
        for each in model.points
    )
    return drawn(
        draw,
        2.9
        + legend_height(
            names
            if not several
            else [f"{each.name}: {name}" for each in models for name in names[1:]]
        ),
        f"Learning curve of {title}: loss by seconds of training.",
        DataTable(("updates", "epoch", "seconds", *names), rows),
        "Lower is better. Training: the mean since the point before.",
        key,
    )


def _losses_of_point(point: CurvePoint) -> tuple[float | None, float | None, float | None]:
    return point.training_nll, point.held_out_sources_nll, point.held_out_pairs_nll


def _losses(model: TrainedModel) -> list[list[tuple[float, float]]]:
    """Return the curves of training, sources and pairs, each as points (seconds, loss)."""
    curves = zip(*map(_losses_of_point, model.points), strict=True) if model.points else [()] * 3
    return [
        [
            (point.seconds, loss)
            for point, loss in zip(model.points, losses, strict=True)
            if loss is not None
        ]
        for losses in curves
    ]


def columns_figure(table: ScoredTable, key: str) -> Figure | None:
    """Draw how the model's scores are spread; none without the table."""
    pairs = min(map(len, table.columns.values()), default=0)
    if not pairs:
        return None
    low = min(float(values.min()) for values in table.columns.values())
    edges = np.linspace(low, 0.0 if low < 0 else 1.0, _BINS + 1)
    counts = {name: np.histogram(values, edges)[0] for name, values in table.columns.items()}

    def draw(canvas: Canvas) -> None:
        axes = plain_axes(canvas)
        for place, (name, found) in enumerate(counts.items()):
            axes.stairs(
                found, edges, label=short_label(name), **line_style(place), fill=len(counts) == 1
            )
        axes.set_xlabel("ln p(target | source)")
        axes.set_ylabel("phrase pairs")
        if len(counts) > 1:
            put_legend(canvas, axes)

    quantiles = (0.05, 0.25, 0.5, 0.75, 0.95)
    rows = tuple(
        (
            Cell(name),
            *number_cells(3, float(values.mean()), *np.quantile(values, quantiles).tolist()),
        )
        for name, values in table.columns.items()
    )
    return drawn(
        draw,
        2.6,
        "How the new scores of the phrase table are spread.",
        DataTable(("column", "mean", *(f"{q:.0%} below" for q in quantiles)), rows),
        f"Natural logarithms, over the first {pairs:,} pairs of the table.",
        key,
    )


def _objective(objective: str) -> str:
    return "BLEU" if objective == "bleu" else short_label(objective)
