"""Noun phrases: a determiner, a noun, perhaps adjectives or an owner, in both languages at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sample_corpus.grammar import determiners
from sample_corpus.grammar.adjectives import Adjective, adjectives_for
from sample_corpus.grammar.agreement import FEMININE, MASCULINE, Agreement
from sample_corpus.grammar.determiners import Determiner
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.french_words import starts_with_vowel, with_de
from sample_corpus.grammar.nouns import Noun, nouns_of

MEN = ("Paul", "Thomas", "Julien", "Martin", "Victor", "Lucas", "Karim", "Simon")
WOMEN = ("Marie", "Sophie", "Claire", "Emma", "Julie", "Nadia", "Sarah", "Alice")

_COUNT = (
    ("the", 34.0),
    ("a", 20.0),
    ("possessive", 20.0),
    ("this", 6.0),
    ("that", 3.0),
    ("owner", 6.0),
    ("the many", 7.0),
    ("some many", 6.0),
    ("possessive many", 4.0),
    ("this many", 2.0),
    ("that many", 1.0),
    ("number", 2.5),
    ("several", 2.0),
    ("a few", 2.0),
    ("too many", 1.0),
    ("another", 2.0),
    ("all the", 2.0),
)
_MASS = (
    ("the", 40.0),
    ("some", 30.0),
    ("this", 6.0),
    ("that", 2.0),
    ("possessive", 8.0),
    ("a lot of", 5.0),
    ("too much", 4.0),
    ("a little", 4.0),
)
_PLURAL_ONLY = (("the", 40.0), ("possessive", 50.0), ("this", 10.0))
# these say little of relatives: "my little brother", hardly "my angry brother"
_OF_KIN = ("little", "dear")
_ONLY_ONE = ("father", "mother", "grandfather", "grandmother", "husband", "wife")
_PREDICATIVE_ONLY = ("angry", "lost", "tired")
_DEFINITE_ONLY = ("right", "wrong", "former", "secret")
# what may follow another adjective: "a big red ball", "an old French song"
_SECOND = ("French", "English", "Italian", "broken", "neural", "statistical", "empty")
_FEW_OWNERS = "kin role"
# what one has but one of, or has by its nature
_UNOWNED = ("answer", "truth", "way", "nature", "transport", "noise", "contest", "infant")
# whom one does not have, but for some: "my doctor", "my boss"
_STRANGERS = ("job", "artist", "adult", "learner")
_ONES_OWN = ("kin", "role", "=doctor", "=lawyer", "=teacher", "=guest")


@dataclass(frozen=True)
class NounPhrase:
    """A noun phrase in both languages.

    Args:
        english: "some old books".
        french: "de vieux livres", not yet elided ("la amie").
        agreement: What verbs and adjectives agree with.
        english_negated: After a negation: "any old books".
        french_negated: After a negation: "de vieux livres".
        noun: The noun, if there is one.
        pronoun: The French subject pronoun if it is one ("je"), else empty.
    """

    english: str
    french: str
    agreement: Agreement
    english_negated: str = ""
    french_negated: str = ""
    noun: Noun | None = None
    pronoun: str = ""

    @property
    def human(self) -> bool:
        """Tell whether it is a person: "him", not "it"."""
        return self.noun is None or self.noun.has("person")


PRONOUNS = (
    NounPhrase("I", "je", Agreement(1), pronoun="je"),
    NounPhrase("you", "vous", Agreement(2, plural=True, english_plural=True), pronoun="vous"),
    NounPhrase("he", "il", MASCULINE, pronoun="il"),
    NounPhrase("she", "elle", FEMININE, pronoun="elle"),
    NounPhrase("we", "nous", Agreement(1, plural=True, english_plural=True), pronoun="nous"),
    NounPhrase("they", "ils", Agreement(3, plural=True, english_plural=True), pronoun="ils"),
)
ME, YOU, HE, SHE, WE, THEY = PRONOUNS
IT = NounPhrase("it", "il", MASCULINE, pronoun="il")


def name(draw: Draw) -> NounPhrase:
    """Draw a first name."""
    if draw.chance(0.5):
        return NounPhrase(*(draw.choose(MEN),) * 2, MASCULINE)
    return NounPhrase(*(draw.choose(WOMEN),) * 2, FEMININE)


def pronoun(draw: Draw) -> NounPhrase:
    """Draw a subject pronoun."""
    return draw.choose(PRONOUNS)


def third_person_pronoun(agreement: Agreement, human: bool = True) -> NounPhrase:
    """Return the pronoun that stands for a noun phrase already mentioned."""
    if agreement.plural or agreement.english_plural:
        french = ("elles" if agreement.feminine else "ils") if agreement.plural else "il"
        return NounPhrase("they" if agreement.english_plural else "it", french, agreement)
    english = ("she" if agreement.feminine else "he") if human else "it"
    return NounPhrase(english, "elle" if agreement.feminine else "il", agreement)


def person(draw: Draw, kinds: str = "") -> NounPhrase:
    """Draw somebody: a pronoun, a name, a relative, or a person of the given kinds."""
    if kinds and kinds != "person":
        return noun_phrase(draw, kinds, determiner="the")
    form = draw.weigh((("pronoun", 46.0), ("name", 20.0), ("kin", 18.0), ("other", 16.0)))
    if form == "pronoun":
        return pronoun(draw)
    if form == "name":
        return name(draw)
    if form == "kin":
        return noun_phrase(
            draw, "kin", determiner="possessive", owner=draw.choose((ME, ME, HE, SHE, WE))
        )
    return noun_phrase(draw, "role job adult learner =boy =girl =child", determiner="the")


def noun_phrase(
    draw: Draw,
    kinds: str,
    *,
    determiner: str = "",
    owner: NounPhrase | None = None,
    adjectives: float = 0.33,
) -> NounPhrase:
    """Draw a noun phrase.

    Args:
        draw: The choices of this sentence.
        kinds: Space-separated kinds of noun.
        determiner: Its name, followed by " many" for the plural; drawn if empty.
        owner: Whose it is if it comes with a possessive; drawn if not given.
        adjectives: How often it has an adjective.
    """
    noun = draw.choose(nouns_of(kinds))
    determiner = _suitable(noun, determiner or _draw_determiner(draw, noun))
    plural = determiner.endswith(" many") or determiner in _ALWAYS_PLURAL
    if determiner == "number":
        determiner, plural = draw.choose(tuple(determiners.NUMBERS)), True
    if noun.english[0] in ("wife", "husband"):
        owner = _spouse_owner(draw, noun, owner)
    return build(
        noun,
        determiner.removesuffix(" many") if determiner != "too many" else determiner,
        plural=plural,
        adjectives=_draw_adjectives(draw, noun, determiner, adjectives),
        owner=owner or draw.choose((ME, ME, YOU, HE, SHE, WE, THEY)),
        possessor=_possessor(draw) if determiner == "owner" else None,
    )


def _suitable(noun: Noun, determiner: str) -> str:
    """Return the determiner, or the nearest one that the noun accepts."""
    many = " many" if determiner.endswith(" many") and noun.english[0] not in _ONLY_ONE else ""
    if noun.has("definite"):
        return "the"
    if noun.has("kin") and determiner != "owner":
        return f"possessive{many}"
    if determiner in ("owner", "possessive", "possessive many") and not can_be_owned(noun):
        return f"the{many}"
    if noun.has("mass"):
        return _MASS_FOR.get(determiner, determiner).removesuffix(" many")
    return determiner


# what becomes of a determiner before a noun that has no plural
_MASS_FOR = {"a": "some", "number": "some", "another": "some", "several": "some"}


def _spouse_owner(draw: Draw, noun: Noun, owner: NounPhrase | None) -> NounPhrase:
    """Give a wife to one man, a husband to one woman."""
    man = noun.english[0] == "wife"
    candidate = ME if owner is None else owner
    fits = candidate is ME or candidate.agreement.feminine != man
    if owner is not None and fits and not candidate.agreement.english_plural:
        return owner
    return draw.choose((ME, HE if man else SHE))


_ALWAYS_PLURAL = ("several", "a few", "too many", "many", "all the", *determiners.NUMBERS)


def _draw_determiner(draw: Draw, noun: Noun) -> str:
    if noun.has("kin"):
        return "possessive"
    if noun.has("en-plural"):
        return draw.weigh(_PLURAL_ONLY)
    return draw.weigh(_MASS if noun.has("mass") else _COUNT)


def can_be_owned(noun: Noun) -> bool:
    """Tell whether one says "my" before this noun."""
    if any(noun.has(kind) for kind in _STRANGERS):
        return any(noun.has(kind) for kind in _ONES_OWN)
    return not any(noun.has(kind) for kind in _UNOWNED)


def _draw_adjectives(
    draw: Draw, noun: Noun, determiner: str, probability: float
) -> tuple[Adjective, ...]:
    known = [found for found in adjectives_for(noun) if found.english not in _PREDICATIVE_ONLY]
    if determiner != "the":
        known = [found for found in known if found.english not in _DEFINITE_ONLY]
    if noun.has("kin"):
        known = [found for found in known if found.english in _OF_KIN]
        probability /= 2
    if not known or not draw.chance(probability):
        return ()
    first = draw.choose(known)
    draw.note(first.english, noun.english[0])
    if first.place == "pre" and draw.chance(0.15):
        others = [o for o in known if "coloured" in o.kinds or o.english in _SECOND]
        if others:
            return (first, draw.choose(others))
    return (first,)


def _possessor(draw: Draw) -> NounPhrase:
    if draw.chance(0.4):
        return name(draw)
    return noun_phrase(draw, _FEW_OWNERS, determiner="possessive", adjectives=0.0)


def build(
    noun: Noun,
    determiner: str,
    *,
    plural: bool = False,
    adjectives: tuple[Adjective, ...] = (),
    owner: NounPhrase = ME,
    possessor: NounPhrase | None = None,
) -> NounPhrase:
    """Put a noun phrase together from parts already chosen."""
    agreement = Agreement(
        3,
        plural=plural or noun.has("fr-plural"),
        feminine=noun.gender == "f",
        english_plural=plural or noun.has("en-plural"),
    )
    english = " ".join(
        [adjective.english for adjective in adjectives] + [noun.english[agreement.english_plural]]
    )
    french = _french_core(noun, adjectives, agreement)
    if possessor is not None:
        article = determiners.article("the", agreement)
        return NounPhrase(
            f"{possessor.english}'s {english}",
            f"{article.french} {french} {with_de(possessor.french)}",
            agreement,
            noun=noun,
        )
    preposed = any(adjective.place == "pre" for adjective in adjectives)
    if determiner == "possessive":
        chosen = determiners.possessive(owner.agreement, agreement, french, owner.human)
    elif determiner in ("this", "that"):
        chosen = determiners.demonstrative(agreement, french, distant=determiner == "that")
    else:
        chosen = determiners.article(determiner, agreement, french, preposed)
    return _determined(chosen, english, french, agreement, noun)


def _determined(
    determiner: Determiner, english: str, french: str, agreement: Agreement, noun: Noun
) -> NounPhrase:
    return NounPhrase(
        f"{determiner.english} {english}".strip(),
        f"{determiner.french} {french}".strip(),
        agreement,
        f"{determiner.english_negated} {english}".strip(),
        f"{determiner.french_negated} {french}".strip(),
        noun,
    )


def _french_core(noun: Noun, adjectives: tuple[Adjective, ...], agreement: Agreement) -> str:
    """Return noun and adjectives in French order, agreeing: "bel oiseau", "robe bleue"."""
    word = noun.french[agreement.plural]
    before, after = [], []
    for adjective in adjectives:
        form = adjective.french(agreement.feminine, agreement.plural)
        if adjective.place != "pre":
            after.append(form)
        elif starts_with_vowel(word) and not (agreement.feminine or agreement.plural):
            before.append(adjective.liaison)
        else:
            before.append(form)
    return " ".join([*before, word, *after])


def negated(phrase: NounPhrase) -> NounPhrase:
    """Return the phrase as it stands after a negation: "pas de pain"."""
    return replace(
        phrase,
        english=phrase.english_negated or phrase.english,
        french=phrase.french_negated or phrase.french,
    )
