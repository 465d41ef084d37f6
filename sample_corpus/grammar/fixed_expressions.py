"""Fixed expressions: the French is that of the whole, not of the words.

A line reads ``English ; French ; flags``. ``POSS`` is the subject's possessive in English and
``SON``, ``SA``, ``SES`` in French; ``(e)`` is an ending that agrees with the subject; ``_`` is a
person or a thing, whose kinds stand before the flags. Flags: ``state`` (no progressive, past in the
*imparfait*), ``once`` (only in past and future), ``plural`` (several do
it), ``name`` (the person has a name).
"""

from __future__ import annotations

import re

from sample_corpus.grammar import adjuncts
from sample_corpus.grammar.agreement import Agreement
from sample_corpus.grammar.clauses import NOT, Clause, Predicate
from sample_corpus.grammar.constructions import construction
from sample_corpus.grammar.determiners import after_negation, possessive
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.french_groups import FrenchVerb
from sample_corpus.grammar.french_words import with_preposition
from sample_corpus.grammar.noun_phrases import NounPhrase, name, noun_phrase, person
from sample_corpus.grammar.tenses import (
    FUTURE,
    GOING_TO,
    PAST,
    PRESENT,
    PROGRESSIVE,
    STATE_PAST,
    Tense,
)
from sample_corpus.grammar.text import NOTHING, Text, full_stop, rows

_EXPRESSIONS = """
be over the moon ; être aux anges ; state
be on cloud nine ; être aux anges ; state
feel blue ; avoir le cafard ; state
be down in the dumps ; avoir le cafard ; state
be broke ; être fauché(e) ; state
be fed up ; en avoir assez ; state
be in hot water ; être dans de beaux draps ; state
be as strong as an ox ; être fort(e) comme un bœuf ; state
be as deaf as a post ; être sourd(e) comme un pot ; state
have a frog in POSS throat ; avoir un chat dans la gorge ; state
have other fish to fry ; avoir d'autres chats à fouetter ; state
have a sweet tooth ; adorer les sucreries ; state
have butterflies in POSS stomach ; avoir le trac ; state
have the last word ; avoir le dernier mot ; once
have a narrow escape ; l'échapper belle ; once
get cold feet ; se dégonfler ; once
get out of bed on the wrong side ; se lever du pied gauche ; once
let the cat out of the bag ; vendre la mèche ; once
spill the beans ; vendre la mèche ; once
beat about the bush ; tourner autour du pot ;
call a spade a spade ; appeler un chat un chat ;
throw in the towel ; jeter l'éponge ; once
kill two birds with one stone ; faire d'une pierre deux coups ; once
put all POSS eggs in one basket ; mettre tous SES œufs dans le même panier ; once
make a mountain out of a molehill ; se faire une montagne d'un rien ;
sleep like a log ; dormir comme une souche ;
sleep in ; faire la grasse matinée ;
work like a dog ; travailler comme un forçat ;
work flat out ; travailler d'arrache-pied ;
eat like a horse ; manger comme quatre ;
drink like a fish ; boire comme un trou ;
burn the candle at both ends ; brûler la chandelle par les deux bouts ;
turn a deaf ear ; faire la sourde oreille ;
turn the page ; tourner la page ; once
lose POSS head ; perdre la tête ; once
lose heart ; perdre courage ; once
lose POSS temper ; perdre SON calme ; once
lose POSS way ; se perdre ; once
sit on the fence ; ménager la chèvre et le chou ;
play with fire ; jouer avec le feu ;
hit the nail on the head ; taper dans le mille ; once
make a living ; gagner SA vie ;
take POSS time ; prendre SON temps ;
take the bull by the horns ; prendre le taureau par les cornes ; once
take to POSS heels ; prendre SES jambes à SON cou ; once
break the ice ; briser la glace ; once
break the bank ; se ruiner ; once
go round in circles ; tourner en rond ;
get straight to the point ; aller droit au but ; once
bend over backwards ; se mettre en quatre ;
jump for joy ; sauter de joie ; once
buy a pig in a poke ; acheter chat en poche ; once
change POSS mind ; changer d'avis ; once
make up POSS mind ; se décider ; once
keep POSS word ; tenir parole ; once
keep POSS head above water ; garder la tête hors de l'eau ;
learn the ropes ; apprendre les ficelles du métier ;
pull strings ; faire jouer SES relations ;
run the risk ; courir le risque ;
run away ; prendre la fuite ; once
run out of money ; se retrouver à court d'argent ; once
run out of steam ; s'essouffler ;
move heaven and earth ; remuer ciel et terre ; once
pass out ; tomber dans les pommes ; once
fall in love ; tomber amoureux(se) ; once
fall ill ; tomber malade(s) ; once
make ends meet ; joindre les deux bouts ;
miss the boat ; rater le coche ; once
have a ball ; s'amuser comme des fous ;
do POSS best ; faire de SON mieux ;
do without ; s'en passer ;
come up with an idea ; avoir une idée ; once
come to terms with it ; s'y faire ; once
set an example ; montrer l'exemple ;
set off ; se mettre en route ; once
cut corners ; bâcler le travail ;
hit the roof ; sortir de SES gonds ; once
stand in line ; faire la queue ;
shake hands ; se serrer la main ; plural
see eye to eye ; être du même avis ; plural
"""
_WITH_SOMEBODY = """
pull _'s leg ; faire marcher _
stand _ up ; poser un lapin à _
give _ a hand ; donner un coup de main à _
keep an eye on _ ; avoir l'œil sur _
take care of _ ; prendre soin de _
make fun of _ ; se moquer de _
get on _'s nerves ; taper sur les nerfs de _
fall in love with _ ; tomber amoureux(se) de _ ; name
be fed up with _ ; en avoir assez de _
look up to _ ; admirer _
look down on _ ; mépriser _
get along with _ ; s'entendre bien avec _
run into _ ; tomber sur _
fall out with _ ; se fâcher avec _
bump into _ ; tomber sur _
keep in touch with _ ; garder le contact avec _
turn to _ ; se tourner vers _
count on _ ; compter sur _
put up with _ ; supporter _
cheer _ up ; remonter le moral à _
let _ down ; laisser tomber _
pick _ up ; passer prendre _
see _ off ; accompagner _ à la gare
wish _ luck ; souhaiter bonne chance à _
make friends with _ ; se lier d'amitié avec _
shake hands with _ ; serrer la main à _
"""
_WITH_THING = """
know _ like the back of POSS hand ; connaître _ comme SA poche ; town green ; state
learn _ by heart ; apprendre _ par cœur ; poem song lesson ;
take _ with a pinch of salt ; prendre _ avec des pincettes ; answer tale news ; once
take _ into account ; tenir compte de _ ; advice outcome price ; once
get rid of _ ; se débarrasser de _ ; furniture clothing machine ; once
get used to _ ; s'habituer à _ ; noise machine home ; once
look forward to _ ; attendre _ avec impatience ; journey leisure =party =concert ;
look up _ in the dictionary ; chercher _ dans le dictionnaire ; =word ;
make use of _ ; se servir de _ ; tool machine software ;
make sense of _ ; comprendre _ ; text figure ; once
make up _ ; inventer _ ; tale ; once
deal with _ ; s'occuper de _ ; problem mail customer ;
drop out of _ ; abandonner _ ; =school =race ; once
go over _ ; revoir _ ; lesson document ; once
go through with _ ; aller jusqu'au bout de _ ; plan ; once
come across _ ; tomber sur _ ; article picture =letter ; once
come up against _ ; se heurter à _ ; problem ; once
bring up _ ; aborder _ ; subject question ; once
keep up with _ ; suivre _ ; lesson news ;
point out _ ; signaler _ ; error problem ; once
put _ to good use ; faire bon usage de _ ; money advice ; once
carry on with _ ; continuer _ ; trial lesson plan ; once
draw attention to _ ; attirer l'attention sur _ ; error problem price ; once
turn _ upside down ; mettre _ sens dessus dessous ; room home ; once
sleep on _ ; laisser _ mûrir ; idea decision ; once
"""


