"""Questions: *est-ce que*, inversion, question words, tags."""

from __future__ import annotations

from sample_corpus.grammar import adjuncts
from sample_corpus.grammar.agreement import Agreement
from sample_corpus.grammar.clauses import NOT, Clause, Predicate
from sample_corpus.grammar.constructions import construction, past_of, said_tense
from sample_corpus.grammar.determiners import article
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.french_groups import FrenchVerb
from sample_corpus.grammar.french_words import with_a, with_de
from sample_corpus.grammar.noun_phrases import (
    HE,
    SHE,
    THEY,
    YOU,
    NounPhrase,
    build,
    name,
    noun_phrase,
    person,
)
from sample_corpus.grammar.nouns import nouns_of
from sample_corpus.grammar.predicates import (
    Scene,
    can_be_pronoun,
    object_moved,
    scene,
    speaks_for_itself,
    with_pronoun,
)
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
    english_verb,
)
from sample_corpus.grammar.text import NOTHING, Text, join, words
from sample_corpus.grammar.verbs import ACTIONS, INTRANSITIVES, Frame

_WH = (
    Text("where", "où"),
    Text("when", "quand"),
    Text("why", "pourquoi"),
    Text("how", "comment"),
    Text("since when", "depuis quand"),
    Text("what time", "à quelle heure"),
)
_ASKED = (YOU, YOU, YOU, HE, SHE, THEY)
# what one may ask of somebody
_FAVOURS = ("home", "work", "tech", "restaurant")
_NO_FAVOUR = words("casser jeter manger boire raconter oublier perdre provoquer abandonner rater")


def _asker(draw: Draw) -> NounPhrase:
    return draw.choose(_ASKED) if draw.chance(0.7) else name(draw)


def _asked_scene(draw: Draw, frames: tuple[Frame, ...]) -> Scene:
    usable = [f for f in frames if "person" in f.subjects.split()]
    return scene(draw, usable, _asker(draw))


@construction(5)
def yes_or_no(draw: Draw) -> Text:
    """Did he ...? With *est-ce que* or with inversion."""
    found = _asked_scene(draw, ACTIONS + INTRANSITIVES)
    predicate = found.predicate
    if found.object is not None and can_be_pronoun(found.frame) and draw.chance(0.2):
        predicate = with_pronoun(found.frame, found.object.agreement, found.object.human)
    tense = said_tense(draw, found.frame)
    negation = NOT if draw.chance(0.12) else None
    clause = Clause(found.subject, predicate, tense, negation)
    english = clause.english_question()
    if draw.chance(0.5):
        return Text(f"{english}?", f"est-ce que {clause.statement().french} ?")
    return Text(f"{english}?", f"{clause.french_inverted()} ?")


@construction(3)
def request(draw: Draw) -> Text:
    """Could you ..., please?"""
    frames = [f for f in ACTIONS if f.setting in _FAVOURS and f.infinitive not in _NO_FAVOUR]
    found = scene(draw, [f for f in frames if "person" in f.subjects.split()], YOU)
    predicate = found.predicate
    if found.object is not None and can_be_pronoun(found.frame) and draw.chance(0.25):
        predicate = with_pronoun(found.frame, found.object.agreement, found.object.human)
    clause = Clause(YOU, predicate, draw.choose((CAN, COULD)))
    if draw.chance(0.5):
        return Text(
            f"{clause.english_question()}, please?",
            f"{clause.french_inverted()}, s'il vous plaît ?",
        )
    return Text(f"{clause.english_question()}?", f"{clause.french_inverted()} ?")


@construction(5)
def question_word(draw: Draw) -> Text:
    """Where, when, why, how, what time."""
    word = draw.choose(_WH)
    frames = ACTIONS + INTRANSITIVES
    usable = tuple(f for f in frames if not f.stative or word.english == "why")
    if word.english == "since when":
        usable = tuple(f for f in frames if not f.punctual)
    if word.english == "how":
        usable = tuple(f for f in ACTIONS if f.setting in ("work", "tech") or f.punctual)
    if word.english == "what time":
        usable = tuple(f for f in INTRANSITIVES if f.punctual)
    found = _asked_scene(draw, usable)
    tense = said_tense(draw, found.frame)
    if word.english == "since when":
        tense = PRESENT if found.frame.stative else PROGRESSIVE
    if tense in (CAN, PERFECT, COULD, SHOULD, MUST, HAS_JUST):
        tense = past_of(found.frame)
    negation = NOT if word.english == "why" and draw.chance(0.3) else None
    clause = Clause(found.subject, found.predicate, tense, negation)
    english = clause.english_question()
    if tense is PROGRESSIVE and word.english == "since when":
        english = _have_been(clause)
        word = Text("how long", "depuis combien de temps")
    if draw.chance(0.55):
        return Text(
            f"{word.english} {english}?",
            f"{word.french} est-ce que {clause.statement().french} ?",
        )
    return Text(f"{word.english} {english}?", f"{word.french} {clause.french_inverted()} ?")


