"""Preparation of a parallel corpus: read, preprocess, check and clean two files.

Lines end only at a line feed, as in Moses. Text that would break a later step is an error that
names the line; suspicious text is reported in a note. Sentence pairs that cannot be aligned well
are left out by the rules of clean-corpus-n.perl.
"""

from __future__ import annotations

import codecs
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from moses_integration.system_building.build_settings import MAX_WORDS
from moses_integration.text import preparation
from phrasescore.errors import CorpusError, counted
from phrasescore.runs.final_names import open_output, write_atomically
from phrasescore.runs.progress import Progress
from phrasescore.table.input_files import STOPS, read_lines
from phrasescore.table.phrase_table import line_tokens

# the limits of clean-corpus-n.perl: the ratio of the sentence lengths, the characters of a word
_MAX_RATIO, _MAX_LETTERS = 9.0, 1000
LINES_AT_ONCE = 10_000
_PLACES_NAMED = 10
# (U+0085, U+00A0, U+1680, U+2000-200A, U+2028, U+2029, U+202F, U+205F, U+3000) in UTF-8
_OTHER_SPACES = re.compile(
    rb"\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80"
)
_SPECIAL_WORDS = (b"<s>", b"</s>", b"<unk>")
# text that Moses or a language model would misread; Moses takes a word in brackets for a label
_HARMFUL = re.compile(rb"[|\0]|(?<!\S)(?:<s>|</s>|<unk>|\[\S*\])(?!\S)")
_FULL_STOP_IN_WORD = re.compile(f"[^ .](?:[.?!]|{'|'.join(STOPS)})\r?$".encode(), re.M)
_ESCAPE = "tokenise and escape the text: --tokenize LANGUAGE LANGUAGE, or phrasescore preprocess"
OTHER_SPACES = "a space such as U+00A0, which Moses takes for part of a word; --tokenize removes it"
NOT_UTF8 = "not UTF-8; the bytes stay as they are, but no tokeniser could read them"
LOOKS_RAW = "looks untokenised, but is used unchanged; --tokenize would separate its punctuation"


@dataclass
class Notes:
    """Notes on suspicious text: for each kind, how many lines have it, and which are the first.

    Args:
        counts: The number of lines of each kind.
        places: The file and the number of the first lines of each kind.
        files: The files that have lines of each kind.
    """

    counts: dict[str, int] = field(default_factory=dict)
    places: dict[str, list[tuple[str | Path, int]]] = field(default_factory=dict)
    files: dict[str, set[str | Path]] = field(default_factory=dict)

    def add(self, what: str, path: str | Path, line: int, lines: int = 1) -> None:
        """Count ``lines`` lines of the kind ``what``; the first of them is ``line``."""
        self.counts[what] = self.counts.get(what, 0) + lines
        self.files.setdefault(what, set()).add(path)
        if len(places := self.places.setdefault(what, [])) < _PLACES_NAMED:
            places.append((path, line))

    def __iter__(self) -> Iterator[str]:
        for what, count in self.counts.items():
            (path, line), *others = self.places[what]
            more = [str(number) for other, number in others if other == path]
            also = f", also {', '.join(more)}" if more else ""
            both = " of both texts" if len(self.files[what]) > 1 else ""
            yield f"{path}:{line}: {what} ({counted(count, 'line')}{both}{also})"


def read_parallel_lines(*paths: str | Path) -> Iterator[tuple[int, list[list[bytes]]]]:
    """Read one or two files in blocks; yield a block's first line number and each file's lines.

    Raises:
        CorpusError: The files have different numbers of lines, or all are empty.
    """
    line = 1
    rows = itertools.zip_longest(*map(read_lines, paths))
    while block := list(itertools.islice(rows, LINES_AT_ONCE)):
        for number, row in enumerate(block, line):
            if None in row:
                longer, shorter = paths[::-1] if row[0] is None else paths
                problem = f"line {number:,} has no counterpart: {shorter} ends before it"
                remedy = "line i of one file must be the translation of line i of the other"
                raise CorpusError(problem, path=longer, line=number, remedy=remedy)
        sides = [list(side) for side in zip(*block, strict=True)]
        if line == 1:
            for side in sides:
                side[0] = side[0].removeprefix(codecs.BOM_UTF8)
        yield line, sides
        line += len(block)
    if line == 1:
        raise CorpusError("the text contains no sentence", path=paths[0])


