"""Relative clauses: *qui*, *que*, *où*, *dont*, and the cleft sentence."""

from __future__ import annotations

from sample_corpus.grammar.adjectives import adjectives_for
from sample_corpus.grammar.agreement import Agreement
from sample_corpus.grammar.clauses import Clause, Predicate
from sample_corpus.grammar.constructions import construction, past_of, said_tense
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.french_groups import FrenchVerb
from sample_corpus.grammar.french_words import with_de, with_preposition
from sample_corpus.grammar.noun_phrases import (
    HE,
    ME,
    SHE,
    WE,
    YOU,
    NounPhrase,
    build,
    name,
    noun_phrase,
    person,
)
from sample_corpus.grammar.nouns import Noun
from sample_corpus.grammar.predicates import movable, object_moved, scene
from sample_corpus.grammar.tenses import (
    FUTURE,
    PAST,
    PERFECT,
    PRESENT,
    PROGRESSIVE,
)
from sample_corpus.grammar.text import Text, full_stop, join, rows, texts
from sample_corpus.grammar.verbs import ACTIONS, INTRANSITIVES, Frame, actions_on

_DYNAMIC = tuple(f for f in ACTIONS + INTRANSITIVES if not f.stative)
# what can be the head of a relative clause with *que*
_HEADED = tuple(
    frame for frame in ACTIONS if movable(frame) and not {"own", "liked"} & set(frame.flags)
)
# English, then French: masculine, feminine, and both in the plural
_COMMENTS = rows("""
very good ; très bon, très bonne, très bons, très bonnes
too expensive ; trop cher, trop chère, trop chers, trop chères
very old ; très vieux, très vieille, très vieux, très vieilles
quite new ; assez nouveau, assez nouvelle, assez nouveaux, assez nouvelles
not very useful ; peu utile, peu utile, peu utiles, peu utiles
really beautiful ; vraiment beau, vraiment belle, vraiment beaux, vraiment belles
very important ; très important, très importante, très importants, très importantes
""")
_OPENINGS = texts("""
here is = voici ; I can't find = je ne trouve pas ; do you remember = vous souvenez-vous de
it is = c'est ; show me = montrez-moi ; he is talking about = il parle de
""")
_ABOUT_THEM = (
    Predicate("live", "near here", FrenchVerb("habiter"), "près d'ici"),
    Predicate("come", "from Lyon", FrenchVerb("venir"), "de Lyon"),
    Predicate("speak", "several languages", FrenchVerb("parler"), "plusieurs langues"),
    Predicate("want", "to see you", FrenchVerb("vouloir"), "vous voir"),
    Predicate("work", "at the bank", FrenchVerb("travailler"), "à la banque"),
    Predicate("know", "my parents", FrenchVerb("connaître"), "mes parents"),
)
# English verb and link, French verb and preposition, tense
_MEETINGS = (
    ("know", "", "connaître", "", PRESENT),
    ("see", "", "voir", "", PAST),
    ("look", "for", "chercher", "", PROGRESSIVE),
    ("talk", "to", "parler", "à", PAST),
    ("thank", "", "remercier", "", PAST),
    ("think", "of", "penser", "à", PROGRESSIVE),
)
# English verb and its tail, French verb and its tail, tense, places
_LIVING = (
    ("live", "", "habiter", "", PRESENT, "home town"),
    ("work", "", "travailler", "", PRESENT, "company"),
    ("grow", "up", "grandir", "", PAST, "home town"),
    ("spend", "the summer", "passer", "l'été", PAST, "home town"),
    ("meet", "", "se rencontrer", "", PAST, "town company =park =beach"),
)
_CONCERNED = (
    ("need", "", "avoir", "besoin", PRESENT, "tool device text"),
    ("dream", "of", "rêver", "", PRESENT, "home journey own-vehicle town"),
    ("be", "proud of", "être", "fier", PRESENT, "text picture idea model"),
    ("talk", "about", "parler", "", PROGRESSIVE, "text show role job idea town"),
    ("use", "", "se servir", "", PROGRESSIVE, "tool device software"),
)


def _relative(draw: Draw, head: NounPhrase, frame: Frame, subject: NounPhrase) -> Text:
    """Return "(that) I bought", "que j'ai achetée" for a given head."""
    predicate = object_moved(frame)
    assert predicate is not None and head.noun is not None
    draw.note(frame.english, head.noun.english[0])
    verb = FrenchVerb(frame.infinitive, preceding=head.agreement)
    moved = Predicate(
        predicate.english_verb, predicate.english_tail, verb, "", stative=frame.stative
    )
    tense = past_of(frame) if draw.chance(0.7) else said_tense(draw, frame)
    text = Clause(subject, moved, tense).statement()
    that = draw.choose(("that ", "", "that "))
    return Text(f"{that}{text.english}", f"que {text.french}")


def _head(draw: Draw) -> Noun:
    """Draw a thing or a person that something is done to; nobody's relatives."""
    while True:
        found = scene(draw, _HEADED).object
        assert found is not None and found.noun is not None
        if not found.noun.has("kin"):
            return found.noun


