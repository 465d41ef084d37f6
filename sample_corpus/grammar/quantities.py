"""How much and how many, lists, preferences, exclamations, what people say."""

from __future__ import annotations

from sample_corpus.grammar import adjuncts
from sample_corpus.grammar.adjectives import adjectives_for
from sample_corpus.grammar.agreement import Agreement
from sample_corpus.grammar.clauses import Clause, Predicate
from sample_corpus.grammar.constructions import construction, said_tense
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.french_groups import FrenchVerb
from sample_corpus.grammar.french_words import with_a, with_de
from sample_corpus.grammar.noun_phrases import NounPhrase, build, noun_phrase, person, pronoun
from sample_corpus.grammar.nouns import Noun, nouns_of
from sample_corpus.grammar.predicates import scene
from sample_corpus.grammar.tenses import FUTURE, GOING_TO, MUST, PAST, PRESENT, STATE_PAST
from sample_corpus.grammar.text import NOTHING, Text, full_stop, texts, words
from sample_corpus.grammar.verbs import ACTIONS, INTRANSITIVES

# English measure, French measure, what is measured
_MEASURES = (
    ("a glass of", "un verre de", "=water =milk =wine"),
    ("a cup of", "une tasse de", "hot-drink"),
    ("a bottle of", "une bouteille de", "=wine =water =oil =beer"),
    ("a slice of", "une tranche de", "=bread =ham =meat"),
    ("a piece of", "un morceau de", "=cheese =cake =bread =chocolate"),
    ("a pot of", "un pot de", "=jam =honey"),
    ("a pound of", "une livre de", "=butter =sugar =flour"),
    ("two pounds of", "un kilo de", "=potato =carrot =tomato"),
    ("a bit of", "un peu de", "=salt =sugar =butter"),
    ("half of the", "la moitié", "=cake =bread"),
    ("a dozen", "une douzaine de", "=egg =apple"),
    ("plenty of", "beaucoup de", "=water =fruit =fish"),
)
_OCCASIONS = (
    NOTHING,
    *texts("""
for tonight = pour ce soir ; for the guests = pour les invités
for everyone = pour tout le monde ; for the children = pour les enfants
"""),
)
_EXCLAIMED = words("""
beautiful pretty strange good bad big funny boring great interesting expensive quiet noisy clever
""")
_BUYING = (
    ("buy", "acheter", (PAST, GOING_TO, MUST)),
    ("want", "vouloir", (PRESENT, STATE_PAST)),
    ("order", "commander", (PAST, FUTURE)),
    ("bring", "apporter", (PAST, FUTURE)),
    ("forget", "oublier", (PAST,)),
)


def measured(draw: Draw) -> NounPhrase:
    """Draw "a slice of bread", "une tranche de pain"."""
    english, french, kinds = draw.choose(_MEASURES)
    noun = draw.choose(nouns_of(kinds))
    several = not noun.has("mass") and english not in ("a piece of", "half of the")
    measure = Agreement(feminine=french.startswith("une"))
    draw.note(english, noun.english[0])
    if english == "half of the":
        whole = build(noun, "the")
        return NounPhrase(f"half of {whole.english}", f"la moitié {with_de(whole.french)}", measure)
    return NounPhrase(
        f"{english} {noun.english[several]}",
        f"{french} {noun.french[several or noun.has('fr-plural')]}",
        measure,
    )


@construction(4)
def measured_quantity(draw: Draw) -> Text:
    """A glass of water, two pounds of tomatoes."""
    what = measured(draw)
    english, french, tenses = draw.choose(_BUYING)
    subject = person(draw)
    predicate = Predicate(
        english, what.english, FrenchVerb(french), what.french, stative=english == "want"
    )
    tense = draw.choose(tenses)
    text = Clause(subject, predicate, tense).statement()
    extra = draw.choose(_OCCASIONS) if english in ("buy", "bring", "order") else NOTHING
    return full_stop(text, extra)


@construction(2.5)
def shopping_list(draw: Draw) -> Text:
    """Three things in a row, each with its article."""
    nouns = draw.shuffle(nouns_of("food fruit vegetable drink ingredient"))[:3]
    english, french = [], []
    for noun in nouns:
        bare = build(noun, "some", plural=not noun.has("mass"))
        english.append(bare.english.removeprefix("some "))
        french.append(bare.french)
    draw.note(nouns[0].english[0], nouns[1].english[0])
    verb, verbe, tenses = draw.choose(_BUYING)
    subject = person(draw)
    predicate = Predicate(
        verb,
        f"{english[0]}, {english[1]} and {english[2]}",
        FrenchVerb(verbe),
        f"{french[0]}, {french[1]} et {french[2]}",
        stative=verb == "want",
    )
    text = Clause(subject, predicate, draw.choose(tenses)).statement()
    return full_stop(text)


