r"""ARPA back-off models, read into arrays block by block, with a diagnosis of what is not one.

The format: ``\data\``, lines ``ngram N=count``, then per order a section ``\N-grams:`` of lines
``log10-probability TAB words [TAB log10-backoff]``, then ``\end\``. As with KenLM, only empty
lines and lines beginning with ``#`` may stand before ``\data\``, and what does not add up is an
error. Beyond KenLM, blanks may stand for tabs, and lines may end in CR LF.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from moses_integration.arpa_lines import Rows, parse_ngrams, parse_unigrams, room_for
from moses_integration.word_table import WordTable
from phrasescore.errors import LanguageModelError
from phrasescore.files import open_input

KENLM_BINARY_MAGIC = b"mmap lm http://kheafield.com/code"
_BLOCK = 1 << 23
_LONGEST_LINE = 1 << 26
_USUAL_LINE = 1 << 12
_LONGEST_SHOWN = 60
_COUNT_LINE = re.compile(rb"ngram[ \t]+([0-9]+)[ \t]*=[ \t]*([0-9]+)")

# first bytes -> what the file looks like, what to do about it
_FOREIGN_FILES = (
    (
        KENLM_BINARY_MAGIC,
        "a KenLM binary, not an ARPA file",
        "name the ARPA file that it was built from",
    ),
    (b"blmt", "an IRSTLM binary", "convert it with: compile-lm --text=yes MODEL MODEL.arpa"),
    (b"Qblmt", "an IRSTLM binary", "convert it with: compile-lm --text=yes MODEL MODEL.arpa"),
    (b"iARPA", "IRSTLM's iARPA format", "convert it with: compile-lm --text=yes MODEL MODEL.arpa"),
    (b"qARPA", "IRSTLM's qARPA format", "convert it with: compile-lm --text=yes MODEL MODEL.arpa"),
    (b"\x1f\x8b", "gzip data within gzip data", "unzip it once"),
    (b"BZh", "bzip2 data", "unpack it, or pack it with gzip"),
    (b"\xfd7zXZ", "xz data", "unpack it, or pack it with gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd data", "unpack it, or pack it with gzip"),
    (b"PK\x03\x04", "a zip archive", "unpack it, or pack it with gzip"),
    (b"\xff\xfe", "UTF-16 text", "convert it to UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "convert it to UTF-8"),
    (b"\xef\xbb\xbf", "text with a byte order mark", "remove its first three bytes"),
    (b"[", "a moses.ini", "name the path= of its language model line"),
)


@dataclass(frozen=True)
class NGrams:
    """The n-grams of one order, in the order of the file.

    Attributes:
        order: How many words each has.
        words: Word ids, shape (rows, order).
        log10: log10 probabilities, shape (rows,).
        backoff: log10 back-off weights, shape (rows,); 0 where the file has none.
        first_line: The 1-based line of row 0; the rows follow without a gap.
    """

    order: int
    words: NDArray[np.int32]
    log10: NDArray[np.float32]
    backoff: NDArray[np.float32]
    first_line: int


class ArpaFile:
    """An open ARPA file: its counts at once, its n-grams section by section.

    Attributes:
        counts: The n-gram counts that the header promises, order 1 first.
        words: The vocabulary; id 0 is ``<unk>``, the others follow the file. Filled once the
            first section is read.
        has_unknown: Whether the file lists ``<unk>``.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._lines = _Lines(stream)
        self.words = WordTable([b"<unk>"])
        self.has_unknown = False
        self.counts = self._read_header()

    def sections(self) -> Iterator[NGrams]:
        """Yield the n-grams of each order, lowest first; then check how the file ends.

        Raises:
            LanguageModelError: A line is malformed, a section is missing, longer or shorter than
                promised, or the file ends early.
        """
        for order, promised in enumerate(self.counts, 1):
            self._expect(f"\\{order}-grams:")
            ngrams = self._read_section(order)
            found = ngrams.log10.size
            if found != promised:
                raise LanguageModelError(
                    f"the header promises {promised:,} {order}-grams, this section has {found:,}",
                    line=self._lines.number,
                    remedy=self._remedy_for_count(),
                )
            if order == 1:
                self._check_unknown(ngrams)
            yield ngrams
        self._expect("\\end\\")
        if (line := self._lines.next_filled()) is not None:
            raise LanguageModelError(
                f"{_shown(line)} stands after \\end\\", line=self._lines.number
            )

    def _check_unknown(self, unigrams: NGrams) -> None:
        rows = np.flatnonzero(unigrams.words[:, 0] == 0)
        if rows.size > 1:
            raise LanguageModelError(
                "the word <unk> stands there a second time", line=unigrams.first_line + int(rows[1])
            )
        self.has_unknown = rows.size == 1

    def _remedy_for_count(self) -> str:
        if self._lines.at_end:
            return "the file ends here, so it was cut off: copy or make it again"
        return "make the file again with the tool that wrote it"

    def _read_header(self) -> tuple[int, ...]:
        line = self._lines.next_filled()
        while line is not None and line.startswith(b"#"):
            line = self._lines.next_filled()
        if line is None:
            raise LanguageModelError("the file is empty, where an ARPA model was expected")
        if line != b"\\data\\":
            raise _foreign_file(line, self._lines.number)
        counts: list[int] = []
        while (line := self._lines.next()) is not None and line:
            match = _COUNT_LINE.fullmatch(line)
            if match is None or int(match[1]) != len(counts) + 1:
                raise LanguageModelError(
                    f"expected 'ngram {len(counts) + 1}=COUNT', found {_shown(line)}",
                    line=self._lines.number,
                )
            counts.append(int(match[2]))
        if not counts:
            raise LanguageModelError(
                "no line 'ngram 1=COUNT' stands below \\data\\", line=self._lines.number
            )
        return tuple(counts)

    def _expect(self, header: str) -> None:
        line = self._lines.next_filled()
        if line is None:
            raise LanguageModelError(
                f"the file ends before {header}",
                line=self._lines.number,
                remedy="it was cut off: copy or make it again",
            )
        if line != header.encode():
            raise LanguageModelError(
                f"expected {header}, found {_shown(line)}", line=self._lines.number
            )

    def _read_section(self, order: int) -> NGrams:
        first_line = self._lines.number + 1
        parts: list[Rows] = []
        while (block := self._lines.block()).size:
            rows, used, bad = self._parse(block, order)
            parts.append(Rows(rows.words[:used], rows.log10[:used], rows.backoff[:used]))
            if bad:
                raise self._bad_line(order)
            if used < rows.log10.size:  # an empty line or the next header
                break
        together = _joined(parts) if parts else room_for(0, order)
        return NGrams(order, together.words, together.log10, together.backoff, first_line)

    def _parse(self, block: NDArray[np.uint8], order: int) -> tuple[Rows, int, bool]:
        """Parse the block's n-grams and step over their lines; tell whether a bad one follows."""
        lines = int(np.count_nonzero(block == ord("\n")))
        rows = room_for(lines, order)
        if order == 1:
            self.words.reserve(lines, block.size)
            at, used, bad = parse_unigrams(block, 0, self.words.arrays, rows)
        else:
            longest = order == len(self.counts)
            at, used, bad = parse_ngrams(block, 0, self.words.arrays, rows, longest)
        self._lines.skip(at, used)
        return rows, used, bad >= 0

    def _bad_line(self, order: int) -> LanguageModelError:
        line = self._lines.next() or b""
        number = self._lines.number
        if self._lines.cut_off:
            return LanguageModelError(
                f"the file ends in the middle of a line, {_shown(line)}",
                line=number,
                remedy="it was cut off: copy or make it again",
            )
        problem, remedy = _diagnose(line, order, order == len(self.counts), self.words)
        return LanguageModelError(problem, line=number, remedy=remedy)


