"""."""

from __future__ import annotations

from sample_corpus.grammar import adjuncts
from sample_corpus.grammar.adjectives import ADJECTIVES, Adjective, adjective, adjectives_for
from sample_corpus.grammar.agreement import Agreement
from sample_corpus.grammar.clauses import NO_LONGER, NOT, Clause, Predicate
from sample_corpus.grammar.constructions import construction
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.french_groups import FrenchVerb
from sample_corpus.grammar.french_words import with_de
from sample_corpus.grammar.noun_phrases import (
    HE,
    ME,
    SHE,
    NounPhrase,
    build,
    can_be_owned,
    noun_phrase,
    person,
)
from sample_corpus.grammar.nouns import NOUNS, Noun, nouns_of
from sample_corpus.grammar.tenses import FUTURE, PRESENT, STATE_PAST
from sample_corpus.grammar.text import NOTHING, Text, full_stop, join

_OF_PEOPLE = ("tired", "kind", "clever", "lazy", "brave", "polite", "angry")
DESCRIBED = tuple(
    noun
    for noun in NOUNS
    if adjectives_for(noun) and not {"truth", "news", "leisure"} & set(noun.kinds)
)
# adjectives that are only said before their noun
_ATTRIBUTIVE = ("former", "own", "dear", "little", "real", "great", "true", "secret", "right")
_DEGREES = (
    ("", ""),
    ("", ""),
    ("very", "très"),
    ("too", "trop"),
    ("really", "vraiment"),
    ("quite", "assez"),
    ("so", "si"),
    ("a bit", "un peu"),
)
ABSOLUTE = (
    "cheap",
    "broken",
    "empty",
    "full",
    "free",
    "hidden",
    "missing",
    "corrupt",
    "neural",
    "statistical",
    "French",
    "English",
    "Italian",
    "ancient",
    "wet",
)
_DEFINITES = (
    ("the", 5.0),
    ("this", 2.0),
    ("that", 1.0),
    ("possessive", 3.0),
    ("owner", 1.5),
    ("the many", 2.0),
)
_PLACES = (
    ("on", "sur", "table desk shelf chair sofa bed carpet"),
    ("under", "sous", "table bed sofa chair"),
    ("in", "dans", "drawer wardrobe box bag suitcase basket kitchen bedroom garage office"),
    ("behind", "derrière", "door sofa church house curtain"),
    ("next to", "à côté de", "bed computer door window lamp printer"),
    ("in front of", "devant", "door house mirror window"),
    ("near", "près de", "window door bed"),
    ("at the bottom of", "au fond de", "drawer bag box suitcase"),
)
_PARTS = (
    ("roof", "le toit", "building"),
    ("owner", "le propriétaire", "home vehicle pet company"),
    ("end", "la fin", "text show tale"),
    ("title", "le titre", "text show music"),
    ("author", "l'auteur", "text"),
    ("colour", "la couleur", "clothing vehicle curtain"),
    ("price", "le prix", "clothing jewel vehicle furniture =ticket"),
    ("size", "la taille", "room data clothing =screen"),
    ("name", "le nom", "town company pet role data =river"),
    ("quality", "la qualité", "picture model dish trial"),
)
_PART_ADJECTIVES = {
    "roof": (("red", "rouge"), ("in a bad state", "en mauvais état"), ("very old", "très vieux")),
    "owner": (("away", "absent"), ("very rich", "très riche"), ("unknown", "inconnu")),
    "end": (("sad", "triste"), ("surprising", "surprenante"), ("too long", "trop longue")),
    "title": (("strange", "étrange"), ("too long", "trop long"), ("perfect", "parfait")),
    "author": (("unknown", "inconnu"), ("famous", "célèbre"), ("English", "anglais")),
    "colour": (("pretty", "jolie"), ("too dark", "trop foncée"), ("too light", "trop claire")),
    "price": (("too high", "trop élevé"), ("reasonable", "raisonnable"), ("fair", "juste")),
    "size": (("important", "importante"), ("too small", "trop petite")),
    "name": (("hard to pronounce", "difficile à prononcer"), ("unknown", "inconnu")),
    "quality": (("excellent", "excellente"), ("poor", "mauvaise"), ("too low", "trop basse")),
}


def predicative(draw: Draw, noun: Noun) -> Adjective | None:
    """Draw an adjective that may follow "is" for this noun, if there is one."""
    found = [a for a in adjectives_for(noun) if a.english not in _ATTRIBUTIVE]
    return draw.choose(found) if found else None


def _form(chosen: Adjective, agreement: Agreement) -> str:
    return chosen.french(agreement.feminine, agreement.plural)


@construction(5)
def quality(draw: Draw) -> Text:
    """Something has a quality; the adjective agrees, and depends on the noun."""
    noun = draw.choose(DESCRIBED)
    chosen = predicative(draw, noun)
    while chosen is None:
        noun = draw.choose(DESCRIBED)
        chosen = predicative(draw, noun)
    phrase = _definite(draw, noun)
    draw.note(chosen.english, noun.english[0])
    plain = chosen.english in ABSOLUTE or "coloured" in chosen.kinds
    degree = ("", "") if plain else draw.choose(_DEGREES)
    predicate = Predicate(
        "be",
        join(degree[0], chosen.english),
        FrenchVerb("être"),
        join(degree[1], _form(chosen, phrase.agreement)),
        stative=True,
    )
    negation = draw.weigh(((None, 7.0), (NOT, 2.0), (NO_LONGER, 1.0)))
    tense = draw.weigh(((PRESENT, 6.0), (STATE_PAST, 3.0), (FUTURE, 1.0)))
    text = Clause(phrase, predicate, tense, negation).statement()
    if negation is None and draw.chance(0.25):
        when = adjuncts.time(draw, tense.time) if tense is STATE_PAST else NOTHING
        return full_stop(text, when)
    return full_stop(text)


