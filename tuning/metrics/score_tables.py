"""Tables of scores for a terminal, for Markdown and for LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# characters with a meaning in LaTeX
_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "–": "--", "<": "$<$", ">": "$>$",
})  # fmt: skip


@dataclass(frozen=True)
class ScoreTable:
    """A table whose first column names what the numbers to its right belong to.

    Args:
        header: The heading of each column.
        rows: Cells, one for each column.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def to_text(self) -> str:
        """Return aligned columns, numbers to the right."""
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
        """Return a table of GitHub's Markdown."""
        lines = [self.header, ["---", *["---:"] * (len(self.header) - 1)], *self.rows]
        escaped = [[cell.replace("|", r"\|") for cell in line] for line in lines]
        return "".join(f"| {' | '.join(line)} |\n" for line in escaped)

    def to_latex(self) -> str:
        """Return a tabular; the package booktabs draws its lines."""
        header, *rows = (
            " & ".join(cell.translate(_LATEX) for cell in line) + r" \\"
            for line in (self.header, *self.rows)
        )
        columns = "l" + "r" * (len(self.header) - 1)
        lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", header, r"\midrule", *rows]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def points(score: float, *, sign: bool = False) -> str:
    """Return a fraction as scores are usually written: times 100, with two digits.

    >>> points(0.5935), points(0.0021, sign=True)
    ('59.35', '+0.21')
    """
    return f"{100 * score:+.2f}" if sign else f"{100 * score:.2f}"
