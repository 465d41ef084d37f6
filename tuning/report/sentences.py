"""Sentence by sentence: what each one moves the score by, and which words changed.

BLEU is a score of a text, not of a sentence, and a smoothed BLEU of each sentence does not add up
to it. So a sentence is said to move the score by its *share*: how far the score of the text moves
if this sentence alone is taken from the other system. That is asked from both sides, in the text of
the first system and in that of the second, and the mean is the share. Shares nearly add up to the
difference of the two texts, and a page can say how nearly.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from moses_integration.bleu.statistics import bleu_of_sums
from moses_integration.system_building.corpus.text_preparation import unescape
from tuning.metrics.metric_scores import metric_scores
from tuning.metrics.metric_settings import MetricName
from tuning.metrics.sentence_groups import LengthGroup, LengthPoint, length_groups
from tuning.metrics.significance import mean_and_deviation
from tuning.report.contents import SystemOutput, TranslatedText

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
# a longer line is cut: comparing words takes the square of their number
_MAX_WORDS = 300
_NO_SHARE = 1e-12


@dataclass(frozen=True)
class WordRun:
    """Some words of a translation, as people write them.

    Args:
        text: The words.
        changed: Whether the other translation lacks them.
        joined: Whether no space stands before them.
    """

    text: str
    changed: bool
    joined: bool = False


@dataclass(frozen=True)
class SentenceDifference:
    """A sentence that two systems translate in different ways.

    Args:
        number: From 1.
        share: What it moves the score by, a fraction.
        first: By the first system.
        second: By the second.
        source: None if it is not known.
        reference: Likewise.
    """

    number: int
    share: float
    first: tuple[WordRun, ...]
    second: tuple[WordRun, ...]
    source: str | None
    reference: str | None


@dataclass(frozen=True)
class Differences:
    """How one system's translations differ from another's.

    Args:
        first: The name of the first system.
        second: That of the second.
        runs: Which runs of the two.
        difference: Of these runs in the score, second minus first.
        shares: The sum of all shares.
        sentences: How many there are.
        alike: How many are translated alike.
        better: How many move the score for the better.
        worse: How many for the worse.
        rows: Those shown, the greatest gain first, the greatest loss last.
    """

    first: str
    second: str
    runs: tuple[str, str]
    difference: float
    shares: float
    sentences: int
    alike: int
    better: int
    worse: int
    rows: tuple[SentenceDifference, ...]


def share_of_each(
    metric: MetricName, first: NDArray[np.int64], second: NDArray[np.int64]
) -> Floats:
    """Return (S,) what each sentence moves the score by, from (S, K) statistics of two systems."""
    sums = first.sum(0), second.sum(0)
    moved = second - first
    there = metric_scores(metric, sums[0] + moved) - metric_scores(metric, sums[0])
    back = metric_scores(metric, sums[1]) - metric_scores(metric, sums[1] - moved)
    return (there + back) / 2


def differences(text: TranslatedText, system: SystemOutput, max_rows: int) -> Differences | None:
    """Compare a system with the first one, by the first run of each.

    Args:
        text: The text that both translate.
        system: One of its systems.
        max_rows: The maximum number of gains to show, and of losses.

    Returns:
        The comparison, or ``None`` if the translations of either system are gone.
    """
    first = text.outputs[0]
    if first.lines is None or system.lines is None:
        return None
    shares = share_of_each(text.metric, first.statistics[0], system.statistics[0])
    gains = -shares if text.metric == "ter" else shares
    order = np.argsort(-gains, kind="stable")
    better, worse = order[gains[order] > _NO_SHARE], order[gains[order] < -_NO_SHARE]
    chosen = [*better[:max_rows].tolist(), *worse[max(0, len(worse) - max_rows) :].tolist()]
    scores = [metric_scores(text.metric, each.statistics[0].sum(0)) for each in (first, system)]
    return Differences(
        first.name,
        system.name,
        (first.run, system.run),
        float(scores[1] - scores[0]),
        float(shares.sum()),
        len(shares),
        sum(one == other for one, other in zip(first.lines, system.lines, strict=True)),
        len(better),
        len(worse),
        tuple(
            SentenceDifference(
                row + 1,
                float(shares[row]),
                *changed_words(first.lines[row], system.lines[row]),
                None if text.source is None else readable(words_in(text.source[row])),
                None if text.reference is None else readable(words_in(text.reference[row])),
            )
            for row in chosen
        ),
    )


def compare_outputs(text: TranslatedText, max_rows: int) -> list[Differences]:
    """Compare each system with the first one, where the translations of both are still there."""
    found = (differences(text, output, max_rows) for output in text.outputs[1:])
    return [each for each in found if each is not None]


def changed_words(first: str, second: str) -> tuple[tuple[WordRun, ...], tuple[WordRun, ...]]:
    """Return the words of two lines, in runs that both have and runs that one has alone.

    >>> [(run.text, run.changed) for run in changed_words("a b c", "a x c")[1]]
    [('a', False), ('x', True), ('c', False)]
    """
    sides = _cut(first), _cut(second)
    found: tuple[list[WordRun], list[WordRun]] = ([], [])
    for kind, *places in difflib.SequenceMatcher(
        None, sides[0], sides[1], autojunk=False
    ).get_opcodes():
        bounds = (places[0], places[1]), (places[2], places[3])
        for words, side, (begin, end) in zip(found, sides, bounds, strict=True):
            if begin < end:
                run = readable(side[begin:end])
                joined = begin > 0 and _joins(side[begin - 1], side[begin])
                words.append(WordRun(run, kind != "equal", joined))
    return tuple(found[0]), tuple(found[1])


# punctuation that Moses sets apart, and the word before or after which it stands without a space
_AFTER_A_WORD = frozenset(",.)]}")
_BEFORE_A_WORD = frozenset("([{")
# an escaped apostrophe at the end of a word or at its beginning was cut off by the tokeniser
_CUT_BEFORE = re.compile(r"\w&apos;$")
_CUT_AFTER = re.compile(r"&apos;\w")
_HYPHEN = "@-@"


def readable(words: Sequence[str]) -> str:
    """Return words of Moses as people write them, without entities and set apart punctuation.

    >>> readable(["l&apos;", "ordinateur", "(", "it", "&apos;s", "far", "@-@", "off", ")", "."])
    "l'ordinateur (it's far-off)."
    """
    text = ""
    for place, word in enumerate(words):
        text += "" if place == 0 or _joins(words[place - 1], word) else " "
        text += "-" if word == _HYPHEN else unescape(word)
    return text


def _joins(word: str, following: str) -> bool:
    """Tell whether people write two words of Moses without a space between them."""
    return (
        _HYPHEN in (word, following)
        or unescape(following) in _AFTER_A_WORD
        or unescape(word) in _BEFORE_A_WORD
        or _CUT_BEFORE.search(word) is not None
        or _CUT_AFTER.match(following) is not None
    )


def words_in(line: str) -> list[str]:
    """Return the words of a line, which spaces alone separate, as in Moses."""
    return [word for word in line.split(" ") if word]


def _cut(line: str) -> list[str]:
    words = words_in(line)
    return words if len(words) <= _MAX_WORDS else [*words[:_MAX_WORDS], "…"]


@dataclass(frozen=True)
class LengthScores:
    """Scores by the length of a sentence.

    Args:
        by: Whose words are counted.
        groups: G groups.
        lines: By system, G points.
    """

    by: Literal["source", "reference"]
    groups: tuple[LengthGroup, ...]
    lines: dict[str, tuple[LengthPoint, ...]]


def scores_by_length(text: TranslatedText) -> LengthScores:
    """Score groups of sentences, by the words of their sources or else of their references."""
    lengths = text.reference_lengths
    if text.source is not None:
        lengths = np.array([len(words_in(line)) for line in text.source])
    groups = tuple(length_groups(np.arange(len(lengths)), lengths))
    lines = {
        output.name: tuple(
            _point(text.metric, output.statistics[:, group.rows]) for group in groups
        )
        for output in text.outputs
    }
    return LengthScores("reference" if text.source is None else "source", groups, lines)


def _point(metric: MetricName, statistics: Counts) -> LengthPoint:
    mean, deviation = mean_and_deviation(metric_scores(metric, statistics.sum(1)).tolist())
    return LengthPoint(100 * mean, 100 * (deviation or 0.0))


def sentence_scores(metric: MetricName, statistics: Counts) -> Floats:
    """Return (S,) a score of each sentence alone, from (S, K); BLEU is smoothed by adding one."""
    if metric == "bleu":
        return bleu_of_sums(statistics, added=1.0)
    return metric_scores(metric, statistics)