def _have_been(clause: Clause) -> str:
    agreement = clause.subject.agreement
    third = agreement.person == 3 and not agreement.english_plural
    rest = english_verb(clause.predicate.english_verb, PROGRESSIVE, agreement).rest
    have = "has" if third else "have"
    return join(have, clause.subject.english, "been", rest, clause.predicate.english_tail)


@construction(3)
def what(draw: Draw) -> Text:
    """What do you want? *Que voulez-vous*, *qu'est-ce que*."""
    usable = tuple(
        f
        for f in ACTIONS
        if not f.preposition
        and not f.french_end
        and "whole" not in f.flags
        and _is_of_things(f)
        and speaks_for_itself(f)
    )
    found = _asked_scene(draw, usable)
    predicate = object_moved(found.frame)
    if predicate is None:
        return yes_or_no(draw)
    tense = said_tense(draw, found.frame)
    clause = Clause(found.subject, predicate, tense)
    where = adjuncts.place(draw, found.frame.setting) if draw.chance(0.4) else NOTHING
    english = join("what", clause.english_question(), where.english)
    if draw.chance(0.55) or not found.subject.pronoun:
        french = join("qu'est-ce que", clause.statement().french, where.french)
    else:
        french = join("que", clause.french_inverted(), where.french)
    return Text(f"{english}?", f"{french} ?")


def _is_of_things(frame: Frame) -> bool:
    people = {"kin", "role", "adult", "young", "=child", "artist", "=doctor", "technical"}
    return not people & set(frame.objects.split())


@construction(3)
def who(draw: Draw) -> Text:
    """Who broke the glass? The question word is the subject."""
    usable = [f for f in ACTIONS + INTRANSITIVES if "person" in f.subjects.split()]
    someone = NounPhrase("who", "qui", Agreement())
    found = scene(draw, usable, someone)
    text = Clause(someone, found.predicate, said_tense(draw, found.frame)).statement()
    where = adjuncts.place(draw, found.frame.setting) if draw.chance(0.3) else NOTHING
    return Text(f"{join(text.english, where.english)}?", f"{join(text.french, where.french)} ?")


@construction(3)
def which_and_how_many(draw: Draw) -> Text:
    """Which book did you choose? How many books did you read? The object moves first and agrees."""
    usable = [
        f
        for f in ACTIONS
        if not f.preposition
        and not f.french_end
        and "*" not in f.english
        and "person" in f.subjects.split()
        and "liked" not in f.flags
    ]
    subject = _asker(draw)
    found = scene(draw, usable, subject)
    assert found.object is not None and found.object.noun is not None
    noun = found.object.noun
    predicate = object_moved(found.frame)
    if predicate is None or {"definite", "en-plural", "kin"} & set(noun.kinds):
        return yes_or_no(draw)
    mass = noun.has("mass")
    many = mass or draw.chance(0.5)
    target = build(noun, "", plural=not mass and (many or draw.chance(0.3)))
    verb = FrenchVerb(found.frame.infinitive, preceding=target.agreement)
    moved = Predicate(
        predicate.english_verb, predicate.english_tail, verb, "", stative=found.frame.stative
    )
    tense = past_of(found.frame) if draw.chance(0.6) else draw.choose((FUTURE, GOING_TO, PRESENT))
    clause = Clause(subject, moved, tense)
    if many:
        lead = Text(
            f"how {'much' if mass else 'many'} {target.english}",
            f"combien {with_de(target.french)}",
        )
    else:
        quel = article("which", target.agreement)
        lead = Text(f"which {target.english}", f"{quel.french} {target.french}")
    return Text(
        f"{lead.english} {clause.english_question()}?",
        f"{lead.french} {clause.french_inverted()} ?",
    )


