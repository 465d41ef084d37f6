"""Lines of text through the search: the best translations of each, their words and alignments."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from phrasescore.generation.beam_search import BeamSearch
from phrasescore.generation.sentence_models import SentenceModels
from phrasescore.generation.soft_alignments import Alignment, SoftAlignments
from phrasescore.generation.target_generator import TargetGenerator
from phrasescore.generation.targets import (
    BeamSettings,
    Targets,
    TargetSettings,
    ranking_scores,
)
from phrasescore.generation.unknown_words import UnknownWords
from phrasescore.model.device import choose_device
from phrasescore.table.block import TokenSpans
from phrasescore.words.token_sequences import TokenSequences
from phrasescore.words.vocabulary import UNK_ID

# sources and prefixes at a time; on a GPU fewer than of phrases: attention has room for each word
_GROUP = {"cpu": 64, "cuda": 1024}
_CHUNK = {"cpu": 256, "cuda": 1024}


@dataclass(frozen=True)
class Translation:
    """One translation of a sentence.

    Attributes:
        words: Its words, replaced ones as they are written.
        unknown: How many of them the model calls ``<unk>``.
        ln_p: ln p of what the model wrote and </s>, given the sentence.
        total: What it is ranked by: ln p, or ln p divided by its words, </s> counted.
    """

    words: list[bytes]
    unknown: int
    ln_p: float
    total: float


@dataclass(frozen=True)
class Translated:
    """A line and its translations.

    Attributes:
        number: Of the line, from 1.
        source: Its words as the models see them.
        unknown: How many of them they do not know.
        translations: The best first, of different words; none for an empty line.
        alignment: alpha of the first translation, ``(T + 1, S + 1)``, where it is wanted.
    """

    number: int
    source: list[bytes]
    unknown: int
    translations: list[Translation]
    alignment: Alignment | None


_Found: TypeAlias = tuple[list[Translation], "Alignment | None"]


class Translator:
    """Translates lines.

    Args:
        models: What translates.
        beam: How to search.
        allowed: Which translations are allowed.
        replacement: What stands for unknown words; ``None``: ``<unk>`` itself.
        aligns: Whether alignments of the first translations are wanted.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        batch_size: Sentences at a time; ``None`` for the device's own.

    Attributes:
        device: Where it computes.
    """

    def __init__(
        self,
        models: SentenceModels,
        beam: BeamSettings,
        allowed: TargetSettings,
        *,
        replacement: UnknownWords | None = None,
        aligns: bool = False,
        device: str = "auto",
        batch_size: int | None = None,
    ) -> None:
        self._models, self._beam = models, beam
        self._replacement, self._aligns = replacement, aligns
        search = BeamSearch(beam, allowed)
        self.device = choose_device(device)
        kind = self.device.type
        sizes = batch_size or _GROUP[kind], _CHUNK[kind]
        self._generator = TargetGenerator(models.asked, search, device, *sizes)
        self._alignments: SoftAlignments | None = None
        if aligns or replacement is not None:
            self._alignments = SoftAlignments(models.aligning, device)

    def translate(self, lines: TokenSpans, first: int) -> list[Translated]:
        """Translate some lines.

        Args:
            lines: Their tokens.
            first: The number of the first, from 1.

        Raises:
            ModelError: The model gives no numbers.
        """
        sources = self._models.source_vocabulary.encode_spans(lines)
        words = [lines.tokens(line) for line in range(len(sources))]
        found = self._found(sources, words)
        return [
            Translated(
                first + line,
                words[line],
                int((sources[line] == UNK_ID).sum()),
                *found.get(line, ([], None)),
            )
            for line in range(len(sources))
        ]

    def _found(self, sources: TokenSequences, words: list[list[bytes]]) -> dict[int, _Found]:
        """Return what was found for each line that has words."""
        full = np.flatnonzero(sources.lengths)
        if not len(full):
            return {}
        read = sources.select(full)
        targets = self._generator.targets(read)
        alignments = self._aligned(read, targets)
        found: dict[int, _Found] = {}
        parts = itertools.pairwise(targets.offsets.tolist())
        for line, (begin, end) in zip(full.tolist(), parts, strict=True):
            rows = range(begin, end)
            translations = self._translations(words[line], targets, rows, alignments)
            found[line] = translations, alignments.get(begin) if self._aligns else None
        return found

    def _aligned(self, read: TokenSequences, targets: Targets) -> dict[int, Alignment]:
        """Return the alignments that are wanted, by the number of their target."""
        if self._alignments is None:
            return {}
        ids, wanted = targets.words, np.zeros(len(targets), np.bool_)
        if self._replacement is not None:
            owners = np.repeat(np.arange(len(ids)), ids.lengths)
            wanted[owners[ids.tokens == UNK_ID]] = True
        if self._aligns:
            wanted[targets.offsets[:-1]] = True
        rows = np.flatnonzero(wanted)
        sources = np.searchsorted(targets.offsets, rows, side="right") - 1
        made = self._alignments.of(read.select(sources), ids.select(rows))
        return dict(zip(rows.tolist(), made, strict=True))

    def _translations(
        self,
        source: list[bytes],
        targets: Targets,
        rows: range,
        alignments: dict[int, Alignment],
    ) -> list[Translation]:
        """Return the targets ``rows`` of a source; of those with equal words, the best."""
        known = self._models.target_vocabulary.words
        found: dict[bytes, Translation] = {}
        part = slice(rows.start, rows.stop)
        ln_p, lengths = targets.ln_p[part], targets.words.lengths[part]
        totals = ranking_scores(ln_p, lengths, self._beam.length_normalisation)
        for row, its_ln_p, total in zip(rows, ln_p.tolist(), totals.tolist(), strict=True):
            ids = targets.words[row]
            words = [known[number] for number in ids.tolist()]
            unknown = int((ids == UNK_ID).sum())
            if unknown and self._replacement is not None:
                words = self._replacement.replaced(words, ids, source, alignments[row])
            made = Translation(words, unknown, its_ln_p, total)
            found.setdefault(b" ".join(words), made)
        return list(found.values())
