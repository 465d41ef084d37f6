"""Scores of whole texts in all metrics, from statistics that add up over sentences.

Statistics and scores are defined in ``tuning.metrics.metric_scores``, so a score here is the same
number that tuning maximises. Moses's texts are tokenised already: ``tokenize="none"`` splits words
at the space U+0020 alone. Other tokenisations are sacrebleu's and change BLEU only; chrF and TER
read the text as it is.

Scores are fractions: BLEU, chrF and accuracy from 0 to 1; error rates (TER, CER, WER) from 0
without a maximum (lower is better).
Shapes: S sentences, K statistics.

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

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import rapidfuzz
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from sacrebleu.metrics.bleu import BLEU, _get_tokenizer
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from moses_integration.bleu import COLUMNS as BLEU_COLUMNS
from moses_integration.bleu import References
from moses_integration.text.preparation import read_text
from phrasescore.errors import CorpusError, counted
from phrasescore.table.input_files import line_end_notes, read_lines
from tuning.metrics.metric_scores import ALL_COLUMNS, CHRF_ORDERS, columns_of
from tuning.metrics.metric_settings import MetricName, Objective, TextScoring

_COLUMNS = ALL_COLUMNS - BLEU_COLUMNS
_SPACE_IN_WORD = re.compile(r"[^\S ]")
# replaces spaces other than U+0020; no text should contain this character of the private use area
_STAND_IN = "\ue000"
LABELS = {
    "bleu": "BLEU",
    "chrf": "chrF2",
    "ter": "TER",
    "accuracy": "accuracy",
    "cer": "CER",
    "wer": "WER",
}
_MARK = re.compile(r"(?:^| )\|[0-9]+-[0-9]+\|(?: |$)")
# the words (CER: the characters) of a line times those of a reference
_MAX_EDITS = {"ter": 200 * 200, "cer": 10**10, "wer": 10**10}
_ESCAPED = re.compile("&(?:amp|apos|quot|lt|gt|#124|#91|#93);")


@dataclass(frozen=True)
class NamedLines(os.PathLike[str]):
    """Lines in memory that are accepted in place of a file.

    Args:
        name: The name of the text in errors and tables.
        lines: The lines, without line feeds.
    """

    name: str
    lines: Sequence[str]

    def __fspath__(self) -> str:
        return self.name


TextFile: TypeAlias = "str | Path | NamedLines"


def _lines_of(text: TextFile) -> list[str]:
    return list(text.lines if isinstance(text, NamedLines) else read_text(text))


def as_text(line: bytes) -> str:
    """Decode a line, and replace all spaces inside Moses's words."""
    return _SPACE_IN_WORD.sub(_STAND_IN, line.decode("utf-8", "replace")).strip(" ")


class LineStatistics:
    """Statistics of candidates for metrics other than BLEU.

    Args:
        references: R lists with the same number of lines.
        metrics: The metrics to compute; the columns of other metrics are 0.
    """

    def __init__(
        self, references: Sequence[Sequence[bytes]], metrics: Collection[MetricName]
    ) -> None:
        self._metrics = frozenset(metrics)
        metrics_of: dict[MetricName, CHRF | TER] = {
            "chrf": CHRF(char_order=CHRF_ORDERS),
            "ter": TER(case_sensitive=True),
        }
        self._sacrebleu = {name: each for name, each in metrics_of.items() if name in metrics}
        self._references = [
            [as_text(line) for line in lines] for lines in zip(*references, strict=True)
        ]
        self._prepared: dict[int, dict[MetricName, Any]] = {}
        self._known: dict[tuple[int, bytes], NDArray[np.int32]] = {}

    def score(self, sentences: NDArray[np.int32], lines: Sequence[bytes]) -> NDArray[np.int32]:
        """Return (N, K - 9) statistics, without BLEU's 9 (see ``tuning.metrics.metric_scores``)."""
        rows = np.zeros((len(lines), _COLUMNS), np.int32)
        for place, key in enumerate(zip(sentences.tolist(), lines, strict=True)):
            if key not in self._known:
                self._known[key] = self._computed(key[0], as_text(key[1]))
            rows[place] = self._known[key]
        return rows

    def _computed(self, sentence: int, text: str) -> NDArray[np.int32]:
        references = self._references[sentence]
        row = np.zeros(_COLUMNS, np.int32)
        if sentence not in self._prepared:
            self._prepared[sentence] = {
                name: metric._extract_reference_info(references)
                for name, metric in self._sacrebleu.items()
            }
        for name, prepared in self._prepared[sentence].items():
            if name == "ter":
                row[_own_columns(name)] = self._ter(text, references, prepared)
            else:
                found = self._sacrebleu[name]._compute_segment_statistics(text, prepared)
                row[_own_columns(name)] = found
        if "accuracy" in self._metrics:
            row[_own_columns("accuracy")] = text in references, 1
        if "cer" in self._metrics:
            row[_own_columns("cer")] = _closest("cer", text, references)
        if "wer" in self._metrics:
            row[_own_columns("wer")] = _closest("wer", text, references)
        return row

    def _ter(self, text: str, references: Sequence[str], prepared: Any) -> tuple[int, int]:
        """Return edits and reference words, both times the number of references."""
        words = [reference.split() for reference in references]
        if is_too_long("ter", text, references):
            edits = min(Levenshtein.distance(text.split(), each) for each in words)
        else:
            edits = int(self._sacrebleu["ter"]._compute_segment_statistics(text, prepared)[0])
        return edits * len(words), sum(map(len, words))


