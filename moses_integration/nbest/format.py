r"""Moses n-best lists: one candidate translation a line, read and written byte by byte.

A line is ``ID ||| words  ||| Name= v v Name= v ||| total``. On request, `` ||| segmentation`` and
`` ||| word alignment`` follow. Every word is followed by a space, so there are two spaces
before the second ``|||``. Numbers have six significant digits. Feature functions and single
components that are not tuneable are missing. Sparse features follow the dense values of their
feature function as ``Name_sparse= v``.

Lines end at ``\n`` and words at a space; nothing else separates them.
``moses_integration.nbest.arrays`` reads whole files by the same rules, without an object per line.

Moses prints the segmentation into phrases in one of two notations: as a column of spans such as
``0-1=0-1 2=2`` (source=target, positions from 0, phrases in target order), or as a mark after each
phrase of the translation itself, ``la maison |0-1| . |2-2|``. In the first notation the target span
of an empty phrase has no end or, at the start of a sentence, a meaningless end. Therefore all ends
of target spans are ignored: a phrase ends where the next phrase begins. The second notation omits
empty target phrases, so a source word without a phrase is taken as translated by the empty phrase.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from phrasescore.errors import CorpusError, NBestError, counted, located
from phrasescore.runs.file_kinds import can_be_read_again
from phrasescore.table import input_files
from phrasescore.table.phrase_table import SEPARATOR, words_of

if TYPE_CHECKING:
    from phrasescore.generation.translator import Translated

PIPES = b"|||"
MAX_SENTENCES = 10**9 - 1  # sentence numbers are 32-bit integers in the arrays of whole lists
CUT_REMEDY = "the decoder was stopped, or the disk was full: decode again"
# up to 20 digits, because Moses prints position -1 as 2^64 - 1
_PLACE = rb"[0-9]{1,20}"
_SPAN = re.compile(rb"(%b)(?:-(%b))?=(%b)(?:-%b)?" % ((_PLACE,) * 4))
_MARK = re.compile(rb"\|(%b)-(%b)\|" % ((_PLACE,) * 2))
# in a list, a blank precedes every word
_MARK_IN_LIST = re.compile(rb" %b(?= |$)" % _MARK.pattern, re.MULTILINE)
_SHOW_PHRASES = (
    "make the list with -include-segmentation-in-n-best (phrasescore decode: with two hyphens; "
    "mert-moses.pl: --decoder-flags=-include-segmentation-in-n-best)"
)
_OTHER_SOURCE = "name the text that the list was made from"

# a source and a target phrase, words joined by one space
PhrasePair = tuple[bytes, bytes]


@dataclass(frozen=True)
class NBestEntry:
    """One candidate translation.

    Args:
        sentence: The number of the translated sentence, from 0.
        words: The words with one space between them; empty for an empty translation.
        features: The unweighted values of each feature function by name, in the list's order.
        total: The model score, which also includes features that the list does not show.
        segmentation: Spans such as ``0-1=0-1 2=2`` (source=target); ``None`` if not printed.
        alignment: Links such as ``0-0 1-1``; ``None`` if not printed.
    """

    sentence: int
    words: bytes
    features: Mapping[str, tuple[float, ...]]
    total: float
    segmentation: bytes | None = None
    alignment: bytes | None = None

    def to_bytes(self) -> bytes:
        r"""Return the line Moses would print, line feed included.

        >>> NBestEntry(0, b"la maison", {"LM0": (-4.5,)}, -1e-5, alignment=b"0-0 1-1").to_bytes()
        b'0 ||| la maison  ||| LM0= -4.5 ||| -1e-05 ||| 0-0 1-1 \n'
        """
        parts = [b"%d ||| " % self.sentence]
        parts += [word + b" " for word in words_of(self.words)]
        parts.append(b" |||")
        for name, values in self.features.items():
            parts.append(b" " + name.encode("utf-8", "surrogateescape") + b"=")
            parts += [b" %.6g" % value for value in values]
        parts.append(b" ||| %.6g" % self.total)
        if self.segmentation is not None:
            parts.append(b" |||")
            parts += [b" " + span for span in words_of(self.segmentation)]
        if self.alignment is not None:
            parts.append(SEPARATOR)
            parts += [link + b" " for link in words_of(self.alignment)]
        parts.append(b"\n")
        return b"".join(parts)


def parse_entry(line: bytes) -> NBestEntry:
    """Parse one line, given without its line feed.

    Raises:
        NBestError: A column is missing, or a number or label is malformed.

    >>> entry = parse_entry(b"7 ||| la maison  ||| LM0= -4.5 WordPenalty0= -2 ||| -1.25")
    >>> entry.sentence, entry.words, entry.features["LM0"], entry.total
    (7, b'la maison', (-4.5,), -1.25)
    """
    columns = split_columns(line)
    segmentation, alignment = extra_columns(columns[4:6])
    return NBestEntry(
        sentence=_sentence(columns[0].strip(b" ")),
        words=b" ".join(words_of(columns[1])),
        features=_features(columns[2]),
        total=_number(columns[3].strip(b" "), "total"),
        segmentation=segmentation,
        alignment=alignment,
    )


def split_columns(line: bytes) -> list[bytes]:
    """Split a line into its columns, blanks included.

    Raises:
        NBestError: There are fewer than four columns.
    """
    columns = line.split(PIPES, 6)
    if len(columns) < 4:
        raise NBestError(
            f"{counted(len(columns), 'column')}, expected at least 4 "
            "(sentence ||| words ||| features ||| total)",
            remedy=_conversion(columns),
        )
    return columns


def _conversion(columns: list[bytes]) -> str:
    """Return the advice for a line with too few columns, by the format that it resembles."""
    numbers = [input_files.finite_number(number) for number in words_of(columns[-1])]
    if len(columns) == 3 and numbers and None not in numbers:
        scores = "one score, as from Nematus" if len(numbers) == 1 else "the scores of words"
        found = f"three columns with {scores}"
    elif len(columns) == 1:
        found = "columns separated by tabs, as from fairseq" if b"\t" in columns[0] else "a text"
    else:
        return CUT_REMEDY
    return f"this looks like {found}: write lines such as 0 ||| words ||| Score0= -1.5 ||| -1.5"


def extra_columns(columns: list[bytes]) -> tuple[bytes | None, bytes | None]:
    """Return the segmentation and the alignment; ``None`` for a missing column.

    A single extra column is a segmentation if it contains ``=`` or is completely empty.
    """
    if len(columns) == 2:
        return columns[0].strip(b" "), columns[1].strip(b" ")
    if not columns:
        return None, None
    text = columns[0].strip(b" ")
    is_segmentation = b"=" in text if text else not columns[0]
    return (text, None) if is_segmentation else (None, text)


def _sentence(text: bytes) -> int:
    number = input_files.whole_number(text, MAX_SENTENCES)
    if number is None:
        raise NBestError(
            f"the line starts with {_shown(text)}, expected the number of a sentence",
            remedy="check that this is an n-best list",
        )
    return number


def _features(column: bytes) -> dict[str, tuple[float, ...]]:
    features: dict[str, list[float]] = {}
    name = ""
    for token in words_of(column):
        if token.endswith(b"="):
            name = token[:-1].decode("utf-8", "surrogateescape")
            if name in features:
                raise NBestError(f"the feature {name} occurs twice in one line")
            if name:
                features[name] = []
        elif name:
            features[name].append(_number(token, f"value of {name}"))
        else:
            raise NBestError(
                f"{_shown(token)}, expected the label of a feature such as LM0=",
                remedy="let the decoder print labels (no -labeled-n-best-list false)",
            )
    return {name: tuple(values) for name, values in features.items()}


def _number(text: bytes, what: str) -> float:
    if (number := input_files.finite_number(text)) is None:
        raise NBestError(f"the {what} is {_shown(text)}, expected a finite number")
    return number


def _shown(text: bytes) -> str:
    return repr(text[:40].decode("utf-8", "replace")) if text else "nothing"


def cut_short() -> NBestError:
    """Return the error of a list whose last line has no line feed."""
    return NBestError("the list ends in the middle of a line", remedy=CUT_REMEDY)


def out_of_order(sentence: int, before: int) -> NBestError:
    """Return the error of a sentence that follows a sentence with a higher number."""
    return NBestError(
        f"sentence {sentence} comes after sentence {before}",
        remedy="give each list its own file, in which sentence numbers never decrease",
    )


def read_nbest(path: str | Path) -> Iterator[NBestEntry]:
    """Yield the candidates of a plain or gzip n-best list, in its order.

    Raises:
        NBestError: A line violates the format, sentence numbers decrease, or the list is cut short
            (its last line has no line feed).
    """
    last = 0
    with input_files.open_input(path) as stream:
        for number, line in enumerate(stream, 1):
            with located(path, number):
                if not line.endswith(b"\n"):
                    raise cut_short()
                entry = parse_entry(line[:-1])
                if entry.sentence < last:
                    raise out_of_order(entry.sentence, last)
            last = entry.sentence
            yield entry


def read_nbest_lists(path: str | Path) -> Iterator[tuple[int, list[NBestEntry]]]:
    """Yield the number of each sentence with all of its candidates, in the list's order."""
    for sentence, entries in itertools.groupby(read_nbest(path), lambda entry: entry.sentence):
        yield sentence, list(entries)


