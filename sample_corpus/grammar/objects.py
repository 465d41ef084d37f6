"""Objects in all their places: clitics, two objects at once, orders, the passive."""

from __future__ import annotations

from sample_corpus.grammar import english_words
from sample_corpus.grammar.agreement import Agreement
from sample_corpus.grammar.clauses import NEVER, NOT, Clause, Predicate, imperative
from sample_corpus.grammar.constructions import construction, tense_for
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.french_groups import FrenchVerb
from sample_corpus.grammar.french_verbs import participle
from sample_corpus.grammar.french_words import with_a
from sample_corpus.grammar.noun_phrases import (
    HE,
    ME,
    PRONOUNS,
    SHE,
    THEY,
    WE,
    YOU,
    NounPhrase,
    build,
    name,
    noun_phrase,
    person,
    third_person_pronoun,
)
from sample_corpus.grammar.predicates import (
    can_be_pronoun,
    object_pronoun,
    scene,
    with_pronoun,
)
from sample_corpus.grammar.statements import draw_negation, dress
from sample_corpus.grammar.tenses import (
    FUTURE,
    HAS_JUST,
    PAST,
    PERFECT,
    PRESENT,
    STATE_PAST,
    Tense,
)
from sample_corpus.grammar.text import NOTHING, Text, full_stop, join
from sample_corpus.grammar.verbs import ACTIONS, INTRANSITIVES, actions_on, is_mishap

# English, French, kinds of the thing given
_TRANSFERS = (
    ("give", "donner", "=key =book money fruit snack advice =flower"),
    ("give", "offrir", "gift jewel"),
    ("lend", "prêter", "money =book =umbrella =bike =car tool"),
    ("show", "montrer", "picture =map =garden home outcome"),
    ("send", "envoyer", "mail document gift"),
    ("sell", "vendre", "vehicle =painting home"),
    ("explain", "expliquer", "rule problem method decision"),
    ("tell", "raconter", "tale"),
    ("tell", "dire", "truth"),
    ("read", "lire", "=poem =letter tale"),
    ("bring", "apporter", "drink snack dish =present"),
    ("return", "rendre", "=key =book =dictionary tool"),
    ("owe", "devoir", "money"),
    ("teach", "apprendre", "=song"),
    ("offer", "proposer", "job-post snack hot-drink"),
)
# "explain it to me", never "explain me it"
_ONLY_TO = ("explain", "return")
_REGRET = Predicate("regret", "it", FrenchVerb("regretter", ("le",)), "")
_TRANSFER_TENSES = (PAST, PAST, FUTURE, PERFECT, HAS_JUST)
_GIVEN = (("the", 4.0), ("a", 3.0), ("possessive", 2.0), ("this", 1.0), ("the many", 1.0))
_PASSIVE_TENSES = (
    ("was {}", "were {}", "a été {}", "ont été {}"),
    ("is going to be {}", "are going to be {}", "va être {}", "vont être {}"),
    ("will be {}", "will be {}", "sera {}", "seront {}"),
    ("must be {}", "must be {}", "doit être {}", "doivent être {}"),
    ("has just been {}", "have just been {}", "vient d'être {}", "viennent d'être {}"),
    ("has never been {}", "have never been {}", "n'a jamais été {}", "n'ont jamais été {}"),
    ("wasn't {}", "weren't {}", "n'a pas été {}", "n'ont pas été {}"),
    ("can't be {}", "can't be {}", "ne peut pas être {}", "ne peuvent pas être {}"),
)
# what one may be told to do
_ORDERED = tuple(
    frame
    for frame in ACTIONS + INTRANSITIVES
    if frame.setting in ("home", "work", "tech", "restaurant", "out", "travel")
    and not frame.stative
    and "person" in frame.subjects.split()
    and not is_mishap(frame)
)
_PASSIVE_TABLE = tuple(
    frame
    for frame in ACTIONS
    if not frame.preposition
    and not frame.stative
    and "liked" not in frame.flags
    and "own" not in frame.flags
    and frame.infinitive not in ("vouloir", "aller", "élever", "porter", "épouser")
    and "*" not in frame.english
    and len(frame.english.split(" ")) == 2
)


@construction(5)
def pronoun_object(draw: Draw) -> Text:
    """The object as a clitic, with its agreement where it stands before a participle."""
    found = scene(draw, [frame for frame in ACTIONS if can_be_pronoun(frame)])
    assert found.object is not None
    predicate = with_pronoun(found.frame, found.object.agreement, found.object.human)
    if draw.chance(0.35):
        negation, tense = draw_negation(draw, found.frame)
        text = Clause(found.subject, predicate, tense, negation).statement()
        return full_stop(text)
    clause = Clause(found.subject, predicate, tense_for(draw, found.frame))
    return dress(draw, clause, found.frame.setting)


