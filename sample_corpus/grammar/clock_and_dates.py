"""The clock, dates, ages, and the many French words for *time*."""

from __future__ import annotations

from sample_corpus.grammar import adjuncts
from sample_corpus.grammar.clauses import Clause, Predicate
from sample_corpus.grammar.constructions import agreeing, construction
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.french_groups import FrenchVerb
from sample_corpus.grammar.noun_phrases import noun_phrase, person
from sample_corpus.grammar.predicates import scene
from sample_corpus.grammar.tenses import FUTURE, GOING_TO, PAST, PRESENT, STATE_PAST
from sample_corpus.grammar.text import NOTHING, Text, full_stop, texts
from sample_corpus.grammar.verbs import ACTIONS, INTRANSITIVES

_HOURS = texts("""
one = une heure ; two = deux heures ; three = trois heures ; four = quatre heures
five = cinq heures ; six = six heures ; seven = sept heures ; eight = huit heures
nine = neuf heures ; ten = dix heures ; eleven = onze heures
""")
_MONTHS = texts("""
January = janvier ; March = mars ; April = avril ; May = mai ; June = juin ; July = juillet
September = septembre ; October = octobre ; December = décembre
""")
_DAYS = (1, 2, 4, 8, 11, 14, 20, 25, 30)
_AGES = texts("""
five = cinq ; eight = huit ; ten = dix ; twelve = douze ; eighteen = dix-huit ; twenty = vingt
thirty = trente ; forty-two = quarante-deux ; fifty = cinquante ; seventy = soixante-dix
eighty-one = quatre-vingt-un ; ninety = quatre-vingt-dix
""")
_AT_THAT_AGE = texts("""
when the war broke out = quand la guerre a éclaté ; at that time = à cette époque
when I met them = quand je les ai rencontrés
at the time of the accident = au moment de l'accident
""")
_TAKING_PLACE = texts("""
is on = a lieu ; will take place on = aura lieu ; took place on = a eu lieu ; begins on = commence
""")
# what people do at a given time of day
_TIMED = ("partir", "arriver", "se lever", "se coucher", "rentrer", "sortir", "se réveiller")
_TIMES = (
    (
        PAST,
        texts("""
three times = trois fois ; for the last time = pour la dernière fois
at the right time = au bon moment ; at the wrong time = au mauvais moment
in no time = en un rien de temps ; at last = enfin
"""),
    ),
    (FUTURE, texts("this time = cette fois ; one more time = encore une fois")),
    (
        PRESENT,
        texts("""
at the same time = en même temps ; every time = à chaque fois ; all the time = tout le temps
several times a day = plusieurs fois par jour
"""),
    ),
)


def clock(draw: Draw) -> Text:
    """Draw a time of day: "half past three", "trois heures et demie"."""
    at = draw.choose(range(len(_HOURS)))
    hour, after = _HOURS[at], _HOURS[(at + 1) % len(_HOURS)]
    return draw.choose(
        (
            Text(f"{hour.english} o'clock", hour.french),
            Text(f"half past {hour.english}", f"{hour.french} et demie"),
            Text(f"a quarter past {hour.english}", f"{hour.french} et quart"),
            Text(f"a quarter to {after.english}", f"{after.french} moins le quart"),
            Text(f"ten to {after.english}", f"{after.french} moins dix"),
            Text(f"twenty past {hour.english}", f"{hour.french} vingt"),
        )
    )


@construction(2)
def time_of_day(draw: Draw) -> Text:
    """It is half past three; we leave at ten to four."""
    when = clock(draw)
    if draw.chance(0.25):
        return full_stop(Text("it is", "il est"), when)
    found = scene(draw, [f for f in INTRANSITIVES if f.punctual and f.infinitive in _TIMED])
    tense = draw.choose((PAST, FUTURE, GOING_TO))
    text = Clause(found.subject, found.predicate, tense).statement()
    return full_stop(text, Text("at", "à"), when)


@construction(2)
def calendar_date(draw: Draw) -> Text:
    """The meeting is on 14 July: *aura lieu le 14 juillet*."""
    month, day = draw.choose(_MONTHS), draw.choose(_DAYS)
    number = "1er" if day == 1 else str(day)
    date = Text(f"{day} {month.english}", f"{number} {month.french}")
    what = noun_phrase(draw, "event exam", determiner="the", adjectives=0.1)
    named = Text(what.english, what.french)
    if draw.chance(0.65):
        return full_stop(named, draw.choose(_TAKING_PLACE), Text(date.english, f"le {date.french}"))
    if draw.chance(0.5):
        off = agreeing("reporté", what.agreement)
        return full_stop(named, Text("has been put off until", f"a été {off} au"), date)
    off = agreeing("annulé", what.agreement)
    return full_stop(named, Text("was cancelled on", f"a été {off} le"), date)


@construction(2)
def age(draw: Draw) -> Text:
    """She is twenty: one *has* years in French."""
    who = person(draw)
    years = draw.choose(_AGES)
    if who.noun is not None:
        years = draw.choose(_AGES[:5] if who.noun.has("young") else _AGES[6:])
    old = draw.choose((f"{years.english} years old", years.english))
    predicate = Predicate("be", old, FrenchVerb("avoir"), f"{years.french} ans", stative=True)
    tense = draw.choose((PRESENT, PRESENT, STATE_PAST, FUTURE))
    text = Clause(who, predicate, tense).statement()
    if tense is PRESENT:
        return full_stop(text)
    if tense is STATE_PAST:
        return full_stop(text, draw.choose(_AT_THAT_AGE))
    return full_stop(
        text, draw.choose(texts("tomorrow = demain ; next week = la semaine prochaine"))
    )


@construction(2)
def kinds_of_time(draw: Draw) -> Text:
    """Time as *fois*, *temps*, *moment*: the phrase around it decides."""
    tense, times = draw.choose(_TIMES)
    settings = ("home", "work", "out", "town", "travel")
    usable = [f for f in ACTIONS + INTRANSITIVES if not f.stative and f.setting in settings]
    found = scene(draw, usable)
    text = Clause(found.subject, found.predicate, tense).statement()
    where = adjuncts.place(draw, found.frame.setting) if draw.chance(0.3) else NOTHING
    return full_stop(text, where, draw.choose(times))