def _definite(draw: Draw, noun: Noun) -> NounPhrase:
    determiner = draw.weigh(_DEFINITES)
    if noun.has("definite"):
        determiner = "the"
    if noun.has("kin"):
        determiner = "possessive"
    elif determiner == "possessive" and not can_be_owned(noun):
        determiner = "the"
    if determiner == "owner" or noun.has("mass"):
        determiner = draw.choose(("the", "this"))
    many = determiner.endswith(" many")
    return build(
        noun,
        determiner.removesuffix(" many"),
        plural=many,
        owner=draw.choose((ME, HE, SHE)),
    )


@construction(2)
def quality_of_people(draw: Draw) -> Text:
    """A person has a quality, in the speaker's view."""
    chosen = draw.choose([known for known in ADJECTIVES if known.english in _OF_PEOPLE])
    subject = person(draw)
    degree = draw.choose(_DEGREES[:5])
    if chosen.place == "fixed":
        degree = ("", "")
    predicate = Predicate(
        "be",
        join(degree[0], chosen.english),
        FrenchVerb("être"),
        join(degree[1], _form(chosen, subject.agreement)),
        stative=True,
    )
    tense = draw.choose((PRESENT, PRESENT, STATE_PAST))
    reason = draw.choose(
        (
            NOTHING,
            Text("today", "aujourd'hui"),
            Text("this morning", "ce matin"),
            Text("as usual", "comme d'habitude"),
        )
    )
    negation = None if reason.english == "as usual" else draw.choose((None, None, NOT))
    text = Clause(subject, predicate, tense, negation).statement()
    return full_stop(text, reason)


@construction(3.5)
def location(draw: Draw) -> Text:
    """Where something is: there is, or the thing itself as the subject."""
    preposition, french, where = draw.choose(_PLACES)
    ground = noun_phrase(
        draw, draw.choose([f"={word}" for word in where.split()]), determiner="the"
    )
    spot = Text(
        f"{preposition} {ground.english}",
        f"{french.removesuffix(' de')} {with_de(ground.french)}"
        if french.endswith(" de")
        else f"{french} {ground.french}",
    )
    kinds = "small clothing pet gift toy =book =letter =newspaper =bottle"
    if draw.chance(0.45):
        thing = noun_phrase(
            draw, kinds, determiner=draw.weigh((("a", 4.0), ("number", 1.5), ("some many", 2.0)))
        )
        if thing.noun is not None and not thing.noun.has("en-plural"):
            return _there_is(draw, thing, spot)
    thing = noun_phrase(draw, kinds, determiner=draw.weigh(_DEFINITES))
    predicate = Predicate("be", spot.english, FrenchVerb("être"), spot.french, stative=True)
    tense = draw.choose((PRESENT, PRESENT, STATE_PAST))
    text = Clause(thing, predicate, tense, draw.choose((None, None, NOT, NO_LONGER))).statement()
    return full_stop(text)


def _there_is(draw: Draw, thing: NounPhrase, spot: Text) -> Text:
    several = thing.agreement.english_plural
    if draw.chance(0.25) and thing.french_negated != thing.french:
        be = "aren't" if several else "isn't"
        return Text(
            f"there {be} {thing.english_negated} {spot.english}.",
            f"il n'y a pas {thing.french_negated} {spot.french}.",
        )
    if draw.chance(0.3):
        be = "were" if several else "was"
        return Text(
            f"there {be} {thing.english} {spot.english}.",
            f"il y avait {thing.french} {spot.french}.",
        )
    be = "are" if several else "is"
    return Text(
        f"there {be} {thing.english} {spot.english}.", f"il y a {thing.french} {spot.french}."
    )


@construction(3)
def part_of_a_whole(draw: Draw) -> Text:
    """The roof of the house, the end of the film: an attribute and its owner."""
    english, french, kinds = draw.choose(_PARTS)
    whole = noun_phrase(draw, kinds, determiner=draw.weigh(_DEFINITES))
    said, dit = draw.choose(_PART_ADJECTIVES[english])
    if whole.noun is not None:
        draw.note(english, whole.noun.english[0])
    return Text(
        f"the {english} of {whole.english} is {said}.",
        f"{french} {with_de(whole.french)} est {dit}.",
    )


@construction(2)
def occupation(draw: Draw) -> Text:
    """She is a doctor: an article in English, none in French, and the feminine."""
    noun = draw.choose(nouns_of("job"))
    subject = person(draw)
    while subject.agreement.plural or subject.agreement.person == 2:
        subject = person(draw)
    woman = subject.agreement.feminine and noun.feminine
    word = noun.feminine if woman else noun.french[0]
    draw.note("be", noun.english[0])
    tail = f"a {noun.english[0]}"
    form = draw.choose(("plain", "plain", "become", "good"))
    if form == "become":
        predicate = Predicate("become", tail, FrenchVerb("devenir"), word)
        tense = draw.choose((FUTURE, PRESENT))
        text = Clause(subject, predicate, FUTURE if tense is PRESENT else tense).statement()
        return Text(f"{text.english} one day.", f"{text.french} un jour.")
    if form == "good":
        chosen = adjective("good", "bon")
        good = chosen.feminine if subject.agreement.feminine and noun.feminine else "bon"
        article = "une" if good == "bonne" else "un"
        tail, word = f"a good {noun.english[0]}", f"{article} {good} {word}"
    predicate = Predicate("be", tail, FrenchVerb("être"), word, stative=True)
    tense = draw.choose((PRESENT, PRESENT, STATE_PAST))
    text = Clause(subject, predicate, tense, draw.choose((None, None, NOT))).statement()
    return full_stop(text)