def is_too_long(metric: MetricName, text: str, references: Sequence[str]) -> bool:
    """Tell whether the edits of a line would take too long."""
    sizes = [
        len(each) if metric == "cer" else 1 + each.strip(" ").count(" ")
        for each in (text, *references)
    ]
    return sizes[0] * max(sizes[1:]) > _MAX_EDITS[metric]


def _own_columns(metric: MetricName) -> slice:
    """Return the columns of a metric, counted from the first column after BLEU's."""
    columns = columns_of(metric)
    return slice(columns.start - BLEU_COLUMNS, columns.stop - BLEU_COLUMNS)


def _closest(metric: MetricName, text: str, references: Sequence[str]) -> tuple[int, int]:
    """Return the distance to the closest reference, and the length of that reference."""
    is_long = is_too_long(metric, text, references)
    units, *others = (each if metric == "cer" else each.split() for each in (text, *references))
    distances = [
        (max(len(units), len(each)) if is_long else Levenshtein.distance(units, each), len(each))
        for each in others
    ]
    return min(distances, key=lambda pair: pair[0])


def signatures(scoring: TextScoring, references: int) -> dict[str, str]:
    """Return the settings and versions of each metric in the form of a sacrebleu signature."""
    case = scoring.lowercase
    metrics: dict[MetricName, BLEU | CHRF | TER] = {
        "bleu": BLEU(case, force=True, tokenize=scoring.tokenize, smooth_method="none"),
        "chrf": CHRF(char_order=CHRF_ORDERS, lowercase=case),
        "ter": TER(case_sensitive=not case),
    }
    for metric in metrics.values():
        metric.num_refs = references
    plain = f"nrefs:{references}|case:{'lc' if case else 'mixed'}"
    distance = f"{plain}|levenshtein:rapidfuzz-{rapidfuzz.__version__}"
    texts = {name: str(metric.get_signature()) for name, metric in metrics.items()}
    texts |= {"accuracy": plain, "cer": distance, "wer": distance}
    return {name: texts[name] for name in scoring.metrics}


@dataclass(frozen=True)
class ScoredText:
    """The statistics of a text.

    Args:
        path: The file, or the name of lines in memory.
        statistics: (S, K) the statistics of each sentence. If BLEU is the only metric, these are
            BLEU's columns alone; otherwise columns of unused metrics are 0.
        too_long: For each error rate, (S,) whether an upper bound stands for the edits of a line,
            because the line is too long.
        notes: Warnings for the user.
    """

    path: Path
    statistics: NDArray[np.int64]
    too_long: Mapping[MetricName, NDArray[np.bool_]]
    notes: tuple[str, ...] = field(default=())


class CandidateStatistics:
    """The references of a text, prepared to compute the statistics of candidates.

    Args:
        references: The words of the references, for BLEU.
        lines: The R references of S lines each, for the other metrics.
        metrics: The metrics to compute statistics for.

    Attributes:
        notes: Warnings about the references, for the user.
    """

    notes: tuple[str, ...] = ()

    def __init__(
        self,
        references: References,
        lines: Iterable[Sequence[bytes]],
        metrics: Collection[MetricName],
    ) -> None:
        self.references = references
        self._more: LineStatistics | None = None
        if set(metrics) - {"bleu"}:
            self._more = LineStatistics([*lines], metrics)

    @classmethod
    def read(cls, paths: Sequence[str | Path], objective: Objective) -> CandidateStatistics:
        """Read references for an objective.

        Args:
            paths: R reference files of S lines each.
            objective: The objective to compute statistics for.

        Raises:
            CorpusError: The files differ in their number of lines.
        """
        lines = [list(read_lines(path)) for path in paths]
        references = References(lines, names=paths)
        found = cls(references, lines, objective.metrics)
        found.notes = tuple(line_end_notes(zip(paths, lines, strict=True)))
        return found

    @property
    def needs_words(self) -> bool:
        """Whether the metrics need the words as text in addition to their ids."""
        return self._more is not None

    @property
    def columns(self) -> int:
        """K, the number of statistics of each candidate."""
        return BLEU_COLUMNS if self._more is None else ALL_COLUMNS

    def __len__(self) -> int:
        return len(self.references)

    def score(
        self,
        sentences: NDArray[np.int32],
        tokens: NDArray[np.int32],
        offsets: NDArray[np.int64],
        words: Sequence[bytes] = (),
    ) -> NDArray[np.int32]:
        """Return (N, K) the statistics of candidates.

        Args:
            sentences: (N,) the sentence index of each candidate.
            tokens: The words of all candidates, as ids of ``references.vocabulary``.
            offsets: (N + 1,) the first token of each candidate, then the number of tokens.
            words: The N candidates as text; unused if ``needs_words`` is false.
        """
        bleu = self.references.score_tokens(sentences, tokens, offsets)
        if self._more is None:
            return bleu
        return np.hstack([bleu, self._more.score(sentences, words)])

    def score_lines(
        self, sentences: NDArray[np.int32], lines: Sequence[bytes]
    ) -> NDArray[np.int32]:
        """Return (N, K) the statistics of candidates given as lines of words."""
        return self.score(sentences, *self.references.encode(lines), lines)


