r"""ARPA back-off models, read into arrays block by block, with a diagnosis of what is not one.

The format: ``\data\``, lines ``ngram N=count``, then per order a section ``\N-grams:`` of lines
``log10-probability TAB words [TAB log10-backoff]``, then ``\end\``. As with KenLM, only empty
lines and lines beginning with ``#`` may come before ``\data\``, and what does not add up is an
error. Beyond KenLM, blanks may stand for tabs, and lines may end in CR LF.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from moses_integration.language_model.arpa_diagnosis import diagnose_line, foreign_file, shown
from moses_integration.language_model.arpa_lines import Rows, parse_ngrams, parse_unigrams, room_for
from moses_integration.language_model.automaton import UNKNOWN_WORD
from moses_integration.language_model.automaton_building import HIGHEST_ORDER, NGrams
from phrasescore.errors import LanguageModelError
from phrasescore.table.byte_scanning import BLANKS, LINE_FEED, find_byte, token_begin
from phrasescore.table.input_files import open_input
from phrasescore.words.word_table import WordTable

_BLOCK = 1 << 23
_LONGEST_LINE = 1 << 26
_COUNT_LINE = re.compile(rb"ngram[ \t]+([0-9]{1,3})[ \t]*=[ \t]*([0-9]{1,18})")


class ArpaFile:
    """An open ARPA file: its counts at once, its n-grams block by block.

    Attributes:
        counts: The n-gram counts that the header promises, order 1 first.
        words: The vocabulary; id 0 is ``<unk>``, the others follow the file. Filled once a block
            of order 2 was read.
        has_unknown: Whether the file lists ``<unk>``.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._lines = _Lines(stream)
        self.words = WordTable([b"<unk>"])
        self.has_unknown = False
        self.counts = self._read_header()

    def blocks(self) -> Iterator[NGrams]:
        """Yield the n-grams, lowest order first, several thousand at a time.

        Every order has at least one block, if an empty one. After the last, the end of the file
        is checked.

        Raises:
            LanguageModelError: A line is malformed, a section is missing, longer or shorter than
                promised, or the file ends early.
        """
        for order, promised in enumerate(self.counts, 1):
            self._expect(f"\\{order}-grams:")
            found = 0
            for ngrams in self._read_section(order):
                found += ngrams.log10.size
                yield ngrams
            if found != promised:
                raise LanguageModelError(
                    f"the header promises {promised:,} {order}-grams, this section has {found:,}",
                    line=self._lines.number,
                    remedy=self._remedy_for_count(),
                )
        self._expect("\\end\\")
        if (line := self._lines.next_filled()) is not None:
            raise LanguageModelError(f"{shown(line)} stands after \\end\\", line=self._lines.number)

    @property
    def unknown_is_context(self) -> bool:
        """KenLM makes ``<unk>`` a state of its own where the file does not list it."""
        return not self.has_unknown and len(self.counts) > 1

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
            raise foreign_file(line, self._lines.number)
        counts: list[int] = []
        while (line := self._lines.next()) is not None and line:
            match = _COUNT_LINE.fullmatch(line)
            if match is None or int(match[1]) != len(counts) + 1:
                raise LanguageModelError(
                    f"expected 'ngram {len(counts) + 1}=COUNT', found {shown(line)}",
                    line=self._lines.number,
                )
            counts.append(int(match[2]))
        if len(counts) > HIGHEST_ORDER:
            raise LanguageModelError(
                f"n-grams of up to {len(counts)} words, where at most {HIGHEST_ORDER} are read",
                line=self._lines.number - 1,
            )
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
                f"expected {header}, found {shown(line)}", line=self._lines.number
            )

    def _read_section(self, order: int) -> Iterator[NGrams]:
        ended = False
        while not ended:
            first_line = self._lines.number + 1
            rows, used, bad = self._parse(self._lines.block(), order)
            if bad:
                raise self._bad_line(order)
            # an empty line, the next header, or the end of the file
            ended = not self._lines.at_border or not used
            ngrams = NGrams(
                order, rows.words[:used], rows.log10[:used], rows.backoff[:used], first_line
            )
            if order == 1:
                self._look_for_unknown(ngrams)
            yield ngrams
        if order == 1:
            # a block has room for a word on each of its shortest lines; what is near is found fast
            self.words.trim()

    def _look_for_unknown(self, unigrams: NGrams) -> None:
        for row in np.flatnonzero(unigrams.words[:, 0] == UNKNOWN_WORD).tolist():
            if self.has_unknown:
                raise LanguageModelError(
                    "the word <unk> stands there a second time", line=unigrams.line_of(row)
                )
            self.has_unknown = True

    def _parse(self, block: NDArray[np.uint8], order: int) -> tuple[Rows, int, bool]:
        """Parse the block's n-grams and step over their lines; tell whether a bad one follows."""
        rows = room_for(block.size, order)
        if order == 1:
            self.words.reserve(rows.log10.size, block.size)
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
                f"the file ends in the middle of a line, {shown(line)}",
                line=number,
                remedy="it was cut off: copy or make it again",
            )
        problem, remedy = diagnose_line(line, order, order == len(self.counts), self.words)
        return LanguageModelError(problem, line=number, remedy=remedy)


