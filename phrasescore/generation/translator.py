"""Translates lines with models of sentences: the best translations and their alignments.

A model writes ``<unk>`` for every word outside its vocabulary. ``<unk>`` can be replaced by the
source word with the largest attention.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np

from phrasescore.errors import counted
from phrasescore.generation.beam_search import BeamSearch
from phrasescore.generation.sentence_models import SentenceModels
from phrasescore.generation.soft_alignments import Alignment, SoftAlignments, between_words, shown
from phrasescore.generation.targets import (
    BeamSettings,
    TargetGenerator,
    Targets,
    TargetSettings,
    ranking_scores,
)
from phrasescore.model.device import choose_device
from phrasescore.runs.stream import BlockStream, LineCounts, StreamReport, Written
from phrasescore.table.block import TokenSpans
from phrasescore.table.text_blocks import TextBlock, Texts
from phrasescore.words.known_words import unknown_warning
from phrasescore.words.token_sequences import TokenSequences
from phrasescore.words.vocabulary import UNK, Vocabulary, unknown_counts

# number of sources, and of prefixes, at a time; on a GPU fewer than for phrases, because attention
# needs more memory
_GROUP = {"cpu": 64, "cuda": 1024}
_CHUNK = {"cpu": 256, "cuda": 1024}
_DECIMALS = 4  # decimals of alpha
# a killed run loses at most one block, which takes some seconds to compute
SENTENCES_PER_BLOCK = 512


def without_unknown(
    words: Sequence[bytes], source: Sequence[bytes], alignment: Alignment
) -> list[bytes]:
    """Replace each ``<unk>`` of a target by its source word.

    Args:
        words: T words.
        source: S words, at least one.
        alignment: (T + 1, S + 1) alpha; the column of the source's </s> is ignored.
    """
    attended = np.argmax(alignment[:-1, :-1], axis=1).tolist()
    return [source[at] if word == UNK else word for word, at in zip(words, attended, strict=True)]


@dataclass(frozen=True)
class Translation:
    """One translation of a sentence.

    Attributes:
        words: The words; ``<unk>`` is replaced if requested.
        unknown: The number of words for which the model wrote ``<unk>``.
        ln_p: ln p of the model's words and </s>, given the sentence.
        total: The score that ranks translations: ln p, or ln p / number of words, </s> counted.
    """

    words: list[bytes]
    unknown: int
    ln_p: float
    total: float


@dataclass(frozen=True)
class Translated:
    """A line and its translations.

    Attributes:
        number: The line number, from 1.
        source: The words as the models read them.
        unknown: The number of source words that the models do not know.
        translations: Distinct translations, best first; none for an empty line.
        alignment: alpha of the first translation, ``(T + 1, S + 1)``, if requested.
    """

    number: int
    source: list[bytes]
    unknown: int
    translations: list[Translation] = field(default_factory=list)
    alignment: Alignment | None = None


# formats a line for one output
Form: TypeAlias = Callable[[Translated], bytes]


class Translator:
    """Translates lines.

    Args:
        models: The models that translate.
        beam: Settings of the search.
        allowed: The constraints on translations.
        copies: Whether source words replace ``<unk>``, see `without_unknown`.
        aligns: Whether to compute alignments of the first translations.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        batch_size: Number of sentences at a time; ``None`` for the default of the device.

    Attributes:
        models: The models that translate.
        device: The device that computes.
    """

    def __init__(
        self,
        models: SentenceModels,
        beam: BeamSettings,
        allowed: TargetSettings,
        *,
        copies: bool = False,
        aligns: bool = False,
        device: str = "auto",
        batch_size: int | None = None,
    ) -> None:
        self.models, self._beam = models, beam
        self._copies, self._aligns = copies, aligns
        self.device = choose_device(device)
        kind = self.device.type
        sizes = batch_size or _GROUP[kind], _CHUNK[kind]
        method = partial(BeamSearch, beam, allowed)
        self._generator = TargetGenerator(models.asked, method, device, *sizes)
        needed = aligns or copies
        self._alignments = SoftAlignments(models.aligning, device) if needed else None

    def translate(self, lines: TokenSpans, first: int) -> list[Translated]:
        """Translate some lines.

        Args:
            lines: The tokens of the lines.
            first: The line number of the first line, from 1.

        Raises:
            ModelError: A result of the model is not a number.
        """
        sources = self.models.first.source_vocabulary.encode_spans(lines)
        translated = [
            Translated(first + line, lines.tokens(line), unknown)
            for line, unknown in enumerate(unknown_counts(sources).tolist())
        ]
        full = np.flatnonzero(sources.lengths)
        if not len(full):
            return translated
        read = sources.select(full)
        targets = self._generator.targets(read)
        aligned = self._aligned(read, targets)
        parts = itertools.pairwise(targets.offsets.tolist())
        for row, (begin, end) in zip(full.tolist(), parts, strict=True):
            line, rows = translated[row], range(begin, end)
            translated[row] = replace(
                line,
                translations=self._translations(line.source, targets, rows, aligned),
                alignment=aligned[begin] if self._aligns else None,
            )
        return translated

    def _aligned(self, read: TokenSequences, targets: Targets) -> dict[int, Alignment]:
        """Return the alignments that are needed, by the index of the target."""
        if self._alignments is None:
            return {}
        ids = targets.words
        wanted = self._copies & (unknown_counts(ids) > 0)
        wanted[targets.offsets[:-1]] |= self._aligns
        rows = np.flatnonzero(wanted)
        sources = np.searchsorted(targets.offsets, rows, side="right") - 1
        sides = read.select(sources), ids.select(rows)
        vocabularies = self.models.first.source_vocabulary, self.models.first.target_vocabulary
        made = between_words(self._alignments.align(*sides), sides, vocabularies)
        return dict(zip(rows.tolist(), made, strict=True))

    def _translations(
        self, source: list[bytes], targets: Targets, rows: range, alignments: dict[int, Alignment]
    ) -> list[Translation]:
        """Return the targets ``rows`` of a source; of targets with equal words, only the first."""
        found: dict[bytes, Translation] = {}
        part = slice(rows.start, rows.stop)
        ln_p, lengths = targets.ln_p[part], targets.words.lengths[part]
        totals = ranking_scores(ln_p, lengths, self._beam.length_normalisation)
        for row, ln_p_of_row, total in zip(rows, ln_p.tolist(), totals.tolist(), strict=True):
            words = self.models.first.target_vocabulary.decode(targets.words[row])
            unknown = words.count(UNK)
            if unknown and self._copies:
                words = without_unknown(words, source, alignments[row])
            translation = Translation(words, unknown, ln_p_of_row, total)
            found.setdefault(b" ".join(words), translation)
        return list(found.values())


# -- whole texts -------------------------------------------------------------------------------


@dataclass(frozen=True)
class TranslationCounts(LineCounts):
    """Counts over sentences.

    Args:
        lines: Sentences read.
        empty: Sentences without words.
        words: Words of the sentences.
        unknown: Words of the sentences that the models do not know.
        written: Words of the first translations.
        written_unknown: Words of the first translations for which the models wrote ``<unk>``,
            including words that were replaced.
        ln_p: The sum of ln p of the first translations.
    """

    empty: int = 0
    words: int = 0
    unknown: int = 0
    written: int = 0
    written_unknown: int = 0
    ln_p: float = 0.0

    @property
    def mean_ln_p(self) -> float:
        """The mean of ln p over sentences with words; 0 if there are none."""
        return self.ln_p / max(1, self.lines - self.empty)

    @classmethod
    def from_lines(cls, lines: Sequence[Translated]) -> TranslationCounts:
        """Count some lines."""
        first = [line.translations[0] for line in lines if line.translations]
        return cls(
            lines=len(lines),
            empty=sum(not line.source for line in lines),
            words=sum(len(line.source) for line in lines),
            unknown=sum(line.unknown for line in lines),
            written=sum(len(best.words) for best in first),
            written_unknown=sum(best.unknown for best in first),
            ln_p=sum(best.ln_p for best in first),
        )

    def __str__(self) -> str:
        share = self.unknown / self.words if self.words else 0.0
        empty = f", {self.empty:,} of them empty" if self.empty else ""
        said = (
            f"{counted(self.lines, 'sentence')}{empty}; {self.words:,} words read, {share:.2%} of "
            f"them unknown; {self.written:,} words written, for {self.written_unknown:,} of which "
            f"the models chose <unk>; mean ln p {self.mean_ln_p:.4f}"
        )
        return "\n".join(filter(None, [said, unknown_warning(share)]))


def translation_line(line: Translated) -> bytes:
    """Format the first translation as a line, which is empty for an empty sentence."""
    words = line.translations[0].words if line.translations else []
    return b" ".join(words) + b"\n"


def alignment_line(line: Translated) -> bytes:
    """Format the first translation and its alignment as JSON; empty for an empty sentence."""
    if line.alignment is None:
        return b""
    made = {
        "sentence": line.number,
        "source": shown(line.source),
        "target": shown(line.translations[0].words),
        "alignment": np.round(line.alignment.astype(np.float64), _DECIMALS).tolist(),
    }
    return json.dumps(made, ensure_ascii=False).encode() + b"\n"


def translate_text(
    path: str | Path,
    outputs: Sequence[tuple[str, Form]],
    translator: Translator,
    asked: dict[str, object],
    longest: int,
) -> StreamReport[TranslationCounts]:
    """Translate a text that has a sentence on each line; an interrupted run can be continued.

    Args:
        path: The text: plain, gzip, or ``-`` for standard input.
        outputs: The outputs and their formats; the first is the main output. An output is gzip if
            its name ends in ``.gz``; ``-`` is standard output.
        translator: Translates the lines.
        asked: Everything else that determines the outputs' bytes, as JSON values.
        longest: The maximum number of words of a sentence, or of pieces if the model cuts words.

    Raises:
        InputError: The text cannot be read, or a sentence is too long.
        SettingsError: An output cannot be written.
        ModelError: A result of a model is not a number.
    """
    vocabulary = translator.models.first.source_vocabulary
    factor = translator.models.first.settings.factor
    texts = Texts((path,), 1, factor, whole_lines=True, lines_per_block=SENTENCES_PER_BLOCK)

    def blocks(skip: int = 0) -> Iterator[TextBlock]:
        return _short_enough(texts.blocks(skip=skip), longest, vocabulary)

    def work(block: TextBlock, before: TranslationCounts) -> tuple[Written, TranslationCounts]:
        lines = translator.translate(block.tokens[0], block.first_line)
        made = tuple(b"".join(map(form, lines)) for _, form in outputs)
        return made, before + TranslationCounts.from_lines(lines)

    stream = BlockStream(
        [path],
        asked,
        lambda _, done: blocks(done),
        work,
        TranslationCounts(),
        check=blocks,
        what="translating",
        unit="sentences",
    )
    output, *beside = (name for name, _ in outputs)
    return stream.write(output, beside=beside)


def _short_enough(
    blocks: Iterator[TextBlock], longest: int, vocabulary: Vocabulary
) -> Iterator[TextBlock]:
    """Yield the blocks; raise an error if a sentence has too many words, or pieces of words."""
    for block in blocks:
        lengths, unit = np.diff(block.tokens[0].offsets), "words"
        if vocabulary.byte_pairs is not None:
            lengths, unit = vocabulary.encode_spans(block.tokens[0]).lengths, "pieces of words"
        too_long = np.flatnonzero(lengths > longest)
        if len(too_long):
            row = int(too_long[0])
            problem = f"{int(lengths[row]):,} {unit}, but a sentence may have at most {longest:,}"
            remedy = "write one sentence on each line, or raise --max-sentence-length"
            raise block.error(row, problem, remedy)
        yield block
