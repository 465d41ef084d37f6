"""What scoring texts counts, and what it says in the end."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from phrasescore.errors import counted
from phrasescore.scoring.shared_work import SharedWork
from phrasescore.words.known_words import warning_of


@dataclass(frozen=True)
class TextCounts:
    """What happened in the lines read so far.

    Args:
        lines: All of them.
        skipped: Those that could not be scored.
        tokens: Tokens of the predicted texts, each ``</s>`` counted.
        unknown: Those outside the model's shortlist.
        ln_p: Their sum.
        work: Steps asked for and done.
    """

    lines: int = 0
    skipped: int = 0
    tokens: int = 0
    unknown: int = 0
    ln_p: float = 0.0
    work: SharedWork = dataclasses.field(default_factory=SharedWork)

    @property
    def perplexity(self) -> float | None:
        """exp(-ln p / tokens); ``None`` without a token."""
        if not self.tokens:
            return None
        try:
            return math.exp(-self.ln_p / self.tokens)
        except OverflowError:
            return math.inf


@dataclass(frozen=True)
class TextReport:
    """What a run did.

    Args:
        counts: Over all lines, those of an earlier, interrupted run included.
        resumed_lines: How many lines an earlier run had already done.
        seconds: How long this run took.
        sha256: The digest of each file; empty where one is a pipe.
    """

    counts: TextCounts
    resumed_lines: int
    seconds: float
    sha256: tuple[str, ...]

    @property
    def pairs_per_second(self) -> float:
        """The rate of this run."""
        return (self.counts.lines - self.resumed_lines) / max(self.seconds, 1e-9)

    @property
    def figures(self) -> dict[str, int | float | None]:
        """What the model thinks of the texts, by name."""
        counts = self.counts
        return {
            "lines": counts.lines,
            "skipped": counts.skipped,
            "tokens": counts.tokens,
            "unknown": counts.unknown,
            "ln_p": counts.ln_p,
            "perplexity": counts.perplexity,
        }

    @property
    def figures_text(self) -> str:
        """The figures, one in a line, for people and for scripts."""
        lines = []
        for name, value in self.figures.items():
            shown = f"{value:.6f}" if isinstance(value, float) else str(value).lower()
            lines.append(f"{name} {shown}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        work = self.counts.work
        return {
            **self.figures,
            "resumed_lines": self.resumed_lines,
            "seconds": round(self.seconds, 3),
            "pairs_per_second": round(self.pairs_per_second, 1),
            "work": dataclasses.asdict(work),
            "savings": dict(zip(("source", "target"), work.savings, strict=True)),
            "sha256": list(self.sha256),
        }

    def __str__(self) -> str:
        counts = self.counts
        earlier = f", {self.resumed_lines:,} of them earlier" if self.resumed_lines else ""
        said = f"{counted(counts.lines, 'line')}{earlier}, {self.pairs_per_second:,.0f} pairs/s"
        if counts.tokens:
            said += (
                f"; ln p {counts.ln_p / counts.tokens:.4f} a token, {counts.unknown:,} of "
                f"{counts.tokens:,} unknown (</s> counted), perplexity {counts.perplexity:.4f}"
            )
        if counts.skipped:
            said += f"\n{counted(counts.skipped, 'line')} could not be scored: the score is empty"
        words = max(1, counts.tokens - counts.lines + counts.skipped)
        return "\n".join(filter(None, [said, warning_of(counts.unknown / words)]))
