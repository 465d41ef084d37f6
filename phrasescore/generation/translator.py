"""Lines of text through the search: the best translations of each, their words and alignments.

A model can only call a word outside its vocabulary ``<unk>``. The source word that it looks at
most, or that word's most probable translation by a lexical table of Moses, may stand for it. A line
of such a table is ``written read p(written | read)``; NULL stands for no word. Moses writes two: in
``lex.f2e`` the first word is the target's, in ``lex.e2f`` the source's.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from phrasescore.errors import CorpusError
from phrasescore.generation.beam_search import BeamSearch
from phrasescore.generation.sentence_models import SentenceModels
from phrasescore.generation.soft_alignments import Alignment, SoftAlignments
from phrasescore.generation.targets import (
    BeamSettings,
    TargetGenerator,
    Targets,
    TargetSettings,
    ranking_scores,
)
from phrasescore.model.device import choose_device
from phrasescore.model.model_settings import Direction
from phrasescore.runs.progress import Progress
from phrasescore.table.block import TokenSpans
from phrasescore.table.input_files import finite_number, read_lines
from phrasescore.words.token_sequences import Ids, TokenSequences
from phrasescore.words.vocabulary import UNK_ID

_NULL = b"NULL"
_LINES_AT_ONCE = 1 << 16
_FILES: dict[Direction, str] = {"source-target": "lex.f2e", "target-source": "lex.e2f"}
# sources and prefixes at a time; on a GPU fewer than of phrases: attention has room for each word
_GROUP = {"cpu": 64, "cuda": 1024}
_CHUNK = {"cpu": 256, "cuda": 1024}


@dataclass
class _Sides:
    """How many lines have their words where a model has them, and how many the other way round."""

    right: int = 0
    swapped: int = 0


def read_lexicon(
    path: str | Path, read: AbstractSet[bytes], written: AbstractSet[bytes], direction: Direction
) -> dict[bytes, bytes]:
    """Return the most probable translation of each word; of equals the first by its bytes.

    Args:
        path: Plain or gzip, or ``-``.
        read: The words that the models read.
        written: The words that they write.
        direction: Theirs, for the advice.

    Raises:
        InputError: The file cannot be read.
        CorpusError: A line is not ``word word probability``, or the words stand the other way
            round.
    """
    best: dict[bytes, tuple[float, bytes]] = {}
    sides = _Sides()
    with Progress("reading the lexicon", unit="lines") as progress:
        for number, line in enumerate(read_lines(path), 1):
            translation, word, p = _fields(line, path, number)
            sides.right += translation in written and word in read
            sides.swapped += translation in read and word in written
            if _NULL not in (translation, word):
                known_p, known = best.get(word, (-1.0, b""))
                if p > known_p or (p == known_p and translation < known):
                    best[word] = p, translation
            if number % _LINES_AT_ONCE == 0:
                progress.advance(_LINES_AT_ONCE)
    if sides.swapped > sides.right:
        raise CorpusError(
            "its words stand the other way round, those that the model reads first",
            path=path,
            remedy=f"give the other one of Moses's two lexical tables, {_FILES[direction]}",
        )
    return {word: translation for word, (_, translation) in best.items()}


def _fields(line: bytes, path: str | Path, number: int) -> tuple[bytes, bytes, float]:
    fields = line.split(b" ")
    p = finite_number(fields[-1])
    if len(fields) != 3 or p is None or p < 0:
        raise CorpusError(
            "not a line of a lexical table, which is two words and a probability",
            path=path,
            line=number,
            remedy="give lex.f2e or lex.e2f, as Moses's training or phrasescore build wrote it",
        )
    return fields[0], fields[1], p


class UnknownWords:
    """Replaces unknown words by way of their source words.

    Args:
        lexicon: The translation of each word; one that is not there stands for itself.
    """

    def __init__(self, lexicon: Mapping[bytes, bytes] | None = None) -> None:
        self._lexicon = lexicon or {}

    @property
    def digest(self) -> str:
        """SHA-256 of what the lexicon says."""
        lines = sorted(b"%s %s\n" % item for item in self._lexicon.items())
        return hashlib.sha256(b"".join(lines)).hexdigest()

    def replaced(
        self, words: Sequence[bytes], ids: Ids, source: Sequence[bytes], alignment: Alignment
    ) -> list[bytes]:
        """Return a target's words with those for the unknown ones.

        Args:
            words: T words.
            ids: (T,) their ids.
            source: S words, at least one.
            alignment: (T + 1, S + 1) alpha; what is looked at at the source's </s> is no word.
        """
        seen = np.argmax(alignment[:-1, :-1], axis=1).tolist()
        return [
            self._for(source[at]) if number == UNK_ID else word
            for word, number, at in zip(words, ids.tolist(), seen, strict=True)
        ]

    def _for(self, word: bytes) -> bytes:
        return self._lexicon.get(word, word)


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