@construction(3)
def me_and_you_as_objects(draw: Draw) -> Text:
    """Speaker or hearer as the object."""
    people = [
        frame
        for frame in ACTIONS
        if can_be_pronoun(frame) and {"kin", "role"} & set(frame.objects.split())
    ]
    found = scene(draw, people)
    others = [who for who in PRONOUNS if who.pronoun != found.subject.pronoun]
    # the same person on both sides would be a reflexive
    others = [o for o in others if o.agreement.person != found.subject.agreement.person]
    target = draw.choose(others or [THEY])
    if target.agreement.person == found.subject.agreement.person == 3:
        target = draw.choose((ME, WE, YOU))
    predicate = with_pronoun(found.frame, target.agreement, True)
    clause = Clause(found.subject, predicate, tense_for(draw, found.frame))
    return dress(draw, clause, found.frame.setting)


@construction(5)
def pronoun_with_antecedent(draw: Draw) -> Text:
    """A thing is named, then comes back as a pronoun of its gender."""
    usable = [f for f in ACTIONS if f.flags in (("event",), ()) and "person" in f.subjects.split()]
    first = scene(draw, usable)
    while not first.subject.human:
        first = scene(draw, usable)
    assert first.object is not None and first.object.noun is not None
    start = Clause(first.subject, first.predicate, PAST).statement()
    again = third_person_pronoun(first.subject.agreement, first.subject.human)
    subject = first.subject if first.subject.pronoun else again
    others = [
        frame
        for frame in actions_on(first.object.noun)
        if frame.infinitive != first.frame.infinitive
        and can_be_pronoun(frame)
        and "person" in frame.subjects.split()
    ]
    if not others:
        text = Clause(subject, _REGRET, PRESENT).statement()
        return Text(f"{start.english} and {text.english}.", f"{start.french} et {text.french}.")
    frame = draw.choose(others)
    predicate = with_pronoun(frame, first.object.agreement, first.object.human)
    tense = PRESENT if frame.stative else draw.choose((PAST, FUTURE))
    more = Clause(subject, predicate, tense, draw.choose((NOT, NEVER))).statement()
    return Text(f"{start.english}, but {more.english}.", f"{start.french}, mais {more.french}.")


def _receiver(draw: Draw, giver: NounPhrase) -> NounPhrase:
    while True:
        found = noun_phrase(
            draw, "kin role learner child", determiner="the", owner=giver, adjectives=0.1
        )
        if found.english != giver.english:
            return found


def _transfer(draw: Draw) -> tuple[str, str, NounPhrase]:
    """Draw a verb of giving and what is given."""
    english, french, kinds = draw.choose(_TRANSFERS)
    phrase = noun_phrase(draw, draw.choose(kinds.split()), determiner=draw.weigh(_GIVEN))
    noun = phrase.noun
    assert noun is not None
    if noun.has("mass"):
        phrase = build(noun, "some")
    draw.note(english, noun.english[0])
    return english, french, phrase


def _transfer_tense(draw: Draw, english: str) -> Tense:
    if english == "owe":
        return draw.choose((PRESENT, STATE_PAST))
    return draw.choose(_TRANSFER_TENSES)


@construction(5)
def giving(draw: Draw) -> Text:
    """Two full objects: "gave the child a book", "a donné un livre à l'enfant"."""
    english, french, phrase = _transfer(draw)
    subject = person(draw)
    receiver = _receiver(draw, subject)
    if english in _ONLY_TO or draw.chance(0.5):
        tail = f"{phrase.english} to {receiver.english}"
    else:
        tail = f"{receiver.english} {phrase.english}"
    predicate = Predicate(
        english, tail, FrenchVerb(french), f"{phrase.french} {with_a(receiver.french)}"
    )
    return dress(draw, Clause(subject, predicate, _transfer_tense(draw, english)), "none")


_DATIVES = {"I": "me", "you": "vous", "he": "lui", "she": "lui", "we": "nous", "they": "leur"}


def _pronoun_receiver(draw: Draw, giver: NounPhrase) -> NounPhrase:
    person_of_giver = giver.agreement.person
    fitting = [who for who in PRONOUNS if who.agreement.person != person_of_giver]
    if person_of_giver == 3:
        fitting += [HE, SHE, THEY]
    return draw.choose(fitting)


@construction(4)
def giving_to_a_pronoun(draw: Draw) -> Text:
    """The receiver as a clitic: "lent me some money", "m'a prêté de l'argent"."""
    english, french, phrase = _transfer(draw)
    subject = person(draw)
    receiver = _pronoun_receiver(draw, subject)
    who = object_pronoun(receiver.agreement, True)
    if english in _ONLY_TO:
        tail = f"{phrase.english} to {who}"
    else:
        tail = f"{who} {phrase.english}"
    verb = FrenchVerb(french, (_DATIVES[receiver.english],))
    negative = Text(
        tail.replace(phrase.english, phrase.english_negated or phrase.english),
        phrase.french_negated or phrase.french,
    )
    predicate = Predicate(english, tail, verb, phrase.french, negative)
    negation = NOT if draw.chance(0.25) else None
    tense = _transfer_tense(draw, english)
    if negation is not None and tense is HAS_JUST:
        tense = PAST
    clause = Clause(subject, predicate, tense, negation)
    if negation is not None:
        text = clause.statement()
        return full_stop(text)
    return dress(draw, clause, "none")


