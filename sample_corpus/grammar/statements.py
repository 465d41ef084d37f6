"""Plain statements: who does what, when and where; and who does not."""

from __future__ import annotations

from sample_corpus.grammar import adjuncts
from sample_corpus.grammar.clauses import (
    HARDLY,
    NEVER,
    NO_LONGER,
    NOT,
    NOT_ANY_MORE,
    NOT_YET,
    Clause,
    Negation,
)
from sample_corpus.grammar.constructions import construction, tense_for
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.predicates import Scene, scene
from sample_corpus.grammar.tenses import CAN, FUTURE, PAST, PERFECT, PRESENT, STATE_PAST, Tense
from sample_corpus.grammar.text import NOTHING, Text, full_stop, join
from sample_corpus.grammar.verbs import ACTIONS, INTRANSITIVES, Frame

_NEGATIONS = ((NOT, 70.0), (NEVER, 14.0), (NO_LONGER, 8.0), (NOT_ANY_MORE, 5.0), (HARDLY, 3.0))


def dress(draw: Draw, clause: Clause, setting: str) -> Text:
    """Add circumstances of time and place to a clause and close it with a full stop."""
    core = clause.statement()
    habitual = clause.tense is PRESENT and not clause.predicate.stative
    when = NOTHING
    if not (habitual and clause.adverb.english) and (habitual or draw.chance(0.48)):
        when = adjuncts.time(draw, clause.tense.time)
    where = adjuncts.place(draw, setting) if draw.chance(0.42) else NOTHING
    with_whom = NOTHING
    if setting not in ("none", "tech", "work") and draw.chance(0.12):
        with_whom = adjuncts.companion(draw, clause.subject)
    if when.english and adjuncts.may_be_fronted(when) and draw.chance(0.45):
        lead, end = when, NOTHING
    else:
        lead, end = NOTHING, when
    english = join(core.english, with_whom.english, where.english, end.english)
    french = join(core.french, with_whom.french, where.french, end.french)
    if lead.english:
        return Text(f"{lead.english}, {english}.", f"{lead.french}, {french}.")
    return Text(f"{english}.", f"{french}.")


def clause_of(draw: Draw, found: Scene, adverb: float = 0.15) -> Clause:
    """Draw a tense, and perhaps an adverb by the verb."""
    tense = tense_for(draw, found.frame)
    word = adjuncts.adverb(draw, tense.time) if draw.chance(adverb) else NOTHING
    return Clause(found.subject, found.predicate, tense, adverb=word)


@construction(12)
def transitive_statement(draw: Draw) -> Text:
    """Somebody does something to something."""
    found = scene(draw, ACTIONS)
    return dress(draw, clause_of(draw, found), found.frame.setting)


@construction(6)
def intransitive_statement(draw: Draw) -> Text:
    """Somebody does something."""
    found = scene(draw, INTRANSITIVES)
    return dress(draw, clause_of(draw, found), found.frame.setting)


def draw_negation(draw: Draw, frame: Frame) -> tuple[Negation, Tense]:
    """Draw a negation and a tense it goes well with."""
    negation = draw.weigh(_NEGATIONS)
    if frame.stative:
        return negation, draw.choose((PRESENT, PRESENT, STATE_PAST))
    if negation in (NO_LONGER, NOT_ANY_MORE, HARDLY):
        return negation, draw.choose((PRESENT, CAN)) if negation is not HARDLY else PRESENT
    if frame.punctual:
        return negation, draw.choose((PAST, PAST, FUTURE))
    return negation, draw.choose((PRESENT, PAST, FUTURE, CAN))


@construction(7)
def negative_statement(draw: Draw) -> Text:
    """Not, never, no longer: with the article that follows from it."""
    found = scene(draw, ACTIONS if draw.chance(0.7) else INTRANSITIVES)
    negation, tense = draw_negation(draw, found.frame)
    clause = Clause(found.subject, found.predicate, tense, negation, shortened=draw.chance(0.7))
    core = clause.statement()
    where = NOTHING
    if draw.chance(0.35):
        where = adjuncts.place(draw, found.frame.setting)
    end = negation.english_end
    english = join(core.english.removesuffix(end).strip(), where.english, end)
    return Text(f"{english}.", f"{join(core.french, where.french)}.")


@construction(2)
def not_yet(draw: Draw) -> Text:
    """Somebody has not done it yet."""
    found = scene(draw, [f for f in ACTIONS + INTRANSITIVES if not f.stative])
    clause = Clause(found.subject, found.predicate, PERFECT, NOT_YET, shortened=draw.chance(0.6))
    text = clause.statement()
    return full_stop(text)
