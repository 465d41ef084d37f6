"""Verbs with their frames: who does it, to what, and the French that follows from that."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from sample_corpus.grammar import verb_tables
from sample_corpus.grammar.nouns import NOUNS, Noun
from sample_corpus.grammar.text import rows


@dataclass(frozen=True)
class Frame:
    """A verb and what it goes with, in both languages.

    Args:
        english: "turn on* _"; the underscore is the object.
        french: "allumer _".
        subjects: Kinds of subject.
        objects: Kinds of object; empty if there is none.
        setting: The circumstances that suit.
        flags: See ``verb_tables``.
    """

    english: str
    french: str
    subjects: str
    objects: str
    setting: str
    flags: tuple[str, ...]

    @property
    def english_verb(self) -> str:
        """Return the word that inflects."""
        return self.english.split(" ")[0].removesuffix("*")

    @property
    def infinitive(self) -> str:
        """Return the French infinitive, with *se* where it is reflexive."""
        words = self.french.split(" ")
        return " ".join(words[:2]) if words[0] == "se" else words[0]

    @property
    def preposition(self) -> str:
        """Return the French preposition (or more) between verb and object, if any."""
        return self.french.partition("_")[0].removeprefix(self.infinitive).strip()

    @property
    def french_end(self) -> str:
        """Return what French puts after the object, or all that follows without an object."""
        before, slot, after = self.french.partition("_")
        return (after if slot else before.removeprefix(self.infinitive)).strip()

    @property
    def stative(self) -> bool:
        """Tell whether it is a state, with neither progressive nor *passé composé*."""
        return "state" in self.flags

    @property
    def punctual(self) -> bool:
        """Tell whether it happens at a point in time."""
        return "event" in self.flags


_KINDS = frozenset(kind for noun in NOUNS for kind in (*noun.kinds, "=" + noun.english[0]))


def _known(kinds: str) -> str:
    """Keep the kinds that some noun has; a bare noun ("photo") is taken as ``=photo``."""
    found = []
    for kind in kinds.split():
        if kind in _KINDS:
            found.append(kind)
        elif "=" + kind in _KINDS:
            found.append("=" + kind)
        elif kind not in ("-", "none"):
            raise ValueError(f"no noun is a {kind!r}")
    return " ".join(found)


def _read(row: tuple[str, ...]) -> Frame:
    english, french, subjects, objects, setting, flags = row
    return Frame(english, french, _known(subjects), _known(objects), setting, tuple(flags.split()))


@cache
def frames(table: str) -> tuple[Frame, ...]:
    """Return the frames of one table of ``verb_tables``."""
    return tuple(_read(row) for row in rows(table))


# what befalls people and nobody sets out to do
_MISHAPS = (
    "tomber",
    "se perdre",
    "s'ennuyer",
    "attraper",
    "grossir",
    "perdre",
    "casser",
    "rater",
    "manquer",
    "mentir",
    "pleurer",
    "se mettre",
    "s'endormir",
    "enfreindre",
    "rompre",
    "oublier",
    "provoquer",
)


def is_mishap(frame: Frame) -> bool:
    """Tell whether it is something that nobody wants, plans or asks for."""
    return frame.infinitive in _MISHAPS


ACTIONS = frames(verb_tables.HOUSEHOLD) + frames(verb_tables.PEOPLE) + frames(verb_tables.WORK)
INTRANSITIVES = frames(verb_tables.INTRANSITIVE)


@cache
def actions_on(noun: Noun, *, lively: bool = False) -> tuple[Frame, ...]:
    """Return the transitive frames whose object the noun may be.

    Args:
        noun: The object.
        lively: Only what can be in progress: no states, no points in time.
    """
    return tuple(
        frame
        for frame in ACTIONS
        if any(noun.has(kind) for kind in frame.objects.split())
        and not (lively and (frame.stative or frame.punctual))
    )
