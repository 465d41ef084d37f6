"""Only, nothing, nobody, neither: negations that are words of the sentence."""

from __future__ import annotations

from dataclasses import replace

from sample_corpus.grammar.agreement import Agreement
from sample_corpus.grammar.clauses import Clause, Negation, Predicate
from sample_corpus.grammar.constructions import construction, past_of
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.french_groups import FrenchVerb
from sample_corpus.grammar.noun_phrases import NounPhrase, person
from sample_corpus.grammar.nouns import nouns_of
from sample_corpus.grammar.predicates import object_moved, scene
from sample_corpus.grammar.tenses import FUTURE, PAST, PRESENT
from sample_corpus.grammar.text import NOTHING, Text, full_stop, join, rows, texts
from sample_corpus.grammar.verbs import ACTIONS, INTRANSITIVES

_BY_PEOPLE = tuple(f for f in ACTIONS + INTRANSITIVES if "person" in f.subjects.split())
_LIMITED = tuple(
    frame
    for frame in ACTIONS
    if not frame.preposition
    and not frame.french_end
    and not frame.punctual
    and not frame.stative
    and "*" not in frame.english
)
_OF_THINGS = rows("""
see ; voir
hear ; entendre
find ; trouver
say ; dire
eat ; manger
buy ; acheter
understand ; comprendre
change ; changer
promise ; promettre
win ; gagner
""")
_OF_PEOPLE = rows("""
see ; voir
hear ; entendre
find ; trouver
meet ; rencontrer
recognise ; reconnaître
invite ; inviter
""")
_WHERE = (
    NOTHING,
    NOTHING,
    *texts("at the party = à la fête ; this time = cette fois ; in this town = dans cette ville"),
)
# *ne* stands alone: the other half of the negation is in the tail
_NE = Negation("", "")
_NE_QUE = Negation("only", "")


@construction(3)
def only(draw: Draw) -> Text:
    """Only: *ne ... que* before what is limited."""
    found = scene(draw, _LIMITED)
    bare = object_moved(found.frame)
    assert found.object is not None and bare is not None
    predicate = Predicate(
        bare.english_verb,
        join(bare.english_tail, found.object.english),
        bare.french_verb,
        f"que {found.object.french}",
    )
    return full_stop(
        Clause(found.subject, predicate, draw.choose((PRESENT, PAST)), _NE_QUE).statement()
    )


@construction(1.5)
def nobody(draw: Draw) -> Text:
    """Nobody does it: *personne ne*."""
    someone = NounPhrase("nobody", "personne ne", Agreement())
    found = scene(draw, _BY_PEOPLE, someone)
    tense = draw.choose((past_of(found.frame), PRESENT if found.frame.stative else FUTURE))
    tails = found.predicate.tails(True)
    predicate = replace(
        found.predicate, english_tail=tails.english, french_tail=tails.french, negated=None
    )
    return full_stop(Clause(someone, predicate, tense).statement())


@construction(2.5)
def nothing_and_not_anybody(draw: Draw) -> Text:
    """Not anything, not anybody: *rien* before the participle, *personne* after it."""
    if draw.chance(0.5):
        english, french = draw.choose(_OF_THINGS)
        negation = Negation("", "rien")
        predicate = Predicate(english, "anything", FrenchVerb(french), "")
    else:
        english, french = draw.choose(_OF_PEOPLE)
        negation = _NE
        predicate = Predicate(english, "anybody", FrenchVerb(french), "personne")
    tense = draw.choose((PAST, FUTURE))
    clause = Clause(person(draw), predicate, tense, negation, shortened=draw.chance(0.8))
    return full_stop(clause.statement(), draw.choose(_WHERE))


@construction(1.5)
def neither_nor(draw: Draw) -> Text:
    """Neither ... nor: *ni ... ni* without articles."""
    verb, french, tense = draw.choose(
        (
            ("want", "vouloir", PRESENT),
            ("buy", "acheter", PAST),
            ("have", "avoir", PRESENT),
            ("bring", "apporter", PAST),
        )
    )
    one, other = draw.shuffle(nouns_of("food drink ingredient"))[:2]
    draw.note(one.english[0], other.english[0])
    predicate = Predicate(
        verb,
        f"neither {one.english[0]} nor {other.english[0]}",
        FrenchVerb(french),
        f"ni {one.french[0]} ni {other.french[0]}",
    )
    subject = person(draw)
    english = Clause(subject, predicate, tense).statement().english
    return full_stop(Text(english, Clause(subject, predicate, tense, _NE).statement().french))
