"""The metrics: names, settings, and how scores are shown.

This file imports no heavy library, so that ``--help`` is fast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from phrasescore.closed_settings import check_number, check_type
from phrasescore.errors import SettingsError, did_you_mean

MetricName = Literal["bleu", "chrf", "ter", "accuracy", "cer", "wer"]
METRICS: tuple[MetricName, ...] = ("bleu", "chrf", "ter", "accuracy", "cer", "wer")
USUAL_METRICS: tuple[MetricName, ...] = ("bleu", "chrf", "ter")  # the defaults
LOWER_IS_BETTER = frozenset(["ter", "cer", "wer"])
SEGMENTS = "segments"  # the name of the metric if files give a score for each segment
LABELS = {
    "bleu": "BLEU",
    "chrf": "chrF2",
    "ter": "TER",
    "accuracy": "accuracy",
    "cer": "CER",
    "wer": "WER",
    SEGMENTS: "segment scores",
}
TOKENIZERS = ("none", "13a", "intl", "char", "zh")
# defaults of the significance tests; the seed is sacrebleu's
TRIALS, TEST_SEED = 10_000, 12345


@dataclass(frozen=True)
class TextScoring:
    """The metrics of texts, and the preparation of texts for them.

    Args:
        metrics: The metrics to compute.
        tokenize: BLEU's tokenisation: ``none``, or sacrebleu's ``13a``, ``intl``, ``char``, ``zh``.
        lowercase: Whether to ignore case.
    """

    metrics: tuple[MetricName, ...] = USUAL_METRICS
    tokenize: str = "none"
    lowercase: bool = False

    def __post_init__(self) -> None:
        check_type("tokenize", self.tokenize, str, "a name")
        check_type("lowercase", self.lowercase, bool, "true or false")
        if self.tokenize not in TOKENIZERS:
            raise SettingsError(
                f"there is no tokenisation {self.tokenize}",
                remedy=f"choose among: {', '.join(TOKENIZERS)}",
            )


@dataclass(frozen=True)
class SentenceSelection:
    """The choice of sentences to score, and of groups of sentences.

    Args:
        source: The file of the source text.
        by_length: Whether to also score groups of sentences by the number of source words.
        known_words: A model folder; only sentences with all words in its vocabularies are scored.
    """

    source: str | None = None
    by_length: bool = False
    known_words: str | None = None


@dataclass(frozen=True)
class Objective:
    """A weighted mixture of metrics; the shares are at least 0 and add up to 1.

    Args:
        bleu: The share of corpus BLEU.
        chrf: The share of chrF.
        ter: The share of 1 - TER.
        accuracy: The share of the fraction of lines that equal a reference.
        cer: The share of 1 - character error rate.
        wer: The share of 1 - word error rate.
    """

    bleu: float = 1.0
    chrf: float = 0.0
    ter: float = 0.0
    accuracy: float = 0.0
    cer: float = 0.0
    wer: float = 0.0

    @classmethod
    def from_shares(cls, shares: Mapping[str, float]) -> Objective:
        """Build a mixture from shares, scaled to sum to 1; without shares, it is BLEU alone.

        Raises:
            SettingsError: A metric is unknown, a share is negative or over 1e9, or all are 0.

        >>> Objective.from_shares({"bleu": 3, "chrf": 1})
        Objective(bleu=0.75, chrf=0.25, ter=0.0, accuracy=0.0, cer=0.0, wer=0.0)
        """
        for name, share in shares.items():
            if name not in METRICS:
                raise SettingsError(
                    f"unknown metric {name[:30]!r} in the objective{did_you_mean(name, METRICS)}",
                    remedy=f"choose among {', '.join(METRICS)}",
                )
            check_number(f"the share of {name}", share, 0, 10**9)
        if not shares:
            return cls()
        if (total := sum(shares.values())) == 0:
            raise SettingsError("every share of the objective is 0", remedy="raise at least one")
        return cls(**{name: shares.get(name, 0.0) / total for name in METRICS})

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of each of ``METRICS``, in their order; error rates enter as 1 - rate."""
        return tuple(getattr(self, name) for name in METRICS)

    @property
    def metrics(self) -> tuple[MetricName, ...]:
        """The metrics with a share above 0."""
        return tuple(name for name, share in zip(METRICS, self.shares, strict=True) if share)

    def __str__(self) -> str:
        named = {
            f"(1 - {name})" if name in LOWER_IS_BETTER else name: getattr(self, name)
            for name in self.metrics
        }
        if len(named) == 1:
            return next(iter(named)).strip("()")
        return " + ".join(f"{share:g} {name}" for name, share in named.items())


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
        columns = []
        for place, column in enumerate(zip(self.header, *self.rows, strict=True)):
            width = max(map(len, column))
            columns.append([cell.rjust(width) if place else cell.ljust(width) for cell in column])
        return "".join("  ".join(line).rstrip() + "\n" for line in zip(*columns, strict=True))

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


def gain_in_words(gain: float, low: float, high: float, metric: str) -> str:
    """Format a gain with its interval.

    >>> gain_in_words(0.004, 0.001, 0.007, "BLEU")
    '+0.40 BLEU (95 % interval +0.10 to +0.70)'
    """
    shown, first, last = (points(each, sign=True) for each in (gain, low, high))
    return f"{shown} {metric} (95 % interval {first} to {last})"


def shown_p(p_value: float) -> str:
    """Format a p-value with three decimals, or as ``<0.001``.

    >>> shown_p(0.5298), shown_p(1 / 10_001)
    ('0.530', '<0.001')
    """
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"
