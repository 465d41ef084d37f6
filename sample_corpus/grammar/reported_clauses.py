"""Clauses that are known, said, asked: *savoir que*, *se demander si*, *ce que*."""

from __future__ import annotations

from sample_corpus.grammar.clauses import NOT, Clause, Predicate, infinitive
from sample_corpus.grammar.constructions import construction, past_of, said_tense
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.french_groups import FrenchVerb
from sample_corpus.grammar.noun_phrases import (
    HE,
    ME,
    SHE,
    THEY,
    WE,
    person,
)
from sample_corpus.grammar.predicates import (
    accepts,
    movable,
    object_moved,
    scene,
    speaks_for_itself,
)
from sample_corpus.grammar.tenses import (
    CONDITIONAL,
    GOING_TO,
    PAST,
    PLUPERFECT,
    PRESENT,
    STATE_PAST,
    Tense,
)
from sample_corpus.grammar.text import Text, full_stop
from sample_corpus.grammar.verbs import ACTIONS, INTRANSITIVES

_ALL = ACTIONS + INTRANSITIVES
_LIVELY = tuple(f for f in _ALL if not f.stative and not f.punctual)
_SAYINGS: tuple[tuple[Predicate, tuple[Tense, ...]], ...] = (
    (Predicate("think", "that", FrenchVerb("croire"), "que", stative=True), (PRESENT,)),
    (Predicate("know", "that", FrenchVerb("savoir"), "que", stative=True), (PRESENT, STATE_PAST)),
    (Predicate("hope", "that", FrenchVerb("espérer"), "que", stative=True), (PRESENT,)),
    (Predicate("say", "that", FrenchVerb("dire"), "que"), (PAST, PRESENT)),
    (Predicate("be", "sure that", FrenchVerb("être"), "sûr que", stative=True), (PRESENT,)),
    (Predicate("tell", "me that", FrenchVerb("dire", ("me",)), "que"), (PAST,)),
    (Predicate("hear", "that", FrenchVerb("entendre"), "dire que"), (PAST,)),
    (Predicate("forget", "that", FrenchVerb("oublier"), "que"), (PAST,)),
    (Predicate("notice", "that", FrenchVerb("remarquer"), "que"), (PAST,)),
)


@construction(7)
def reported_fact(draw: Draw) -> Text:
    """I know that, she says that: *savoir*, not *connaître*."""
    saying, tenses = draw.choose(_SAYINGS)
    subject = person(draw)
    while saying.french_verb.clitics and subject.agreement.person == 1:
        subject = person(draw)
    if "sûr" in saying.french_tail:
        feminine, plural = subject.agreement.feminine, subject.agreement.plural
        form = "sûr" + ("e" if feminine else "") + ("s" if plural else "")
        saying = Predicate("be", "sure that", FrenchVerb("être"), f"{form} que", stative=True)
    tense = draw.choose(tenses)
    main = Clause(subject, saying, tense).statement()
    fact = scene(draw, _ALL)
    inner = said_tense(draw, fact.frame)
    if tense in (PAST, STATE_PAST):
        inner = STATE_PAST if fact.frame.stative else draw.choose((PLUPERFECT, CONDITIONAL))
    negation = NOT if draw.chance(0.2) else None
    text = Clause(fact.subject, fact.predicate, inner, negation).statement()
    english = main.english if draw.chance(0.7) else main.english.removesuffix(" that")
    return Text(f"{english} {text.english}.", f"{main.french} {text.french}.")


@construction(4)
def indirect_question(draw: Draw) -> Text:
    """I don't know where, if, why, what, how to: *savoir* again."""
    subject = person(draw)
    know = Predicate("know", "", FrenchVerb("savoir"), "", stative=True)
    wonder = Predicate("wonder", "", FrenchVerb("se demander"), "")
    negation = NOT if draw.chance(0.6) else None
    if negation is None:
        know = draw.choose((wonder, know))
    main = Clause(subject, know, PRESENT, negation).statement()
    fact = scene(draw, [f for f in _ALL if not f.stative])
    if draw.chance(0.3):
        doing = scene(draw, [f for f in _LIVELY if accepts(f, subject)], subject)
        task = infinitive(doing.predicate, subject)
        english = Clause(
            subject, Predicate("know", "how to", FrenchVerb("savoir"), ""), PRESENT, negation
        ).statement()
        french = Clause(
            subject, Predicate("know", "", FrenchVerb("savoir"), ""), PRESENT, negation
        ).statement()
        return Text(f"{english.english} {task.english}.", f"{french.french} {task.french}.")
    words = (Text("why", "pourquoi"), Text("where", "où"), Text("when", "quand"))
    may_doubt = negation is not None or know is wonder
    word = Text("if", "si") if may_doubt and draw.chance(0.4) else draw.choose(words)
    inner = said_tense(draw, fact.frame)
    if word.english in ("where", "when"):
        inner = draw.choose((PAST, GOING_TO))
    text = Clause(fact.subject, fact.predicate, inner).statement()
    return full_stop(main, word, text)


@construction(2.5)
def what_one_wants(draw: Draw) -> Text:
    """What he said, what interests me: *ce que*, *ce qui*."""
    subject = draw.choose((ME, WE, HE, SHE, THEY))
    opening = Clause(
        subject,
        Predicate("know", "", FrenchVerb("savoir"), "", stative=True),
        PRESENT,
        draw.choose((NOT, NOT, None)),
    ).statement()
    other = person(draw)
    usable = [f for f in ACTIONS if movable(f) and speaks_for_itself(f)]
    if draw.chance(0.3):
        end = draw.choose(
            (
                Text("what is happening", "ce qui se passe"),
                Text("what happened", "ce qui s'est passé"),
                Text("what is wrong", "ce qui ne va pas"),
                Text("what interests you", "ce qui vous intéresse"),
                Text("what caused the error", "ce qui a provoqué l'erreur"),
            )
        )
        return full_stop(opening, end)
    frame = draw.choose(usable)
    predicate = object_moved(frame)
    assert predicate is not None
    text = Clause(other, predicate, past_of(frame) if draw.chance(0.6) else PRESENT).statement()
    return Text(
        f"{opening.english} what {text.english}.", f"{opening.french} ce que {text.french}."
    )
