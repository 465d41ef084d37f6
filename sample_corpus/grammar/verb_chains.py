"""A verb that governs another: infinitives with *à*, *de* or nothing, the subjunctive, *faire*."""

from __future__ import annotations

from collections.abc import Sequence

from sample_corpus.grammar import french_groups, french_verbs
from sample_corpus.grammar.agreement import Agreement
from sample_corpus.grammar.clauses import NOT, Clause, Predicate, gerund, infinitive
from sample_corpus.grammar.constructions import construction
from sample_corpus.grammar.divergences import DATIVES
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.french_groups import FrenchVerb
from sample_corpus.grammar.french_words import with_a
from sample_corpus.grammar.noun_phrases import (
    PRONOUNS,
    NounPhrase,
    noun_phrase,
    person,
    pronoun,
)
from sample_corpus.grammar.predicates import accepts, direct_clitic, object_pronoun, scene
from sample_corpus.grammar.tenses import (
    CONDITIONAL,
    FUTURE,
    PAST,
    PRESENT,
    STATE_PAST,
    Tense,
)
from sample_corpus.grammar.text import Text, full_stop, join
from sample_corpus.grammar.verbs import ACTIONS, INTRANSITIVES, Frame, is_mishap

_ALL = ACTIONS + INTRANSITIVES
_DYNAMIC = tuple(f for f in _ALL if not f.stative and not is_mishap(f))
_LIVELY = tuple(f for f in _DYNAMIC if not f.punctual)
_ANY: tuple[Tense, ...] = (PRESENT, PAST, FUTURE)
_STATES: tuple[Tense, ...] = (PRESENT, STATE_PAST)
_PAST: tuple[Tense, ...] = (PAST, PAST, FUTURE)
# English verb and link, French verb and link, tenses, English form of the second verb
_CHAINS = (
    ("begin", "to", "commencer", "à", _PAST, "to"),
    ("stop", "", "arrêter", "de", _ANY, "ing"),
    ("try", "to", "essayer", "de", _ANY, "to"),
    ("forget", "to", "oublier", "de", _PAST, "to"),
    ("remember", "to", "penser", "à", _PAST, "to"),
    ("decide", "to", "décider", "de", _PAST, "to"),
    ("refuse", "to", "refuser", "de", _ANY, "to"),
    ("avoid", "", "éviter", "de", _ANY, "ing"),
    ("want", "to", "vouloir", "", _STATES, "to"),
    ("hope", "to", "espérer", "", _STATES, "to"),
    ("like", "", "aimer", "", _STATES, "ing"),
    ("hate", "", "détester", "", _STATES, "ing"),
    ("prefer", "to", "préférer", "", _STATES, "to"),
    ("need", "to", "avoir", "besoin de", _STATES, "to"),
    ("have", "to", "devoir", "", (PRESENT, PAST, FUTURE), "to"),
    ("learn", "to", "apprendre", "à", _PAST, "to"),
    ("manage", "to", "réussir", "à", _PAST, "to"),
    ("succeed", "in", "réussir", "à", _PAST, "ing"),
    ("be", "able to", "pouvoir", "", (FUTURE, FUTURE), "to"),
    ("be", "used to", "avoir", "l'habitude de", _STATES, "ing"),
    ("be", "about to", "être", "sur le point de", _STATES, "to"),
    ("be", "afraid of", "avoir", "peur de", _STATES, "ing"),
    ("feel", "like", "avoir", "envie de", _STATES, "ing"),
    ("give up", "", "renoncer", "à", _PAST, "ing"),
    ("keep", "", "continuer", "à", _PAST, "ing"),
    ("promise", "to", "promettre", "de", _PAST, "to"),
    ("threaten", "to", "menacer", "de", (PAST,), "to"),
    ("look forward to", "", "avoir", "hâte de", _STATES, "ing"),
    ("be", "ready to", "être", "prêt à", _STATES, "to"),
)
# "don't have to" is no *ne doit pas*
_NEVER_NEGATED = ("have", "be", "threaten")
# English verb, French verb, how French marks the other person, its link
_INFLUENCES = (
    ("ask", "to", "demander", "dative", "de"),
    ("tell", "to", "dire", "dative", "de"),
    ("advise", "to", "conseiller", "dative", "de"),
    ("allow", "to", "permettre", "dative", "de"),
    ("forbid", "to", "interdire", "dative", "de"),
    ("help", "to", "aider", "direct", "à"),
    ("help", "", "aider", "direct", "à"),
    ("encourage", "to", "encourager", "direct", "à"),
    ("force", "to", "obliger", "direct", "à"),
    ("prevent", "from", "empêcher", "direct", "de"),
    ("let", "", "laisser", "direct", ""),
    ("teach", "to", "apprendre", "dative", "à"),
    ("invite", "to", "inviter", "direct", "à"),
)
_NEEDS = (
    Text("it is necessary that", "il faut que"),
    Text("it is important that", "il est important que"),
    Text("it is a pity that", "c'est dommage que"),
    Text("it is possible that", "il est possible que"),
)