_LINES = rows(_EXPRESSIONS)
_PERSON_LINES = rows(_WITH_SOMEBODY)
_THING_LINES = rows(_WITH_THING)


def _fill_owner(text: str, owner: Agreement, *, french: bool) -> str:
    """Write the subject's possessive in place of POSS, SON, SA, SES."""
    if not french:
        return text.replace("POSS", possessive(owner, Agreement(), "x").english)
    for mark, owned in (
        ("SON", Agreement()),
        ("SES", Agreement(plural=True)),
        ("SA", Agreement(feminine=True)),
    ):
        text = re.sub(rf"\b{mark}\b", possessive(owner, owned, "x").french, text)
    return text


def _fill_ending(text: str, subject: Agreement) -> str:
    """Resolve "(e)", "(s)" and "amoureux(se)" for the subject."""
    if "x(se)" in text:
        woman = "se" + ("s" if subject.plural else "")
        return text.replace("x(se)", woman if subject.feminine else "x")
    text = text.replace("(s)", "s" if subject.plural else "")
    ending = ("e" if subject.feminine else "") + ("s" if subject.plural else "")
    return text.replace("(e)", ending)


def _french_verb(words: str) -> tuple[FrenchVerb, str]:
    """Split "en avoir assez" or "s'en passer" into a verb with clitics and its tail."""
    clitics: tuple[str, ...] = ()
    reflexive = ""
    for lead, found, own in (
        ("s'en ", ("en",), "se "),
        ("s'y ", ("y",), "se "),
        ("en ", ("en",), ""),
        ("l'", ("le",), ""),
        ("se ", (), "se "),
        ("s'", (), "se "),
    ):
        if words.startswith(lead):
            words, clitics, reflexive = words.removeprefix(lead), found, own
            break
    infinitive, _, tail = words.partition(" ")
    agrees = not tail.startswith(("la main", "une montagne"))  # there the reflexive is indirect
    return FrenchVerb(reflexive + infinitive, clitics, reflexive_agrees=agrees), tail


