"""Nouns of both languages, by kind; one English word may stand for several French ones.

A line reads ``english ; french[, feminine] ; gender ; kinds``. Kinds say what a verb or an
adjective may go with; these have a meaning of their own:

* ``mass``: no plural, partitive article ("some bread", "du pain");
* ``en-plural``, ``fr-plural``: always plural in that language ("trousers", "des vacances");
* ``definite``: takes only the definite article ("the truth");
* ``kin``: takes a possessive ("my sister");
* ``second``: not the first meaning of the English word; ``=word`` does not choose it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from sample_corpus.grammar import english_words, french_words, noun_tables
from sample_corpus.grammar.text import rows


@dataclass(frozen=True)
class Noun:
    """A noun in both languages.

    Args:
        english: Singular and plural.
        french: Singular and plural.
        gender: "m" or "f".
        kinds: What the noun is; see the module.
        feminine: The French word for a woman, where the masculine does for a man only.
    """

    english: tuple[str, str]
    french: tuple[str, str]
    gender: str
    kinds: tuple[str, ...]
    feminine: str = ""

    def has(self, kind: str) -> bool:
        """Tell whether the noun is of a kind; ``=word`` is the English noun itself."""
        if kind.startswith("="):
            return kind[1:] == self.english[0] and "second" not in self.kinds
        return kind in self.kinds


def _read(row: tuple[str, ...]) -> Noun:
    english, french, gender, kinds = row
    names = tuple(kinds.split())
    french, _, woman = (part.strip() for part in french.partition(","))
    singular, _, several = english.partition("/")
    if "en-plural" in names or "mass" in names:
        several = singular
    francais, _, pluriel = french.partition("/")
    if "fr-plural" in names:
        pluriel = francais
    return Noun(
        (singular, several or english_words.plural(singular)),
        (francais, pluriel or french_words.plural(francais)),
        gender,
        names,
        woman,
    )


def _read_all() -> tuple[Noun, ...]:
    tables = (
        noun_tables.PEOPLE,
        noun_tables.FOOD,
        noun_tables.THINGS,
        noun_tables.PLACES,
        noun_tables.TECHNOLOGY,
        noun_tables.ABSTRACT,
    )
    return tuple(_read(row) for table in tables for row in rows(table))


NOUNS = _read_all()


@cache
def nouns_of(kinds: str) -> tuple[Noun, ...]:
    """Return the nouns that have any of the space-separated kinds."""
    wanted = kinds.split()
    found = tuple(noun for noun in NOUNS if any(noun.has(kind) for kind in wanted))
    if not found:
        raise ValueError(f"no noun of kind {kinds!r}")
    return found