@contextlib.contextmanager
def open_arpa(path: str | Path) -> Iterator[ArpaFile]:
    """Open a plain or gzip ARPA file; errors inside the block are given its name.

    Raises:
        LanguageModelError: It is not an ARPA file, or a damaged one.
        InputError: It cannot be read.
    """
    try:
        with open_input(path, is_text=False) as stream:  # zero bytes are judged below
            yield ArpaFile(stream)
    except LanguageModelError as error:
        raise error.at(path) from None


class _Lines:
    """A stream as lines for people and as blocks of whole lines for compiled code.

    Attributes:
        number: The 1-based number of the line last given out.
        cut_off: Whether the line last given out is the file's last and lacks its line feed.
        at_end: Whether nothing is left.
        at_border: Whether all of the last block was given out.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._buffer = np.zeros(0, np.uint8)  # whole lines
        self._at = 0
        self._unfinished = False  # the buffer's last line feed is ours
        self.number = 0

    @property
    def at_end(self) -> bool:
        return self.block().size == 0

    @property
    def cut_off(self) -> bool:
        return self._unfinished and self._at == self._buffer.size

    @property
    def at_border(self) -> bool:
        return self._at == self._buffer.size

    def block(self) -> NDArray[np.uint8]:
        """Return the whole lines at hand, more of them if there are none; empty at the end."""
        if self._at == self._buffer.size and not self._unfinished:
            self._refill()
        return self._buffer[self._at :]

    def _refill(self) -> None:
        data = bytearray(self._stream.read(_BLOCK))
        if data and not data.endswith(b"\n"):
            data += self._stream.readline(_LONGEST_LINE)
            if len(data) > _LONGEST_LINE:
                raise LanguageModelError("a line of over 64 MB, so this is not an ARPA file")
            if not data.endswith(b"\n"):
                data += b"\n"
                self._unfinished = True
        self._buffer, self._at = np.frombuffer(data, np.uint8), 0

    def skip(self, size: int, lines: int) -> None:
        """Skip this many bytes, which hold this many lines."""
        self._at += size
        self.number += lines

    def next(self) -> bytes | None:
        """Return the next line without its end and the blanks there, or nothing at the end."""
        block = self.block()
        if not block.size:
            return None
        size = find_byte(block, 0, block.size, LINE_FEED) + 1
        self.skip(size, 1)
        return block[:size].tobytes().rstrip(b" \t\r\n")

    def next_filled(self) -> bytes | None:
        """Return the next line that is not empty, or nothing at the end."""
        while (block := self.block()).size:
            filled = token_begin(block, 0, block.size, BLANKS | 1 << LINE_FEED)
            empty = block[:filled].tobytes()
            self.skip(empty.rfind(b"\n") + 1, empty.count(b"\n"))
            if filled < block.size:
                return self.next()
        return None
