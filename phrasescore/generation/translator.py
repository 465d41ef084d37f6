"""Lines of text through the search: the best translations of each, their words and alignments.

A model can only call a word outside its vocabulary ``<unk>``. The source word that it looks at
most, or that word's most probable translation by a lexical table of Moses, may stand for it. A line
of such a table is ``written read p(written | read)``; NULL stands for no word. Moses writes two: in
``lex.f2e`` the first word is the target's, in ``lex.e2f`` the source's.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from phrasescore.errors import CorpusError, counted
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
from phrasescore.table.block_stream import BlockStream, StreamReport
from phrasescore.table.input_files import finite_number, read_lines
from phrasescore.table.text_blocks import TextBlock, Texts
from phrasescore.words.token_sequences import Ids, TokenSequences
from phrasescore.words.vocabulary import EOS, UNK_ID

_NULL = b"NULL"
_LINES_AT_ONCE = 1 << 16
_FILES: dict[Direction, str] = {"source-target": "lex.f2e", "target-source": "lex.e2f"}
# sources and prefixes at a time; on a GPU fewer than of phrases: attention has room for each word
_GROUP = {"cpu": 64, "cuda": 1024}
_CHUNK = {"cpu": 256, "cuda": 1024}
_DECIMALS = 4  # of alpha
# of an output's block: some seconds of work, which is what a kill can lose
SENTENCES_PER_BLOCK = 512


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
    right = swapped = 0  # lines with the words in the order of the model, and the other way
    with Progress("reading the lexicon", unit="lines") as progress:
        for number, line in enumerate(read_lines(path), 1):
            translation, word, p = _fields(line, path, number)
            right += translation in written and word in read
            swapped += translation in read and word in written
            if _NULL not in (translation, word):
                known_p, known = best.get(word, (-1.0, b""))
                if p > known_p or (p == known_p and translation < known):
                    best[word] = p, translation
            if number % _LINES_AT_ONCE == 0:
                progress.advance(_LINES_AT_ONCE)
    if swapped > right:
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


# what one output has of a line
Form: TypeAlias = Callable[[Translated], bytes]
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
        models: What translates.
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
        self.models, self._beam = models, beam
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
        sources = self.models.source_vocabulary.encode_spans(lines)
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
        known = self.models.target_vocabulary.words
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


# -- whole texts -------------------------------------------------------------------------------


@dataclass(frozen=True)
class TranslationCounts:
    """What was translated so far.

    Args:
        lines: Sentences read.
        empty: Those without words.
        words: The words of all.
        unknown: Those that the models do not know.
        written: Words of the first translations.
        written_unknown: Those that the models call ``<unk>``, replaced or not.
        ln_p: The sum of ln p of the first translations.
    """

    lines: int = 0
    empty: int = 0
    words: int = 0
    unknown: int = 0
    written: int = 0
    written_unknown: int = 0
    ln_p: float = 0.0

    @property
    def mean_ln_p(self) -> float:
        """Of a sentence with words; 0 where there is none."""
        return self.ln_p / max(1, self.lines - self.empty)

    def with_lines(self, lines: Sequence[Translated]) -> TranslationCounts:
        """Return the counts after some more lines."""
        first = [line.translations[0] for line in lines if line.translations]
        return TranslationCounts(
            lines=self.lines + len(lines),
            empty=self.empty + sum(not line.source for line in lines),
            words=self.words + sum(len(line.source) for line in lines),
            unknown=self.unknown + sum(line.unknown for line in lines),
            written=self.written + sum(len(best.words) for best in first),
            written_unknown=self.written_unknown + sum(best.unknown for best in first),
            ln_p=self.ln_p + sum(best.ln_p for best in first),
        )

    def __str__(self) -> str:
        share = self.unknown / self.words if self.words else 0.0
        empty = f", {self.empty:,} of them empty" if self.empty else ""
        return (
            f"{counted(self.lines, 'sentence')}{empty}; {self.words:,} words read, {share:.2%} of "
            f"them unknown; {self.written:,} words written, {self.written_unknown:,} of them "
            f"unknown to the models; mean ln p {self.mean_ln_p:.4f}"
        )


def translation_line(line: Translated) -> bytes:
    """Return the first translation, a line; of a line without words an empty one."""
    words = line.translations[0].words if line.translations else []
    return b" ".join(words) + b"\n"


def alignment_line(line: Translated) -> bytes:
    """Return words and alignment of the first translation as JSON; nothing for an empty line."""
    if line.alignment is None:
        return b""
    rows = np.round(line.alignment.astype(np.float64), _DECIMALS).tolist()
    made = {
        "sentence": line.number,
        "source": _as_texts([*line.source, EOS]),
        "target": _as_texts([*line.translations[0].words, EOS]),
        "alignment": rows,
    }
    return json.dumps(made, ensure_ascii=False).encode() + b"\n"


def _as_texts(words: Sequence[bytes]) -> list[str]:
    return [word.decode("utf-8", "backslashreplace") for word in words]


class TranslationReport(StreamReport[TranslationCounts]):
    """The result of a run; its lines are sentences."""

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        counts = dataclasses.asdict(self.counts)
        return {
            "sentences": counts.pop("lines"),
            **counts,
            "mean_ln_p": self.counts.mean_ln_p,
            "resumed_sentences": self.resumed,
            "seconds": round(self.seconds, 3),
            "sentences_per_second": round(self.per_second, 3),
            "input_sha256": self.sha256[0] if self.sha256 else None,
        }

    def __str__(self) -> str:
        return f"{self.counts}\n{self.seconds:,.1f} s, {self.per_second:,.1f} sentences/s"


def translate_text(
    path: str | Path,
    outputs: Sequence[tuple[str, Form]],
    translator: Translator,
    asked: dict[str, Any],
    longest: int,
) -> TranslationReport:
    """Write the translations of a text, a sentence a line; an interrupted run can be continued.

    Args:
        path: Plain, gzip or ``-``.
        outputs: Each output with what it has of a line, the output itself first; gzip if a name
            ends in ``.gz``; ``-`` is standard output.
        translator: Translates the lines.
        asked: All else that decides the outputs' bytes, as JSON values.
        longest: Words of the longest sentence that is accepted.

    Raises:
        InputError: The text cannot be read, or has a longer sentence.
        SettingsError: An output is the input, or cannot be written.
        ModelError: A model gives no numbers.
    """
    texts = Texts(
        (path,),
        columns=1,
        factor=translator.models.factor,
        whole_lines=True,
        lines_per_block=SENTENCES_PER_BLOCK,
    )

    def blocks(skip: int = 0) -> Iterator[TextBlock]:
        return _short_enough(texts.blocks(skip=skip), longest)

    def work(
        block: TextBlock, before: TranslationCounts
    ) -> tuple[tuple[bytes, ...], TranslationCounts]:
        lines = translator.translate(block.tokens[0], block.first_line)
        made = tuple(b"".join(map(form, lines)) for _, form in outputs)
        return made, before.with_lines(lines)

    stream = BlockStream(
        [path],
        asked,
        lambda _, done: blocks(done),
        work,
        TranslationCounts(),
        check=blocks,
        changed="the text changed while it was being translated",
        unlike="other options, models or input",
        what="translating",
        unit="sentences",
    )
    output, *beside = (name for name, _ in outputs)
    done = stream.write(output, beside=beside)
    return TranslationReport(done.counts, done.resumed, done.seconds, done.sha256)


def _short_enough(blocks: Iterator[TextBlock], longest: int) -> Iterator[TextBlock]:
    """Pass blocks on; raise for a sentence with too many words."""
    for block in blocks:
        lengths = np.diff(block.tokens[0].offsets)
        too_long = np.flatnonzero(lengths > longest)
        if len(too_long):
            row = int(too_long[0])
            raise CorpusError(
                f"{int(lengths[row]):,} words, and a sentence may have {longest:,}",
                path=block.path,
                line=block.first_line + row,
                remedy="give one sentence a line, or raise --max-sentence-length",
            )
        yield block