@construction(3)
def giving_with_two_pronouns(draw: Draw) -> Text:
    """Both objects as clitics: "gave it to him", "le lui a donné"."""
    english, french, phrase = _transfer(draw)
    assert phrase.noun is not None
    phrase = build(phrase.noun, "the", plural=phrase.agreement.english_plural)
    subject = person(draw)
    receiver = _pronoun_receiver(draw, subject)
    thing, who = phrase.agreement, object_pronoun(receiver.agreement, True)
    clitic = "les" if thing.plural else ("la" if thing.feminine else "le")
    verb = FrenchVerb(french, (clitic, _DATIVES[receiver.english]), preceding=thing)
    predicate = Predicate(english, f"{object_pronoun(thing, False)} to {who}", verb, "")
    given = Clause(subject, predicate, draw.choose((PAST, FUTURE, PAST))).statement()
    if draw.chance(0.35):
        return full_stop(given)
    asking = Predicate("ask", f"for {phrase.english}", FrenchVerb("demander"), phrase.french)
    asked = Clause(receiver, asking, PAST).statement()
    return Text(f"{asked.english} and {given.english}.", f"{asked.french} et {given.french}.")


@construction(3)
def order(draw: Draw) -> Text:
    """An order to do something, or not to."""
    found = scene(draw, [f for f in _ORDERED if f.objects], YOU)
    negation = NEVER if draw.chance(0.2) else (NOT if draw.chance(0.4) else None)
    predicate = found.predicate
    if draw.chance(0.3) and found.object is not None and can_be_pronoun(found.frame):
        predicate = with_pronoun(found.frame, found.object.agreement, found.object.human)
    text = imperative(predicate, 2, True, negation)
    form = draw.choose(("plain", "please", "first", "exclaimed"))
    if form == "please":
        return Text(f"please {text.english}.", f"{text.french}, s'il vous plaît.")
    if form == "first" and negation is None:
        return Text(f"{text.english} before leaving.", f"{text.french} avant de partir.")
    if form == "exclaimed":
        return Text(f"{text.english}!", f"{text.french} !")
    return full_stop(text)


@construction(2)
def order_to_a_friend(draw: Draw) -> Text:
    """An order to somebody called by a first name: French says *tu*."""
    thou = NounPhrase("you", "tu", Agreement(2), pronoun="tu")
    found = scene(draw, _ORDERED, thou)
    text = imperative(found.predicate, 2, False, NOT if draw.chance(0.4) else None)
    friend = name(draw)
    return Text(f"{friend.english}, {text.english}!", f"{friend.french}, {text.french} !")


@construction(2)
def suggestion(draw: Draw) -> Text:
    """Let us do something together."""
    found = scene(draw, _ORDERED, WE)
    text = imperative(found.predicate, 1, True, NOT if draw.chance(0.15) else None)
    when = draw.choose(
        (
            NOTHING,
            Text("together", "ensemble"),
            Text("before it gets dark", "avant qu'il fasse nuit"),
            Text("tomorrow", "demain"),
            Text("this time", "cette fois"),
        )
    )
    return full_stop(text, when)


@construction(4)
def passive(draw: Draw) -> Text:
    """What happens to somebody or something, with or without an agent."""
    frame = draw.choose(_PASSIVE_TABLE)
    patient = noun_phrase(
        draw,
        draw.choose(frame.objects.split()),
        determiner=draw.weigh((("the", 5.0), ("this", 2.0), ("the many", 2.0), ("owner", 1.0))),
    )
    assert patient.noun is not None
    draw.note(frame.english, patient.noun.english[0])
    single, several, seul, pluriel = draw.choose(_PASSIVE_TENSES)
    agreement = patient.agreement
    english = (several if agreement.english_plural else single).format(
        english_words.past_participle(frame.english_verb)
    )
    french = (pluriel if agreement.plural else seul).format(
        participle(frame.infinitive, agreement.feminine, agreement.plural)
    )
    agent = NOTHING
    if draw.chance(0.45):
        doer = noun_phrase(draw, "role job kin", determiner="the", adjectives=0.15)
        agent = Text(f"by {doer.english}", f"par {doer.french}")
    return Text(
        f"{join(patient.english, english, agent.english)}.",
        f"{join(patient.french, french, frame.french_end, agent.french)}.",
    )
