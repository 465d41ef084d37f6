"""Scores of whole texts in all metrics, from statistics that add up over sentences.

Statistics and scores are defined in ``tuning.metrics.metric_scores``, so a score here is the same
number that tuning maximises. Moses's texts are tokenised already: ``tokenize="none"`` splits words
at the space U+0020 alone. Other tokenisations are sacrebleu's and change BLEU only; chrF and TER
read the text as it is.

Scores are fractions: BLEU, chrF and accuracy from 0 to 1; error rates (TER, CER, WER) from 0
without a maximum (lower is better).
Shapes: S sentences, K statistics.

Sentences to score can be selected: groups by source length, and sentences whose words a model
knows. Bahdanau et al. (2014) report both: Figure 2 has scores by the number of source words, and
the second half of Table 1 has scores of the sentences without unknown words.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from unicodedata import is_normalized

import numpy as np
import rapidfuzz
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU, _get_tokenizer
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from moses_integration.bleu import References, reference_mismatch
from moses_integration.text.preparation import read_text
from phrasescore.errors import CorpusError, SettingsError, counted, located
from phrasescore.runs.json_files import JsonObject
from phrasescore.table import input_files
from phrasescore.table.phrase_table import Side, scored_tokens, words_of
from phrasescore.words.vocabulary import UNK_ID
from tuning.metrics.metric_scores import CHRF_ORDERS, MAX_EDITS, CandidateStatistics, is_too_long
from tuning.metrics.metric_settings import LABELS, MetricName, SentenceSelection, TextScoring

_MARK = re.compile(r"(?:^| )\|[0-9]+-[0-9]+\|(?: |$)")
_ESCAPED = re.compile("&(?:amp|apos|quot|lt|gt|#124|#91|#93);")
_UNESCAPED = re.compile(r"['\"<>\[\]|]")
# signs that 13a makes words of, between letters, where some orthographies have them as letters
_CUT_BY_13A = re.compile(r"[^\W\d_]+[+:=*/<>@\"^`][^\W\d_]+")
# groups are 5 words wide if at least 95 % of the sentences have at most 30 words, otherwise 10
_SHORT, _NEARLY_ALL = 30, 0.95
_GROUPS = 6
Rows = NDArray[np.int64]


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


class ReferenceTexts:
    """The references of a text, prepared to score translations of it.

    Args:
        paths: R references of S lines each: UTF-8 files, plain or gzipped, or lines in memory.
        scoring: The metrics, and the preparation of texts for them.

    Attributes:
        lines: R lists of the S unchanged lines.

    Raises:
        CorpusError: A file is not UTF-8, the files differ in their number of lines, or all lines
            are empty.
    """

    def __init__(self, paths: Sequence[TextFile], scoring: TextScoring | None = None) -> None:
        self.scoring = scoring or TextScoring()
        self.paths = [Path(path) for path in paths]
        self._tokenizer = None
        if self.scoring.tokenize != "none":
            self._tokenizer = _get_tokenizer(self.scoring.tokenize)()
        self.lines = [_lines_of(path) for path in paths]
        texts = [self._cased(lines) for lines in self.lines]
        if not texts or not texts[0]:
            raise CorpusError(
                "the reference has no lines" if paths else "no reference is given",
                path=self.paths[0] if paths else None,
                remedy="give the file with the translations to compare with",
            )
        self._statistics = CandidateStatistics(
            References(
                [[self._words(line) for line in lines] for lines in texts], names=self.paths
            ),
            ([line.encode() for line in lines] for lines in texts),
            self.scoring.metrics,
        )
        together = "\n".join(map("\n".join, texts))
        self._escaped = _ESCAPED.search(together) is not None
        # tokens without any such character may be escaped, too
        self._plain = _UNESCAPED.search(together) or not _looks_tokenised(texts[0])
        self._forms = set(map(_is_nfc, texts))
        self._notes = [*self._statistics.notes]  # about the references themselves
        cut = [found[0] for found in map(_CUT_BY_13A.search, texts[0]) if found]
        if self.scoring.tokenize == "13a" and 5 * len(cut) > len(texts[0]):
            self._notes.append(f"13a cuts words such as {cut[0]}, so BLEU counts their pieces")

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
        notes = self._notes_about(lines, Path(path))
        if "bleu" in self.scoring.metrics and len(lines) >= 10:  # fewer may differ in every word
            notes += reference_mismatch(statistics.sum(0), path)
        too_long: dict[MetricName, NDArray[np.bool_]] = {}
        rows = [*zip(lines, zip(*self.lines, strict=True), strict=True)]
        for metric in self.scoring.metrics:
            if metric in MAX_EDITS:
                long = too_long[metric] = np.array([is_too_long(metric, *row) for row in rows])
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

    def _differences(self, lines: Sequence[str], path: Path) -> Iterator[str]:
        """Note how a translation is written in another way than the references."""
        if self._tokenizer is not None or (self._plain and not self._escaped):
            why = "which --tokenize cuts" if self._escaped else "but the references have none"
            if any(_ESCAPED.search(line) for line in lines):
                yield f"{path} has escapes such as &apos;, {why}: use phrasescore postprocess"
        if len({*self._forms, _is_nfc(lines)}) > 1:
            yield f"{path} and the references differ in their Unicode form: convert all to NFC"

    def _notes_about(self, lines: Sequence[str], path: Path) -> list[str]:
        notes = [*self._notes, *self._differences(lines, path)]
        if (empty := sum(not line.strip(" ") for line in lines)) > self._statistics.empty:
            notes.append(f"{path}: {empty} of {len(lines)} translations are empty")
        is_raw = input_files.looks_raw(self.lines[0])
        if is_raw and _looks_tokenised(lines):
            notes.append(
                f"{path} looks tokenised, but {self.paths[0]} does not: finish it with phrasescore "
                "postprocess, or translate with decode --raw"
            )
        if self._tokenizer is None and "bleu" in self.scoring.metrics:
            if is_raw:
                better = "zh or char" if "。" in "".join(self.lines[0]) else "13a"
                notes.append(
                    f"{self.paths[0]} looks like raw text, where BLEU takes 'end.' for one word: "
                    f"score it with --tokenize {better}"
                )
            elif input_files.looks_raw(lines):
                notes.append(f"{path} looks like raw text, and {self.paths[0]} does not")
        elif input_files.looks_raw(lines) and _looks_tokenised(self.lines[0]):
            notes.append(
                f"{path} looks like raw text, but {self.paths[0]} looks tokenised: score it "
                "against the raw reference"
            )
        if any(_MARK.search(line) for line in lines):
            notes.append(
                f"{path} has marks of phrases such as |0-1|, which count as words: translate "
                "without -t or [report-segmentation]"
            )
        problem = input_files.alignment_problem(lines, self.lines[0], self.paths[0])
        if problem is not None:
            notes.append(f"{path}: {problem}; {input_files.CHECK_LINES}")
        texts = (path, lines), *zip(self.paths, self.lines, strict=True)
        return [*notes, *input_files.line_notes(texts)]


def _is_nfc(lines: Sequence[str]) -> bool:
    return all(is_normalized("NFC", line) for line in lines)


def _looks_tokenised(lines: Sequence[str]) -> bool:
    """Return whether more than a tenth of the lines end in a separate full stop."""
    # many lines are no sentences, but raw text hardly ever has a blank before its full stop;
    # decoders write one after it
    return 10 * len([*filter(input_files.STOP_APART.search, map(str.rstrip, lines))]) > len(lines)


@dataclass(frozen=True)
class LengthGroup:
    """A group of sentences with similar source lengths.

    Args:
        low: The minimum number of source words.
        high: The maximum number of source words; ``None`` for the last group, without a maximum.
        rows: (K,) the indices of the sentences; at least one.
        mean_length: The mean number of source words.
    """

    low: int
    high: int | None
    rows: Rows = field(compare=False)  # the comparison of arrays has no single truth value
    mean_length: float

    def __str__(self) -> str:
        if self.high is None:
            return f"over {counted(self.low - 1, 'word')}"
        if self.low == self.high:
            return counted(self.low, "word")
        return f"{self.low}–{self.high} words"

    def to_json(self) -> dict[str, object]:
        """Return the bounds, size and mean length of the group as JSON values."""
        return {
            "from": self.low,
            "to": self.high,
            "sentences": len(self.rows),
            "mean_length": self.mean_length,
        }


@dataclass(frozen=True)
class SelectedSentences:
    """The sentences to score.

    Args:
        rows: (K,) the indices of the sentences in the text; at least one.
        total: The number of sentences of the text.
        known_words: The model that must know all words of a sentence; ``None`` for no such rule.
        groups: Groups by source length, shortest first; empty if not requested.
    """

    rows: Rows = field(compare=False)
    total: int
    known_words: str | None = None
    groups: tuple[LengthGroup, ...] = ()

    def __str__(self) -> str:
        if self.known_words is None:
            return counted(self.total, "sentence")
        return (
            f"{len(self.rows):,} of {counted(self.total, 'sentence')}, those with all words in the "
            f"vocabularies of {self.known_words}"
        )

    def to_json(self) -> JsonObject:
        """Return the criterion of the selection as JSON values; empty for all sentences."""
        if self.known_words is None:
            return {}
        return {"known_words": {"model": self.known_words, "of": self.total}}


def select_sentences(selection: SentenceSelection, references: ReferenceTexts) -> SelectedSentences:
    """Return the sentences to score, and their groups.

    Raises:
        CorpusError: Source and references differ in their number of lines, or no sentence remains.
        ModelError: The model is missing or damaged.
        SettingsError: The model has a source vocabulary, and no source is given.
    """
    total = len(references)
    rows = np.arange(total)
    source = None
    if selection.source is not None:
        source = [line.removesuffix(b"\r") for line in input_files.read_lines(selection.source)]
        references.check_length(selection.source, source)
    if selection.known_words is not None:
        rows = _without_unknown_words(selection.known_words, selection, source, references)
    groups: tuple[LengthGroup, ...] = ()
    if selection.by_length and source is not None:
        lengths = np.array([len(words_of(source[row])) for row in rows.tolist()])
        groups = tuple(length_groups(rows, lengths))
    return SelectedSentences(rows, total, selection.known_words, groups)


def _without_unknown_words(
    model: str, selection: SentenceSelection, source: list[bytes] | None, references: ReferenceTexts
) -> Rows:
    # imported here because it loads torch
    from phrasescore.model.folder import load_weights

    words = load_weights(model)
    texts: list[tuple[Side, str | Path, Sequence[bytes]]] = []
    if "source" in words.sides:
        if source is None or selection.source is None:
            raise SettingsError(
                f"{model} has a source vocabulary, but no source is given",
                remedy="name the text that was translated with --source",
            )
        texts.append(("source", selection.source, source))
    if "target" in words.sides:
        for reference, text in zip(references.paths, references.lines, strict=True):
            texts.append(("target", reference, [line.removesuffix("\r").encode() for line in text]))
    is_known = np.ones(len(references), bool)
    for side, path, lines in texts:
        for row, line in enumerate(lines):
            with located(path, row + 1):
                # a line without a separator of factors has surface forms only
                tokens = scored_tokens(line, side, words.settings.factor if b"|" in line else 0)
            is_known[row] &= UNK_ID not in words.sides[side].encode(tokens)
    if not is_known.any():
        raise CorpusError(
            f"each of {len(references):,} sentences has a word outside the vocabularies of {model}",
            path=references.paths[0],
            remedy="name a model for such texts, with the same preparation and direction",
        )
    return np.flatnonzero(is_known)


def length_groups(rows: Rows, lengths: Rows) -> Iterator[LengthGroup]:
    """Yield non-empty groups of sentences by source length, shortest first.

    If at least 95 % of the sources have at most 30 words, groups are 5 words wide up to 30 words;
    otherwise they are 10 words wide up to 60. The last group has all longer sentences.

    Args:
        rows: (K,) the indices of the sentences.
        lengths: (K,) the number of source words of each sentence.
    """
    width = 5 if (lengths <= _SHORT).mean() >= _NEARLY_ALL else 10
    bounds = range(width, width * _GROUPS + 1, width)
    # sources without words form a separate group
    lows = [0, 1, *(bound + 1 for bound in bounds)]
    for low, high in zip(lows, [0, *bounds, None], strict=True):
        inside = (lengths >= low) & ((lengths <= high) if high is not None else True)
        if inside.any():
            yield LengthGroup(low, high, rows[inside], float(lengths[inside].mean()))