@construction(2)
def whose(draw: Draw) -> Text:
    """Whose coat is this: *à qui est ce manteau*."""
    thing = noun_phrase(draw, "clothing small container own-vehicle toy text", determiner="the")
    assert thing.noun is not None
    plural = thing.agreement.english_plural
    shown = build(thing.noun, "this", plural=plural)
    est = "sont" if shown.agreement.plural else "est"
    if draw.chance(0.5):
        be = "are these" if plural else "is this"
        return Text(f"whose {thing.noun.english[plural]} {be}?", f"à qui {est} {shown.french} ?")
    owner = person(draw)
    if owner.pronoun:
        owner = name(draw)
    belongs = "belong" if plural else "belongs"
    appartient = "appartiennent" if shown.agreement.plural else "appartient"
    return Text(
        f"{shown.english} {belongs} to {owner.english}.",
        f"{shown.french} {appartient} {with_a(owner.french)}.",
    )


@construction(2)
def tag_question(draw: Draw) -> Text:
    """You know him, don't you: *n'est-ce pas*."""
    found = _asked_scene(draw, ACTIONS + INTRANSITIVES)
    tense = PRESENT if found.frame.stative else draw.choose((PAST, FUTURE, CAN))
    clause = Clause(found.subject, found.predicate, tense)
    text = clause.statement()
    tag = english_verb(
        found.frame.english_verb, tense, found.subject.agreement, negation="n't"
    ).auxiliary
    short = found.subject.english
    if not found.subject.pronoun:
        short = "she" if found.subject.agreement.feminine else "he"
    return Text(f"{text.english}, {tag} {short}?", f"{text.french}, n'est-ce pas ?")


@construction(2)
def set_questions(draw: Draw) -> Text:
    """How old, how far, how much, what colour, what is ... like."""
    noun = draw.choose(nouns_of("clothing vehicle home company town show"))
    thing = build(
        noun, draw.choose(("this", "the", "possessive")), owner=draw.choose((YOU, HE, SHE))
    )
    several = thing.agreement.plural
    be, est = ("are" if thing.agreement.english_plural else "is"), ("sont" if several else "est")
    do = "do" if thing.agreement.english_plural else "does"
    coute = "coûtent" if several else "coûte"
    de = with_de(thing.french)
    options = [
        (f"where {be} {thing.english}", f"où {est} {thing.french}"),
        (f"what do you think of {thing.english}", f"que pensez-vous {de}"),
    ]
    if any(noun.has(kind) for kind in ("clothing", "vehicle")):
        options += [
            (f"how much {do} {thing.english} cost", f"combien {coute} {thing.french}"),
            (f"what colour {be} {thing.english}", f"de quelle couleur {est} {thing.french}"),
        ]
    if noun.has("home") or noun.has("town") or noun.has("company"):
        options += [
            (f"how do I get to {thing.english}", f"comment va-t-on {with_a(thing.french)}"),
            (
                f"is {thing.english} far from here",
                f"{thing.french} {est}-{'elle' if thing.agreement.feminine else 'il'} loin d'ici",
            ),
        ]
    english, french = draw.choose(options)
    return Text(f"{english}?", f"{french} ?")


@construction(1.5)
def how_old_and_how_long(draw: Draw) -> Text:
    """Questions about people that English asks with "how"."""
    subject = draw.choose((YOU, HE, SHE, THEY))
    options = (
        ("how old {be} {who}", FrenchVerb("avoir"), "quel âge {q}"),
        ("how tall {be} {who}", FrenchVerb("mesurer"), "combien {q}"),
        ("how {be} {who} today", FrenchVerb("aller"), "comment {q} aujourd'hui"),
        ("what {do} {who} do for a living", FrenchVerb("faire"), "que {q} dans la vie"),
        ("how long {be} {who} staying", FrenchVerb("rester"), "combien de temps {q}"),
        ("what {be} {who} afraid of", FrenchVerb("avoir"), "de quoi {q} peur"),
        ("what {be} {who} thinking about", FrenchVerb("penser"), "à quoi {q}"),
        ("what {be} {who} talking about", FrenchVerb("parler"), "de quoi {q}"),
        ("who {be} {who} waiting for", FrenchVerb("attendre"), "qui {q}"),
        ("what {be} {who} called", FrenchVerb("s'appeler"), "comment {q}"),
        ("what time {do} {who} have", FrenchVerb("avoir"), "quelle heure {q}"),
        ("{do} {who} have time", FrenchVerb("avoir"), "{q} le temps"),
    )
    english, verb, french = draw.choose(options)
    third = subject.agreement.person == 3 and not subject.agreement.english_plural
    clause = Clause(subject, Predicate("be", "", verb, ""), PRESENT)
    return Text(
        english.format(
            be="is" if third else "are", do="does" if third else "do", who=subject.english
        )
        + "?",
        french.format(q=clause.french_inverted()) + " ?",
    )
