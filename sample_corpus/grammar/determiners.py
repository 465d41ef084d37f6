"""Determiners of both languages, and what becomes of them after a negation."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sample_corpus.grammar.agreement import Agreement
from sample_corpus.grammar.french_words import starts_with_vowel

# what French puts before: masculine, feminine, plural
_FORMS = {
    "the": ("le", "la", "les"),
    "a": ("un", "une", "des"),
    "some": ("du", "de la", "des"),
    "another": ("un autre", "une autre", "d'autres"),
    "all the": ("tout le", "toute la", "tous les"),
    "several": ("", "", "plusieurs"),
    "a few": ("", "", "quelques"),
    "many": ("", "", "beaucoup de"),
    "a lot of": ("beaucoup de", "beaucoup de", "beaucoup de"),
    "too much": ("trop de", "trop de", "trop de"),
    "too many": ("", "", "trop de"),
    "a little": ("un peu de", "un peu de", "un peu de"),
    "which": ("quel", "quelle", "quels"),
    "no": ("aucun", "aucune", "aucun"),
    "every": ("chaque", "chaque", "chaque"),
    "": ("", "", ""),
}
NUMBERS = {
    "two": "deux",
    "three": "trois",
    "four": "quatre",
    "five": "cinq",
    "six": "six",
    "eight": "huit",
    "ten": "dix",
    "twelve": "douze",
}
_ENGLISH_POSSESSIVES = {
    (1, False): "my",
    (2, False): "your",
    (1, True): "our",
    (2, True): "your",
    (3, True): "their",
}
# possessor's person and number -> masculine, feminine, plural
_FRENCH_POSSESSIVES = {
    (1, False): ("mon", "ma", "mes"),
    (2, False): ("ton", "ta", "tes"),
    (3, False): ("son", "sa", "ses"),
    (1, True): ("notre", "notre", "nos"),
    (2, True): ("votre", "votre", "vos"),
    (3, True): ("leur", "leur", "leurs"),
}


@dataclass(frozen=True)
class Determiner:
    """A determiner as it stands before one noun phrase.

    Args:
        english: As in "some bread"; may be empty.
        french: As in "du pain".
        english_negated: As in "not any bread".
        french_negated: As in "pas de pain".
    """

    english: str
    french: str
    english_negated: str
    french_negated: str


def _pick(forms: tuple[str, str, str], agreement: Agreement) -> str:
    if agreement.plural:
        return forms[2]
    return forms[1] if agreement.feminine else forms[0]


def _plain(english: str, french: str) -> Determiner:
    return Determiner(english, french, english, french)


def article(
    name: str, agreement: Agreement, following: str = "", preposed: bool = False
) -> Determiner:
    """Return the determiner called ``name`` ("the", "a", "some", a number ...).

    Args:
        name: An English determiner.
        agreement: Of the noun.
        following: The French word that follows, where it matters.
        preposed: An adjective stands before the French noun: "de belles maisons", not "des".
    """
    if name in NUMBERS:
        return _plain(name, NUMBERS[name])
    french = _pick(_FORMS[name], agreement)
    if name == "all the" and agreement.plural and agreement.feminine:
        french = "toutes les"
    if name == "which" and agreement.plural and agreement.feminine:
        french = "quelles"
    if name == "a":
        return Determiner("a", french, "a", "de")
    if name == "some":
        if preposed and agreement.plural:
            french = "de"
        if french == "du" and starts_with_vowel(following):
            french = "de le"  # elision makes it "de l'argent"
        return Determiner("some", french, "any", "de")
    return _plain(name, french)


_INDEFINITE = re.compile(r"^(?:(?:un|une|des|du|de la) |de l')")


def after_negation(french: str, infinitive: str) -> str:
    """Return what an indefinite complement becomes: "un rhume" -> "de rhume" (pas de rhume)."""
    # "appeler un chat un chat" stays whole, and "jouer du violon" has no partitive
    if infinitive in ("appeler", "être") or (infinitive == "jouer" and french[:1] == "d"):
        return french
    return _INDEFINITE.sub("de ", french)


def demonstrative(agreement: Agreement, following: str, *, distant: bool) -> Determiner:
    """Return "this" or "that" before the French word that follows: "ce", "cet", "cette", "ces"."""
    if agreement.english_plural:
        english = "those" if distant else "these"
    else:
        english = "that" if distant else "this"
    masculine = "cet" if starts_with_vowel(following) else "ce"
    return _plain(english, _pick((masculine, "cette", "ces"), agreement))


def possessive(
    owner: Agreement, owned: Agreement, following: str, human: bool = True
) -> Determiner:
    """Return "his" or "her" (by the owner) and "son", "sa" or "ses" (by what is owned)."""
    if owner.person == 3 and not owner.english_plural:
        english = ("her" if owner.feminine else "his") if human else "its"
    else:
        english = _ENGLISH_POSSESSIVES[owner.person, owner.english_plural]
    masculine, feminine, plural = _FRENCH_POSSESSIVES[owner.person, owner.plural]
    if starts_with_vowel(following):
        feminine = masculine  # mon amie, son école
    return _plain(english, _pick((masculine, feminine, plural), owned))
