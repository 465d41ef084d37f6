"""The register of constructions, and what every finished sentence goes through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sample_corpus.grammar import english_words, french_words
from sample_corpus.grammar.agreement import Agreement
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.tenses import (
    CAN,
    COULD,
    FUTURE,
    GOING_TO,
    HAS_JUST,
    MUST,
    PAST,
    PERFECT,
    PRESENT,
    PROGRESSIVE,
    SHOULD,
    STATE_PAST,
    USED_TO,
    Tense,
)
from sample_corpus.grammar.text import Text
from sample_corpus.grammar.verbs import Frame

_STATE_TENSES = ((PRESENT, 65.0), (STATE_PAST, 28.0), (FUTURE, 7.0))
_EVENT_TENSES = (
    (PAST, 48.0),
    (PERFECT, 10.0),
    (FUTURE, 14.0),
    (GOING_TO, 10.0),
    (MUST, 6.0),
    (SHOULD, 4.0),
    (COULD, 3.0),
    (HAS_JUST, 5.0),
)
_ACTIVITY_TENSES = (
    (PRESENT, 20.0),
    (PROGRESSIVE, 20.0),
    (PAST, 26.0),
    (PERFECT, 5.0),
    (FUTURE, 8.0),
    (GOING_TO, 7.0),
    (USED_TO, 4.0),
    (CAN, 3.0),
    (MUST, 4.0),
    (SHOULD, 3.0),
)

Builder = Callable[[Draw], Text]


@dataclass(frozen=True)
class Construction:
    """A way to build a sentence.

    Args:
        build: Returns the sentence with its punctuation, before elision.
        weight: How often it is drawn.
    """

    build: Builder
    weight: float

    @property
    def name(self) -> str:
        """Return what the README calls it."""
        return self.build.__name__.replace("_", " ")


CONSTRUCTIONS: list[Construction] = []


def construction(weight: float) -> Callable[[Builder], Builder]:
    """Enter a function in the register."""

    def enter(build: Builder) -> Builder:
        CONSTRUCTIONS.append(Construction(build, weight))
        return build

    return enter


def tense_for(draw: Draw, frame: Frame) -> Tense:
    """Draw a tense that suits a verb."""
    if frame.stative:
        return draw.weigh(_STATE_TENSES)
    return draw.weigh(_EVENT_TENSES if frame.punctual else _ACTIVITY_TENSES)


def said_tense(draw: Draw, frame: Frame) -> Tense:
    """Draw a tense that needs no adverbial to sound complete."""
    tense = tense_for(draw, frame)
    return PROGRESSIVE if tense is PRESENT and not frame.stative else tense


def past_of(frame: Frame) -> Tense:
    """Return the simple past that suits a verb."""
    return STATE_PAST if frame.stative else PAST


def agreeing(adjective: str, agreement: Agreement) -> str:
    """Return a French adjective or participle that follows the rules, agreeing."""
    form = french_words.feminine(adjective) if agreement.feminine else adjective
    return french_words.plural(form) if agreement.plural else form


def finish(draw: Draw, text: Text) -> Text:
    """Apply what depends on neighbouring words: elision, "an", contractions, the capital."""
    english = english_words.fix_articles(text.english)
    if draw.chance(0.4):
        english = english_words.contract(english)
    french = french_words.elide(text.french)
    return Text(_capital(_tidy(english)), _capital(_tidy(french)))


def _tidy(text: str) -> str:
    return " ".join(text.split(" ")).replace(" ,", ",").replace(" .", ".").replace("  ", " ")


def _capital(text: str) -> str:
    for position, character in enumerate(text):
        if character.isalnum():
            return text[:position] + character.upper() + text[position + 1 :]
    return text