def nbest_lines(line: Translated) -> bytes:
    """Return the n-best lines of a sentence that a model of sentences has translated.

    Each line has two features, ln p and the word penalty. The best translation comes first. An
    empty sentence has no lines.

    Args:
        line: The translations; lines of the text count from 1, sentences of the list from 0.

    Raises:
        CorpusError: A translation has a word that the list cannot hold.
    """
    lines = []
    for each in line.translations:
        text, penalty = _text(each.words, line.number), 0.0 - len(each.words)
        features = {"AttentionModel0": (each.ln_p,), "WordPenalty0": (penalty,)}
        lines.append(NBestEntry(line.number - 1, text, features, each.total).to_bytes())
    return b"".join(lines)


def _text(words: list[bytes], number: int) -> bytes:
    text = b" ".join(words)
    if PIPES in text:
        raise CorpusError(
            f"a translation of sentence {number:,} has |||, which ends a column of an n-best list",
            remedy="prepare the texts of training and translation with phrasescore preprocess, "
            "which escapes bars, or leave out --nbest",
        )
    return text


@dataclass(frozen=True)
class PhraseSpan:
    """The source span and the target span of one phrase of a candidate.

    Args:
        first: The first source word of the phrase.
        end: The source word after the phrase.
        begin: The first target word of the phrase.
        stop: The target word after the phrase.
    """

    first: int
    end: int
    begin: int
    stop: int


