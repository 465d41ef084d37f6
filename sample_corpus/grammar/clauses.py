"""Clauses: a subject, a predicate, a tense, perhaps a negation, in both languages at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sample_corpus.grammar import english_words, french_groups
from sample_corpus.grammar.agreement import Agreement
from sample_corpus.grammar.french_groups import FrenchVerb
from sample_corpus.grammar.noun_phrases import ME, NounPhrase
from sample_corpus.grammar.tenses import Tense, english_verb
from sample_corpus.grammar.text import NOTHING, Text, join


@dataclass(frozen=True)
class Predicate:
    """A verb with all its complements, not yet conjugated.

    Args:
        english_verb: The word that inflects: "look".
        english_tail: What follows it: "for the keys".
        french_verb: The verb with its clitics.
        french_tail: What follows it: "les clés".
        negated: English and French tails after a negation, where they differ.
        stative: Takes no progressive, and its past is an *imparfait*: "know".
    """

    english_verb: str
    english_tail: str
    french_verb: FrenchVerb
    french_tail: str
    negated: Text | None = None
    stative: bool = False

    def tails(self, negation: bool) -> Text:
        """Return what follows the verb in each language."""
        if negation and self.negated is not None:
            return self.negated
        return Text(self.english_tail, self.french_tail)

    def with_more(self, english: str, french: str) -> Predicate:
        """Return the predicate with more words at its end."""
        negated = self.negated and Text(
            join(self.negated.english, english), join(self.negated.french, french)
        )
        return replace(
            self,
            english_tail=join(self.english_tail, english),
            french_tail=join(self.french_tail, french),
            negated=negated,
        )


@dataclass(frozen=True)
class Negation:
    """A negation in both languages.

    Args:
        english_adverb: "never", "no longer"; empty where "not" is used.
        french: What follows the finite verb: "pas", "jamais".
        english_end: Words at the end of the clause: "yet", "any more".
    """

    english_adverb: str
    french: str
    english_end: str = ""


NOT = Negation("", "pas")
NEVER = Negation("never", "jamais")
NO_LONGER = Negation("no longer", "plus")
NOT_ANY_MORE = Negation("", "plus", "any more")
NOT_YET = Negation("", "pas encore", "yet")
HARDLY = Negation("hardly", "guère")


@dataclass(frozen=True)
class Clause:
    """A clause before it is spoken: the parts that every construction shares.

    Args:
        subject: The subject.
        predicate: The verb and its complements.
        tense: The pairing of tenses.
        negation: If any.
        adverb: A word by the verb, such as "often" / "souvent".
        shortened: Whether English writes "n't".
    """

    subject: NounPhrase
    predicate: Predicate
    tense: Tense
    negation: Negation | None = None
    adverb: Text = field(default=NOTHING)
    shortened: bool = True

    def statement(self) -> Text:
        """Return the clause in the order of a statement."""
        tails = self.predicate.tails(self.negation is not None)
        auxiliary, rest = self._english(question=False)
        group = self._french()
        subject = self.subject
        end = self.negation.english_end if self.negation else ""
        return Text(
            join(subject.english, auxiliary, rest, tails.english, end),
            join(subject.french, str(group), tails.french),
        )

    def english_question(self, without_tail: bool = False) -> str:
        """Return the English clause with its auxiliary before the subject."""
        tail = "" if without_tail else self.predicate.tails(self.negation is not None).english
        auxiliary, rest = self._english(question=True)
        end = self.negation.english_end if self.negation else ""
        return join(auxiliary, self.subject.english, rest, tail, end)

    def french_inverted(self, without_tail: bool = False) -> str:
        """Return the French clause with inversion: "avez-vous vu", "Paul a-t-il vu"."""
        tail = "" if without_tail else self.predicate.tails(self.negation is not None).french
        agreement = self.subject.agreement
        pronoun = self.subject.pronoun or _pronoun_of(agreement)
        lead = "" if self.subject.pronoun else self.subject.french
        return join(lead, french_groups.inverted(self._french(), pronoun), tail)

    def _english(self, question: bool) -> tuple[str, str]:
        adverb = self.adverb.english
        negation = ""
        if self.negation is not None:
            if not self.negation.english_adverb:
                negation = "n't" if self.shortened else "not"
            adverb = join(self.negation.english_adverb, adverb)
        verb = english_verb(
            self.predicate.english_verb,
            self.tense,
            self.subject.agreement,
            negation=negation,
            question=question,
            adverb=adverb,
        )
        return verb.auxiliary, verb.rest

    def _french(self) -> french_groups.FrenchGroup:
        return french_groups.conjugated(
            self.predicate.french_verb,
            self.tense.french,
            self.subject.agreement,
            chain=self.tense.french_chain,
            negation=self.negation.french if self.negation else None,
            adverb=self.adverb.french,
        )


def _pronoun_of(agreement: Agreement) -> str:
    return ("elle" if agreement.feminine else "il") + ("s" if agreement.plural else "")


def infinitive(predicate: Predicate, subject: NounPhrase = ME, *, negated: bool = False) -> Text:
    """Return the bare infinitive: "look for the keys", "chercher les clés"."""
    tails = predicate.tails(negated)
    english = join("not to" if negated else "", predicate.english_verb, tails.english)
    verb = predicate.french_verb
    french = french_groups.infinitive(verb, subject.agreement, "pas" if negated else "")
    return Text(english, join(french, tails.french))


def gerund(predicate: Predicate, subject: NounPhrase = ME) -> Text:
    """Return "looking for the keys", "en cherchant les clés"."""
    return Text(
        join(english_words.ing(predicate.english_verb), predicate.english_tail),
        join(french_groups.gerund(predicate.french_verb, subject.agreement), predicate.french_tail),
    )


def past_infinitive(predicate: Predicate, subject: NounPhrase) -> Text:
    """Return "looking for the keys" and "avoir cherché les clés", as after "after"/"après"."""
    return Text(
        join(english_words.ing(predicate.english_verb), predicate.english_tail),
        join(
            french_groups.past_infinitive(predicate.french_verb, subject.agreement),
            predicate.french_tail,
        ),
    )


def imperative(
    predicate: Predicate, person: int, plural: bool, negation: Negation | None = None
) -> Text:
    """Return an order, affirmative or negative; person 1 is "let's"."""
    tails = predicate.tails(negation is not None)
    verb = join(predicate.english_verb, tails.english)
    if negation is None:
        lead = "let's" if person == 1 else ""
    else:
        lead = negation.english_adverb or "don't"
        lead = "let's not" if person == 1 else lead
    french = french_groups.imperative(
        predicate.french_verb, person, plural, negation.french if negation else ""
    )
    return Text(join(lead, verb), join(french, tails.french))
