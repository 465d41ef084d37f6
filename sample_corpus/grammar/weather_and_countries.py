"""The weather, countries and towns, prices: small grammars of their own."""

from __future__ import annotations

from sample_corpus.grammar.clauses import Clause, Predicate
from sample_corpus.grammar.constructions import agreeing, construction
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.french_groups import FrenchVerb
from sample_corpus.grammar.noun_phrases import noun_phrase, person
from sample_corpus.grammar.predicates import scene
from sample_corpus.grammar.tenses import FUTURE, GOING_TO, PAST, PRESENT, STATE_PAST
from sample_corpus.grammar.text import NOTHING, Text, full_stop, rows, texts
from sample_corpus.grammar.verbs import ACTIONS, INTRANSITIVES

_SKY_NOW = texts("""
it is cold = il fait froid ; it is hot = il fait chaud ; it is raining = il pleut
it is raining hard = il pleut fort ; it is raining cats and dogs = il pleut des cordes
it is snowing = il neige ; the weather is nice = il fait beau ; the weather is bad = il fait mauvais
it is windy = il y a du vent ; it is foggy = il y a du brouillard
""")
_SKY_BEFORE = texts("""
it rained = il a plu ; it snowed = il a neigé ; it was sunny = il y avait du soleil
it was freezing = il gelait ; it was too hot = il faisait trop chaud
the weather was awful = il faisait un temps affreux
""")
_SKY_AFTER = texts("""
it will rain = il pleuvra ; it will be cold = il fera froid ; it is going to snow = il va neiger
the weather will be fine = il fera beau
""")
_BEFORE = texts("yesterday = hier ; last night = cette nuit ; last week = la semaine dernière")
_AFTER = texts("tomorrow = demain ; tonight = ce soir ; next week = la semaine prochaine")
_SKY_PLACES = (
    NOTHING,
    NOTHING,
    *texts("""
in the mountains = en montagne ; in Brittany = en Bretagne ; here = ici
in the north = dans le nord ; all day = toute la journée ; in London = à Londres
"""),
)
_HEARSAY = texts("""
I think that = je crois que ; he says that = il dit que
they said on the radio that = ils ont dit à la radio que
""")
_LINKS = texts("so = alors ; but = mais ; and = et")
# what one does about the weather
_REACTIONS = tuple(
    frame
    for frame in INTRANSITIVES + ACTIONS
    if frame.english in ("stay at home", "go home", "go for a walk", "sleep", "work", "travel")
    or frame.english in ("put on* _", "close _", "watch _", "repair _", "ride a bike", "go fishing")
    or frame.infinitive in ("jouer", "rentrer", "nager")
)
# English name, in or to it, from it
_COUNTRIES = rows("""
France ; en France ; de France
Italy ; en Italie ; d'Italie
Spain ; en Espagne ; d'Espagne
Iran ; en Iran ; d'Iran
Japan ; au Japon ; du Japon
Canada ; au Canada ; du Canada
Portugal ; au Portugal ; du Portugal
Brazil ; au Brésil ; du Brésil
the United States ; aux États-Unis ; des États-Unis
the Netherlands ; aux Pays-Bas ; des Pays-Bas
Paris ; à Paris ; de Paris
Lyon ; à Lyon ; de Lyon
Brussels ; à Bruxelles ; de Bruxelles
""")
_GOING = texts("""
by train = en train ; by plane = en avion ; for the first time = pour la première fois
with the children = avec les enfants ; for work = pour le travail
""")
_PRICES = texts("""
ten = dix ; twenty = vingt ; fifty = cinquante ; eighty = quatre-vingts ; a hundred = cent
two hundred = deux cents ; a thousand = mille
""")


@construction(3)
def weather(draw: Draw) -> Text:
    """Cold weather, a cold person and a cold soup are three things in French."""
    skies, times = draw.choose(((_SKY_NOW, ()), (_SKY_BEFORE, _BEFORE), (_SKY_AFTER, _AFTER)))
    sky, place = draw.choose(skies), draw.choose(_SKY_PLACES)
    if not times and draw.chance(0.5):
        return _with_reaction(draw, sky)
    time = draw.choose(times) if times and draw.chance(0.7) else NOTHING
    doubt = NOTHING if draw.chance(0.5) else draw.choose(_HEARSAY)
    return full_stop(doubt, sky, place, time)


def _with_reaction(draw: Draw, sky: Text) -> Text:
    """Say what somebody does about it: "it is raining so we will stay at home"."""
    reaction = scene(draw, _REACTIONS)
    tense = FUTURE if reaction.frame.punctual else draw.choose((GOING_TO, FUTURE))
    text = Clause(reaction.subject, reaction.predicate, tense).statement()
    return full_stop(sky, draw.choose(_LINKS), text)


@construction(3)
def countries_and_towns(draw: Draw) -> Text:
    """In, to and from: the French preposition depends on the name."""
    who = person(draw)
    name, inside, origin = draw.choose(_COUNTRIES)
    verb, preposition, french, place, tenses = draw.choose(
        (
            ("live", "in", "habiter", inside, (PRESENT, FUTURE, STATE_PAST)),
            ("come", "from", "venir", origin, (PRESENT,)),
            ("come", "back from", "revenir", origin, (PAST, FUTURE)),
            ("go", "to", "aller", inside, (PAST, GOING_TO, FUTURE)),
            ("go", "to", "aller", inside, (PAST, GOING_TO, FUTURE)),
            ("born", "in", "né", inside, ()),
        )
    )
    draw.note(f"{verb} {preposition}", name)
    if verb == "born":
        tail = f"{agreeing('né', who.agreement)} {place}"
        birth = Predicate("be", f"born in {name}", FrenchVerb("être"), tail, stative=True)
        english = Clause(who, birth, STATE_PAST).statement().english
        return full_stop(Text(english, Clause(who, birth, PRESENT).statement().french))
    predicate = Predicate(verb, f"{preposition} {name}", FrenchVerb(french), place)
    text = Clause(who, predicate, draw.choose(tenses)).statement()
    return full_stop(text, draw.choose(_GOING) if verb == "go" else NOTHING)


@construction(2)
def price(draw: Draw) -> Text:
    """What things cost, and what people paid for them."""
    what = noun_phrase(draw, "clothing jewel =ticket furniture =book device", determiner="this")
    amount = draw.choose(_PRICES)
    if draw.chance(0.35):
        predicate = Predicate(
            "pay",
            f"{amount.english} euros for {what.english}",
            FrenchVerb("payer"),
            f"{what.french} {amount.french} euros",
        )
        return full_stop(Clause(person(draw), predicate, PAST).statement())
    cost = Text(f"{amount.english} euros", f"{amount.french} euros")
    if draw.chance(0.25):
        cost = Text("an arm and a leg", "les yeux de la tête")
    predicate = Predicate("cost", cost.english, FrenchVerb("coûter"), cost.french)
    return full_stop(Clause(what, predicate, draw.choose((PRESENT, PAST))).statement())
