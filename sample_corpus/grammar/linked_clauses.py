"""Two clauses and their link: *si*, *quand*, *parce que*, *avant de*, *en* ...*ant*."""

from __future__ import annotations

from collections.abc import Callable

from sample_corpus.grammar.clauses import (
    NOT,
    Clause,
    Predicate,
    gerund,
    infinitive,
    past_infinitive,
)
from sample_corpus.grammar.constructions import construction
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.french_groups import FrenchVerb
from sample_corpus.grammar.noun_phrases import (
    NounPhrase,
    person,
    third_person_pronoun,
)
from sample_corpus.grammar.predicates import Scene, accepts, scene
from sample_corpus.grammar.tenses import (
    CONDITIONAL,
    FUTURE,
    PAST,
    PAST_CONDITIONAL,
    PLUPERFECT,
    PRESENT,
    PROGRESSIVE,
    STATE_PAST,
    WAS_DOING,
    Tense,
)
from sample_corpus.grammar.text import Text, full_stop, texts
from sample_corpus.grammar.verbs import ACTIONS, INTRANSITIVES, Frame, is_mishap

_ALL = ACTIONS + INTRANSITIVES
_LIVELY = tuple(f for f in _ALL if not f.stative and not f.punctual)
_POINTS = tuple(f for f in _ALL if f.punctual)
_BEFORE_INFINITIVE = {"before": "avant de", "without": "sans", "instead of": "au lieu de"}
_PURPOSES = texts("""
to save time = pour gagner du temps ; to earn money = pour gagner de l'argent
to help a friend = pour aider un ami ; to please everyone = pour faire plaisir à tout le monde
to avoid a mistake = pour éviter une erreur ; to be on time = pour être à l'heure
to learn the language = pour apprendre la langue ; to pass the time = pour passer le temps
to understand the problem = pour comprendre le problème ; to make room = pour faire de la place
""")
# circumstances that hold two clauses together
_SHARED = ("home", "work", "tech", "travel", "town", "out", "restaurant", "party")
_DYNAMIC = tuple(f for f in _ALL if not f.stative and f.setting in _SHARED)


def _same_or_other(draw: Draw, first: Scene) -> NounPhrase | None:
    """Return the first subject as a pronoun, or nothing for somebody new."""
    if draw.chance(0.7) and first.subject.human:
        if first.subject.pronoun:
            return first.subject
        return third_person_pronoun(first.subject.agreement)
    return None


def _second(
    draw: Draw, frames: tuple[Frame, ...], first: Scene, subject: NounPhrase | None
) -> Scene:
    """Draw what goes with the first scene: another verb of the same setting."""
    others = [f for f in frames if f is not first.frame]
    if subject is not None:
        others = [f for f in others if accepts(f, subject)] or [first.frame]
    near = [f for f in others if f.setting == first.frame.setting]
    return scene(draw, near or others, subject)


def _linked(draw: Draw, first: Text, second: Text, link: Text) -> Text:
    """Put the dependent clause after the main one, or before it with a comma."""
    if draw.chance(0.45):
        return Text(
            f"{link.english} {second.english}, {first.english}.",
            f"{link.french} {second.french}, {first.french}.",
        )
    return full_stop(first, link, second)


@construction(6)
def condition(draw: Draw) -> Text:
    """If: present and future, imparfait and conditional, pluperfect and past conditional."""
    first = scene(draw, _DYNAMIC)
    other = _second(draw, _DYNAMIC, first, _same_or_other(draw, first))
    unreal = draw.weigh(((0, 5.0), (1, 4.0), (2, 1.5)))
    imperfect = Tense("past", "imperfect", "any")
    main, inner = (
        (FUTURE, PRESENT),
        (CONDITIONAL, imperfect),
        (PAST_CONDITIONAL, PLUPERFECT),
    )[unreal]
    negation = NOT if draw.chance(0.25) else None
    result = Clause(first.subject, first.predicate, main).statement()
    cause = Clause(other.subject, other.predicate, inner, negation).statement()
    return _linked(draw, result, cause, Text("if", "si"))


@construction(6)
def when_clause(draw: Draw) -> Text:
    """When: a French future after *quand*; an imparfait for what was going on."""
    if draw.chance(0.5):
        first = scene(draw, _DYNAMIC)
        other = _second(draw, _POINTS, first, _same_or_other(draw, first))
        main = Clause(first.subject, first.predicate, FUTURE).statement()
        english = Clause(other.subject, other.predicate, PRESENT).statement().english
        french = Clause(other.subject, other.predicate, FUTURE).statement().french
        link = draw.choose((Text("when", "quand"), Text("as soon as", "dès que")))
        return _linked(draw, main, Text(english, french), link)
    going_on = scene(draw, [f for f in _LIVELY if f.setting in _SHARED])
    point = _second(draw, _POINTS, going_on, None)
    main = Clause(going_on.subject, going_on.predicate, WAS_DOING).statement()
    event = Clause(point.subject, point.predicate, PAST).statement()
    return _linked(draw, main, event, Text("when", "quand"))


