"""A file of phrases, and what a model writes for each: lines of TSV, JSON or a phrase table."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from phrasescore.errors import CorpusError, visible
from phrasescore.generation.targets import TargetGenerator, Targets
from phrasescore.model.folder import LoadedModel
from phrasescore.scoring.probability_column import ln_p_texts, probability_texts
from phrasescore.table.block_stream import BlockStream, StreamReport
from phrasescore.table.phrase_table import SEPARATOR
from phrasescore.table.text_blocks import TextBlock, Texts
from phrasescore.words.known_words import warning_of
from phrasescore.words.token_sequences import TokenSequences
from phrasescore.words.vocabulary import UNK_ID, Vocabulary

_BAR = b"|"
_SHOWN = 60

OutputFormat: TypeAlias = Literal["tsv", "json", "moses"]
# what the user sees of a stream that writes targets
STREAM_SETTINGS: dict[str, Any] = {
    "changed": "the file changed while it was being read",
    "unlike": "other options, model or input",
    "what": "generating",
    "unit": "lines",
}
# of an output's block: some seconds of work, which is what a kill can lose
PHRASES_PER_BLOCK = 2048


@dataclass(frozen=True)
class PhraseCounts:
    """What was done for the phrases so far.

    Args:
        lines: Phrases read.
        words: Their words.
        unknown: Those outside the model's shortlist.
        targets: Targets written.
        ln_p: The sum of ln p of the first target of each.
    """

    lines: int = 0
    words: int = 0
    unknown: int = 0
    targets: int = 0
    ln_p: float = 0.0

    def __str__(self) -> str:
        share = self.unknown / self.words if self.words else 0.0
        mean = self.ln_p / self.lines if self.lines else 0.0
        said = (
            f"{self.targets:,} targets for {self.lines:,} phrases, of whose words {share:.2%} "
            f"are unknown; mean ln p of the first {mean:.4f}"
        )
        return "\n".join(filter(None, [said, warning_of(share)]))


class PhraseWriter:
    """Writes what a model says to blocks of phrases.

    Args:
        loaded: The model.
        generator: What asks it.
        form: ``tsv``, ``json`` or ``moses``.
        drawn: Whether targets are samples, so that it counts how often each was drawn.
    """

    def __init__(
        self, loaded: LoadedModel, generator: TargetGenerator, form: OutputFormat, drawn: bool
    ) -> None:
        self._loaded, self._generator = loaded, generator
        self._form, self._drawn = form, drawn

    def write(self, block: TextBlock, before: PhraseCounts) -> tuple[bytes, PhraseCounts]:
        """Return the lines for one block, and the counts up to its end.

        Args:
            block: A phrase in the first column of each line.
            before: The counts up to the line before it.

        Raises:
            CorpusError: A line has no phrase.
        """
        spans = block.tokens[0]
        empty = np.flatnonzero(np.diff(spans.offsets) == 0)
        if len(empty):
            raise CorpusError(
                "the source phrase is empty",
                path=block.path,
                line=block.first_line + int(empty[0]),
                remedy="delete the line",
            )
        sources = self._loaded.source_vocabulary.encode_spans(spans)
        targets = self._generator.targets(sources, block.first_line - 1)
        phrases = [b" ".join(spans.tokens(line)) for line in range(len(block))]
        counts = PhraseCounts(
            lines=before.lines + len(block),
            words=before.words + len(sources.tokens),
            unknown=before.unknown + int((sources.tokens == UNK_ID).sum()),
            targets=before.targets + len(targets),
            ln_p=before.ln_p + float(targets.ln_p[targets.offsets[:-1]].sum()),
        )
        return self._lines(phrases, targets), counts

    def _lines(self, phrases: list[bytes], targets: Targets) -> bytes:
        texts = phrase_texts(targets.words, self._loaded.target_vocabulary)
        if self._form == "json":
            return b"".join(self._json_lines(phrases, targets, texts))
        if self._form == "moses":
            refuse_bars([*phrases, *texts])
        sources = np.repeat(np.arange(len(phrases)), np.diff(targets.offsets)).tolist()
        if self._form == "moses":
            p = probability_texts(targets.ln_p)
            rows = zip(sources, texts, p, strict=True)
            return b"".join(SEPARATOR.join((phrases[s], text, x)) + b"\n" for s, text, x in rows)
        lines = []
        numbers = zip(ln_p_texts(targets.ln_p), targets.counts.tolist(), strict=True)
        for source, text, (ln_p, count) in zip(sources, texts, numbers, strict=True):
            drawn = b"\t%d" % count if self._drawn else b""
            lines.append(b"%s\t%s\t%s%s\n" % (phrases[source], text, ln_p, drawn))
        return b"".join(lines)

    def _json_lines(
        self, phrases: list[bytes], targets: Targets, texts: list[bytes]
    ) -> Iterator[bytes]:
        ln_p, counts = targets.ln_p.tolist(), targets.counts.tolist()
        offsets = itertools.pairwise(targets.offsets.tolist())
        for phrase, (begin, end) in zip(phrases, offsets, strict=True):
            written = [
                {"target": _as_text(texts[row]), "ln_p": round(ln_p[row], 6)}
                | ({"count": counts[row]} if self._drawn else {})
                for row in range(begin, end)
            ]
            line = {"source": _as_text(phrase), "targets": written}
            yield json.dumps(line, ensure_ascii=False).encode() + b"\n"


def phrase_texts(phrases: TokenSequences, vocabulary: Vocabulary) -> list[bytes]:
    """Return the words of each phrase of ids, a blank between them."""
    words = [vocabulary.words[number] for number in phrases.tokens.tolist()]
    offsets = phrases.offsets.tolist()
    return [b" ".join(words[a:b]) for a, b in itertools.pairwise(offsets)]


def refuse_bars(phrases: Sequence[bytes]) -> None:
    """Check that phrases can stand in a phrase table.

    Raises:
        CorpusError: One has a bar, which separates columns or factors.
    """
    for phrase in phrases:
        if _BAR in phrase:
            raise CorpusError(
                f"the phrase {visible(phrase, _SHOWN)!r} has a bar, which separates columns and "
                "factors of a phrase table",
                remedy="give phrases, and a model of a text, in which bars are escaped "
                "(phrasescore preprocess)",
            )


def _as_text(phrase: bytes) -> str:
    return phrase.decode("utf-8", "backslashreplace")


def generate_for_phrases(
    path: str | Path, output: str | Path, writer: PhraseWriter, asked: dict[str, Any]
) -> StreamReport[PhraseCounts]:
    """Write a model's targets of the phrases in a file, a phrase in the first column of each line.

    Args:
        path: Plain, gzip or ``-``.
        output: Where to; gzip if the name ends in ``.gz``; ``-`` is standard output.
        writer: What writes a block.
        asked: All else that decides the output's bytes, as JSON values.

    Raises:
        InputError: The file cannot be read, or a line has no phrase.
        SettingsError: The output is the input, or cannot be written.
        ModelError: The model gives no numbers.
    """
    texts = Texts((path,), columns=1, lines_per_block=PHRASES_PER_BLOCK)
    stream = BlockStream(
        [path],
        asked,
        lambda _, done: texts.blocks(skip=done),
        writer.write,
        PhraseCounts(),
        check=texts.blocks,
        **STREAM_SETTINGS,
    )
    return stream.write(output)
