"""Translation of raw text: from lines as people write them to finished lines.

The settings beside the ini say how the system's text was prepared. A line is one sentence for the
decoder, unless it has too many words: then it is cut where sentences end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from moses_integration.decoder.loading.source_phrases import parse_sentence
from moses_integration.decoder.output import DecodedSentence
from moses_integration.decoder.settings import LONGEST_SENTENCE
from moses_integration.text.preparation import Postprocessor, preprocessor_of, read_settings
from phrasescore.errors import located
from phrasescore.table.input_files import STOPS

# a blank after the end of a sentence, which quotes and brackets may follow
_END = re.compile(
    f"(?:(?<= [.!?…؟！？{STOPS}])|(?<= [.!?…] [)”»’])|(?<= [.!?…] &quot;)) (?![)”»’])(?!&quot;)"
)

# words that the tokeniser of the source may have cut, such as the name Eto'o in English
_CUT = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)+")


@dataclass(frozen=True)
class RawText:
    """The lines of a raw text as sentences to decode.

    Args:
        sentences: The words of each sentence.
        is_last: Whether a sentence is the last one of its line.
        cut: Words with apostrophes of each sentence's line, which a translation may have in pieces.
        restore: Turns the tokens of a translation into text.
        notes: Warnings for the user.
    """

    sentences: list[tuple[bytes, ...]]
    is_last: list[bool]
    cut: list[list[str]]
    restore: Postprocessor
    notes: tuple[str, ...] = ()

    @classmethod
    def from_lines(
        cls,
        lines: Iterable[str],
        ini: str | Path,
        *,
        path: str | Path | None = None,
        longest: int = LONGEST_SENTENCE,
    ) -> RawText:
        """Prepare lines for the system of an ini.

        Args:
            lines: Raw text, without line feeds.
            ini: The ini of the system; the text settings are beside it.
            path: The file of the lines, for errors.
            longest: The maximum number of words of a sentence.

        Raises:
            InputError: There are no text settings, or a sentence is too long; the error names the
                line.
        """
        text = read_settings(ini)
        prepare = preprocessor_of(ini, "source", text.source)
        sentences, is_last, cut = [], [], []
        for number, line in enumerate(lines, 1):
            with located(path or f"line {number}", number):
                parts = [
                    parse_sentence(part.encode("utf-8"), longest=longest)
                    for part in _parts(prepare(line), longest)
                ]
            sentences += parts
            is_last += [False] * (len(parts) - 1) + [True]
            cut += [_CUT.findall(line)] * len(parts)
        return cls(sentences, is_last, cut, Postprocessor(text.target), prepare.notes)

    def finished(self, decoded: DecodedSentence) -> bytes:
        """Return the finished translation of a sentence, with the blank or line feed after it."""
        words = b" ".join(decoded.words()) if len(decoded) else b""
        text = self.restore(words.decode("utf-8", "backslashreplace"))
        for word in self.cut[decoded.number]:
            pieces = " ?".join(re.split("(['’])", word))
            text = re.sub(rf"\b{pieces}\b", word, text)
        return (text + ("\n" if self.is_last[decoded.number] else " ")).encode("utf-8")


def _parts(tokens: str, longest: int) -> Iterator[str]:
    """Cut a line of tokens into parts of whole sentences, as long as possible."""
    part = ""
    for sentence in _END.split(tokens):
        joined = f"{part} {sentence}" if part else sentence
        if part and joined.count(" ") >= longest:
            yield part
            joined = sentence
        part = joined
    yield part
