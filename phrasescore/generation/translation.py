"""Stream a text past models that translate it, to one output or several; resumable."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from phrasescore.errors import CorpusError, InputError, counted
from phrasescore.generation.translator import Translated, Translator
from phrasescore.runs.file_kinds import can_be_read_again
from phrasescore.table.block_stream import BlockStream, StreamReport, write_stream
from phrasescore.table.input_files import InputCheck
from phrasescore.table.text_blocks import TextBlock, Texts
from phrasescore.words.vocabulary import EOS

# what one output has of a line
Form: TypeAlias = Callable[[Translated], bytes]

_DECIMALS = 4  # of alpha
# of an output's block: some seconds of work, which is what a kill can lose
SENTENCES_PER_BLOCK = 512


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


class TranslationWriter:
    """Writes the translations of blocks of lines.

    Args:
        translator: What translates.
        forms: What each output has of a line, the output itself first.
    """

    def __init__(self, translator: Translator, forms: Sequence[Form]) -> None:
        self._translator, self._forms = translator, forms

    def write(
        self, block: TextBlock, before: TranslationCounts
    ) -> tuple[tuple[bytes, ...], TranslationCounts]:
        """Return the text of one block for each output, and the counts up to its end.

        Args:
            block: Whole lines are sentences.
            before: The counts up to the line before it.
        """
        lines = self._translator.translate(block.tokens[0], block.first_line)
        texts = tuple(b"".join(map(form, lines)) for form in self._forms)
        return texts, before.with_lines(lines)


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
    outputs: Sequence[str | Path],
    writer: TranslationWriter,
    asked: dict[str, Any],
    *,
    factor: int = 0,
    longest: int,
) -> TranslationReport:
    """Write the translations of a text, a sentence a line.

    Args:
        path: Plain, gzip or ``-``.
        outputs: Where the writer's texts go; gzip if a name ends in ``.gz``; ``-`` is standard
            output.
        writer: What writes a block.
        asked: All else that decides the outputs' bytes, as JSON values.
        factor: Which factor of a token the models read.
        longest: Words of the longest sentence that is accepted.

    Raises:
        InputError: The text cannot be read, or has a longer sentence.
        SettingsError: An output is the input, or cannot be written.
        ModelError: A model gives no numbers.
    """
    texts = Texts(
        (path,),
        columns=1,
        factor=factor,
        whole_lines=True,
        lines_per_block=SENTENCES_PER_BLOCK,
    )

    def blocks(skip: int = 0) -> Iterator[TextBlock]:
        return _short_enough(texts.blocks(skip=skip), longest)

    stream = BlockStream(
        lambda _, done: blocks(done),
        writer.write,
        TranslationCounts(),
        check=InputCheck(blocks) if can_be_read_again(path) else None,
        changed=InputError(
            "the text changed while it was being translated",
            path=path,
            remedy="run the command again",
        ),
        unlike="other options, models or input",
        what="translating",
        unit="sentences",
    )
    done = write_stream(stream, [path], outputs, asked)
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
