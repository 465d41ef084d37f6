"""Where the two languages build the same thought differently: who is subject, what is a verb."""

from __future__ import annotations

from sample_corpus.grammar import adjuncts
from sample_corpus.grammar.clauses import NOT, Clause, Predicate, gerund, infinitive
from sample_corpus.grammar.constructions import agreeing, construction
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.english_words import past_participle
from sample_corpus.grammar.french_groups import FrenchVerb
from sample_corpus.grammar.french_words import with_a
from sample_corpus.grammar.noun_phrases import (
    HE,
    ME,
    SHE,
    THEY,
    YOU,
    NounPhrase,
    build,
    noun_phrase,
    person,
)
from sample_corpus.grammar.nouns import nouns_of
from sample_corpus.grammar.predicates import action, scene
from sample_corpus.grammar.tenses import (
    CONDITIONAL,
    FUTURE,
    GOING_TO,
    MUST,
    PAST,
    PERFECT,
    PRESENT,
    STATE_PAST,
    english_verb,
)
from sample_corpus.grammar.text import NOTHING, Text, full_stop, join, rows, texts, words
from sample_corpus.grammar.verbs import ACTIONS

DATIVES = {"je": "me", "vous": "vous", "il": "lui", "elle": "lui", "nous": "nous", "ils": "leur"}
_SHORT = texts("an hour = une heure ; two hours = deux heures ; ten minutes = dix minutes")
_LONG = texts("three days = trois jours ; a week = une semaine ; six months = six mois")
_VERY_LONG = texts("five years = cinq ans ; a long time = longtemps")
_SINCE = texts("""
since this morning = depuis ce matin ; since last year = depuis l'année dernière
since yesterday = depuis hier ; since the beginning of the month = depuis le début du mois
""")
# English, French verb and what follows it
_LASTING = rows("""
living here ; habiter ; ici
working in this company ; travailler ; dans cette entreprise
learning French ; apprendre ; le français
playing the piano ; jouer ; du piano
waiting for the bus ; attendre ; le bus
looking for a job ; chercher ; un travail
writing this report ; écrire ; ce rapport
working on this project ; travailler ; sur ce projet
running this hotel ; diriger ; cet hôtel
ill ; être ; malade
away ; être ; absent
""")
# English verb, French verb, parts of the body
_BODY_VERBS = (
    ("break", "se casser", "leg arm finger tooth"),
    ("hurt", "se faire", "back knee hand foot"),
    ("wash", "se laver", "hand foot"),
    ("brush", "se brosser", "tooth"),
    ("burn", "se brûler", "hand finger"),
)
_ACHING = ("head", "back", "tooth", "knee", "foot", "arm", "leg")
# household tasks that take their time
_LONG_CHORES = words(
    "laver nettoyer ranger préparer faire repasser repeindre réparer chercher lire écrire dessiner"
)
_DONE_BY_OTHERS = ("réparer", "traduire", "laver", "nettoyer", "repeindre", "imprimer", "vérifier")
# English, French verb, preposition of the goal, French manner
_MOTIONS = (
    ("drive to", "aller", "à", "en voiture"),
    ("walk to", "aller", "à", "à pied"),
    ("cycle to", "aller", "à", "à vélo"),
    ("rush to", "aller", "à", "en toute hâte"),
    ("swim across", "traverser", "", "à la nage"),
)
_GOALS = "=station =school =beach =museum =library =office =hospital =town"


def dative(who: NounPhrase) -> tuple[tuple[str, ...], str]:
    """Return how a French verb takes "to somebody": as a clitic, or after it with *à*."""
    if who.pronoun:
        return (DATIVES[who.pronoun],), ""
    return (), with_a(who.french)


def _object_form(who: NounPhrase) -> str:
    forms = {"I": "me", "he": "him", "she": "her", "we": "us", "they": "them"}
    return forms.get(who.english, who.english)


