"""Results of ``analyze scatter``: picture, drawn pairs, lists of disagreements with reasons.

The lines of a list begin with source, tab, target, and so are valid input of ``prune --drop``.
"""

from __future__ import annotations

import dataclasses
import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from phrasescore.analysis.scatter import Comparison, Disagreement
from phrasescore.analysis.table_lines import Counts
from phrasescore.pictures.figure_files import COLOURS, plain_label, saved_figure
from phrasescore.runs.final_names import open_output
from phrasescore.runs.results import RESULT, Count, Number, Probability, Record
from phrasescore.scoring.probability_column import ln_p_texts
from phrasescore.table.phrase_table import Entry, Side, parse_entry, phrase_tokens, scored_tokens
from phrasescore.words.vocabulary import UNK_ID, Vocabulary

HIGHER, LOWER, PAIRS = "model-higher.tsv", "model-lower.tsv", "pairs.tsv.gz"
PICTURE = "scatter"
_FOR_SHARES = 10_000  # drawn pairs that are enough to estimate the share of a reason
_ROWS_AT_ONCE = 8192
_MAX_POINTS = 2000  # of a picture; more would hide each other
_INCHES = 5.0
_CELLS = 70  # hexagons of the density plot, from left to right
_OUTSIDE = 5e-3  # share of outliers that may be cut off, so that the rest is not squeezed
_LINK = re.compile(rb"([0-9]{1,9})-([0-9]{1,9})")
_SHORTEST_COPY = 3  # letters; shorter words of two languages are often equal by chance
# all kinds of quotation marks count as one
_QUOTES = str.maketrans(dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'))


@dataclass(frozen=True)
class SeenPair:
    """A pair in the forms that the reasons look at.

    Args:
        entry: The parsed line.
        factor: The factor of factored tokens that is read.
        hierarchical: Whether the table holds hierarchical rules.
        known: The vocabularies of the model; empty if the table's own score is compared.
    """

    entry: Entry
    factor: int = 0
    hierarchical: bool = False
    known: Mapping[Side, Vocabulary] = field(default_factory=dict)

    @cached_property
    def words(self) -> dict[Side, list[bytes]]:
        """The words of both sides as a model sees them."""
        columns: dict[Side, bytes] = {"source": self.entry.source, "target": self.entry.target}
        return {
            side: scored_tokens(phrase, side, self.factor, hierarchical=self.hierarchical)
            for side, phrase in columns.items()
        }

    @cached_property
    def texts(self) -> tuple[list[str], list[str]]:
        """The words of source and target with Moses's escapes undone."""
        source, target = (
            [html.unescape(word.decode("utf-8", "surrogateescape")) for word in words]
            for words in self.words.values()
        )
        return source, target


def _singleton(pair: SeenPair) -> str | None:
    """Detect a pair that was extracted once."""
    counts = Counts.parse(pair.entry.counts)
    return "" if counts is not None and counts.pair is not None and counts.pair <= 1 else None


def _unknown(pair: SeenPair) -> str | None:
    """Detect words that the model does not know; the detail is their number."""
    count = sum(
        vocabulary.encode(pair.words[side]).count(UNK_ID) for side, vocabulary in pair.known.items()
    )
    return str(count) if count else None


def _length(pair: SeenPair) -> str | None:
    """Detect a side with more than twice the words of the other; the detail is both lengths."""
    source, target = (len(words) for words in pair.words.values())
    return f"{source}:{target}" if max(source, target) > 2 * min(source, target) else None


def _digits(pair: SeenPair) -> str | None:
    """Detect different digits on the two sides."""
    source, target = (Counter(filter(str.isdigit, "".join(words))) for words in pair.texts)
    return "" if source != target else None


def _copied(pair: SeenPair) -> str | None:
    """Detect source words of three letters or more in the target; the detail is their number."""
    source, target = pair.texts
    words = {word for word in source if sum(map(str.isalpha, word)) >= _SHORTEST_COPY}
    return str(len(words & {*target})) if words & {*target} else None


def _unaligned(pair: SeenPair) -> str | None:
    """Detect a side mostly without alignment links; the detail is unlinked/all words."""
    links = _LINK.findall(pair.entry.alignment)
    if not links:
        return None
    free = all_words = 0
    many = False
    for linked, words in zip(zip(*links, strict=True), pair.words.values(), strict=True):
        unlinked = len(words) - len({int(place) for place in linked} & {*range(len(words))})
        many |= 2 * unlinked > len(words)
        free, all_words = free + unlinked, all_words + len(words)
    return f"{free}/{all_words}" if many else None


def _punctuation(pair: SeenPair) -> str | None:
    """Detect different punctuation; all kinds of quotation marks count as one."""
    source, target = (
        Counter(word.translate(_QUOTES) for word in words if _is_mark(word)) for words in pair.texts
    )
    return "" if source != target else None


def _is_mark(word: str) -> bool:
    return word.isprintable() and not any(map(str.isalnum, word))


# name -> its test, which returns a detail (perhaps empty) or None
REASONS: dict[str, Callable[[SeenPair], str | None]] = {
    "singleton": _singleton,
    "unknown": _unknown,
    "length": _length,
    "digits": _digits,
    "copied": _copied,
    "unaligned": _unaligned,
    "punctuation": _punctuation,
}


def reasons(pair: SeenPair) -> dict[str, str]:
    """Return the reasons that apply to a pair, with their details.

    >>> reasons(SeenPair(Entry(b"in 1990", b"en", b"1", b"0-0", b"3 1 1")))
    {'singleton': '', 'digits': ''}
    """
    found = {name: find(pair) for name, find in REASONS.items()}
    return {name: detail for name, detail in found.items() if detail is not None}


def described(found: Mapping[str, str]) -> str:
    """Format reasons as one field: ``singleton, unknown=2, length=1:5``."""
    return ", ".join(f"{name}={detail}" if detail else name for name, detail in found.items())


def shares(found: Sequence[Mapping[str, str]]) -> dict[str, float]:
    """Return the share of the pairs to which each reason applies."""
    counts = Counter(name for each in found for name in each)
    return {name: counts[name] / len(found) if found else 0.0 for name in REASONS}


@dataclass(frozen=True, kw_only=True)
class ScatterRecord(Record):
    """The record of ``analyze scatter``.

    Args:
        pairs: Number of pairs in the table.
        drawn_pairs: Number of drawn pairs.
        searched_pairs: Number of pairs that were searched for disagreements.
        pearson: As in `Agreement`, likewise the next six.
        spearman: Rank correlation.
        near: A share.
        far: A share.
        above: A share.
        mean_table: In nats.
        mean_model: In nats.
        outside_the_picture: Number of drawn pairs that the picture does not show.
        expected: The coefficients and the deviation of `Expectation`.
        disagreements: For each list, its number of pairs and the share of each reason.
        reasons_of_drawn_pairs: The share of each reason among the drawn pairs.
        provenance: Versions, inputs and settings of the comparison.
    """

    kind: ClassVar[str] = "analyze scatter"
    pairs: Count
    drawn_pairs: Count
    searched_pairs: Count
    pearson: Number | None
    spearman: Number | None
    near: Probability
    far: Probability
    above: Probability
    mean_table: Number
    mean_model: Number
    outside_the_picture: Count
    expected: dict[str, Any]
    disagreements: dict[str, Any]
    reasons_of_drawn_pairs: dict[str, Probability]
    provenance: dict[str, Any]


def write_comparison(
    comparison: Comparison, folder: Path, picture: str, provenance: dict[str, Any]
) -> ScatterRecord:
    """Write the picture, the drawn pairs, the lists of disagreements and the record.

    Args:
        comparison: The result to write.
        folder: Output folder; created if it does not exist.
        picture: Format of the picture.
        provenance: Versions, inputs and settings of the comparison.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        SettingsError: A file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lists = {}
    for name, listed in ((HIGHER, comparison.higher), (LOWER, comparison.lower)):
        why = [reasons(_seen(each.entry, comparison)) for each in listed]
        with open_output(folder / name) as stream:
            stream.writelines(map(_line, listed, why))
        lists[name] = {"pairs": len(listed), "reasons": shares(why)}
    with open_output(folder / PAIRS) as stream:
        stream.writelines(_drawn_lines(comparison))
    outside = _draw(comparison, folder / f"{PICTURE}.{picture}")
    lines, expected = comparison.drawn.lines, comparison.expected
    step = -(-len(lines) // _FOR_SHARES)
    usual = [reasons(_seen(parse_entry(line), comparison)) for line in lines[::step]]
    record = ScatterRecord(
        pairs=comparison.drawn.among,
        drawn_pairs=len(lines),
        searched_pairs=comparison.searched,
        **dataclasses.asdict(comparison.agreement),
        outside_the_picture=outside,
        expected={
            "coefficients": expected.coefficients.tolist(),
            "deviation": expected.deviation,
        },
        disagreements=lists,
        reasons_of_drawn_pairs=shares(usual),
        provenance=provenance,
    )
    record.write(folder / RESULT)
    return record


def _line(found: Disagreement, why: Mapping[str, str]) -> bytes:
    """Format one line of a list."""
    entry = found.entry
    counts = Counts.parse(entry.counts)
    fields = [
        *(_joined(entry.source), _joined(entry.target)),
        *ln_p_texts(np.array([found.table, found.model])),
        b"%.3f" % found.per_word,
        b"%.2f" % found.strength,
        b" ".join(phrase_tokens(entry.counts)) if counts is not None else b"",
        described(why).encode(),
    ]
    return b"\t".join(fields) + b"\n"


def _drawn_lines(comparison: Comparison) -> Iterator[bytes]:
    """Yield the drawn pairs in the order of the table: source, target, ln p by table and model."""
    scores, lines = comparison.drawn_scores, comparison.drawn.lines
    for begin in range(0, len(lines), _ROWS_AT_ONCE):
        rows = slice(begin, begin + _ROWS_AT_ONCE)
        texts = ln_p_texts(scores.table[rows]), ln_p_texts(scores.model[rows])
        for line, table, model in zip(lines[rows], *texts, strict=True):
            entry = parse_entry(line)
            fields = _joined(entry.source), _joined(entry.target), table, model
            yield b"\t".join(fields) + b"\n"


def _joined(phrase: bytes) -> bytes:
    return b" ".join(phrase_tokens(phrase))


def _draw(comparison: Comparison, path: Path) -> int:
    """Draw both ln p of the drawn pairs; return the number of pairs outside the picture."""
    scores, drawn = comparison.scores, comparison.drawn_scores
    p = "p(target | source)" if scores.predicted == "target" else "p(source | target)"
    by = f"score {scores.model} of the table" if isinstance(scores.model, int) else "the model"
    pairs, among = len(drawn.table), comparison.drawn.among
    of = f" of {among:,}" if among > pairs else ""
    labels = f"ln {p} by score {scores.column} of the table", f"ln {p} by {by}"
    return draw_scatter(path, drawn.table, drawn.model, f"{pairs:,}{of} phrase pairs", labels)


def draw_scatter(
    path: str | Path,
    across: NDArray[np.float64],
    up: NDArray[np.float64],
    title: str,
    labels: tuple[str, str],
) -> int:
    """Draw N points; both axes have the same unit, scale and bounds.

    Up to 2,000 points are drawn one by one; more become a density plot. A dashed line marks equal
    values.

    Args:
        path: Output file; the extension chooses the format.
        across: (N,) horizontal values.
        up: (N,) vertical values.
        title: Title of the picture.
        labels: Labels of the horizontal and the vertical axis.

    Returns:
        The number of points outside the picture, at most one in 200 for each axis. The title
        states the number.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        SettingsError: The extension is not a format, or the file cannot be written.
    """
    low = min(float(np.quantile(values, _OUTSIDE)) for values in (across, up))
    high = max(float(values.max()) for values in (across, up))
    margin = 0.03 * (high - low) or 1.0
    low, high = low - margin, high + margin
    inside = (across >= low) & (across <= high) & (up >= low) & (up <= high)
    outside = int((~inside).sum())
    if outside:
        title += f", {outside:,} of them outside"
    with saved_figure(path, _INCHES + (len(up) > _MAX_POINTS), _INCHES) as figure:
        axes = figure.add_subplot()
        if len(up) > _MAX_POINTS:
            # pixels even in vector formats: thousands of hexagons would make a large file
            cells = axes.hexbin(
                across[inside],
                up[inside],
                gridsize=_CELLS,
                extent=(low, high, low, high),
                bins="log",
                mincnt=1,
                cmap="viridis_r",
                linewidths=0.1,
                rasterized=True,
            )
            figure.colorbar(cells, ax=axes, label="phrase pairs", shrink=0.8)
        else:
            axes.plot(*(across[inside], up[inside], "."), color=COLOURS[0], alpha=0.5, markersize=4)
        axes.plot([low, high], [low, high], color=COLOURS[1], linewidth=1.0, linestyle="--")
        axes.set(xlim=(low, high), ylim=(low, high), aspect="equal")
        axes.set_title(plain_label(title), fontsize=11)
        axes.set_xlabel(plain_label(labels[0]))
        axes.set_ylabel(plain_label(labels[1]))
    return outside


def _seen(entry: Entry, comparison: Comparison) -> SeenPair:
    scores = comparison.scores
    known: dict[Side, Vocabulary] = {}
    if not isinstance(scores.model, int):
        known = dict(scores.model.sides)
    return SeenPair(entry, scores.factor, comparison.drawn.format.hierarchical, known)


def described_lists(record: ScatterRecord) -> Iterable[str]:
    """Yield a line for each list: the shares of its reasons beside those of drawn pairs."""
    usual = record.reasons_of_drawn_pairs
    for name, listed in record.disagreements.items():
        common = ", ".join(
            f"{reason} {share:.0%} ({usual[reason]:.0%})"
            for reason, share in listed["reasons"].items()
            if share
        )
        yield f"{name}: {listed['pairs']:,} pairs" + (f": {common}" if common else "")
