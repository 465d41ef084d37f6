"""Figure 3 of Cho et al. (2014): ln p of phrase pairs by a model and by their phrase table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from phrasescore.analysis.table_lines import LowestItems, probabilities
from phrasescore.errors import PhrasescoreError
from phrasescore.pictures.figure_files import COLOURS, plain_label, saved_figure
from phrasescore.runs.final_names import open_output
from phrasescore.runs.progress import Progress, with_progress
from phrasescore.runs.results import Count, Number, Probability, Record
from phrasescore.scoring.probability_column import ln_p_texts
from phrasescore.table.block import checked_block, read_blocks
from phrasescore.table.phrase_table import (
    FLOOR_LN,
    SIDES,
    Side,
    TableFormat,
    parse_entry,
    phrase_tokens,
)

if TYPE_CHECKING:
    from phrasescore.scoring.block_scoring import ScoringModel

NEAR, FAR = 1.0, 5.0  # nats between the two ln p of a pair
_PAIRS_AT_ONCE = 8192
_INCHES = 6.0, 5.0
_CELLS = 70  # number of hexagons in a row of the density plot
_OUTSIDE = 5e-3  # share of pairs that an axis may leave out; outliers would widen the axis


@dataclass(frozen=True, kw_only=True)
class ScatterRecord(Record):
    """The record of ``analyze scatter``.

    Args:
        pairs: Number of pairs in the table.
        drawn_pairs: Number of drawn pairs, from which all figures are computed.
        pearson: Correlation of the two ln p; ``None`` if either ln p is constant.
        spearman: Rank correlation; equal values share their mean rank.
        near: Share of pairs whose two ln p differ by at most 1 nat.
        far: Share of pairs whose two ln p differ by more than 5 nats.
        provenance: Versions, inputs and settings of the comparison.
    """

    kind: ClassVar[str] = "analyze scatter"
    pairs: Count
    drawn_pairs: Count
    pearson: Number | None
    spearman: Number | None
    near: Probability
    far: Probability
    provenance: dict[str, object]


@dataclass(frozen=True)
class DrawnPairs:
    """Randomly drawn lines of a table.

    Args:
        path: The table.
        format: The format of all lines.
        numbers: Line numbers from 1, ascending.
        lines: The bytes of the lines, without line feeds.
        among: Number of lines of the whole table.
    """

    path: str | Path
    format: TableFormat
    numbers: tuple[int, ...]
    lines: tuple[bytes, ...]
    among: int


def draw_pairs(table: str | Path, count: int, seed: int) -> DrawnPairs:
    """Draw a uniform sample of a table's pairs; all pairs if the table has no more than ``count``.

    Args:
        table: A plain or gzip phrase table, in any order, or ``-``.
        count: Number of pairs to draw.
        seed: Seed of the random numbers.

    Raises:
        InputError: The table cannot be read or violates its format.
    """
    kept: LowestItems[tuple[int, bytes]] = LowestItems(count)
    rng, among = np.random.default_rng(seed), 0
    for block in with_progress("drawing pairs", read_blocks(table)):
        keys = rng.random(len(block))
        rows = kept.candidates(keys)
        kept.add(keys[rows], ((block.first_line + r, block.line(r)) for r in rows.tolist()))
        among, found = among + len(block), block.format
    drawn = sorted(kept.items())
    return DrawnPairs(table, found, tuple(n for n, _ in drawn), tuple(t for _, t in drawn), among)


def score_drawn(drawn: DrawnPairs, column: int, model: ScoringModel) -> NDArray[np.float64]:
    """Return ln p of N drawn pairs by table and model, ``(2, N)``; errors name the table's lines.

    ln p by the table is at least -100 (the minimum in Moses) and at most 0.

    Args:
        drawn: The pairs.
        column: Index of the table's score, counted from 1.
        model: The model.

    Raises:
        SettingsError: The table has no such score.
        PhraseTableError: A score is above 1, or a token lacks the factor.
        ModelError: The model returns a value that is not a log-probability.
    """
    parts = []
    with Progress("scoring pairs", total=len(drawn.lines), unit="pairs") as progress:
        for begin in range(0, len(drawn.lines), _PAIRS_AT_ONCE):
            lines = drawn.lines[begin : begin + _PAIRS_AT_ONCE]
            text = b"".join(line + b"\n" for line in lines)
            try:
                block = checked_block(text, len(lines), begin + 1, drawn.path, drawn.format)
                with np.errstate(divide="ignore"):
                    table = np.clip(np.log(probabilities(block, column)), FLOOR_LN, 0.0)
                factor = model.loaded.settings.factor
                ids = model.loaded.encode([block.token_spans(side, factor) for side in SIDES])
                parts.append([table, model.scorer.score(*ids)])
            except PhrasescoreError as error:
                if error.line is not None:
                    error.line = drawn.numbers[error.line - 1]
                raise
            progress.advance(len(lines))
    return np.concatenate(parts, axis=1)


def scatter_record(
    drawn: DrawnPairs, ln_p: NDArray[np.float64], provenance: dict[str, object]
) -> ScatterRecord:
    """Compare ln p of N drawn pairs by table and model, ``(2, N)``."""
    difference = np.abs(ln_p[1] - ln_p[0])
    return ScatterRecord(
        pairs=drawn.among,
        drawn_pairs=len(drawn.lines),
        pearson=_correlation(*ln_p),
        spearman=_correlation(*map(_ranks, ln_p)),
        near=float((difference <= NEAR).mean()),
        far=float((difference > FAR).mean()),
        provenance=provenance,
    )


def described(record: ScatterRecord) -> str:
    """Return the figures of a record in two lines."""
    pearson, spearman = (
        "undefined" if value is None else f"{value:.3f}"
        for value in (record.pearson, record.spearman)
    )
    return (
        f"{record.drawn_pairs:,} of {record.pairs:,} pairs drawn: correlation {pearson}, rank "
        f"correlation {spearman}\n{record.near:.1%} of the pairs differ by at most {NEAR:g} nat, "
        f"{record.far:.1%} by more than {FAR:g}"
    )


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (N,) the rank of each value; equal values share their mean rank."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[places])


def _correlation(left: NDArray[np.float64], right: NDArray[np.float64]) -> float | None:
    if np.ptp(left) == 0 or np.ptp(right) == 0:
        return None
    return float(np.corrcoef(left, right)[0, 1])


def write_pairs(path: Path, drawn: DrawnPairs, ln_p: NDArray[np.float64]) -> None:
    """Write lines of source, target, ln p by the table and ln p by the model, separated by tabs.

    Pairs are sorted by ln p of the model minus ln p of the table, the largest difference first.
    Every line is valid input of ``prune --drop``.

    Args:
        path: Output file.
        drawn: N pairs.
        ln_p: ``(2, N)``.

    Raises:
        SettingsError: The file cannot be written.
    """
    order = np.argsort(ln_p[0] - ln_p[1], kind="stable")
    with open_output(path) as stream:
        for rows in np.split(order, range(_PAIRS_AT_ONCE, len(order), _PAIRS_AT_ONCE)):
            texts = map(ln_p_texts, ln_p[:, rows])
            for row, *values in zip(rows.tolist(), *texts, strict=True):
                entry = parse_entry(drawn.lines[row])
                phrases = (b" ".join(phrase_tokens(each)) for each in (entry.source, entry.target))
                stream.write(b"\t".join([*phrases, *values]) + b"\n")


def draw_scatter(
    path: Path, drawn: DrawnPairs, ln_p: NDArray[np.float64], column: int, predicted: Side
) -> None:
    """Draw ln p of N pairs by the model over ln p by the table, as a density plot.

    Both axes have the same scale and bounds, and a dashed line marks equal values. At most one pair
    in 200 for each axis is outside the plot; the title states how many pairs are outside.

    Args:
        path: Output file; the extension chooses the format.
        drawn: The pairs.
        ln_p: ``(2, N)``.
        column: Index of the table's score, counted from 1.
        predicted: The side that the model predicts.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        SettingsError: The extension is not a format, or the file cannot be written.
    """
    low, high = float(np.quantile(ln_p, _OUTSIDE, axis=1).min()), float(ln_p.max())
    margin = 0.03 * (high - low) or 1.0
    low, high = low - margin, high + margin
    inside = ln_p[:, (ln_p >= low).all(axis=0)]
    title = f"{len(drawn.lines):,} of {drawn.among:,} phrase pairs"
    if outside := ln_p.shape[1] - inside.shape[1]:
        title += f", {outside:,} of them outside"
    p = "p(target | source)" if predicted == "target" else "p(source | target)"
    with saved_figure(path, *_INCHES) as figure:
        axes = figure.add_subplot()
        # drawn as pixels even in vector formats, because thousands of hexagons make a large file
        cells = axes.hexbin(
            *inside,
            gridsize=_CELLS,
            extent=(low, high, low, high),
            bins="log",
            mincnt=1,
            cmap="viridis_r",
            linewidths=0.1,
            rasterized=True,
        )
        figure.colorbar(cells, ax=axes, label="phrase pairs", shrink=0.8)
        axes.plot([low, high], [low, high], color=COLOURS[1], linewidth=1.0, linestyle="--")
        axes.set(xlim=(low, high), ylim=(low, high), aspect="equal")
        axes.set_title(plain_label(title), fontsize=11)
        axes.set_xlabel(plain_label(f"ln {p} by score {column} of the table"))
        axes.set_ylabel(plain_label(f"ln {p} by the model"))
