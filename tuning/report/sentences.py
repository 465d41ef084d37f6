"""Compares two translations sentence by sentence: shares in the gain, and changed words.

BLEU is a score of a whole text, and smoothed BLEU scores of sentences do not add up to it. So the
effect of a sentence is its *share*: the change of the text's score if only this sentence is taken
from the other system. The change is computed in the text of the first system and in the text of the
second one, and the share is the mean of both. Shares nearly add up to the difference between the
two texts' scores; the page shows the sum and the difference.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moses_integration.text.preparation import read_text, unescape
from phrasescore.errors import PhrasescoreError
from phrasescore.runs.results import ComparisonRecord
from tuning.metrics.metric_scores import columns_of, metric_scores
from tuning.metrics.metric_settings import LOWER_IS_BETTER, METRICS, MetricName, TextScoring
from tuning.metrics.text_scores import ReferenceTexts
from tuning.report.result_files import ResultFiles

Lines = tuple[str, ...]
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
# if the recomputed score differs by more than this, the text has changed since the comparison
_SAME_SCORE = 1e-9
# longer lines are cut, because comparing words takes quadratic time
_MAX_WORDS = 300
_NO_SHARE = 1e-12


@dataclass(frozen=True)
class WordRun:
    """Consecutive words of a translation, without Moses's escapes.

    Args:
        text: The words.
        changed: Whether the other translation lacks these words.
    """

    text: str
    changed: bool


@dataclass(frozen=True)
class SentenceDifference:
    """A sentence that two systems translate differently.

    Args:
        number: The number of the sentence, from 1.
        share: The share of the sentence in the difference; 0.01 is one point.
        gain: The share, above 0 if it is an improvement.
        first: The translation by the first system.
        second: The translation by the second system.
        source: The source sentence; ``None`` if the source text is not known.
        reference: The first reference.
    """

    number: int
    share: float
    gain: float
    first: tuple[WordRun, ...]
    second: tuple[WordRun, ...]
    source: str | None
    reference: str


@dataclass(frozen=True)
class Differences:
    """The differences between the translations of two systems.

    Args:
        first: The name of the first system.
        second: The name of the second system.
        difference: The second system's score minus the first system's, each of its first run.
        shares: The sum of all shares.
        sentences: The number of sentences.
        alike: The number of sentences with equal translations.
        better: The number of sentences whose share is an improvement.
        worse: The number of sentences whose share is a loss.
        rows: The sentences to show, from the greatest gain to the greatest loss.
    """

    first: str
    second: str
    difference: float
    shares: float
    sentences: int
    alike: int
    better: int
    worse: int
    rows: tuple[SentenceDifference, ...]


@dataclass(frozen=True)
class TextDifferences:
    """The differences of all systems from the first one.

    Args:
        pairs: The differences for every other system whose translations can be shown.
        notes: Sentences about files that could not be used.
    """

    pairs: tuple[Differences, ...]
    notes: tuple[str, ...]


def share_of_each(
    metric: MetricName, first: NDArray[np.int64], second: NDArray[np.int64]
) -> Floats:
    """Return (S,) the share of each sentence in the gain, given both systems' (S, K) statistics."""
    sums = first.sum(0), second.sum(0)
    moved = second - first
    there = metric_scores(metric, sums[0] + moved) - metric_scores(metric, sums[0])
    back = metric_scores(metric, sums[1]) - metric_scores(metric, sums[1] - moved)
    return (there + back) / 2