@construction(2)
def likes_and_dislikes(draw: Draw) -> Text:
    """Prefer one thing to another: a general sense, with the article in French."""
    first, second = draw.shuffle(nouns_of("food drink fruit snack sweet vegetable"))[:2]
    subject = person(draw)
    one, other = _general(first), _general(second)
    draw.note("prefer", first.english[0], second.english[0])
    if draw.chance(0.5):
        predicate = Predicate(
            "prefer",
            f"{one.english} to {other.english}",
            FrenchVerb("préférer"),
            f"{one.french} {with_a(other.french)}",
            stative=True,
        )
        text = Clause(subject, predicate, draw.choose((PRESENT, PRESENT, STATE_PAST))).statement()
        return full_stop(text)
    like = Predicate("like", one.english, FrenchVerb("aimer"), one.french, stative=True)
    hate = Predicate("hate", other.english, FrenchVerb("détester"), other.french, stative=True)
    start = Clause(subject, like, PRESENT).statement()
    again = subject if subject.pronoun else pronoun(draw)
    end = Clause(again, hate, PRESENT).statement()
    return Text(f"{start.english} but {end.english}.", f"{start.french} mais {end.french}.")


def _general(noun: Noun) -> NounPhrase:
    phrase = build(noun, "the", plural=not noun.has("mass"))
    return NounPhrase(phrase.english.removeprefix("the "), phrase.french, phrase.agreement)


@construction(2)
def exclamation(draw: Draw) -> Text:
    """What a beautiful house: *quelle belle maison*."""
    noun = draw.choose(
        nouns_of("home town picture music idea tale clothing animal gift show plant")
    )
    known = [a for a in adjectives_for(noun) if a.english in _EXCLAIMED]
    phrase = build(noun, "a", adjectives=(draw.choose(known),) if known else ())
    if not known:
        return Text(f"what {phrase.english}!", f"{_quel(phrase)} {noun.french[0]} !")
    draw.note(known[0].english, noun.english[0])
    core = phrase.french.removeprefix("une ").removeprefix("un ")
    return Text(f"what {phrase.english}!", f"{_quel(phrase)} {core} !")


def _quel(phrase: NounPhrase) -> str:
    return "quelle" if phrase.agreement.feminine else "quel"


@construction(3)
def several_of_them(draw: Draw) -> Text:
    """Some of them, three of them: *en* stands for the noun."""
    noun = draw.choose(nouns_of("fruit snack toy text clothing picture sweet"))
    if noun.has("mass") or noun.has("en-plural"):
        noun = nouns_of("=apple")[0]
    subject = pronoun(draw)
    number, nombre = draw.choose(
        (
            ("two", "deux"),
            ("three", "trois"),
            ("ten", "dix"),
            ("several", "plusieurs"),
            ("too many", "trop"),
            ("a lot", "beaucoup"),
        )
    )
    many = build(noun, "the", plural=True)
    have, avoir = draw.choose((("have", "avoir"), ("buy", "acheter"), ("find", "trouver")))
    tense = PRESENT if have == "have" else draw.choose((PAST, FUTURE))
    predicate = Predicate(have, f"{number} of them", FrenchVerb(avoir, ("en",)), nombre)
    text = Clause(subject, predicate, tense).statement()
    opening = draw.choose(
        (
            Text(f"I like these {noun.english[1]}", f"j'aime ces {noun.french[1]}"),
            Text(f"{many.english} are here", f"{many.french} sont ici"),
            Text(f"they were selling {noun.english[1]}", f"ils vendaient des {noun.french[1]}"),
        )
    )
    return Text(f"{opening.english} and {text.english}.", f"{opening.french} et {text.french}.")


@construction(2)
def quoted_speech(draw: Draw) -> Text:
    """Somebody's words between quotation marks, and who said them."""
    spoken = scene(
        draw, [f for f in ACTIONS + INTRANSITIVES if "person" in f.subjects.split()], pronoun(draw)
    )
    speaker = noun_phrase(draw, "role job kin", determiner="possessive", adjectives=0.0)
    clause = Clause(spoken.subject, spoken.predicate, said_tense(draw, spoken.frame))
    text = clause.statement()
    english = text.english[0].upper() + text.english[1:]
    french = text.french[0].upper() + text.french[1:]
    verb, verbe = draw.choose((("said", "a dit"), ("answered", "a répondu"), ("shouted", "a crié")))
    if verbe == "a répondu" and draw.chance(0.5):
        where = adjuncts.time(draw, "past")
        while not adjuncts.may_be_fronted(where):
            where = adjuncts.time(draw, "past")
        return Text(
            f'{where.english}, {speaker.english} {verb}: "{english}."',
            f"{where.french}, {speaker.french} {verbe} : « {french}. »",
        )
    return Text(
        f'"{english}," {verb} {speaker.english}.', f"« {french} », {verbe} {speaker.french}."
    )