class ReferenceTexts:
    """The references of a text, prepared to score translations of it.

    Args:
        paths: R references of S lines each: UTF-8 files, plain or gzipped, or lines in memory.
        scoring: The metrics, and the preparation of texts for them.

    Attributes:
        lines: R lists of the S unchanged lines.
        empty: The number of lines that are empty in every reference.

    Raises:
        CorpusError: A file is empty or not UTF-8, or the files differ in their number of lines.
    """

    def __init__(self, paths: Sequence[TextFile], scoring: TextScoring | None = None) -> None:
        self.scoring = scoring or TextScoring()
        self.paths = [Path(path) for path in paths]
        self._tokenizer = None
        if self.scoring.tokenize != "none":
            self._tokenizer = _get_tokenizer(self.scoring.tokenize)()
        self.lines = [_lines_of(path) for path in paths]
        texts = [self._cased(lines) for lines in self.lines]
        for path, lines in zip(paths, texts, strict=True):
            self.check_length(path, lines)
        if not texts or not texts[0]:
            raise CorpusError(
                "the reference has no lines" if paths else "no reference is given",
                path=self.paths[0] if paths else None,
                remedy="give the file with the translations to compare with",
            )
        self._statistics = CandidateStatistics(
            References([[self._words(line) for line in lines] for lines in texts]),
            ([line.encode() for line in lines] for lines in texts),
            self.scoring.metrics,
        )
        self._escaped = any(_ESCAPED.search(line) for lines in texts for line in lines)
        self.empty = sum(not any(lines) for lines in zip(*texts, strict=True))

    def __len__(self) -> int:
        return len(self._statistics)

    def score(self, path: TextFile) -> ScoredText:
        """Compute the statistics of a translation.

        Raises:
            CorpusError: The file is not UTF-8, or its number of lines differs from the references.
        """
        lines = self._cased(_lines_of(path))
        self.check_length(path, lines)
        words = self._statistics.references.encode([self._words(line) for line in lines])
        statistics = self._statistics.score(
            np.arange(len(self), dtype=np.int32), *words, [line.encode() for line in lines]
        )
        notes = self._notes(lines, Path(path))
        too_long: dict[MetricName, NDArray[np.bool_]] = {}
        rows = [*zip(lines, zip(*self.lines, strict=True), strict=True)]
        for metric in self.scoring.metrics:
            if metric in _MAX_EDITS:
                long = np.array([is_too_long(metric, *row) for row in rows])
                too_long[metric] = long
                if long.any():
                    what = counted(long.sum(), "long line")
                    notes.append(f"{path}: no exact {LABELS[metric]} because of {what}")
        return ScoredText(Path(path), statistics.astype(np.int64), too_long, tuple(notes))

    def _cased(self, lines: list[str]) -> list[str]:
        return [line.lower() for line in lines] if self.scoring.lowercase else lines

    def _words(self, line: str) -> bytes:
        return (self._tokenizer(line.rstrip()) if self._tokenizer else line).encode()

    def check_length(self, path: TextFile, lines: Sequence[object]) -> None:
        """Raise a ``CorpusError`` if a text has another number of lines than the references."""
        if len(lines) != len(self.lines[0]):
            raise CorpusError(
                f"{counted(len(lines), 'line')}, where {self.paths[0]} has {len(self.lines[0])}",
                path=Path(path),
                remedy="source, translations and references must be of the same text, line by line",
            )

    def _notes(self, lines: Sequence[str], path: Path) -> list[str]:
        notes = []
        empty = sum(not line.strip(" ") for line in lines)
        if empty > self.empty:
            notes.append(f"{path}: {empty} of {len(lines)} translations are empty")
        escaped = any(_ESCAPED.search(line) for line in lines)
        if escaped and not self._escaped:
            notes.append(
                f"{path} has escapes such as &apos;, but the references have none: "
                "undo them with phrasescore postprocess"
            )
        if any(_MARK.search(line) for line in lines):
            notes.append(
                f"{path} has marks of phrases such as |0-1|, which count as words: translate "
                "without -t or [report-segmentation]"
            )
        texts = (path, lines), *zip(self.paths, self.lines, strict=True)
        return [*notes, *line_end_notes(texts)]