@construction(3)
def missing_somebody(draw: Draw) -> Text:
    """She misses her brother: French makes the brother the subject of *manquer*."""
    who = person(draw)
    missed = _missed(draw, who)
    negation = NOT if draw.chance(0.2) else None
    tense = draw.choose((PRESENT, PRESENT, STATE_PAST, FUTURE, CONDITIONAL))
    verb = english_verb("miss", tense, who.agreement, negation="n't" if negation else "")
    much = Text("a lot", "beaucoup") if negation is None and draw.chance(0.3) else NOTHING
    clitics, after = dative(who)
    predicate = Predicate("miss", "", FrenchVerb("manquer", clitics), join(much.french, after))
    return full_stop(
        Text(
            join(who.english, verb.auxiliary, verb.rest, _object_form(missed), much.english),
            Clause(missed, predicate, tense, negation).statement().french,
        )
    )


def _missed(draw: Draw, who: NounPhrase) -> NounPhrase:
    """Draw somebody or something to miss, never the one who misses."""
    if draw.chance(0.7):
        kinds = "kin role home town leisure pet"
        return noun_phrase(draw, kinds, determiner="possessive", owner=who, adjectives=0.1)
    if who.agreement.person == 3:
        return draw.choose((ME, YOU))
    return draw.choose((HE, SHE, THEY))


@construction(3)
def pleasing(draw: Draw) -> Text:
    """I like this film: French says that the film pleases."""
    who = person(draw)
    liked = noun_phrase(
        draw,
        "show home town clothing picture idea music =present",
        determiner=draw.weigh((("this", 4.0), ("the", 2.0), ("the many", 1.0), ("owner", 1.0))),
    )
    assert liked.noun is not None
    draw.note("like", liked.noun.english[0])
    negation = NOT if draw.chance(0.35) else None
    tense = draw.choose((PRESENT, PRESENT, PAST))
    verb = english_verb("like", tense, who.agreement, negation="n't" if negation else "")
    much = Text("very much", "beaucoup") if negation is None and draw.chance(0.35) else NOTHING
    clitics, after = dative(who)
    predicate = Predicate("like", "", FrenchVerb("plaire", clitics), after)
    clause = Clause(liked, predicate, tense, negation, adverb=Text("", much.french))
    english = join(who.english, verb.auxiliary, verb.rest, liked.english, much.english)
    return full_stop(Text(english, clause.statement().french))


@construction(1.5)
def pain(draw: Draw) -> Text:
    """My head hurts: *avoir mal à*, with the owner as the subject."""
    who = person(draw)
    while who.agreement.english_plural:
        who = person(draw)
    part = draw.choose(nouns_of(" ".join(f"={word}" for word in _ACHING)))
    plural = part.english[0] in ("tooth", "leg", "foot")
    tense = PRESENT if plural else draw.choose((PRESENT, PRESENT, STATE_PAST))
    owner = f"{who.english}'s {part.english[plural]}"
    if who.pronoun:
        owner = build(part, "possessive", owner=who, plural=plural).english
    hurts = "hurts" if tense is PRESENT and not plural else "hurt"
    tail = f"mal {with_a(build(part, 'the', plural=plural).french)}"
    french = Clause(who, Predicate("have", "", FrenchVerb("avoir"), tail), tense).statement()
    when = adjuncts.time(draw, "state past" if tense is STATE_PAST else "now")
    if draw.chance(0.5) or when.english in ("as a child", "at the same time", "this time"):
        when = NOTHING
    return Text(f"{join(owner, hurts, when.english)}.", f"{join(french.french, when.french)}.")


@construction(3)
def injury_and_care(draw: Draw) -> Text:
    """He broke his leg: a reflexive verb and a definite article."""
    english, french, parts = draw.choose(_BODY_VERBS)
    part = draw.choose(nouns_of(" ".join(f"={word}" for word in parts.split())))
    both = english in ("wash", "brush")
    who = person(draw)
    while who.agreement.english_plural and not both:
        who = person(draw)
    own = build(part, "possessive", owner=who, plural=both)
    the = build(part, "the", plural=both).french
    draw.note(english, part.english[0])
    verb, tail = FrenchVerb(french, reflexive_agrees=False), the
    if french == "se faire":
        tail = f"mal {with_a(the)}"
    tense = draw.choose((PAST, PAST, FUTURE, GOING_TO) if both else (PAST, PAST, PERFECT))
    text = Clause(who, Predicate(english, own.english, verb, tail), tense).statement()
    when = adjuncts.time(draw, "past") if tense is PAST and draw.chance(0.4) else NOTHING
    return full_stop(text, when)


