"""The French verb group: *ne*, clitics, verb, *pas*, adverb, participle or infinitive."""

from __future__ import annotations

from dataclasses import dataclass

from sample_corpus.grammar import french_verbs
from sample_corpus.grammar.agreement import Agreement
from sample_corpus.grammar.tenses import AUXILIARY_TENSES

_REFLEXIVE = {
    (1, False): "me",
    (2, False): "te",
    (3, False): "se",
    (1, True): "nous",
    (2, True): "vous",
    (3, True): "se",
}
# the order in which clitics stand before the verb
_CLITIC_ORDER = (
    ("me", "te", "se", "nous", "vous"),
    ("le", "la", "les"),
    ("lui", "leur"),
    ("y",),
    ("en",),
)


@dataclass(frozen=True)
class FrenchVerb:
    """What a clause needs to know about its French verb.

    Args:
        infinitive: As in the dictionary: "laver", "se laver", "s'en aller".
        clitics: Object pronouns, in any order.
        preceding: Agreement of a direct object that stands before the participle, if any.
        reflexive_agrees: Whether a reflexive participle agrees with the subject: "elle s'est
            levée", but "elle s'est lavé les mains".
    """

    infinitive: str
    clitics: tuple[str, ...] = ()
    preceding: Agreement | None = None
    reflexive_agrees: bool = True

    @property
    def reflexive(self) -> bool:
        """Tell whether the verb comes with *se*."""
        return self.infinitive.startswith(("se ", "s'"))

    @property
    def lemma(self) -> str:
        """Return the infinitive without *se*."""
        return self.infinitive.removeprefix("se ").removeprefix("s'")


@dataclass(frozen=True)
class FrenchGroup:
    """A conjugated group in three pieces, so that a question can invert the subject.

    Args:
        before: *ne* and clitics.
        finite: The one conjugated form.
        after: *pas*, adverb, participle, infinitive.
    """

    before: str
    finite: str
    after: str

    def __str__(self) -> str:
        return " ".join(part for part in (self.before, self.finite, self.after) if part)


def _ordered(clitics: tuple[str, ...]) -> list[str]:
    return [clitic for rank in _CLITIC_ORDER for clitic in clitics if clitic in rank]


def clitics_of(verb: FrenchVerb, subject: Agreement) -> str:
    """Return all the clitics of the verb in order, the reflexive one included."""
    own = (_REFLEXIVE[subject.person, subject.plural],) if verb.reflexive else ()
    return " ".join(_ordered(own + verb.clitics))


def _join(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def conjugated(
    verb: FrenchVerb,
    tense: str,
    subject: Agreement,
    *,
    chain: str = "",
    negation: str | None = None,
    adverb: str = "",
) -> FrenchGroup:
    """Conjugate a verb with all that stands around it.

    Args:
        verb: The verb and its clitics.
        tense: Simple or compound.
        subject: What the finite verb (and perhaps the participle) agrees with.
        chain: A verb that takes the tense and governs the infinitive: "pouvoir", "venir de".
        negation: "pas", "plus", "jamais", "pas encore"; empty for *ne* alone ("ne ... que").
        adverb: Placed after the finite verb: "déjà".
    """
    ne = "ne" if negation is not None else ""
    negation = negation or ""
    clitics = clitics_of(verb, subject)
    if chain:
        head, _, link = chain.partition(" ")
        finite = french_verbs.conjugate(head, tense, subject.person, subject.plural)
        return FrenchGroup(ne, finite, _join(negation, adverb, link, clitics, verb.lemma))
    if tense not in AUXILIARY_TENSES:
        finite = french_verbs.conjugate(verb.lemma, tense, subject.person, subject.plural)
        return FrenchGroup(_join(ne, clitics), finite, _join(negation, adverb))
    auxiliary, participle = compound(verb, subject)
    finite = french_verbs.conjugate(
        auxiliary, AUXILIARY_TENSES[tense], subject.person, subject.plural
    )
    return FrenchGroup(_join(ne, clitics), finite, _join(negation, adverb, participle))


def compound(verb: FrenchVerb, subject: Agreement) -> tuple[str, str]:
    """Return the auxiliary and the participle, agreeing as it should."""
    to_be = verb.reflexive or verb.lemma in french_verbs.MOTION_VERBS
    target: Agreement | None = verb.preceding
    if to_be and (verb.reflexive_agrees or not verb.reflexive):
        target = subject
    if target is None:
        return "être" if to_be else "avoir", french_verbs.participle(verb.lemma)
    return (
        "être" if to_be else "avoir",
        french_verbs.participle(verb.lemma, target.feminine, target.plural),
    )


def infinitive(verb: FrenchVerb, subject: Agreement, negation: str = "") -> str:
    """Return the infinitive: "me lever", "ne pas le faire"."""
    ne = f"ne {negation}" if negation else ""
    return _join(ne, clitics_of(verb, subject), verb.lemma)


def past_infinitive(verb: FrenchVerb, subject: Agreement) -> str:
    """Return what follows *après*: "avoir mangé", "être partie"."""
    auxiliary, participle = compound(verb, subject)
    return _join(clitics_of(verb, subject), auxiliary, participle)


def gerund(verb: FrenchVerb, subject: Agreement) -> str:
    """Return the gerund with *en*: "en le lisant"."""
    return _join("en", clitics_of(verb, subject), french_verbs.gerund(verb.lemma))


def imperative(verb: FrenchVerb, person: int, plural: bool, negation: str = "") -> str:
    """Return the imperative: "levez-vous", "ne le faites pas"."""
    form = french_verbs.imperative(verb.lemma, person, plural)
    subject = Agreement(person, plural)
    clitics = clitics_of(verb, subject).split()
    if negation:
        return _join("ne", " ".join(clitics), form, negation)
    # after the verb, "le lui", "le moi": the direct object first
    ordered = sorted(clitics, key=lambda clitic: clitic not in ("le", "la", "les"))
    strong = [{"me": "moi", "te": "toi"}.get(clitic, clitic) for clitic in ordered]
    if strong and strong[-1] in ("y", "en") and form.endswith(("e", "a")):
        form += "s"
    return "-".join([form, *strong])


def inverted(group: FrenchGroup, pronoun: str) -> str:
    """Return the group with the subject pronoun after the verb: "n'a-t-il pas vu"."""
    link = "-"
    if pronoun in ("il", "elle", "on") and group.finite[-1] in "aeé":
        link = "-t-"
    return _join(group.before, group.finite + link + pronoun, group.after)