def check_taken_text(lines: Sequence[bytes], path: str | Path, first: int, notes: Notes) -> None:
    """Check the text that later steps use: it must be tokenised and escaped.

    Args:
        lines: Lines without line feeds.
        path: The file of these lines.
        first: The 1-based line number of the first line.
        notes: Receives the counts of suspicious lines.

    Raises:
        CorpusError: A line contains something that Moses or a language model would misread.
    """
    text = b"\n".join(lines)
    marks = (b"|", b"[", b"\0", *_SPECIAL_WORDS)
    suspected = any(mark in text for mark in marks)  # much faster than the regular expression
    if suspected and (found := _HARMFUL.search(text)) is not None:
        harm, remedy = found.group(), _ESCAPE
        problem = f"an unescaped {harm.decode()}, which Moses takes for markup"
        if harm == b"\0":
            problem, remedy = "a zero byte, so this is no text", "give plain text or gzip, in UTF-8"
        elif harm in _SPECIAL_WORDS:
            problem = f"the word {harm.decode()}, which has a special meaning in language models"
            remedy = "remove it, or escape its brackets as &lt; and &gt;"
        line = first + text.count(b"\n", 0, found.start())
        raise CorpusError(problem, path=path, line=line, remedy=remedy)
    if _OTHER_SPACES.search(text) is not None:
        for number, text_line in enumerate(lines, first):
            if _OTHER_SPACES.search(text_line) is not None:
                notes.add(OTHER_SPACES, path, number)
    if (glued := _FULL_STOP_IN_WORD.search(text)) is not None:
        number = first + text.count(b"\n", 0, glued.start())
        notes.add(LOOKS_RAW, path, number, len(_FULL_STOP_IN_WORD.findall(text)))
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        notes.add(NOT_UTF8, path, first + text.count(b"\n", 0, error.start))


def reason_to_leave_out(sentences: Sequence[list[bytes]], max_words: int | None) -> str | None:
    """Return the reason to leave out parallel sentences, given as words; ``None`` to keep them.

    If ``max_words`` is ``None``, only empty sentences are left out.
    """
    lengths = list(map(len, sentences))
    if not min(lengths):
        return "empty"
    if max_words is None:
        return None
    if max(lengths) > max_words:
        return "too long"
    if max(lengths) / min(lengths) > _MAX_RATIO:
        return "of too uneven lengths"
    for word in itertools.chain(*sentences):
        # a word has no more characters than bytes
        if len(word) > _MAX_LETTERS and len(word.decode("utf-8", "replace")) > _MAX_LETTERS:
            return "with a word that is too long"
    return None


@dataclass(frozen=True)
class TextSource:
    """One side of the corpus as the user gave it.

    Args:
        path: The file, plain or gzip.
        settings: The text settings.
        truecase: The truecaser, once it is learnt.
        aligned: Whether a word alignment is given, so that the number of words must stay.
    """

    path: str | Path
    settings: preparation.TextSettings
    truecase: preparation.Truecaser | None = None
    aligned: bool = False

    @cached_property
    def preprocessor(self) -> preparation.Preprocessor | None:
        """The preprocessor of sentences; ``None`` if sentences stay unchanged."""
        settings = self.settings
        if settings.tokenize or settings.lowercase or settings.characters or self.truecase:
            return preparation.Preprocessor(settings, self.truecase)
        return None

    def words(self, lines: list[bytes], first: int, notes: Notes) -> list[list[bytes]]:
        """Prepare, check and split lines; ``first`` is the first 1-based line number.

        Raises:
            CorpusError: A line cannot be used.
        """
        given = list(map(line_tokens, lines)) if self.aligned else []
        if (preprocess := self.preprocessor) is not None:
            numbered = enumerate(lines, first)
            decoded = [preparation.decode_line(line, self.path, at) for at, line in numbered]
            lines = [preprocess(line).encode("utf-8") for line in decoded]
            for number, line in enumerate(decoded if self.settings.escape else (), first):
                if preparation.has_entities(line):
                    notes.add(preparation.ENTITIES, self.path, number)
        # text split into characters needs no check: it is escaped, and may include any space
        if not self.settings.characters:
            check_taken_text(lines, self.path, first, notes)
        words = list(map(line_tokens, lines))
        for number, (before, after) in enumerate(zip(given, words, strict=False), first):
            if len(before) != len(after):
                raise CorpusError(
                    f"an alignment of {len(before)} words is given, but they become {len(after)}",
                    remedy="run phrasescore preprocess, align its output, and build from that "
                    "without --tokenize or --characters",
                ).at(self.path, number)
        return words