@construction(7)
def relative_with_object(draw: Draw) -> Text:
    """The letter that I wrote: *que*, and a participle that agrees."""
    noun = _head(draw)
    plural = draw.chance(0.35) and not ({"mass", "definite"} & set(noun.kinds))
    head = build(noun, "the", plural=plural)
    frame = draw.choose([known for known in actions_on(noun) if movable(known)])
    relative = _relative(draw, head, frame, person(draw))
    described = Text(f"{head.english} {relative.english}", f"{head.french} {relative.french}")
    known = {adjective.english for adjective in adjectives_for(noun)}
    comments = [row for row in _COMMENTS if row[0].split(" ")[-1] in known]
    if comments and not noun.has("person") and draw.chance(0.6):
        said, forms = draw.choose(comments)
        be = "are" if head.agreement.english_plural else "is"
        est = "sont" if head.agreement.plural else "est"
        form = forms.split(", ")[head.agreement.feminine + 2 * head.agreement.plural]
        return full_stop(described, Text(f"{be} {said}", f"{est} {form}"))
    return _opened(draw.choose(_OPENINGS), described, head.agreement)


def _opened(opening: Text, phrase: Text, agreement: Agreement) -> Text:
    english, french = opening.english, opening.french
    if agreement.english_plural:
        english = {"here is": "here are", "it is": "these are"}.get(english, english)
    if agreement.plural and french == "c'est":
        french = "ce sont"
    if french.endswith(" de"):
        text = f"{french.removesuffix(' de')} {with_de(phrase.french)}"
    else:
        text = f"{french} {phrase.french}"
    asks = english.startswith("do you")
    return Text(
        f"{english} {phrase.english}{'?' if asks else '.'}", f"{text}{' ?' if asks else '.'}"
    )


@construction(5)
def relative_with_subject(draw: Draw) -> Text:
    """The man who is singing: *qui*."""
    head = noun_phrase(draw, "job artist learner =boy =girl", determiner="the", adjectives=0.15)
    who = NounPhrase("who", "qui", head.agreement, noun=head.noun)
    doing = scene(draw, [f for f in _DYNAMIC if "person" in f.subjects.split()], who)
    tense = PAST if doing.frame.punctual else draw.choose((PAST, PROGRESSIVE))
    relative = Clause(who, doing.predicate, tense).statement()
    if draw.chance(0.5):
        described = Text(f"{head.english} {relative.english}", f"{head.french} {relative.french}")
        nobody = NounPhrase("", "", head.agreement)
        return full_stop(described, Clause(nobody, draw.choose(_ABOUT_THEM), PRESENT).statement())
    verb, link, french, preposition, tense = draw.choose(_MEETINGS)
    predicate = Predicate(
        verb,
        join(link, head.english, relative.english),
        FrenchVerb(french),
        join(with_preposition(preposition, head.french), relative.french),
    )
    return full_stop(Clause(draw.choose((ME, WE, HE, SHE)), predicate, tense).statement())


@construction(1.5)
def relative_of_place(draw: Draw) -> Text:
    """The house where they live: *où*."""
    verb, link, french, tail, tense, kinds = draw.choose(_LIVING)
    place = noun_phrase(draw, kinds, determiner="the", adjectives=0.25)
    assert place.noun is not None
    draw.note(verb, place.noun.english[0])
    subject = WE if verb == "meet" else person(draw)
    predicate = Predicate(verb, link, FrenchVerb(french), tail)
    text = Clause(subject, predicate, tense).statement()
    opening = draw.choose(
        texts("this is = c'est ; I know = je connais ; he is looking for = il cherche")
    )
    return full_stop(opening, Text(place.english, place.french), Text("where", "où"), text)


@construction(1.5)
def relative_of_topic(draw: Draw) -> Text:
    """The book I told you about, what she is proud of: *dont*."""
    verb, link, french, tail, tense, kinds = draw.choose(_CONCERNED)
    topic = noun_phrase(draw, kinds, determiner=draw.choose(("the", "the many")), adjectives=0.25)
    subject = person(draw)
    if verb == "be" and tail:
        tail = ("fière" if subject.agreement.feminine else "fier") + "s" * subject.agreement.plural
    predicate = Predicate(verb, link, FrenchVerb(french), tail)
    text = Clause(subject, predicate, tense).statement()
    be = "these are" if topic.agreement.english_plural else "this is"
    est = "ce sont" if topic.agreement.plural else "c'est"
    return full_stop(Text(f"{be} {topic.english}", f"{est} {topic.french} dont"), text)


@construction(2)
def cleft(draw: Draw) -> Text:
    """It was Paul who ...: *c'est Paul qui a*, *c'est moi qui ai*."""
    subject = draw.choose((name(draw), name(draw), ME, YOU, HE, SHE))
    found = scene(draw, [f for f in _DYNAMIC if "person" in f.subjects.split()], subject)
    strong = {"je": "moi", "vous": "vous", "il": "lui", "elle": "elle"}
    stressed = {"I": "me", "you": "you", "he": "him", "she": "her"}
    who = NounPhrase("who", "qui", Agreement(3, feminine=subject.agreement.feminine))
    french_who = NounPhrase("who", "qui", subject.agreement)
    tense = draw.choose((PAST, PERFECT, FUTURE))
    tense = PAST if tense is PERFECT else tense
    english = Clause(who, found.predicate, tense).statement().english
    french = Clause(french_who, found.predicate, tense).statement().french
    it = "it was" if tense is PAST else "it is"
    named = stressed.get(subject.english, subject.english)
    nomme = strong.get(subject.pronoun, subject.french)
    return Text(f"{it} {named} {english}.", f"c'est {nomme} {french}.")
