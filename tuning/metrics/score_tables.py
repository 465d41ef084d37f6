"""Formats tables of scores for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ScoreTable:
    """A table of cells as text; the first column has the names of the rows.

    Args:
        header: The heading of each column.
        rows: The cells of each row, one for each column.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def to_text(self) -> str:
        """Return columns for a fixed-width font, names left-aligned and numbers right-aligned."""
        lines = [list(self.header), *map(list, self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "".join(
            "  ".join(
                cell.rjust(width) if place else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            + "\n"
            for line in lines
        )

    def to_markdown(self) -> str:
        """Return a Markdown table in GitHub's dialect."""
        lines = [self.header, ["---", *["---:"] * (len(self.header) - 1)], *self.rows]
        escaped = [[cell.replace("|", r"\|") for cell in line] for line in lines]
        return "".join(f"| {' | '.join(line)} |\n" for line in escaped)


def points(score: float | None, *, sign: bool = False) -> str:
    """Format a fraction as scores are usually printed: times 100, with two decimals.

    >>> points(0.5935), points(0.0021, sign=True)
    ('59.35', '+0.21')
    """
    return "–" if score is None else f"{100 * score:{'+' if sign else ''}.2f}"


def shown_p(p_value: float) -> str:
    """Format a p-value with three decimals, or as ``<0.001``.

    >>> shown_p(0.5298), shown_p(1 / 10_001)
    ('0.530', '<0.001')
    """
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"