@dataclass(frozen=True)
class PreparedText:
    """The result of preparing parallel sentences.

    Args:
        kept: Whether each pair was kept.
        left_out: For each reason, how many pairs were left out.
        words: The number of words kept on each side.
        notes: Notes on the text.
    """

    kept: Sequence[bool]
    left_out: Mapping[str, int]
    words: Sequence[int]
    notes: Notes


def prepare_corpus(
    sources: Sequence[TextSource],
    outputs: Sequence[Path],
    max_words: int | None,
    truecase_models: Sequence[Path] = (),
    *,
    keeps_all: bool = False,
) -> PreparedText:
    """Write the kept pairs: one sentence per line, words separated by single spaces.

    Args:
        sources: The source and the target side, or a single text.
        outputs: The files to write, one for each source.
        max_words: The maximum number of words of a sentence. Pairs with a longer sentence, and
            uneven pairs, are left out. With ``None``, only pairs with an empty sentence are left
            out.
        truecase_models: The files for what is learnt of the case of words, one for each output, if
            the outputs are to be truecased.
        keeps_all: Whether an empty or far too long sentence is an error.

    Raises:
        CorpusError: The sides have different numbers of lines, a line cannot be used, or no pair
            is left.
    """
    notes = Notes()
    kept: list[bool] = []
    left_out: Counter[str] = Counter()
    words = [0] * len(sources)
    with ExitStack() as stack, Progress("reading the corpus", unit="lines") as progress:
        streams = [stack.enter_context(open_output(output)) for output in outputs]
        for first, sides in read_parallel_lines(*(source.path for source in sources)):
            texts = zip(sources, sides, strict=True)
            prepared = [source.words(lines, first, notes) for source, lines in texts]
            good = []
            for line, pair in enumerate(zip(*prepared, strict=True), first):
                if keeps_all:
                    _check_lengths(pair, sources, line)
                reason = reason_to_leave_out(pair, max_words)
                kept.append(reason is None)
                if reason is None:
                    good.append(pair)
                else:
                    left_out[reason] += 1
                    side = next((at for at, words in enumerate(pair) if not words), 0)
                    notes.add(f"left out: {reason}", sources[side].path, line)
            for side, stream in enumerate(streams):
                stream.write(b"".join(b" ".join(pair[side]) + b"\n" for pair in good))
                words[side] += sum(len(pair[side]) for pair in good)
            progress.advance(len(sides[0]))
        if not any(kept):
            counts = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items())
            problem = f"no sentence is left: {counts}"
            remedy = "write one sentence on each line, or raise --max-sentence-length"
            raise CorpusError(problem, path=sources[0].path, remedy=remedy)
    for text, model in zip(outputs, truecase_models, strict=False):
        _truecase_text(text, model)
    # a full stop without a blank before it is normal in a few lines, but most raw lines have one
    is_rare = notes.counts.get(LOOKS_RAW, 0) <= sum(kept) / 2
    if is_rare or any(source.settings.tokenize for source in sources):
        notes.counts.pop(LOOKS_RAW, None)
    return PreparedText(kept, left_out, words, notes)


def _truecase_text(text: Path, model: Path) -> None:
    """Learn the usual case of words from a prepared text, write the model, truecase the text."""
    learnt = preparation.learn_case(preparation.read_text(text))
    write_atomically(model, "".join(f"{line}\n" for line in learnt).encode("utf-8"))
    truecase = preparation.Truecaser(learnt)
    with open_output(text) as stream:
        for line in preparation.read_text(text):
            stream.write(" ".join(truecase(line.split(" "))).encode("utf-8") + b"\n")


def _check_lengths(pair: Sequence[list[bytes]], sources: Sequence[TextSource], line: int) -> None:
    """Refuse sentences that no later step could use (called if there is no cleaning)."""
    for words, source in zip(pair, sources, strict=True):
        if not 1 <= len(words) <= MAX_WORDS:
            problem = f"a sentence of {len(words):,} words, expected 1 to {MAX_WORDS:,}"
            remedy = "correct the line, or build without --no-cleaning to leave such lines out"
            raise CorpusError(problem, path=source.path, line=line, remedy=remedy)
