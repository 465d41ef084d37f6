"""The phrase pairs that the candidates of an n-best list consist of.

Moses prints them on request in one of two notations: as a column of spans such as ``0-1=0-1 2=2``
(source=target, positions from 0, phrases in the order of the target), or behind each phrase of the
translation itself, ``la maison |0-1| . |2-2|``. For an empty target phrase the first notation has
only the begin, or, at the beginning of a sentence, a nonsensical end. Target ends are therefore not
read: a phrase ends where the next one begins. The second notation omits empty target phrases, so a
source word that no phrase covers counts as translated by nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from moses_integration.nbest.format import NBestEntry
from phrasescore.errors import NBestError
from phrasescore.table.phrase_table import words_of

# up to 20 digits, because Moses prints position -1 as 2^64 - 1
_PLACE = rb"[0-9]{1,20}"
_SPAN = re.compile(rb"(%b)(?:-(%b))?=(%b)(?:-%b)?" % ((_PLACE,) * 4))
_MARK = re.compile(rb"\|(%b)-(%b)\|" % ((_PLACE,) * 2))
_REMEDY = (
    "make the list with -include-segmentation-in-n-best (moses and phrasescore decode have this "
    "option; for mert-moses.pl: --decoder-flags=-include-segmentation-in-n-best)"
)
_OTHER_SOURCE = "name the text that the list was made from as --source"

# a source and a target phrase, words joined by one space
PhrasePair = tuple[bytes, bytes]


def phrase_pairs(columns: Sequence[bytes], source: Sequence[bytes]) -> list[PhrasePair]:
    """Return the phrase pairs of a candidate, in the order of the target.

    Args:
        columns: The columns of its line, four or more.
        source: The words of the sentence that it translates.

    Raises:
        NBestError: The line has no segmentation, or one that does not fit the sentence.

    >>> line = b"0 ||| la maison .  ||| LM0= -4.5 ||| -1 ||| 0-1=0-1 2=2"
    >>> phrase_pairs(line.split(b"|||"), [b"the", b"house", b"."])
    [(b'the house', b'la maison'), (b'.', b'.')]
    """
    words = words_of(columns[1])
    spans = _spans_of_column(columns, words)
    if spans is None:
        words, spans = _spans_of_marks(words)
        if not spans and (words or source):
            raise NBestError(
                "nothing says which phrases this translation is made of", remedy=_REMEDY
            )
        return _pairs(spans, words, source, may_lack_words=True)
    return _pairs(spans, words, source)


# a source phrase (its first word, and the word after its last) and its first target word
_Span = tuple[int, int, int]


def _spans_of_column(columns: Sequence[bytes], words: Sequence[bytes]) -> list[_Span] | None:
    if len(columns) < 5 or (b"=" not in columns[4] and (columns[4].strip(b" ") or words)):
        return None
    spans = []
    for token in words_of(columns[4]):
        match = _SPAN.fullmatch(token)
        if match is None:
            shown = token[:40].decode("utf-8", "replace")
            raise NBestError(f"the segmentation has {shown!r}, expected a span such as 0-1=0-1")
        begin = int(match[1])
        spans.append((begin, int(match[2] or begin) + 1, int(match[3])))
    return spans


def without_marks(words: bytes) -> bytes:
    """Remove the marks that Moses prints with -t, such as ``|0-1|``.

    >>> without_marks(b"la maison |0-1| . |2-2|")
    b'la maison .'
    """
    if b"|" not in words:
        return words
    return b" ".join(word for word in words.split(b" ") if not _MARK.fullmatch(word))


def _spans_of_marks(tokens: Sequence[bytes]) -> tuple[list[bytes], list[_Span]]:
    """Return the words of a translation without its marks, and the spans of the marks."""
    words: list[bytes] = []
    spans: list[_Span] = []
    begin = 0
    for token in tokens:
        if (match := _MARK.fullmatch(token)) is None:
            words.append(token)
        else:
            spans.append((int(match[1]), int(match[2]) + 1, begin))
            begin = len(words)
    return words, spans


def _pairs(
    spans: Sequence[_Span],
    words: Sequence[bytes],
    source: Sequence[bytes],
    *,
    may_lack_words: bool = False,
) -> list[PhrasePair]:
    covered = [False] * len(source)
    begins = [begin for _, _, begin in spans]
    stops = [*begins[1:], len(words)][: len(spans)]
    pairs = []
    for (first, end, begin), stop in zip(spans, stops, strict=True):
        if not first < end <= len(source) or any(covered[first:end]):
            raise NBestError(
                f"the phrase {first}-{end - 1} does not fit into the {len(source)} words of the "
                "source",
                remedy=_OTHER_SOURCE,
            )
        if not begin <= stop <= len(words):
            raise NBestError(
                "the phrases are not in the order of the target", remedy="make the list again"
            )
        covered[first:end] = [True] * (end - first)
        pairs.append((b" ".join(source[first:end]), b" ".join(words[begin:stop])))
    if may_lack_words:
        pairs += [(word, b"") for word, found in zip(source, covered, strict=True) if not found]
    elif not all(covered) or (begins and begins[0] != 0):
        raise NBestError(
            f"the phrases cover {sum(covered)} of the {len(source)} words of the source",
            remedy=_OTHER_SOURCE,
        )
    return pairs


@dataclass(frozen=True)
class PhraseSpan:
    """A phrase of a candidate, by positions in the source and in the target.

    Args:
        first: Its first source word.
        end: The source word after its last.
        begin: Its first target word.
        stop: The target word after its last.
    """

    first: int
    end: int
    begin: int
    stop: int


def phrase_spans(entry: NBestEntry, length: int) -> tuple[list[PhraseSpan], list[bytes]]:
    """Return the phrases of a candidate in the order they were applied, and its target words.

    Args:
        entry: The candidate.
        length: Words of the source sentence.

    Raises:
        NBestError: The entry has no segmentation, or one that does not fit the sentence.
    """
    words = words_of(entry.words)
    columns = [b""] * 4 + ([] if entry.segmentation is None else [entry.segmentation])
    spans = _spans_of_column(columns, words)
    if spans is None:
        words, spans = _spans_of_marks(words)
    if not spans and (words or length):
        raise NBestError("nothing says which phrases this translation is made of", remedy=_REMEDY)
    source = [b""] * length
    _pairs(spans, words, source)
    stops = [*(begin for _, _, begin in spans[1:]), len(words)]
    return [
        PhraseSpan(first, end, begin, stop)
        for (first, end, begin), stop in zip(spans, stops, strict=False)
    ], words