@contextlib.contextmanager
def open_arpa(path: str | Path) -> Iterator[ArpaFile]:
    """Open a plain or gzip ARPA file; errors inside the block are given its name.

    Raises:
        LanguageModelError: It is not an ARPA file, or a damaged one.
        InputError: It cannot be read.
    """
    try:
        with open_input(path) as stream:
            yield ArpaFile(stream)
    except LanguageModelError as error:
        raise error.at(path) from None


def _joined(parts: list[Rows]) -> Rows:
    return Rows(
        np.concatenate([part.words for part in parts]),
        np.concatenate([part.log10 for part in parts]),
        np.concatenate([part.backoff for part in parts]),
    )


class _Lines:
    """A stream as lines for people and as blocks of whole lines for compiled code.

    Attributes:
        number: The 1-based number of the line last given out.
        cut_off: Whether the line last given out is the file's last and lacks its line feed.
        at_end: Whether nothing is left.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._buffer = np.zeros(0, np.uint8)  # whole lines
        self._at = 0
        self._tail = b""  # the beginning of a line
        self._unfinished = False  # the buffer's last line feed is ours
        self.number = 0

    @property
    def at_end(self) -> bool:
        return self.block().size == 0

    @property
    def cut_off(self) -> bool:
        return self._unfinished and self._at == self._buffer.size

    def block(self) -> NDArray[np.uint8]:
        """Return the whole lines at hand, more of them if there are none; empty at the end."""
        if self._at == self._buffer.size and not self._unfinished:
            self._refill()
        return self._buffer[self._at :]

    def _refill(self) -> None:
        pieces, length = [self._tail], len(self._tail)
        while True:
            piece = self._stream.read(_BLOCK)
            cut = piece.rfind(b"\n") + 1
            if cut or not piece:
                break
            pieces.append(piece)
            length += len(piece)
            if length > _LONGEST_LINE:
                raise LanguageModelError("a line of over 64 MB, so this is not an ARPA file")
        data = bytearray().join([*pieces, piece[:cut]])
        self._tail = piece[cut:]
        if not piece and data:
            data += b"\n"
            self._unfinished = True
        self._buffer, self._at = np.frombuffer(data, np.uint8), 0

    def skip(self, size: int, lines: int) -> None:
        """Step over so many bytes that hold so many lines."""
        self._at += size
        self.number += lines

    def next(self) -> bytes | None:
        """Return the next line without its end and the blanks there, or nothing at the end."""
        block = self.block()
        if not block.size:
            return None
        data = block[:_USUAL_LINE].tobytes()
        if b"\n" not in data:
            data = block.tobytes()
        size = data.index(b"\n") + 1
        self.skip(size, 1)
        return data[:size].rstrip(b" \t\r\n")

    def next_filled(self) -> bytes | None:
        """Return the next line that is not empty, or nothing at the end."""
        while (line := self.next()) is not None and not line:
            pass
        return line


def _foreign_file(line: bytes, number: int) -> LanguageModelError:
    for magic, name, remedy in _FOREIGN_FILES:
        if line.startswith(magic):
            return LanguageModelError(f"this looks like {name}", line=number, remedy=remedy)
    if b"|||" in line:
        return LanguageModelError(
            "this looks like a phrase table or an n-best list, not an ARPA file", line=number
        )
    return LanguageModelError(
        f"expected \\data\\ as the first line of an ARPA file, found {_shown(line)}",
        line=number,
        remedy="name an ARPA file; text before \\data\\ must be in lines that begin with #",
    )


def _diagnose(line: bytes, order: int, longest: bool, words: WordTable) -> tuple[str, str | None]:
    """Say what is wrong with a line that compiled code refused, and what to do about it."""
    fields = re.split(rb"[ \t]+", line.strip(b" \t"))
    if (problem := _number_problem(fields[0], "log10 probability")) is not None:
        return problem, None
    if float(fields[0]) > 0:
        return (
            f"the log10 probability {_shown(fields[0])} is positive, no probability exceeds 1",
            "improved-kneser-ney of IRSTLM is known for this: estimate the model with another",
        )
    found = len(fields) - 1
    if not order <= found <= order + 1:
        return f"expected {order} words and at most one back-off weight, found {found} fields", None
    if order == 1:
        if words.id_of(fields[1]) is not None:
            return f"the word {_shown(fields[1])} stands there a second time", None
    else:
        for word in fields[1 : order + 1]:
            if words.id_of(word) is None:
                return (
                    f"the word {_shown(word)} is not among the 1-grams",
                    "the 1-grams must list every word: make the file again",
                )
    assert found == order + 1
    if (problem := _number_problem(fields[-1], "log10 back-off weight")) is not None:
        return problem, None
    assert longest
    return f"a back-off weight {_shown(fields[-1])} in the highest order, which has none", None


def _number_problem(field: bytes, what: str) -> str | None:
    if not re.fullmatch(rb"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", field):
        return f"expected a {what}, found {_shown(field)}"
    if abs(float(field)) > float(np.finfo(np.float32).max):
        return f"the {what} {_shown(field)} is out of range"
    return None


def _shown(text: bytes) -> str:
    """Quote the beginning of ``text``, with what cannot be seen in escapes."""
    letters = text.decode("utf-8", "backslashreplace")
    shown = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in letters[:_LONGEST_SHOWN]
    )
    return f"'{shown}{'...' if len(letters) > _LONGEST_SHOWN else ''}'"
