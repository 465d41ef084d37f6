r"""Input files as bytes (plain, gzip, or standard input), their lines, and numbers in them.

Lines end at ``b"\n"`` and nowhere else: U+0085 and U+2028 are ordinary characters to Moses, so
``str.splitlines`` is never used.

Numbers consist of ASCII digits and have bounds. ``int`` and ``float`` would also accept digits of
other scripts, blanks around a number, ``1_000``, nan and inf, and numbers too large for an array.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import re
import sys
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from phrasescore.errors import InputError, counted, is_full, refusal
from phrasescore.runs import file_kinds
from phrasescore.runs.final_names import gzip_module

GZIP_MAGIC = b"\x1f\x8b"
HIDDEN_GZIP = (
    "gzip data, but the name does not end in .gz: Moses reads nothing from such a reordering table"
)
_BLOCK = 1 << 20
_LINES_TO_JUDGE = 10_000  # the first lines tell whether a text is raw
# In texts of 29 language pairs, the lengths of 250 lines correlate less with those of their
# translations in 6 of 929 places, all misaligned, and after a shift by one line in all but 2.
_MIN_CORRELATION, _LINES_COMPARED, _MIN_LINES = 0.5, 250, 100
_SHORT = 10  # characters; the lengths of such entries of a dictionary tell nothing
COLUMNS = "lines with a tab: a table of several columns?", "take a column: cut -f1 for the first"
CHECK_LINES = "check that line i of both files has the same meaning"
STOPS = "।॥۔።᙮։။។。"  # full stops of other scripts
# raw text attaches a full stop to a word, which may end in a mark; ፡ is written twice
_RAW_END = re.compile(rf"[^\s.,:;?!…'\"”’»)\]][.{STOPS}፡?!؟]$")
STOP_APART = re.compile(rf" [.{STOPS}፡]$")
_FEW_RAW = 0.1  # tokenised text has next to none, and raw text over a fifth, headlines included
# Limit of a line, and of a file of settings. A small gzip file can unpack to a line of gigabytes.
_MAX_BYTES = 16 << 20
_WHOLE = re.compile(rb"[0-9]{1,400}")
_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@contextlib.contextmanager
def open_input(path: str | Path, *, is_text: bool = True) -> Iterator[BinaryIO]:
    """Open a plain or gzip file, or standard input for ``-``, as a binary stream.

    gzip is recognised by its first two bytes, so the name of the file does not matter.

    Args:
        path: The file.
        is_text: Whether a zero byte is an error. A zero byte often means UTF-16, which would be
            read as wrong words.

    Raises:
        InputError: The file does not exist, is a folder, is not readable, is not text, or is
            truncated or damaged gzip, or a line has over 16 MiB. The error may also come while the
            ``with`` block reads.
    """
    with contextlib.ExitStack() as stack:
        try:
            raw = _unzipped(_opened(path, stack), stack)
            reader = _InputReader(raw, path, is_text=is_text)
            stream = stack.enter_context(io.BufferedReader(reader, _BLOCK))
        except OSError as error:
            raise refusal(error, path) from None
        try:
            yield stream
        except _damages() as error:
            is_cut = isinstance(error, EOFError)
            problem = "the gzip data are cut short" if is_cut else f"damaged gzip data ({error})"
            raise InputError(problem, path=path, remedy="copy or create the file again") from None
        except OSError as error:
            # an error that names a file or reports a full disk concerns an output
            if error.filename is not None or is_full(error) or isinstance(error, BrokenPipeError):
                raise
            raise refusal(error, path) from None


def _opened(path: str | Path, stack: contextlib.ExitStack) -> BinaryIO:
    if str(path) == file_kinds.STANDARD_STREAM:
        return sys.stdin.buffer
    if file_kinds.is_work_file(path):
        return stack.enter_context(file_kinds.open_regular(path))
    file_kinds.refuse_second_reading(path)
    return stack.enter_context(Path(path).open("rb", buffering=_BLOCK))


def _unzipped(raw: BinaryIO, stack: contextlib.ExitStack) -> io.BufferedIOBase:
    peekable = raw if hasattr(raw, "peek") else io.BufferedReader(cast(io.RawIOBase, raw))
    if peekable.peek(2)[:2] != GZIP_MAGIC:
        return cast(io.BufferedIOBase, peekable)
    return cast(io.BufferedIOBase, stack.enter_context(gzip_module().open(peekable, "rb")))


class _InputReader(io.RawIOBase):
    """The bytes of a plain or unpacked file, for a buffered reader.

    A buffered reader reads the attribute ``closed`` for every line. A gzip file has a property of
    this name in Python code: a signal can raise KeyboardInterrupt there, and the buffered reader
    would turn it into another error. This class has no such property.
    """

    def __init__(self, stream: io.BufferedIOBase, path: str | Path, *, is_text: bool) -> None:
        self._stream, self._path, self._is_text = stream, path, is_text
        self._position = self._line = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read1(len(buffer))
        if self._is_text and (place := data.find(b"\0")) >= 0:
            raise InputError(
                f"binary data, a zero byte after {self._position + place:,} bytes, where text was "
                "expected; perhaps the text is in UTF-16",
                path=self._path,
                remedy="give plain text or gzip in UTF-8; iconv -f UTF-16 -t UTF-8 converts it",
            )
        end = data.rfind(b"\n")
        self._line = len(data) - end - 1 if end >= 0 else self._line + len(data)
        if self._line > _MAX_BYTES:
            raise _too_large("a line", self._path)
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


def _damages() -> tuple[type[Exception], ...]:
    """Return the exceptions that damaged gzip data raise."""
    import gzip

    from zlib_ng import zlib_ng

    return EOFError, gzip.BadGzipFile, zlib.error, cast("type[Exception]", zlib_ng.error)


def read_lines(path: str | Path, *, is_text: bool = True) -> Iterator[bytes]:
    """Yield the lines of a plain or gzip file, or of ``-``, without their line feeds."""
    with open_input(path, is_text=is_text) as stream:
        for line in stream:
            yield line.removesuffix(b"\n")


def file_looks_raw(path: str | Path) -> bool:
    """Tell whether a text looks raw by its beginning; see `looks_raw`."""
    # only the command that reads the text as a whole refuses a zero byte
    lines = itertools.islice(read_lines(path, is_text=False), _LINES_TO_JUDGE)
    return looks_raw(line.strip()[-9:].decode("utf-8", "ignore") for line in lines if line.strip())


def looks_raw(ends: Iterable[str]) -> bool:
    """Tell whether lines end in a word with a full stop, which tokenised text separates.

    Many lines of either text may end in no full stop at all.

    Args:
        ends: The lines, or their last words.

    >>> looks_raw(["A house.", "Two houses?"]), looks_raw(["घर है।"]), looks_raw(["घर है ।", "end"])
    (True, True, False)
    """
    ends = [end.rstrip() for end in ends]
    raw = sum(_RAW_END.search(end) is not None for end in ends)
    return raw > max(_FEW_RAW * len(ends), sum(STOP_APART.search(end) is not None for end in ends))


def alignment_problem(
    lines: Iterable[str | bytes], others: Iterable[str | bytes], path: object
) -> str | None:
    """Describe where two texts seem misaligned; ``None`` if they look parallel or are too short.

    Pairs with a short or an empty line do not count, and parts where most pairs have one.

    Args:
        lines: The lines of a text.
        others: The lines of another text.
        path: The file of the other text.

    >>> lines = ["a" * (10 + number % 7) for number in range(250)]
    >>> alignment_problem(lines, [*lines[1:], ""], "b")
    'the lengths of lines 1 to 250 do not match those of b (correlation 0.25)'
    >>> alignment_problem(lines, lines, "a")
    >>> alignment_problem(5 * lines, 4 * lines + [*lines[1:], ""], "b")
    'the lengths of lines 1,001 to 1,250 do not match those of b (correlation 0.25)'
    >>> alignment_problem(5 * lines, 5 * [*lines[1:], ""], "b")[:51]
    'the lengths of lines 1 to 250 (and of 4 more parts)'
    """
    from statistics import StatisticsError, correlation  # late, because few commands need it

    pairs, begin, places = zip(lines, others, strict=False), 0, list[tuple[str, float]]()
    while len(block := list(itertools.islice(pairs, _LINES_COMPARED))) >= _MIN_LINES:
        full = (pair for pair in block if all(len(line.strip()) >= _SHORT for line in pair))
        lengths = [[math.log1p(len(line)) for line in pair] for pair in full]
        end, found = begin + len(block), 1.0
        with contextlib.suppress(StatisticsError):  # all lines of a text may be equally long
            if len(lengths) > len(block) / 2:
                found = correlation([one for one, _ in lengths], [other for _, other in lengths])
        if found < _MIN_CORRELATION:
            places.append((f"{begin + 1:,} to {end:,}", found))
        begin = end
    if not places:
        return None
    (where, found), more = places[0], ""
    if len(places) > 1:
        more = f" (and of {counted(len(places) - 1, 'more part')})"
    return (
        f"the lengths of lines {where}{more} do not match those of {path} (correlation {found:.2f})"
    )


def misaligned_files(source: str | Path, target: str | Path) -> str | None:
    """Return a warning if a file has columns, or two seem misaligned; see `alignment_problem`."""
    for path in (source, target):
        if has_columns(list(itertools.islice(read_lines(path), _LINES_TO_JUDGE))):
            return f"{path}: {'; '.join(COLUMNS)}"
    problem = alignment_problem(read_lines(source), read_lines(target), target)
    return None if problem is None else f"{source}: {problem}; {CHECK_LINES}"


def read_whole(path: str | Path) -> bytes:
    """Return the content of a file of settings, which has at most 16 MiB; see `open_input`."""
    with open_input(path) as stream:
        content = stream.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise _too_large("a moses.ini, weights or settings were expected, not a file", path)
    return content


def _too_large(what: str, path: str | Path) -> InputError:
    return InputError(f"{what} of over 16 MiB", path=path, remedy="check that the file is right")


def is_hidden_gzip(path: str | Path) -> bool:
    """Tell whether a file is gzip, but its name does not end in ``.gz``."""
    with Path(path).open("rb") as stream:
        return stream.read(2) == GZIP_MAGIC and not str(path).endswith(".gz")


def line_notes(texts: Iterable[tuple[object, Sequence[str | bytes]]]) -> Iterator[str]:
    """Yield a warning for each text, a path and lines, with line ends of Windows, or with tabs."""
    for path, lines in texts:
        if sum(line[-1:] in ("\r", b"\r") for line in lines) > len(lines) // 2:
            what = "lines end in CR LF, and the CR may count as part of the last word"
            yield f"{path}: {what}; remove it: tr -d '\\r'"
        if has_columns(lines):
            yield f"{path}: {'; '.join(COLUMNS)}"


def has_columns(lines: Collection[str | bytes]) -> bool:
    """Tell whether most lines have a tab."""
    tabs = (line.find("\t") if isinstance(line, str) else line.find(b"\t") for line in lines)
    return sum(place >= 0 for place in tabs) > len(lines) // 2


def line_blocks(stream: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield whole lines in blocks of about ``size`` bytes; the last line may lack a line feed."""
    while block := stream.read(size):
        if not block.endswith(b"\n"):
            block += stream.readline()
        yield block


def whole_number(text: str | bytes, maximum: int) -> int | None:
    """Parse a whole number from 0 to ``maximum``; return ``None`` for any other text.

    >>> whole_number("20", 100), whole_number("200", 100), whole_number("²", 100)
    (20, None, None)
    """
    data = _bytes(text)
    value = int(data) if _WHOLE.fullmatch(data) else maximum + 1
    return value if value <= maximum else None


def finite_number(text: str | bytes) -> float | None:
    """Parse a decimal number that fits into a double; return ``None`` for any other text.

    >>> finite_number(b"-1.5e3"), finite_number("1e999"), finite_number("nan")
    (-1500.0, None, None)
    """
    data = _bytes(text)
    value = float(data) if _DECIMAL.fullmatch(data) else math.inf
    return value if math.isfinite(value) else None


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