def phrase_spans(
    words: Sequence[bytes], column: bytes | None, length: int
) -> tuple[list[PhraseSpan], list[bytes]]:
    """Return the phrases of a candidate in the order of the target, and its words without marks.

    Args:
        words: The words of the candidate, with the marks between them, if any.
        column: The column of the segmentation; ``None`` if the words have marks instead.
        length: The number of words of the source sentence.

    Raises:
        NBestError: The line has no segmentation, or one that does not fit the sentence.

    >>> phrase_spans([b"la", b"maison"], b"0-1=0-1", 2)[0]
    [PhraseSpan(first=0, end=2, begin=0, stop=2)]
    >>> phrase_spans([], None, 1)
    ([PhraseSpan(first=0, end=1, begin=0, stop=0)], [])
    """
    kept, places = (list(words), _read_spans(column)) if column is not None else _read_marks(words)
    if not places and (kept or (length and column is not None)):
        raise NBestError("the list does not say which phrases were used", remedy=_SHOW_PHRASES)
    covered = [False] * length
    begins = [begin for _, _, begin in places]
    spans = []
    for (first, end, begin), stop in zip(places, [*begins[1:], len(kept)], strict=False):
        if not first < end <= length or any(covered[first:end]):
            raise NBestError(
                f"the phrase {first}-{end - 1} does not fit into the {length} words of the source",
                remedy=_OTHER_SOURCE,
            )
        if not begin <= stop <= len(kept):
            raise NBestError(
                "the phrases are not in the order of the target", remedy="make the list again"
            )
        covered[first:end] = [True] * (end - first)
        spans.append(PhraseSpan(first, end, begin, stop))
    lost = [place for place, found in enumerate(covered) if not found]
    if column is None:  # marks omit source words that are translated by the empty phrase
        spans += [PhraseSpan(place, place + 1, len(kept), len(kept)) for place in lost]
    elif lost or (begins and begins[0] != 0):
        raise NBestError(
            f"the phrases cover {length - len(lost)} of the {length} words of the source",
            remedy=_OTHER_SOURCE,
        )
    return spans, kept