def _doing(draw: Draw, subject: NounPhrase, frames: Sequence[Frame] = _DYNAMIC) -> Predicate:
    return scene(draw, [f for f in frames if accepts(f, subject)], subject).predicate


def _agree(tail: str, subject: NounPhrase) -> str:
    """Make "prêt à" agree with the subject."""
    if not tail.startswith("prêt"):
        return tail
    feminine, plural = subject.agreement.feminine, subject.agreement.plural
    return "prêt" + ("e" if feminine else "") + ("s" if plural else "") + " à"


@construction(7)
def chain_of_verbs(draw: Draw) -> Text:
    """To begin, stop, try, forget, want ... to do something: each with its own link."""
    english, link, french, lien, tenses, form = draw.choose(_CHAINS)
    subject = person(draw)
    frames = _LIVELY if english in ("stop", "begin", "keep", "give up", "like") else _DYNAMIC
    second = _doing(draw, subject, frames)
    bare, ing = infinitive(second, subject), gerund(second, subject)
    head, _, particle = english.partition(" ")
    words = join(particle, link, ing.english if form == "ing" else bare.english)
    predicate = Predicate(
        head,
        words,
        FrenchVerb(french),
        join(_agree(lien, subject), bare.french),
        stative=tenses is _STATES,
    )
    negation = NOT if draw.chance(0.22) and english not in _NEVER_NEGATED else None
    text = Clause(subject, predicate, draw.choose(tenses), negation).statement()
    return full_stop(text)


@construction(2)
def polite_wish(draw: Draw) -> Text:
    """I would like to, I'd rather, I would prefer not to."""
    subject = pronoun(draw)
    second = _doing(draw, subject)
    form = draw.choose(("like", "like", "rather", "not"))
    if form == "rather":
        text = infinitive(second, subject)
        first = Clause(
            subject, Predicate("", "", FrenchVerb("préférer"), ""), CONDITIONAL
        ).statement()
        return Text(
            f"{subject.english} would rather {text.english}.", f"{first.french} {text.french}."
        )
    negated = form == "not"
    text = infinitive(second, subject, negated=negated)
    verb = "préférer" if negated else "vouloir"
    first = Clause(subject, Predicate("", "", FrenchVerb(verb), ""), CONDITIONAL).statement()
    would = "would prefer" if negated else "would like to"
    return Text(f"{subject.english} {would} {text.english}.", f"{first.french} {text.french}.")


@construction(6)
def influence_on_others(draw: Draw) -> Text:
    """To ask, help, let, forbid somebody to do something."""
    english, link, french, case, lien = draw.choose(_INFLUENCES)
    subject = person(draw)
    other = noun_phrase(
        draw, "kin role child learner", determiner="the", owner=subject, adjectives=0.1
    )
    as_pronoun = draw.chance(0.5)
    if as_pronoun:
        other = pronoun(draw)
        while other.agreement.person == subject.agreement.person:
            other = pronoun(draw)
    second = _doing(draw, other)
    negated = english in ("ask", "tell", "advise") and draw.chance(0.3)
    task = infinitive(second, other, negated=negated)
    who, verb, after = _patient(french, other, as_pronoun, case)
    words = gerund(second, other).english if link == "from" else task.english
    tail = join(who, link if not negated else "", words)
    predicate = Predicate(english, tail, verb, join(after, lien, task.french))
    tense = draw.choose((PAST, PAST, PAST, FUTURE))
    text = Clause(subject, predicate, tense, NOT if draw.chance(0.12) else None).statement()
    return full_stop(text)


def _patient(
    french: str, other: NounPhrase, as_pronoun: bool, case: str
) -> tuple[str, FrenchVerb, str]:
    """Return the other person in English, the French verb with its clitics, what follows it."""
    if not as_pronoun:
        after = with_a(other.french) if case == "dative" else other.french
        return other.english, FrenchVerb(french), after
    who = object_pronoun(other.agreement, True)
    if case == "dative":
        return who, FrenchVerb(french, (DATIVES[other.pronoun],)), ""
    # laissé stays as it is before an infinitive
    target = None if french == "laisser" else other.agreement
    return who, FrenchVerb(french, (direct_clitic(other.agreement),), preceding=target), ""


