"""Corpus metrics and mixtures of them: statistics of candidates, and scores of summed statistics.

The statistics add up over sentences, so an optimiser needs only arrays. A matrix of statistics has
these columns, or only the columns of BLEU if BLEU is the only metric:

* BLEU: 9 (``bleu.py``)
* chrF: 18, three for each of 6 orders (n-grams of the candidate, n-grams of the reference, matches)
* every other metric: 2; the score is the first column divided by the second. TER: edits and
  reference words, both times the number of references, which makes them whole. Accuracy: correct
  lines and all lines. Error rates of characters and words: edits and the length of the closest
  reference.

Columns of metrics that are not requested are 0. Scores are fractions; large error rates can make a
mixture negative.

sacrebleu computes chrF and TER, and rapidfuzz computes edit distances, once for every distinct
translation of a sentence. The accuracy is the share of lines that equal a reference. CER and WER
are the Levenshtein distance to the closest reference divided by that reference's length, in
characters (spaces included) and in words. sacrebleu splits words at every Unicode space, Moses at
U+0020 only, so other spaces are replaced before sacrebleu sees a text.

sacrebleu's search for the shifts of TER takes seconds for a line of 250 words, and the edits of CER
and WER take minutes for a line of a million. Where a line and its reference are too long, an upper
bound stands for their edits: without shifts for TER, the length of the longer line for CER and WER.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rapidfuzz.distance import Levenshtein
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from moses_integration.bleu import COLUMNS as BLEU_COLUMNS
from moses_integration.bleu import Counts, Offsets, References, bleu, bleu_of_sums
from phrasescore.compiled import compiled
from phrasescore.errors import CorpusError
from phrasescore.runs.progress import Progress
from phrasescore.table.input_files import line_notes, read_lines
from tuning.metrics.metric_settings import LOWER_IS_BETTER, METRICS, MetricName, Objective

CHRF_ORDERS = 6
TER_AT = BLEU_COLUMNS + 3 * CHRF_ORDERS
ALL_COLUMNS = TER_AT + 2 * len(METRICS[2:])
_ACCURACY = METRICS.index("accuracy")
# chrF weighs recall twice as much as precision, as sacrebleu does by default
_BETA_SQUARED = 4.0
_SPACE_IN_WORD = re.compile(r"[^\S ]")
# replaces spaces other than U+0020; no text should contain this character of the private use area
_STAND_IN = "\ue000"
# the words (CER: the characters) of a line times those of a reference
MAX_EDITS = {"ter": 200 * 200, "cer": 10**10, "wer": 10**10}


@compiled
def _chrf(sums: NDArray[np.float64]) -> float:
    """Return chrF of (18,) sums; the order of operations is sacrebleu's, for equal rounding."""
    precision = recall = 0.0
    orders = 0
    for at in range(0, 3 * CHRF_ORDERS, 3):
        if sums[at] > 0 and sums[at + 1] > 0:
            precision += sums[at + 2] / sums[at]
            recall += sums[at + 2] / sums[at + 1]
            orders += 1
    if precision + recall == 0:
        return 0.0
    precision /= orders
    recall /= orders
    return (1 + _BETA_SQUARED) * precision * recall / (_BETA_SQUARED * precision + recall)


@compiled
def _quotient(sums: NDArray[np.float64]) -> float:
    """Divide the first sum by the second; 0 / 0 is 0, and other quotients by 0 are 1."""
    if sums[1] > 0:
        return sums[0] / sums[1]
    return 1.0 if sums[0] > 0 else 0.0