def compare_texts(
    record: ComparisonRecord, folder: Path, files: ResultFiles, sources: Sequence[Lines]
) -> TextDifferences:
    """Compare other systems' first runs with the first system's first run, by sentence.

    Translations are shown only if they still have the score in the record.

    Args:
        record: A comparison with at least one metric, reference and system, and a file of each
            system.
        folder: The folder of the record.
        files: The files that may be read.
        sources: Texts that may be the source, if the record does not name it.
    """
    metric = next(name for name in METRICS if name in record.metrics)
    notes: list[str] = []
    outputs: dict[str, tuple[Counts, Lines]] = {}
    try:
        if record.known_words is not None:
            raise PhrasescoreError("only sentences whose words a model knows were compared")
        paths = [files.located(path, folder) for path in record.references]
        references = ReferenceTexts(paths, _scoring(metric, record.signatures.get(metric, "")))
        for system in record.metrics[metric]:
            try:
                path = files.located(record.files[system.system][0], folder)
                statistics = references.score(path).statistics[:, columns_of(metric)]
                now = float(metric_scores(metric, statistics.sum(0)))
                if not math.isclose(now, system.runs[0], rel_tol=0, abs_tol=_SAME_SCORE):
                    problem = "its score differs from the recorded score"
                    raise PhrasescoreError(problem, path=path)
                outputs[system.system] = statistics, tuple(read_text(path))
            except PhrasescoreError as error:
                if not outputs:  # without the first system there is nothing to compare with
                    raise
                notes.append(f"The sentences of {system.system} cannot be shown: {error}")
    except PhrasescoreError as error:
        return TextDifferences((), (f"The sentences cannot be shown: {error}",))
    source = next((lines for lines in sources if len(lines) == len(references)), None)
    if record.source:
        try:
            lines = tuple(read_text(files.located(record.source, folder)))
            source = lines if len(lines) == len(references) else source
        except PhrasescoreError as error:
            notes.append(f"The source cannot be shown: {error}")
    elif source is None:
        notes.append("A comparison does not name its source text; name the text with --source.")
    (first, before), *others = outputs.items()
    # limit the page to about a thousand gains and losses over all pairs of systems
    max_rows = min(100, max(5, 500 // max(len(others), 1)))
    pairs = [
        _differences((first, name), before, after, metric, source, references.lines[0], max_rows)
        for name, after in others
    ]
    return TextDifferences(tuple(pairs), tuple(notes))


def _scoring(metric: MetricName, signature: str) -> TextScoring:
    """Recover the settings of scoring from the metric's signature."""
    # TER and chrF read the text as it is, so the tokenisation in their signatures does not matter
    found = re.search(r"\btok:([\w-]+)", signature) if metric == "bleu" else None
    lowercase = re.search(r"\bcase:lc\b", signature) is not None
    return TextScoring((metric,), found[1] if found else "none", lowercase)


def _differences(
    names: tuple[str, str],
    before: tuple[Counts, Lines],
    after: tuple[Counts, Lines],
    metric: MetricName,
    source: Lines | None,
    reference: Sequence[str],
    max_rows: int,
) -> Differences:
    """Compare two translations; show at most ``max_rows`` gains and as many losses."""
    shares = share_of_each(metric, before[0], after[0])
    gains = -shares if metric in LOWER_IS_BETTER else shares
    order = np.argsort(-gains, kind="stable")
    better, worse = order[gains[order] > _NO_SHARE], order[gains[order] < -_NO_SHARE]
    chosen = [*better[:max_rows].tolist(), *worse[max(0, len(worse) - max_rows) :].tolist()]
    rows = tuple(
        SentenceDifference(
            row + 1,
            float(shares[row]),
            float(gains[row]),
            *changed_words(before[1][row], after[1][row]),
            unescape(source[row]) if source else None,
            unescape(reference[row]),
        )
        for row in chosen
    )
    scores = [float(metric_scores(metric, counts.sum(0))) for counts, _ in (before, after)]
    return Differences(
        *names,
        difference=scores[1] - scores[0],
        shares=float(shares.sum()),
        sentences=len(shares),
        alike=sum(one == other for one, other in zip(before[1], after[1], strict=True)),
        better=len(better),
        worse=len(worse),
        rows=rows,
    )


def changed_words(first: str, second: str) -> tuple[tuple[WordRun, ...], tuple[WordRun, ...]]:
    """Split both lines into runs of words that are shared, and runs that only one line has.

    >>> [(run.text, run.changed) for run in changed_words("a b c", "a x c")[1]]
    [('a', False), ('x', True), ('c', False)]
    """
    one, other = _cut(first), _cut(second)
    found: tuple[list[WordRun], list[WordRun]] = ([], [])
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    for kind, begin, end, other_begin, other_end in matcher.get_opcodes():
        parts = one[begin:end], other[other_begin:other_end]
        for runs, words in zip(found, parts, strict=True):
            if words:
                runs.append(WordRun(unescape(" ".join(words)), kind != "equal"))
    return tuple(found[0]), tuple(found[1])


def _cut(line: str) -> list[str]:
    """Split a line at spaces alone, as Moses does, and cut it if it is long."""
    words = [word for word in line.split(" ") if word]
    return words if len(words) <= _MAX_WORDS else [*words[:_MAX_WORDS], "…"]
