r"""ARPA back-off models, read into arrays block by block, with a diagnosis of broken files.

The format: ``\data\``, lines ``ngram N=count``, then per order a section ``\N-grams:`` of lines
``log10-probability TAB words [TAB log10-backoff]``, then ``\end\``. As in KenLM, only empty
lines and lines beginning with ``#`` may come before ``\data\``, and wrong counts are an error.
``<UNK>`` is ``<unk>``; if both are listed, the last line counts, and of other equal 1-grams the
first. Unlike KenLM, this reader accepts blanks instead of tabs, and lines that end in CR LF
(`ArpaFile.loose_line`).

Compiled functions read the lines, and report where the first bad line starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from moses_integration.language_model.automaton import (
    HIGHEST_ORDER,
    LARGEST_LOG10,
    UNKNOWN_WORD,
    NGrams,
)
from phrasescore.compiled import borrowed, compiled
from phrasescore.errors import LanguageModelError, visible
from phrasescore.table.byte_scanning import (
    BLANKS,
    LINE_FEED,
    SPACES_AND_TABS,
    Bytes,
    find_byte,
    parse_decimal,
    same_bytes,
    token_begin,
    token_end,
    trimmed_end,
)
from phrasescore.table.input_files import line_blocks
from phrasescore.words.word_table import WordArrays, WordTable, find_word, intern_word

KENLM_BINARY_MAGIC = b"mmap lm http://kheafield.com/code"
_LONGEST_SHOWN = 60
CUT_OFF = "the file was cut off: copy or make it again"

_BACKSLASH = ord("\\")
_TAB = ord("\t")
_UNKNOWN_IN_CAPITALS = np.frombuffer(b"<UNK>", np.uint8)
_MINUS_INFINITY = np.frombuffer(b"-inf", np.uint8)
_BLOCK = 1 << 23
_COUNT_LINE = re.compile(rb"ngram[ \t]+([0-9]{1,3})[ \t]*=[ \t]*([0-9]{1,18})")

_LOOSE_HEADER = re.compile(rb"\\.*[ \t]|ngram(?! [ \t]*[0-9]+=).*")  # KenLM refuses these


class OnlyMosesError(LanguageModelError):
    """A model that KenLM reads, and so real Moses, but not this program."""


def shown(text: bytes) -> str:
    """Quote the beginning of ``text``, with escapes for invisible characters."""
    return f"'{visible(text, _LONGEST_SHOWN)}'"


@compiled
def parse_number(block: Bytes, start: int, stop: int) -> tuple[float, bool]:
    """Parse the decimal number ``block[start:stop]``; return the number and whether it is valid."""
    block = borrowed(block)
    value, end, _ = parse_decimal(block, start, stop)
    return value, start < end == stop and np.isfinite(np.float32(value))


@compiled
def _field(block: Bytes, at: int, stop: int) -> tuple[int, int]:
    """Return the start and the end of the next field; both are ``stop`` if there is none."""
    block = borrowed(block)
    start = token_begin(block, at, stop, SPACES_AND_TABS)
    return start, token_end(block, start, stop, SPACES_AND_TABS)


@compiled
def _is(block: Bytes, start: int, stop: int, text: Bytes) -> bool:
    """Return whether ``block[start:stop]`` equals a text."""
    block = borrowed(block)
    return stop - start == text.size and same_bytes(block, start, text, 0, text.size)


@compiled
def _log10(block: Bytes, start: int, stop: int) -> tuple[float, int, bool]:
    """Parse the log10 p that starts a line; return its value, its end, and whether it is valid.

    The probability 0, which lmplz gave ``<s>`` before 2015, becomes the least one.
    """
    block = borrowed(block)
    start, end = _field(block, start, stop)
    if _is(block, start, end, _MINUS_INFINITY):
        return -LARGEST_LOG10, end, True
    log10, good = parse_number(block, start, end)
    return max(log10, -LARGEST_LOG10), end, good and log10 <= 0.0


@compiled
def _backoff(block: Bytes, at: int, stop: int) -> tuple[float, bool]:
    """Parse the optional back-off weight at a line's end; return it, and whether it is good."""
    block = borrowed(block)
    start, end = _field(block, at, stop)
    if start == end:
        return 0.0, True
    backoff, good = parse_number(block, start, end)
    return backoff, good and abs(backoff) <= LARGEST_LOG10 and end == stop


