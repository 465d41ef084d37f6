"""Reads the segmentation of the candidates of an n-best list into phrase pairs.

Moses prints the segmentation on request in one of two notations: as a column of spans such as
``0-1=0-1 2=2`` (source=target, positions from 0, phrases in target order), or as a mark after each
phrase of the translation itself, ``la maison |0-1| . |2-2|``. In the first notation the target span
of an empty phrase has no end or, at the start of a sentence, a meaningless end. Therefore all ends
of target spans are ignored: a phrase ends where the next phrase begins. The second notation omits
empty target phrases, so a source word without a phrase is taken as translated by the empty phrase.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from phrasescore.errors import NBestError
from phrasescore.table.phrase_table import words_of

# up to 20 digits, because Moses prints position -1 as 2^64 - 1
_PLACE = rb"[0-9]{1,20}"
_SPAN = re.compile(rb"(%b)(?:-(%b))?=(%b)(?:-%b)?" % ((_PLACE,) * 4))
_MARK = re.compile(rb"\|(%b)-(%b)\|" % ((_PLACE,) * 2))
# in a list, a blank precedes every word
_MARK_IN_LIST = re.compile(rb" %b(?= |$)" % _MARK.pattern, re.MULTILINE)
_REMEDY = (
    "make the list with -include-segmentation-in-n-best (moses and phrasescore decode have this "
    "option; for mert-moses.pl: --decoder-flags=-include-segmentation-in-n-best)"
)
_OTHER_SOURCE = "name the text that the list was made from"

# a source and a target phrase, words joined by one space
PhrasePair = tuple[bytes, bytes]


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
        raise NBestError("the list does not say which phrases were used", remedy=_REMEDY)
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


# a source phrase (its first word, and the word after its last) and its first target word
_Place = tuple[int, int, int]


def _read_spans(column: bytes) -> list[_Place]:
    places = []
    for token in words_of(column):
        match = _SPAN.fullmatch(token)
        if match is None:
            shown = token[:40].decode("utf-8", "replace")
            raise NBestError(f"the segmentation has {shown!r}, expected a span such as 0-1=0-1")
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