@construction(4)
def subjunctive(draw: Draw) -> Text:
    """To want somebody to do something, it is necessary that: *que* and the subjunctive."""
    subject = person(draw)
    other = person(draw)
    while other.agreement.person == subject.agreement.person:
        other = person(draw)
    second = _doing(draw, other)
    wished = french_groups.conjugated(second.french_verb, french_verbs.SUBJUNCTIVE, other.agreement)
    french = join(other.french, str(wished), second.french_tail)
    if draw.chance(0.65):
        verb, verbe = draw.choose((("want", "vouloir"), ("want", "vouloir"), ("would like", "")))
        who = object_pronoun(other.agreement, True) if other.pronoun else other.english
        task = f"{who} to {infinitive(second).english}"
        if not verbe:
            wish = Clause(subject, Predicate("", "", FrenchVerb("aimer"), ""), CONDITIONAL)
            return Text(
                f"{subject.english} would like {task}.", f"{wish.statement().french} que {french}."
            )
        predicate = Predicate(verb, task, FrenchVerb(verbe), f"que {french}", stative=True)
        tense = draw.choose((PRESENT, PRESENT, STATE_PAST))
        negation = NOT if draw.chance(0.25) else None
        text = Clause(subject, predicate, tense, negation).statement()
        return full_stop(text)
    need = draw.choose(_NEEDS)
    english = Clause(other, second, PRESENT).statement().english
    if need.french == "il faut que":
        return Text(
            f"{Clause(other, second, _HAVE_TO).statement().english}.", f"il faut que {french}."
        )
    return Text(f"{need.english} {english}.", f"{need.french} {french}.")


_HAVE_TO = Tense("must base", french_verbs.PRESENT, "any")


@construction(3)
def perception_and_causation(draw: Draw) -> Text:
    """I saw him leave, she made us laugh: the other person is the object of the first verb."""
    subject = person(draw)
    other = pronoun(draw)
    while other.agreement.person == subject.agreement.person:
        other = pronoun(draw)
    english, french, tense = draw.choose(
        (
            ("see", "voir", PAST),
            ("hear", "entendre", PAST),
            ("watch", "regarder", PAST),
            ("make", "faire", PAST),
            ("make", "faire", FUTURE),
            ("let", "laisser", PAST),
        )
    )
    usable = {
        "hear": ("chanter", "crier", "rire", "pleurer", "jouer", "rentrer"),
        "make": ("rire", "pleurer", "danser", "travailler", "attendre", "manger"),
        "see": ("danser", "tomber", "partir", "courir", "nager", "arriver", "sourire"),
        "watch": ("danser", "jouer", "dormir", "courir"),
        "let": ("partir", "dormir", "jouer", "sortir", "chanter"),
    }[english]
    frames = [f for f in INTRANSITIVES if f.infinitive in usable and "person" in f.subjects.split()]
    second = scene(draw, frames, other)
    task = infinitive(second.predicate, other)
    seen = other.agreement if english in ("see", "hear", "watch") else None
    verb = FrenchVerb(french, (direct_clitic(other.agreement),), preceding=seen)
    who = object_pronoun(other.agreement, True)
    predicate = Predicate(english, f"{who} {task.english}", verb, task.french)
    text = Clause(subject, predicate, tense).statement()
    return full_stop(text)


@construction(2)
def making_it_so(draw: Draw) -> Text:
    """It made her sad, the news makes us happy: *rendre* and an adjective."""
    english, cause = draw.choose(
        (
            ("this news", "cette nouvelle"),
            ("this song", "cette chanson"),
            ("your letter", "votre lettre"),
            ("the noise", "le bruit"),
            ("this decision", "cette décision"),
            ("the heat", "la chaleur"),
            ("the end of the film", "la fin du film"),
            ("waiting", "l'attente"),
        )
    )
    who = draw.choose([one for one in PRONOUNS if one.agreement.person != 2])
    said, dit = draw.choose(
        (
            ("sad", "triste"),
            ("happy", "heureux"),
            ("angry", "furieux"),
            ("ill", "malade"),
            ("mad", "fou"),
            ("nervous", "nerveux"),
        )
    )
    agreement = who.agreement
    form = _EMOTION_FEMININES.get(dit, dit) if agreement.feminine else dit
    form = form if form.endswith("x") or not agreement.plural else form + "s"
    verb = FrenchVerb("rendre", (direct_clitic(agreement),), preceding=agreement)
    thing = NounPhrase(
        english, cause, Agreement(feminine=cause.startswith(("cette", "la", "votre")))
    )
    predicate = Predicate("make", f"{object_pronoun(agreement, True)} {said}", verb, form)
    text = Clause(thing, predicate, draw.choose((PAST, PRESENT, FUTURE))).statement()
    return full_stop(text)


_EMOTION_FEMININES = {
    "heureux": "heureuse",
    "furieux": "furieuse",
    "fou": "folle",
    "nerveux": "nerveuse",
}