def phrase_pairs(
    words: Sequence[bytes], column: bytes | None, source: Sequence[bytes]
) -> list[PhrasePair]:
    """Return the phrase pairs of a candidate in the order of the target; see `phrase_spans`.

    >>> phrase_pairs([b"la", b"maison", b"."], b"0-1=0-1 2=2", [b"the", b"house", b"."])
    [(b'the house', b'la maison'), (b'.', b'.')]
    """
    spans, kept = phrase_spans(words, column, len(source))
    return [
        (b" ".join(source[span.first : span.end]), b" ".join(kept[span.begin : span.stop]))
        for span in spans
    ]


def other_text(path: str | Path, text: str | Path) -> str | None:
    """Return a warning if the first candidates of a list seem to belong to another text."""
    if not (can_be_read_again(path) and can_be_read_again(text)):
        return None
    first: dict[bytes, bytes] = {}
    for line in input_files.read_lines(path):
        number, words, *_ = *line.split(PIPES, 2), b""
        first.setdefault(number.strip(b" "), without_marks(words))
    candidates = (first.get(b"%d" % at, b"") for at in itertools.count())
    problem = input_files.alignment_problem(
        input_files.read_lines(text), candidates, f"the first candidates of {path}"
    )
    return problem and f"{text}: {problem}; check that the list is of this text"


# a source phrase (its first word, and the word after its last) and its first target word
_Place = tuple[int, int, int]


def _read_spans(column: bytes) -> list[_Place]:
    places = []
    for token in words_of(column):
        match = _SPAN.fullmatch(token)
        if match is None:
            shown = _shown(token)
            raise NBestError(f"the segmentation has {shown}, expected a span such as 0-1=0-1")
        begin = int(match[1])
        places.append((begin, int(match[2] or begin) + 1, int(match[3])))
    return places


def without_marks(lines: bytes) -> bytes:
    """Remove the marks that Moses prints with -t, such as ``|0-1|``, from lines of a list.

    >>> without_marks(b"0 ||| la maison |0-1| . |2-2|  ||| LM0= -1 ||| -1")
    b'0 ||| la maison .  ||| LM0= -1 ||| -1'
    """
    return _MARK_IN_LIST.sub(b"", lines)


def _read_marks(tokens: Sequence[bytes]) -> tuple[list[bytes], list[_Place]]:
    """Return the words of a translation without its marks, and the spans that the marks state."""
    words: list[bytes] = []
    places: list[_Place] = []
    begin = 0
    for token in tokens:
        if (match := _MARK.fullmatch(token)) is None:
            words.append(token)
        else:
            places.append((int(match[1]), int(match[2]) + 1, begin))
            begin = len(words)
    return words, places