_REASONS: tuple[Callable[[NounPhrase], Predicate], ...] = (
    lambda who: Predicate("be", "hungry", FrenchVerb("avoir"), "faim", stative=True),
    lambda who: Predicate("be", "cold", FrenchVerb("avoir"), "froid", stative=True),
    lambda who: Predicate("be", "late", FrenchVerb("être"), "en retard", stative=True),
    lambda who: Predicate("be", "in a hurry", FrenchVerb("être"), _pressed(who), stative=True),
    lambda who: Predicate("be", "right", FrenchVerb("avoir"), "raison", stative=True),
    lambda who: Predicate("be", "ill", FrenchVerb("être"), _sick(who), stative=True),
    lambda who: Predicate("have", "little time", FrenchVerb("avoir"), "peu de temps", stative=True),
    lambda who: Predicate("need", "money", FrenchVerb("avoir"), "besoin d'argent", stative=True),
    lambda who: Predicate("be", "on holiday", FrenchVerb("être"), "en vacances", stative=True),
    lambda who: Predicate("feel", "tired", FrenchVerb("se sentir"), _tired(who), stative=True),
)


def _suffix(who: NounPhrase) -> str:
    return ("e" if who.agreement.feminine else "") + ("s" if who.agreement.plural else "")


def _pressed(who: NounPhrase) -> str:
    return "pressé" + _suffix(who)


def _tired(who: NounPhrase) -> str:
    return "fatigué" + _suffix(who)


def _sick(who: NounPhrase) -> str:
    return "malade" + ("s" if who.agreement.plural else "")


@construction(5)
def because(draw: Draw) -> Text:
    """Because, since, so, although said plainly: a state explains an event."""
    first = scene(draw, _DYNAMIC)
    subject = _same_or_other(draw, first) or person(draw)
    reason = draw.choose(_REASONS)(subject)
    negation = NOT if draw.chance(0.3) else None
    main = Clause(first.subject, first.predicate, PAST, negation).statement()
    cause = Clause(subject, reason, STATE_PAST).statement()
    link = draw.choose(
        (
            Text("because", "parce que"),
            Text("because", "car"),
            Text("while", "alors que"),
            Text("even though", "même si"),
        )
    )
    return full_stop(main, link, cause)


@construction(7)
def before_and_after(draw: Draw) -> Text:
    """Before leaving, after eating, while singing, without looking: the French infinitives."""
    first = scene(draw, [f for f in _DYNAMIC if "person" in f.subjects.split()])
    subject = first.subject
    relation = draw.choose(("before", "after", "without", "while", "instead of"))
    frames = _LIVELY if relation == "while" else _DYNAMIC
    if relation == "instead of":
        frames = tuple(f for f in _DYNAMIC if f.objects and not is_mishap(f))
    doing = _second(draw, frames, first, subject).predicate
    main = Clause(subject, first.predicate, draw.choose((PAST, PAST, FUTURE))).statement()
    ing = gerund(doing, subject)
    if relation == "after":
        french = f"après {past_infinitive(doing, subject).french}"
    elif relation == "while":
        french = ing.french
    else:
        french = f"{_BEFORE_INFINITIVE[relation]} {infinitive(doing, subject).french}"
    link = Text(f"{relation} {ing.english}", french)
    if draw.chance(0.35) and relation != "without":
        return Text(f"{link.english}, {main.english}.", f"{link.french}, {main.french}.")
    return full_stop(main, link)


@construction(3)
def purpose(draw: Draw) -> Text:
    """To do it in order to: *pour* and an infinitive."""
    usable = [f for f in _LIVELY if f.setting in ("work", "tech", "town", "travel", "home")]
    found = scene(draw, usable)
    tense = draw.choose((PAST, PROGRESSIVE, FUTURE))
    text = Clause(found.subject, found.predicate, tense).statement()
    return full_stop(text, draw.choose(_PURPOSES))


@construction(6)
def two_events(draw: Draw) -> Text:
    """One thing and another, one thing but not the other, first this and then that."""
    first = scene(draw, [f for f in _DYNAMIC if "person" in f.subjects.split()])
    subject = first.subject
    other = _second(draw, _DYNAMIC, first, subject)
    again = subject if subject.pronoun else third_person_pronoun(subject.agreement)
    tense = draw.choose((PAST, FUTURE))
    start = Clause(subject, first.predicate, tense).statement()
    link = draw.choose((Text("and then", "et puis"), Text("but", "mais"), Text(", then", ", puis")))
    negation = NOT if link.english == "but" else None
    end = Clause(again, other.predicate, tense, negation).statement()
    return full_stop(start, link, end)