@compiled
def score_of_sums(sums: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
    """Return the objective of (columns,) summed statistics, given the share of each metric."""
    score = bleu(sums)
    if len(sums) == BLEU_COLUMNS:
        return score
    score = shares[0] * score + shares[1] * _chrf(sums[BLEU_COLUMNS:TER_AT])
    for metric in range(2, shares.size):
        if shares[metric] > 0:
            begin = TER_AT + 2 * (metric - 2)
            rate = _quotient(sums[begin : begin + 2])
            score += shares[metric] * (rate if metric == _ACCURACY else 1.0 - rate)
    return score


def objective_score(objective: Objective, sums: Iterable[float]) -> float:
    """Return the objective of (columns,) summed statistics."""
    return float(score_of_sums(np.array(sums, np.float64), np.array(objective.shares)))


@compiled
def _fill_scores(is_chrf: bool, rows: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
    for row in range(scores.size):
        scores[row] = _chrf(rows[row]) if is_chrf else _quotient(rows[row])


def columns_of(metric: MetricName) -> slice:
    """Return the columns of a metric."""
    if metric in ("bleu", "chrf"):
        return slice(0, BLEU_COLUMNS) if metric == "bleu" else slice(BLEU_COLUMNS, TER_AT)
    begin = TER_AT + 2 * (METRICS.index(metric) - 2)
    return slice(begin, begin + 2)


def metric_scores(metric: MetricName, sums: ArrayLike) -> NDArray[np.float64]:
    """Return the scores of summed statistics in one metric; error rates are not inverted.

    Args:
        metric: One of ``METRICS``.
        sums: (..., k) the sums in the metric's own columns, see ``columns_of``.

    Returns:
        (...,) the scores as fractions.
    """
    if metric == "bleu":
        return bleu_of_sums(sums)
    counts = np.asarray(sums, np.float64)
    scores = np.empty(counts.shape[:-1])
    rows = np.ascontiguousarray(counts.reshape(-1, counts.shape[-1]))
    _fill_scores(metric == "chrf", rows, scores.reshape(-1))
    return scores


def sentence_scores(statistics: NDArray[np.int16], objective: Objective) -> NDArray[np.float64]:
    """Return (N,) each candidate's objective, given (N, K) statistics; BLEU is add-one smoothed."""
    scores = objective.bleu * bleu_of_sums(statistics[:, columns_of("bleu")], added=1.0)
    for metric, share in zip(METRICS[1:], objective.shares[1:], strict=True):
        if share:
            worth = metric_scores(metric, statistics[:, columns_of(metric)])
            scores += share * (1 - worth if metric in LOWER_IS_BETTER else worth)
    return scores


class CandidateStatistics:
    """The references of a text, prepared to compute the statistics of candidates.

    Args:
        references: The words of the references, for BLEU.
        lines: The R references of S lines each, for the other metrics.
        metrics: The metrics to compute statistics for.

    Attributes:
        notes: Warnings about the references, for the user.
        empty: The number of lines that are empty in every reference.

    Raises:
        CorpusError: All lines are empty in every reference.
    """

    notes: tuple[str, ...] = ()

    def __init__(
        self,
        references: References,
        lines: Iterable[Sequence[bytes]],
        metrics: Collection[MetricName],
    ) -> None:
        self.references = references
        self.empty = int((references.lengths == 0).all(1).sum())
        if 0 < len(references) == self.empty:
            raise CorpusError("all references are empty", remedy="give texts with translations")
        if self.empty:
            self.notes = (f"{self.empty} of {len(references)} references are empty",)
        self._metrics = frozenset(metrics) - {"bleu"}
        self._sacrebleu: dict[MetricName, CHRF | TER] = {}
        if "chrf" in metrics:
            self._sacrebleu["chrf"] = CHRF(char_order=CHRF_ORDERS)
        if "ter" in metrics:
            self._sacrebleu["ter"] = TER(case_sensitive=True)
        self._lines: list[list[str]] = []
        if self._metrics:
            self._lines = [[*map(as_text, each)] for each in zip(*lines, strict=True)]
        self._prepared: dict[int, dict[MetricName, Any]] = {}
        self._known: dict[tuple[int, bytes], Counts] = {}

    @classmethod
    def read(cls, paths: Sequence[str | Path], objective: Objective) -> CandidateStatistics:
        """Read references for an objective.

        Args:
            paths: R reference files of S lines each.
            objective: The objective to compute statistics for.

        Raises:
            CorpusError: The files differ in their number of lines, or all lines are empty.
        """
        lines = [list(read_lines(path)) for path in paths]
        found = cls(References(lines, names=paths), lines, objective.metrics)
        found.notes += tuple(line_notes(zip(paths, lines, strict=True)))
        return found

    @property
    def needs_words(self) -> bool:
        """Whether the metrics need the words as text in addition to their ids."""
        return bool(self._metrics)

    @property
    def columns(self) -> int:
        """K, the number of statistics of each candidate."""
        return ALL_COLUMNS if self._metrics else BLEU_COLUMNS

    def __len__(self) -> int:
        return len(self.references)

    def score(
        self, sentences: Counts, tokens: Counts, offsets: Offsets, words: Sequence[bytes] = ()
    ) -> Counts:
        """Return (N, K) the statistics of candidates.

        Args:
            sentences: (N,) the sentence index of each candidate.
            tokens: The words of all candidates, as ids of ``references.vocabulary``.
            offsets: (N + 1,) the first token of each candidate, then the number of tokens.
            words: The N candidates as text; unused if ``needs_words`` is false.
        """
        bleu = self.references.score_tokens(sentences, tokens, offsets)
        if not self._metrics:
            return bleu
        others = np.zeros((len(words), ALL_COLUMNS - BLEU_COLUMNS), np.int32)
        with Progress("scoring translations", len(words), "lines") as progress:
            for place, key in enumerate(zip(sentences.tolist(), words, strict=True)):
                if key not in self._known:
                    self._known[key] = self._computed(key[0], as_text(key[1]))
                others[place] = self._known[key]
                progress.advance(1)
        return np.hstack([bleu, others])

    def score_lines(self, sentences: Counts, lines: Sequence[bytes]) -> Counts:
        """Return (N, K) the statistics of candidates given as lines of words."""
        return self.score(sentences, *self.references.encode(lines), lines)

    def _computed(self, sentence: int, text: str) -> Counts:
        """Return (K - 9,) the statistics of a candidate for the metrics other than BLEU."""
        references = self._lines[sentence]
        row = np.zeros(ALL_COLUMNS, np.int32)
        if sentence not in self._prepared:
            self._prepared[sentence] = {
                name: metric._extract_reference_info(references)
                for name, metric in self._sacrebleu.items()
            }
        for name, prepared in self._prepared[sentence].items():
            if name == "ter":
                row[columns_of(name)] = self._ter(text, references, prepared)
            else:
                chrf = self._sacrebleu[name]
                row[columns_of(name)] = chrf._compute_segment_statistics(text, prepared)
        if "accuracy" in self._metrics:
            row[columns_of("accuracy")] = text in references, 1
        for rate in self._metrics & {"cer", "wer"}:
            row[columns_of(rate)] = _closest(rate, text, references)
        return row[BLEU_COLUMNS:]

    def _ter(self, text: str, references: Sequence[str], prepared: Any) -> tuple[int, int]:
        """Return edits and reference words, both times the number of references."""
        words = [reference.split() for reference in references]
        if is_too_long("ter", text, references):
            edits = min(Levenshtein.distance(text.split(), each) for each in words)
        else:
            edits = int(self._sacrebleu["ter"]._compute_segment_statistics(text, prepared)[0])
        return edits * len(words), sum(map(len, words))


def as_text(line: bytes) -> str:
    """Decode a line, and replace all spaces inside Moses's words."""
    return _SPACE_IN_WORD.sub(_STAND_IN, line.decode("utf-8", "replace")).strip(" ")


def is_too_long(metric: MetricName, text: str, references: Sequence[str]) -> bool:
    """Tell whether the edits of a line would take too long."""
    sizes = [
        len(each) if metric == "cer" else 1 + each.strip(" ").count(" ")
        for each in (text, *references)
    ]
    return sizes[0] * max(sizes[1:]) > MAX_EDITS[metric]


def _closest(metric: MetricName, text: str, references: Sequence[str]) -> tuple[int, int]:
    """Return the distance to the closest reference, and the length of that reference."""
    is_long = is_too_long(metric, text, references)
    units, *others = (each if metric == "cer" else each.split() for each in (text, *references))
    distances = [
        (max(len(units), len(each)) if is_long else Levenshtein.distance(units, each), len(each))
        for each in others
    ]
    return min(distances, key=lambda pair: pair[0])