@compiled
def parse_ngrams(
    block: Bytes, words: WordArrays, ngrams: NGrams, longest: bool
) -> tuple[int, int, int, int]:
    """Read n-grams up to an empty line, a line that begins with a backslash, or the block's end.

    Args:
        block: Whole lines, each with its line feed.
        words: The vocabulary, which receives the words of 1-grams; id 0 must be ``<unk>``
            (``<UNK>`` is treated as ``<unk>``).
        ngrams: Receives the n-grams; the shape of its ``words`` determines their order.
        longest: Whether this is the highest order of a model with several orders. Its back-off
            weights must be 0.

    Returns:
        The start of the first unread line; how many lines were read; the index of the bad row, or
        -1; and the index of the first row with a layout that KenLM refuses, or -1. A bad row is the
        first unread line.
    """
    block, words, ngrams = borrowed((block, words, ngrams))
    at = row = 0
    loose = -1
    order = ngrams.words.shape[1]
    while at < block.size:
        end = find_byte(block, at, block.size, LINE_FEED)
        stop = trimmed_end(block, at, end, BLANKS)
        if stop == at or block[at] == _BACKSLASH:
            break
        ngrams.log10[row], after, has_log10 = _log10(block, at, stop)
        start = gap = after
        for position in range(order):
            start, after = _field(block, after, stop)
            if start == after:
                return at, row, row, loose
            word = find_word(words, block, start, after)
            if word < 0 and _is(block, start, after, _UNKNOWN_IN_CAPITALS):
                word = 0
            # longer n-grams contain only words of 1-grams
            if word < 0 and order > 1:
                return at, row, row, loose
            ngrams.words[row, position] = word
        ngrams.backoff[row], has_end = _backoff(block, after, stop)
        if not (has_log10 and has_end) or (longest and ngrams.backoff[row] != 0.0):
            return at, row, row, loose
        # KenLM needs a tab before the word of a 1-gram and before a back-off weight, and nothing
        # after the weight; in the highest order it skips blanks there
        ends_well = after == end or (
            block[after] == _TAB and after < stop and (longest or stop == end)
        )
        if loose < 0 and not (ends_well and (order > 1 or block[gap] == _TAB)):
            loose = row
        if order == 1 and ngrams.words[row, 0] != 0:
            # add the word last, so that a bad line adds no word; -1 if it was listed before
            is_new = ngrams.words[row, 0] < 0
            ngrams.words[row, 0] = intern_word(words, block, start, after) if is_new else -1
        row += 1
        at = end + 1
    return at, row, -1, loose


