"""What a comparison leaves in a folder: a picture, the drawn pairs, and two lists of pairs.

The lists are such as ``prune --drop`` takes: source, tab, target, and then why.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from phrasescore.analysis.counts import Counts
from phrasescore.analysis.scatter.agreement import Agreement
from phrasescore.analysis.scatter.comparison import Comparison
from phrasescore.analysis.scatter.disagreement import Disagreement
from phrasescore.analysis.scatter.reasons import SeenPair, described, reasons, shares
from phrasescore.pictures.scatters import ScatterLabels, draw_scatter
from phrasescore.runs.final_names import open_output
from phrasescore.runs.json_files import write_json
from phrasescore.scoring.probability_column import ln_p_texts
from phrasescore.table.phrase_table import Entry, Side, parse_entry, phrase_tokens
from phrasescore.words.vocabulary import Vocabulary

HIGHER, LOWER, PAIRS = "model-higher.tsv", "model-lower.tsv", "pairs.tsv.gz"
PICTURE, SUMMARY = "scatter", "summary.json"
# drawn pairs that are enough to say how common a reason is
_FOR_SHARES = 10_000
_ROWS_AT_ONCE = 8192


def write_comparison(comparison: Comparison, folder: Path, picture: str) -> dict[str, Any]:
    """Write the picture, the drawn pairs and the lists of disagreements.

    Args:
        comparison: What was found.
        folder: Where to; made if need be.
        picture: The format of the picture.

    Returns:
        The figures, as JSON values.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        SettingsError: A file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = comparison.drawn_scores
    lists = {}
    for name, listed in ((HIGHER, comparison.higher), (LOWER, comparison.lower)):
        why = [reasons(_seen(each.entry, comparison)) for each in listed]
        with open_output(folder / name) as stream:
            stream.writelines(map(_line, listed, why))
        lists[name] = {"pairs": len(listed), "reasons": shares(why)}
    with open_output(folder / PAIRS) as stream:
        stream.writelines(_drawn_lines(comparison))
    outside = draw_scatter(
        folder / f"{PICTURE}.{picture}", drawn.table, drawn.model, _labels(comparison)
    )
    return {
        "pairs": comparison.drawn.among,
        "drawn_pairs": len(drawn.table),
        "searched_pairs": comparison.searched,
        **dataclasses.asdict(Agreement.of(drawn)),
        "outside_the_picture": outside,
        "expected": {
            "coefficients": comparison.expected.coefficients.tolist(),
            "deviation": comparison.expected.deviation,
        },
        "disagreements": lists,
        "reasons_of_drawn_pairs": shares(list(_usual_reasons(comparison))),
    }


def write_summary(folder: Path, result: Mapping[str, Any]) -> None:
    """Write the figures of a comparison beside it, with where they come from."""
    write_json(folder / SUMMARY, result)


def _line(found: Disagreement, why: Mapping[str, str]) -> bytes:
    """Return one line of a list."""
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
    """Yield the drawn pairs in the order of the table: source, target, and both ln p."""
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


def _labels(comparison: Comparison) -> ScatterLabels:
    scores = comparison.scores
    p = "p(target | source)" if scores.predicted == "target" else "p(source | target)"
    by = f"score {scores.model} of the table" if isinstance(scores.model, int) else "the model"
    drawn, among = len(comparison.drawn.lines), comparison.drawn.among
    of = f" of {among:,}" if among > drawn else ""
    return ScatterLabels(
        f"{drawn:,}{of} phrase pairs",
        f"ln {p} by score {scores.column} of the table",
        f"ln {p} by {by}",
        "phrase pairs",
    )


def _usual_reasons(comparison: Comparison) -> Iterator[dict[str, str]]:
    """Yield the reasons that apply to drawn pairs, whether or not anybody disagrees about them."""
    lines = comparison.drawn.lines
    step = -(-len(lines) // _FOR_SHARES)
    for line in lines[::step]:
        yield reasons(_seen(parse_entry(line), comparison))


def _seen(entry: Entry, comparison: Comparison) -> SeenPair:
    scores = comparison.scores
    known: dict[Side, Vocabulary] = {}
    if not isinstance(scores.model, int):
        known = dict(scores.model.sides)
    return SeenPair(entry, scores.factor, comparison.drawn.format.hierarchical, known)


def described_lists(lists: Mapping[str, Any], usual: Mapping[str, float]) -> Iterable[str]:
    """Say in a line for each list what its pairs have in common, beside what is usual."""
    for name, listed in lists.items():
        common = ", ".join(
            f"{reason} {share:.0%} ({usual[reason]:.0%})"
            for reason, share in listed["reasons"].items()
            if share
        )
        yield f"{name}: {listed['pairs']:,} pairs" + (f": {common}" if common else "")
