"""What is written of translated lines: the translations, their alignments, other forms; counts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from phrasescore.errors import counted
from phrasescore.generation.translator import Translated, Translator
from phrasescore.table.text_blocks import TextBlock
from phrasescore.words.vocabulary import EOS

# what one output has of a line
Form: TypeAlias = Callable[[Translated], bytes]

_DECIMALS = 4  # of alpha


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
