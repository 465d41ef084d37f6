"""More, less, as, most, too and enough."""

from __future__ import annotations

from sample_corpus.grammar.adjectives import Adjective, adjective
from sample_corpus.grammar.clauses import NOT, Clause, Predicate
from sample_corpus.grammar.constructions import construction
from sample_corpus.grammar.descriptions import ABSOLUTE, DESCRIBED, predicative
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.french_groups import FrenchVerb
from sample_corpus.grammar.french_words import with_de
from sample_corpus.grammar.noun_phrases import NounPhrase, build, name, person, third_person_pronoun
from sample_corpus.grammar.nouns import Noun, nouns_of
from sample_corpus.grammar.tenses import PRESENT, STATE_PAST
from sample_corpus.grammar.text import Text, full_stop, rows, words

_OWNED = words("clothing vehicle own-vehicle luggage device home job-post pet jewel")
_NOT_COMPARED = (*ABSOLUTE, "tired")
_COMPARABLE = tuple(n for n in DESCRIBED if not {"mass", "kin", "definite"} & set(n.kinds))
# adjective in each language, kind of noun, what it is too much, or not enough, to do
_TOO = rows("""
heavy ; lourd ; luggage ; go on the plane ; aller dans l'avion
heavy ; lourd ; luggage ; travel by train ; voyager en train
small ; petit ; room ; hold so many people ; accueillir autant de monde
expensive ; cher ; jewel device ; make a birthday present ; faire un cadeau d'anniversaire
difficult ; difficile ; text ; interest children ; intéresser les enfants
long ; long ; text ; be read in one evening ; se lire en une soirée
long ; long ; way ; be covered on foot ; se faire à pied
slow ; lent ; software service ; be useful ; être utile
slow ; lent ; software ; process so many files ; traiter autant de fichiers
old ; vieux ; own-vehicle vehicle ; go so far ; aller aussi loin
hot ; chaud ; hot-drink ; be drunk right away ; être bu tout de suite
noisy ; bruyant ; machine ; run at night ; tourner la nuit
""")
_ENOUGH = rows("""
big ; grand ; room company ; hold so many people ; accueillir autant de monde
interesting ; intéressant ; text show ; please everyone ; plaire à tout le monde
fast ; rapide ; software ; process so many files ; traiter autant de fichiers
fast ; rapide ; vehicle transport ; arrive before noon ; arriver avant midi
strong ; solide ; tool furniture ; last ten years ; durer dix ans
clear ; clair ; answer rule ; convince anyone ; convaincre qui que ce soit
warm ; chaud ; warm ; face the winter ; affronter l'hiver
""")
_BETTER = {
    "bon": "meilleur",
    "bonne": "meilleure",
    "bons": "meilleurs",
    "bonnes": "meilleures",
}
_PROPORTIONS = tuple(
    Predicate(english, "", FrenchVerb(french), "")
    for english, french in rows("""
work ; travailler
learn ; apprendre
sleep ; dormir
eat ; manger
travel ; voyager
read ; lire
worry ; s'inquiéter
earn ; gagner
spend ; dépenser
understand ; comprendre
""")
)


@construction(3)
def comparison(draw: Draw) -> Text:
    """More, less, as ... as: two things of a kind."""
    noun = draw.choose(_COMPARABLE)
    chosen = predicative(draw, noun)
    while chosen is None or chosen.english in _NOT_COMPARED or "coloured" in chosen.kinds:
        noun = draw.choose(_COMPARABLE)
        chosen = predicative(draw, noun)
    draw.note(chosen.english, noun.english[0])
    first, second = _two_of_a_kind(draw, noun)
    form = chosen.french(first.agreement.feminine, first.agreement.plural)
    better = draw.choose(("more", "more", "less", "as", "not as"))
    be = "are" if first.agreement.english_plural else "is"
    est = "sont" if first.agreement.plural else "est"
    if better in ("as", "not as"):
        lead = "not " if better == "not as" else ""
        ne, pas = ("ne ", "pas ") if lead else ("", "")
        return Text(
            f"{first.english} {be} {lead}as {chosen.english} as {second.english}.",
            f"{first.french} {ne}{est} {pas}aussi {form} que {second.french}.",
        )
    english = _comparative(chosen.english) if better == "more" else f"less {chosen.english}"
    french = _french_comparative(chosen, form, better == "more")
    return Text(
        f"{first.english} {be} {english} than {second.english}.",
        f"{first.french} {est} {french} que {second.french}.",
    )


def _two_of_a_kind(draw: Draw, noun: Noun) -> tuple[NounPhrase, NounPhrase]:
    owned = any(noun.has(kind) for kind in _OWNED)
    first = build(noun, "possessive" if owned and draw.chance(0.5) else "this")
    agreement = first.agreement
    pronoun = "celle" if agreement.feminine else "celui"
    if agreement.plural:
        pronoun = "celles" if agreement.feminine else "ceux"
    other = name(draw)
    options = [
        NounPhrase(f"{other.english}'s", f"{pronoun} {with_de(other.french)}", agreement),
        NounPhrase(
            "the others" if agreement.english_plural else "the other one",
            "les autres" if agreement.plural else "l'autre",
            agreement,
        ),
    ]
    if not first.english.startswith("my"):
        mine = {
            (False, False): "le mien",
            (True, False): "la mienne",
            (False, True): "les miens",
            (True, True): "les miennes",
        }[agreement.feminine, agreement.plural]
        options.append(NounPhrase("mine", mine, agreement))
    return first, draw.choose(options)


