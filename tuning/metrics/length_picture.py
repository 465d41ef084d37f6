"""A picture of scores over the length of the source (Figure 2 of Bahdanau et al. 2014)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from phrasescore.pictures.figure_files import COLOURS, plain_label, saved_figure
from tuning.metrics.sentence_groups import LengthGroup

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "osD^vPX"
_GREY = "#6e7781"


@dataclass(frozen=True)
class LengthPoint:
    """A score of one group of sentences, times 100.

    Args:
        score: The score, or the mean over runs.
        deviation: The standard deviation over runs, 0 of a single one.
    """

    score: float
    deviation: float = 0.0


def draw_by_length(
    path: str | Path,
    label: str,
    groups: Sequence[LengthGroup],
    lines: Mapping[str, Sequence[LengthPoint]],
) -> None:
    """Draw one line for each translation or system, a point for each group.

    A point stands at the mean length of its group's sources, with the number of its sentences
    above; bars show the deviation over runs.

    Args:
        path: Where to; the name says which format.
        label: What is drawn, e.g. BLEU.
        groups: G groups.
        lines: G points each, by name.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        SettingsError: The name has no format, or the file cannot be written.
    """
    with saved_figure(path) as figure:
        draw_lengths(figure.add_subplot(), label, groups, lines)


def draw_lengths(
    axes: Axes,
    label: str,
    groups: Sequence[LengthGroup],
    lines: Mapping[str, Sequence[LengthPoint]],
) -> None:
    """Draw what ``draw_by_length`` writes on axes of any figure."""
    with_deviations = any(point.deviation for points in lines.values() for point in points)
    lengths = [group.mean_length for group in groups]
    for place, (name, points) in enumerate(lines.items()):
        axes.errorbar(
            lengths,
            [point.score for point in points],
            yerr=[point.deviation for point in points] if with_deviations else None,
            label=plain_label(name),
            color=COLOURS[place % len(COLOURS)],
            marker=_MARKERS[place // len(COLOURS) % len(_MARKERS)],
            markersize=4,
            capsize=2,
        )
    for group in groups:
        if group.high is not None:
            axes.axvline(group.high + 0.5, color=_GREY, linewidth=0.4, linestyle=":")
        axes.annotate(
            f"{len(group.rows):,}",
            (group.mean_length, 1.01),
            xycoords=axes.get_xaxis_transform(),
            ha="center",
            fontsize="small",
            color=_GREY,
        )
    axes.set_xlabel("words of the source (above: sentences of each group)")
    axes.set_ylabel(label)
    axes.set_xlim(left=0)
    axes.legend()