class ArpaFile:
    """An open ARPA file; counts are read immediately, n-grams block by block.

    Attributes:
        counts: The n-gram counts that the header states, order 1 first.
        words: The vocabulary; id 0 is ``<unk>``, the other ids follow the order of the file. The
            vocabulary is complete after a block of order 2 was read.
        has_unknown: Whether the file lists ``<unk>``.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._lines = _Lines(stream)
        self.words = WordTable([b"<unk>"])
        self.has_unknown = False
        self.counts = self._read_header()

    def blocks(self) -> Iterator[NGrams]:
        """Yield the n-grams, lowest order first, several thousand at a time.

        Every order has at least one block, which may be empty. After the last block the end of the
        file is checked.

        Raises:
            LanguageModelError: A line is malformed, a section is missing, the length of a section
                differs from the header, or the file ends early.
        """
        for order, promised in enumerate(self.counts, 1):
            self._expect(f"\\{order}-grams:")
            found = 0
            for ngrams in self._read_section(order):
                found += ngrams.log10.size
                yield ngrams
            if found != promised:
                remedy = "make the file again with the tool that wrote it"
                if not self._lines.block().size:
                    remedy = "the file ends here, so it was cut off: copy or make it again"
                raise self._lines.error(
                    f"the header promises {promised:,} {order}-grams; this section has {found:,}",
                    remedy,
                )
        self._expect("\\end\\")
        if (line := self._lines.next_filled()) is not None:
            raise self._lines.error(f"{shown(line)} follows after \\end\\")

    @property
    def loose_line(self) -> int | None:
        """The 1-based line number of the first line read whose layout KenLM refuses."""
        return self._lines.loose

    @property
    def unknown_is_context(self) -> bool:
        """Whether states keep ``<unk>``: as in KenLM, only if the file does not list it."""
        return not self.has_unknown and len(self.counts) > 1

    def _read_header(self) -> tuple[int, ...]:
        line = self._lines.next_filled()
        while line is not None and line.startswith(b"#"):
            line = self._lines.next_filled()
        if line is None:
            raise LanguageModelError("the file is empty, where an ARPA model was expected")
        if line.startswith((b"BZh", b"\xfd7zXZ")):
            problem = "packed by bzip2 or xz, which only real Moses reads"
            raise OnlyMosesError(problem, remedy="unpack it, or pack it with gzip")
        if line != b"\\data\\":
            raise self._lines.error(
                f"expected \\data\\ as the first line of an ARPA file, found {shown(line)}",
                "name an ARPA file, plain or gzip; lines before \\data\\ must begin with #",
            )
        counts: list[int] = []
        while (line := self._lines.next()) is not None and line:
            match = _COUNT_LINE.fullmatch(line)
            if match is None or int(match[1]) != len(counts) + 1:
                raise self._lines.error(
                    f"expected 'ngram {len(counts) + 1}=COUNT', found {shown(line)}"
                )
            counts.append(int(match[2]))
        if len(counts) > HIGHEST_ORDER:
            raise LanguageModelError(
                f"n-grams of up to {len(counts)} words, but at most {HIGHEST_ORDER} are supported",
                line=self._lines.number - 1,
            )
        if not counts:
            raise self._lines.error("the section \\data\\ has no line 'ngram 1=COUNT'")
        return tuple(counts)

    def _expect(self, header: str) -> None:
        line = self._lines.next_filled()
        if line is None:
            raise self._lines.error(f"the file ends before {header}", CUT_OFF)
        if line != header.encode():
            raise self._lines.error(f"expected {header}, found {shown(line)}")

    def _read_section(self, order: int) -> Iterator[NGrams]:
        ended = False
        while not ended:
            first_line = self._lines.number + 1
            block = self._lines.block()
            # a line has at least a digit, then for each word a blank and a letter, then a line feed
            room = block.size // (2 * order + 2) + 1
            rows = NGrams(np.zeros((room, order), np.int32), *np.zeros((2, room), np.float32))
            if order == 1:
                self.words.reserve(room, block.size)
            longest = 1 < order == len(self.counts)
            at, used, bad, loose = parse_ngrams(block, self.words.arrays, rows, longest)
            self._lines.skip(at, used)
            if loose >= 0 and self._lines.loose is None:
                self._lines.loose = first_line + loose
            if bad >= 0:
                raise self._bad_line(order)
            # the section ends at the next header, or the end of the file
            ended = not self._lines.skip_empty() or self._lines.block()[0] == _BACKSLASH
            words, log10, backoff, _ = rows
            ngrams = NGrams(words[:used], log10[:used], backoff[:used], first_line)
            if order == 1:
                self.has_unknown |= UNKNOWN_WORD in ngrams.words
            yield ngrams
        if order == 1:
            # the table has room for one word per possible line; a smaller table has better memory
            # locality
            self.words.trim()

    def _bad_line(self, order: int) -> LanguageModelError:
        line = self._lines.next() or b""
        if self._lines.cut_off:
            problem = f"the file ends in the middle of a line, {shown(line)}"
            return self._lines.error(problem, CUT_OFF)
        words = f"{order} words of the 1-grams" if order > 1 else "a word"
        ends = "nothing more" if 1 < order == len(self.counts) else "perhaps a back-off weight"
        return self._lines.error(
            f"expected a log10 probability (0 at most), {words} and {ends}, found {shown(line)}",
            "make the file again with the tool that wrote it",
        )


class _Lines:
    """The lines of a stream: single lines for Python code, blocks of lines for compiled code.

    Attributes:
        number: The 1-based line number of the last line returned.
        cut_off: Whether the last line returned is the last line of the file and lacks its line
            feed.
        loose: The 1-based line number of the first line read whose layout KenLM refuses.
    """

    loose: int | None = None

    def __init__(self, stream: BinaryIO) -> None:
        self._blocks = line_blocks(stream, _BLOCK)
        self._buffer = np.zeros(0, np.uint8)  # complete lines
        self._at = 0
        self._unfinished = False  # the buffer's last line feed is not in the file
        self.number = 0

    @property
    def cut_off(self) -> bool:
        return self._unfinished and self._at == self._buffer.size

    def block(self) -> NDArray[np.uint8]:
        """Return the unread lines of the buffer, refilled if necessary; empty at the end."""
        if self._at == self._buffer.size and not self._unfinished:
            data = bytearray(next(self._blocks, b""))
            if data and not data.endswith(b"\n"):
                data += b"\n"
                self._unfinished = True
            self._buffer, self._at = np.frombuffer(data, np.uint8), 0
        return self._buffer[self._at :]

    def error(self, problem: str, remedy: str | None = None) -> LanguageModelError:
        """Return an error about the last line returned."""
        return LanguageModelError(problem, line=self.number, remedy=remedy)

    def skip(self, size: int, lines: int) -> None:
        """Skip ``size`` bytes, which hold ``lines`` lines."""
        self._at += size
        self.number += lines

    def next(self) -> bytes | None:
        """Return the next line without trailing blanks, or ``None`` at the end."""
        block = self.block()
        if not block.size:
            return None
        size = find_byte(block, 0, block.size, LINE_FEED) + 1
        self.skip(size, 1)
        line = block[:size].tobytes().rstrip(b"\r\n")
        if self.loose is None and _LOOSE_HEADER.fullmatch(line):
            self.loose = self.number
        return line.rstrip(b" \t\r")

    def next_filled(self) -> bytes | None:
        """Return the next line that is not empty, or ``None`` at the end."""
        return self.next() if self.skip_empty() else None

    def skip_empty(self) -> bool:
        """Skip empty lines, and return whether a line follows."""
        while (block := self.block()).size:
            # skip all empty lines in one step, because a file may have millions of them
            filled = token_begin(block, 0, block.size, BLANKS | 1 << LINE_FEED)
            empty = block[:filled].tobytes()
            self.skip(empty.rfind(b"\n") + 1, empty.count(b"\n"))
            if filled < block.size:
                return True
        return False