@construction(4)
def for_and_since(draw: Draw) -> Text:
    """Has been living here for five years: French keeps the present with *depuis*."""
    subject = person(draw)
    english, infinitive_, tail = draw.choose(_LASTING)
    tail = agreeing(tail, subject.agreement) if infinitive_ == "être" else tail
    french = Clause(subject, Predicate("", "", FrenchVerb(infinitive_), tail), PRESENT)
    third = subject.agreement.person == 3 and not subject.agreement.english_plural
    start = draw.choose(_SINCE)
    if draw.chance(0.55):
        duration = draw.choose(_SHORT + _LONG + _VERY_LONG)
        start = Text(f"for {duration.english}", f"depuis {duration.french}")
    return full_stop(
        Text(
            f"{subject.english} {'has' if third else 'have'} been {english}",
            french.statement().french,
        ),
        start,
    )


@construction(3)
def it_takes_time(draw: Draw) -> Text:
    """It takes two hours to: *il faut*, *mettre* or *passer*, as the subject demands."""
    short = draw.chance(0.4)
    settings = ("home",) if short else ("work", "tech")
    lively = [f for f in ACTIONS if not (f.stative or f.punctual) and f.setting in settings]
    lively = [f for f in lively if not short or f.infinitive in _LONG_CHORES]
    duration = draw.choose(_SHORT if short else _SHORT + _LONG)
    if draw.chance(0.45):
        task = infinitive(action(draw, lively, ME))
        takes, faut = draw.choose((("takes", "faut"), ("took", "a fallu"), ("will take", "faudra")))
        return Text(
            f"it {takes} {duration.english} to {task.english}.",
            f"il {faut} {duration.french} pour {task.french}.",
        )
    subject = person(draw)
    doing = action(draw, lively, subject)
    task = infinitive(doing, subject)
    if draw.chance(0.5):
        predicate = Predicate(
            "take",
            f"{duration.english} to {task.english}",
            FrenchVerb("mettre"),
            f"{duration.french} à {task.french}",
        )
        text = Clause(subject, predicate, draw.choose((PAST, FUTURE))).statement()
        return full_stop(text)
    predicate = Predicate(
        "spend",
        f"{duration.english} {gerund(doing, subject).english}",
        FrenchVerb("passer"),
        f"{duration.french} à {task.french}",
    )
    text = Clause(subject, predicate, draw.choose((PAST, FUTURE))).statement()
    return full_stop(text)


@construction(2)
def having_it_done(draw: Draw) -> Text:
    """To have the car repaired: *faire* and an infinitive."""
    subject = person(draw)
    frames = [f for f in ACTIONS if f.infinitive in _DONE_BY_OTHERS and not f.french_end]
    found = scene(draw, frames, subject)
    assert found.object is not None
    predicate = Predicate(
        "have",
        f"{found.object.english} {past_participle(found.frame.english_verb)}",
        FrenchVerb("faire"),
        f"{found.frame.infinitive} {found.object.french}",
    )
    text = Clause(subject, predicate, draw.choose((PAST, FUTURE, GOING_TO, MUST))).statement()
    return full_stop(text)


@construction(2)
def motion_and_manner(draw: Draw) -> Text:
    """Drove to, swam across: the way of moving is the verb in English, an adjunct in French."""
    subject = person(draw)
    english, verb, tail, end = draw.choose(_MOTIONS)
    place = noun_phrase(
        draw, "=lake =river" if english == "swim across" else _GOALS, determiner="the"
    )
    goal = place.french if tail == "" else with_a(place.french)
    predicate = Predicate(
        english.split(" ")[0],
        f"{english.partition(' ')[2]} {place.english}",
        FrenchVerb(verb),
        f"{goal} {end}",
    )
    tense = draw.choose((PAST, PAST, FUTURE, GOING_TO))
    text = Clause(subject, predicate, tense).statement()
    when = adjuncts.time(draw, tense.time) if draw.chance(0.4) else NOTHING
    return full_stop(text, when)