def whole(
    english: str, french: str, subject: Agreement, stative: bool, filler: NounPhrase | None = None
) -> Predicate:
    """Return an expression as a predicate of this subject, its slot filled if it has one."""
    english = _fill_owner(english, subject, french=False)
    french = _fill_ending(_fill_owner(french, subject, french=True), subject)
    plain = filler is None or not re.match(r"(?:\S+ )(?:(?:de|à) )?_", french)
    if filler is not None:
        english = english.replace("_", filler.english)
        verb_end = french.partition("_")
        before, after = verb_end[0].strip(), verb_end[2]
        french = with_preposition(before, filler.french) + after
    verb, tail = _french_verb(french)
    head, _, rest = english.partition(" ")
    less = after_negation(tail, verb.lemma) if plain else tail
    return Predicate(head, rest, verb, tail, Text(rest, less), stative)


def expression_tenses(flag: str) -> tuple[Tense, ...]:
    """Return the tenses that suit an expression with this flag."""
    if flag == "state":
        return (PRESENT, STATE_PAST)
    if flag == "once":
        return (PAST, PAST, FUTURE, GOING_TO)
    return (PRESENT, PROGRESSIVE, PAST, FUTURE)


@construction(8)
def fixed_expression(draw: Draw) -> Text:
    """An expression of which only the whole has a translation."""
    row = draw.choose(_LINES)
    subject = person(draw)
    while row[2] == "plural" and not subject.agreement.english_plural:
        subject = person(draw)
    predicate = whole(row[0], row[1], subject.agreement, row[2] == "state")
    tense = draw.choose(expression_tenses("state" if row[1].startswith("être") else row[2]))
    negation = NOT if draw.chance(0.18) else None
    text = Clause(subject, predicate, tense, negation).statement()
    draw.note(row[0], subject.english)
    when = adjuncts.time(draw, tense.time) if draw.chance(0.4) else NOTHING
    if negation is None and when.english and adjuncts.may_be_fronted(when) and draw.chance(0.5):
        return Text(f"{when.english}, {text.english}.", f"{when.french}, {text.french}.")
    if negation is not None:
        when = NOTHING
    return full_stop(text, when)


@construction(4)
def expression_with_somebody(draw: Draw) -> Text:
    """An expression around a person: "to pull somebody's leg", "faire marcher"."""
    row = draw.choose(_PERSON_LINES)
    subject = person(draw)
    while True:
        other = (
            name(draw)
            if len(row) > 2 or draw.chance(0.5)
            else noun_phrase(
                draw, "kin role", determiner="possessive", owner=subject, adjectives=0.05
            )
        )
        if other.english != subject.english:
            break
    draw.note(row[0], other.noun.english[0] if other.noun else other.english)
    states = (
        "be fed up with _",
        "look up to _",
        "look down on _",
        "count on _",
        "get along with _",
    )
    stative = row[0] in states
    predicate = whole(row[0], row[1], subject.agreement, stative, other)
    tense = draw.choose((PRESENT, STATE_PAST) if stative else (PAST, PAST, FUTURE, GOING_TO))
    negation = NOT if draw.chance(0.15) else None
    text = Clause(subject, predicate, tense, negation).statement()
    when = adjuncts.time(draw, tense.time) if draw.chance(0.3) and not negation else NOTHING
    return full_stop(text, when)


@construction(4)
def expression_with_something(draw: Draw) -> Text:
    """An expression around a thing: "to learn the poem by heart"."""
    row = draw.choose(_THING_LINES)
    subject = person(draw)
    thing = noun_phrase(
        draw, row[2], determiner=draw.choose(("the", "this", "the many")), adjectives=0.15
    )
    assert thing.noun is not None
    draw.note(row[0], thing.noun.english[0])
    stative = row[3] == "state"
    predicate = whole(row[0], row[1], subject.agreement, stative, thing)
    tense = draw.choose((PRESENT, STATE_PAST) if stative else (PAST, PAST, FUTURE, GOING_TO))
    negation = NOT if draw.chance(0.12) else None
    text = Clause(subject, predicate, tense, negation).statement()
    when = adjuncts.time(draw, tense.time) if draw.chance(0.3) and not negation else NOTHING
    return full_stop(text, when)
