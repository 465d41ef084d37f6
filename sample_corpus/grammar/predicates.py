"""Predicates from frames: a verb meets its subject and object, full or as a pronoun."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sample_corpus.grammar.agreement import Agreement
from sample_corpus.grammar.clauses import Predicate
from sample_corpus.grammar.determiners import after_negation
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.french_groups import FrenchVerb
from sample_corpus.grammar.french_words import with_preposition
from sample_corpus.grammar.noun_phrases import ME, NounPhrase, build, negated, noun_phrase, person
from sample_corpus.grammar.text import Text
from sample_corpus.grammar.verbs import Frame

_SUBJECT_DETERMINERS = (("the", 6.0), ("possessive", 2.0), ("this", 1.0), ("the many", 2.0))
_DEFINITE = (("the", 5.0), ("this", 1.5), ("possessive", 2.0), ("owner", 1.0), ("the many", 1.0))
_ONE = (("a", 4.0), ("another", 1.0), ("the", 1.0))
_SEVERAL = (("the many", 4.0), ("possessive many", 2.0), ("this many", 1.0))
# "penser à lui", never "lui penser"
_STRONG_AFTER_A = ("penser", "s'intéresser")


@dataclass(frozen=True)
class Scene:
    """Who does what: the start of most sentences.

    Args:
        subject: Who.
        frame: Does what kind of thing.
        object: To what; None without an object.
        predicate: The verb and its object.
    """

    subject: NounPhrase
    frame: Frame
    object: NounPhrase | None
    predicate: Predicate


def subject_for(draw: Draw, frame: Frame) -> NounPhrase:
    """Draw a subject of a kind the verb accepts."""
    kind = draw.choose(frame.subjects.split())
    if kind == "person":
        return person(draw)
    determiner = draw.weigh(_SUBJECT_DETERMINERS)
    if kind == "kin":
        determiner = "possessive"
    if kind in ("technical", "learner") and draw.chance(0.5):
        return person(draw)
    return noun_phrase(draw, kind, determiner=determiner, adjectives=0.15)


def object_for(draw: Draw, frame: Frame, subject: NounPhrase) -> NounPhrase:
    """Draw an object of a kind the verb accepts."""
    determiner = ""
    if "several" in frame.flags:
        determiner = draw.weigh(_SEVERAL)
    elif "one" in frame.flags:
        determiner = draw.weigh(_ONE)
    elif "own" in frame.flags:
        determiner = "possessive"
    elif "the" in frame.flags or frame.preposition:
        determiner = draw.weigh(_DEFINITE)
    kind = draw.choose(frame.objects.split())
    owner = subject if "own" in frame.flags or draw.chance(0.5) else None
    found = noun_phrase(draw, kind, determiner=determiner, owner=owner)
    if found.noun is not None:
        draw.note(frame.english, found.noun.english[0])
        if "liked" in frame.flags:
            return _in_general(found)
    return found


def _in_general(phrase: NounPhrase) -> NounPhrase:
    """Return the phrase in its general sense: "cheese", "le fromage"."""
    noun = phrase.noun
    if noun is None:
        return phrase
    article = build(noun, "the", plural=not noun.has("mass"))
    bare = article.english.removeprefix("the ")
    return NounPhrase(bare, article.french, article.agreement, noun=noun)


def _english_tail(frame: Frame, phrase: str, particle_last: bool) -> str:
    words = frame.english.split(" ")[1:]
    if words and words[0].endswith("*"):
        particle = words[0].removesuffix("*")
        return f"{phrase} {particle}" if particle_last else f"{particle} {phrase}"
    return " ".join(words).replace("_", phrase)


def _predicate(frame: Frame, english: str, french: str, verb: FrenchVerb) -> Predicate:
    return Predicate(frame.english_verb, english, verb, french, stative=frame.stative)


def without_object(frame: Frame) -> Predicate:
    """Return the predicate of a verb that needs no object."""
    tail = frame.english.partition(" ")[2]
    end = f"{frame.preposition} {frame.french_end}".strip() if "_" in frame.french else ""
    french = end or frame.french_end
    return replace(
        _predicate(frame, tail, french, FrenchVerb(frame.infinitive)),
        negated=Text(tail, after_negation(french, frame.infinitive)),
    )


def with_object(draw: Draw, frame: Frame, phrase: NounPhrase) -> Predicate:
    """Return the predicate with a full object: "turn the light on", "allumer la lumière"."""
    last = "*" in frame.english and draw.chance(0.35)
    long_object = len(phrase.english.split(" ")) > 4
    english = _english_tail(frame, phrase.english, last and not long_object)
    french = f"{with_preposition(frame.preposition, phrase.french)} {frame.french_end}".strip()
    predicate = _predicate(frame, english, french, FrenchVerb(frame.infinitive))
    if frame.preposition:
        return predicate
    after = negated(phrase)
    return Predicate(
        predicate.english_verb,
        predicate.english_tail,
        predicate.french_verb,
        predicate.french_tail,
        Text(
            _english_tail(frame, after.english, last and not long_object),
            f"{after.french} {frame.french_end}".strip(),
        ),
        frame.stative,
    )


def can_be_pronoun(frame: Frame) -> bool:
    """Tell whether the object may be replaced by a pronoun."""
    last = frame.preposition.rpartition(" ")[2]
    return "whole" not in frame.flags and last not in ("chercher", "sur")


def with_pronoun(frame: Frame, agreement: Agreement, human: bool) -> Predicate:
    """Return the predicate with a pronoun for its object: "turn it on", "l'allumer"."""
    english = _english_tail(frame, object_pronoun(agreement, human), True)
    lead, _, preposition = frame.preposition.rpartition(" ")
    direct = preposition not in ("à", "de")
    fixed = lead if not direct else frame.preposition
    strong = ""
    if direct:
        clitic = direct_clitic(agreement)
    elif preposition == "à":
        clitic = _dative_clitic(agreement) if human else "y"
        if human and frame.infinitive in _STRONG_AFTER_A:
            clitic, strong = "", f"à {strong_pronoun(agreement)}"
    else:
        clitic = "" if human else "en"
        strong = f"de {strong_pronoun(agreement)}" if human else ""
    tail = " ".join(part for part in (fixed, strong, frame.french_end) if part)
    verb = FrenchVerb(
        frame.infinitive, (clitic,) if clitic else (), preceding=agreement if direct else None
    )
    return _predicate(frame, english, tail, verb)


def object_pronoun(agreement: Agreement, human: bool) -> str:
    """Return "me", "you", "him", "her", "it", "us" or "them"."""
    if agreement.person == 3:
        if agreement.english_plural:
            return "them"
        return ("her" if agreement.feminine else "him") if human else "it"
    if agreement.person == 1:
        return "us" if agreement.english_plural else "me"
    return "you"


def direct_clitic(agreement: Agreement) -> str:
    """Return the clitic of a direct object: "me", "le", "les"."""
    if agreement.person == 3:
        if agreement.plural:
            return "les"
        return "la" if agreement.feminine else "le"
    return _first_or_second(agreement)


def _dative_clitic(agreement: Agreement) -> str:
    if agreement.person == 3:
        return "leur" if agreement.plural else "lui"
    return _first_or_second(agreement)


def _first_or_second(agreement: Agreement) -> str:
    if agreement.plural:
        return "nous" if agreement.person == 1 else "vous"
    return "me" if agreement.person == 1 else "te"


def strong_pronoun(agreement: Agreement) -> str:
    """Return the pronoun that follows a preposition: "moi", "elle", "eux"."""
    if agreement.person == 3:
        if agreement.plural:
            return "elles" if agreement.feminine else "eux"
        return "elle" if agreement.feminine else "lui"
    if agreement.plural:
        return "nous" if agreement.person == 1 else "vous"
    return "moi" if agreement.person == 1 else "toi"


def scene(draw: Draw, frames: Sequence[Frame], subject: NounPhrase | None = None) -> Scene:
    """Draw a frame, its subject (unless given) and its object."""
    usable = frames if subject is None else [f for f in frames if accepts(f, subject)]
    frame = draw.choose(usable)
    subject = subject or subject_for(draw, frame)
    if not frame.objects:
        if subject.noun is not None:
            draw.note(frame.english, subject.noun.english[0])
        return Scene(subject, frame, None, without_object(frame))
    phrase = object_for(draw, frame, subject)
    while phrase.english == subject.english:
        phrase = object_for(draw, frame, subject)
    return Scene(subject, frame, phrase, with_object(draw, frame, phrase))


def movable(frame: Frame) -> bool:
    """Tell whether the object can be the head of a relative clause with *que*."""
    return (
        not frame.preposition
        and not frame.french_end
        and "*" not in frame.english
        and "whole" not in frame.flags
        and "person" in frame.subjects.split()
    )


def speaks_for_itself(frame: Frame) -> bool:
    """Tell whether the verb means something without its object: "eat", but not "make"."""
    light = ("make", "take", "ask", "draw", "keep", "get", "raise", "do", "run", "hold", "break")
    return frame.english_verb not in light and "liked" not in frame.flags


def object_moved(frame: Frame) -> Predicate | None:
    """Return the predicate whose object stands elsewhere: "what do you look for?"."""
    words = frame.english.split(" ")[1:]
    if any(word.endswith("*") for word in words):
        return None
    tail = " ".join(word for word in words if word != "_")
    return Predicate(
        frame.english_verb, tail, FrenchVerb(frame.infinitive), "", stative=frame.stative
    )


def accepts(frame: Frame, subject: NounPhrase) -> bool:
    """Tell whether a given subject may do this."""
    kinds = frame.subjects.split()
    if subject.noun is None:
        return any(kind in ("person", "technical", "learner") for kind in kinds)
    return any(subject.noun.has(kind) for kind in kinds)


def action(draw: Draw, frames: Sequence[Frame], subject: NounPhrase = ME) -> Predicate:
    """Draw a predicate for a subject that is known or does not matter."""
    return scene(draw, frames, subject).predicate