_SHORT_COMPARATIVES = {
    "good": "better",
    "bad": "worse",
    "big": "bigger",
    "hot": "hotter",
    "wet": "wetter",
    "easy": "easier",
    "heavy": "heavier",
    "dirty": "dirtier",
    "pretty": "prettier",
    "noisy": "noisier",
    "funny": "funnier",
    "lazy": "lazier",
    "dry": "drier",
    "nice": "nicer",
    "large": "larger",
    "brave": "braver",
    "strange": "stranger",
}
_ONE_SYLLABLE = words(
    "old young new tall high small long short light dark hard soft sweet cold warm fresh clean "
    "rich poor clear strong kind slow fast cheap quiet sharp clever"
)


def _comparative(english: str) -> str:
    if english in _SHORT_COMPARATIVES:
        return _SHORT_COMPARATIVES[english]
    return english + "er" if english in _ONE_SYLLABLE else f"more {english}"


def _superlative(english: str) -> str:
    irregular = {"good": "best", "bad": "worst"}
    if english in irregular:
        return irregular[english]
    short = _comparative(english)
    return short[:-2] + "est" if not short.startswith("more ") else f"most {english}"


def _french_comparative(chosen: Adjective, form: str, more: bool) -> str:
    if more and form in _BETTER:
        return _BETTER[form]
    return f"{'plus' if more else 'moins'} {form}"


@construction(2.5)
def superlative(draw: Draw) -> Text:
    """The most beautiful town in the country: before or after the noun."""
    noun = draw.choose(
        [n for n in DESCRIBED if not {"mass", "kin", "definite", "en-plural"} & set(n.kinds)]
    )
    chosen = predicative(draw, noun)
    while chosen is None or chosen.english in _NOT_COMPARED or "coloured" in chosen.kinds:
        noun = draw.choose(
            nouns_of("text show building company town nature vehicle device clothing")
        )
        chosen = predicative(draw, noun)
    draw.note(chosen.english, noun.english[0])
    is_feminine = noun.gender == "f"
    article, form = "la" if is_feminine else "le", chosen.french(is_feminine, False)
    more = _french_comparative(chosen, form, True)
    pattern = draw.choose(("of all", "know", "ever"))
    core = f"{article} {noun.french[0]} {article} {more}"
    if chosen.place == "pre":
        core = f"{article} {more} {noun.french[0]}"
    english = f"{_superlative(chosen.english)} {noun.english[0]}"
    if pattern == "of all":
        return Text(
            f"it's the {english} of all.",
            f"c'est {core} de tous.".replace("de tous", "de toutes" if is_feminine else "de tous"),
        )
    if pattern == "know":
        return Text(f"this is the {english} I know.", f"c'est {core} que je connaisse.")
    seen = "vue" if is_feminine else "vu"
    return Text(
        f"it was the {english} I had ever seen.", f"c'était {core} que j'aie jamais {seen}."
    )


@construction(2)
def too_or_enough(draw: Draw) -> Text:
    """Too ... to, ... enough to: an adjective and an infinitive."""
    too = draw.chance(0.6)
    english, french, kinds, use, usage = draw.choose(_TOO if too else _ENOUGH)
    noun = draw.choose(nouns_of(kinds))
    draw.note(english, noun.english[0])
    phrase = build(noun, draw.choose(("the", "this")))
    form = adjective(english, french).french(phrase.agreement.feminine, phrase.agreement.plural)
    measure = Text(f"too {english}", f"trop {form}")
    if not too:
        measure = Text(f"{english} enough", f"assez {form}")
    predicate = Predicate(
        "be",
        f"{measure.english} to {use}",
        FrenchVerb("être"),
        f"{measure.french} pour {usage}",
        stative=True,
    )
    tense = draw.choose((PRESENT, PRESENT, STATE_PAST))
    return full_stop(Clause(phrase, predicate, tense, None if too else NOT).statement())


@construction(2)
def the_more_the_more(draw: Draw) -> Text:
    """The more one does, the more something follows."""
    subject = person(draw)
    first, second = draw.choose(_PROPORTIONS), draw.choose(_PROPORTIONS)
    while second is first:
        second = draw.choose(_PROPORTIONS)
    more = draw.choose((Text("more", "plus"), Text("less", "moins")))
    less = draw.choose((Text("more", "plus"), Text("less", "moins")))
    again = subject if subject.pronoun else third_person_pronoun(subject.agreement)
    one = Clause(subject, first, PRESENT).statement()
    other = Clause(again, second, PRESENT).statement()
    return Text(
        f"the {more.english} {one.english}, the {less.english} {other.english}.",
        f"{more.french} {one.french}, {less.french} {other.french}.",
    )
