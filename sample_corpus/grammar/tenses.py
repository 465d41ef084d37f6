"""Tenses and modals as pairs: what English builds with auxiliaries, what French conjugates."""

from __future__ import annotations

from dataclasses import dataclass

from sample_corpus.grammar import english_words, french_verbs
from sample_corpus.grammar.agreement import Agreement

COMPOUND_PAST, COMPOUND_PLUPERFECT, COMPOUND_CONDITIONAL = (
    "compound past",
    "compound pluperfect",
    "compound conditional",
)
# tense of the auxiliary of each compound tense
AUXILIARY_TENSES = {
    COMPOUND_PAST: french_verbs.PRESENT,
    COMPOUND_PLUPERFECT: french_verbs.IMPERFECT,
    COMPOUND_CONDITIONAL: french_verbs.CONDITIONAL,
}


@dataclass(frozen=True)
class Tense:
    """One pairing of an English and a French verb form.

    Args:
        english: Auxiliary words, then "base", "ing", "pp" for the form of the main verb;
            "present" and "past" alone for the simple tenses.
        french: A tense of ``french_verbs`` or a compound one.
        french_chain: A verb that stands in that tense and governs the infinitive
            ("aller", "pouvoir", "venir de"), if any.
        time: "past", "present", "future" or "any": which adverbials go with it.
    """

    english: str
    french: str
    time: str
    french_chain: str = ""


PRESENT = Tense("present", french_verbs.PRESENT, "habit")
PROGRESSIVE = Tense("be ing", french_verbs.PRESENT, "now")
PAST = Tense("past", COMPOUND_PAST, "past")
STATE_PAST = Tense("past", french_verbs.IMPERFECT, "state past")
PERFECT = Tense("have pp", COMPOUND_PAST, "perfect")
PLUPERFECT = Tense("had pp", COMPOUND_PLUPERFECT, "any")
WAS_DOING = Tense("bepast ing", french_verbs.IMPERFECT, "any")
USED_TO = Tense("used to base", french_verbs.IMPERFECT, "formerly")
FUTURE = Tense("will base", french_verbs.FUTURE, "future")
GOING_TO = Tense("be going to base", french_verbs.PRESENT, "future", "aller")
CONDITIONAL = Tense("would base", french_verbs.CONDITIONAL, "any")
PAST_CONDITIONAL = Tense("would have pp", COMPOUND_CONDITIONAL, "any")
CAN = Tense("can base", french_verbs.PRESENT, "any", "pouvoir")
COULD = Tense("could base", french_verbs.CONDITIONAL, "any", "pouvoir")
MUST = Tense("must base", french_verbs.PRESENT, "any", "devoir")
SHOULD = Tense("should base", french_verbs.CONDITIONAL, "any", "devoir")
HAS_JUST = Tense("have just pp", french_verbs.PRESENT, "any", "venir de")
IN_THE_MIDDLE = Tense("be ing", french_verbs.PRESENT, "now", "être en train de")


def _be(past: bool, subject: Agreement) -> str:
    if past:
        singular = not subject.english_plural and subject.person != 2
        return "was" if singular else "were"
    if subject.person == 1 and not subject.english_plural:
        return "am"
    return "are" if subject.english_plural or subject.person == 2 else "is"


def _inflect_auxiliary(word: str, subject: Agreement) -> str:
    third = subject.person == 3 and not subject.english_plural
    if word == "be":
        return _be(False, subject)
    if word == "bepast":
        return _be(True, subject)
    if word == "have":
        return "has" if third else "have"
    if word == "do":
        return "does" if third else "do"
    return word


_CLITIC_NOT = {"can": "can't", "will": "won't", "am": "am not", "must": "must not"}


def _not(auxiliary: str, negation: str) -> str:
    if negation == "not" or auxiliary in ("am", "must"):
        return "cannot" if auxiliary == "can" else f"{auxiliary} not"
    return _CLITIC_NOT.get(auxiliary, auxiliary + "n't")


@dataclass(frozen=True)
class EnglishVerb:
    """An English verb group in two pieces, so that a question can put the subject between.

    Args:
        auxiliary: The finite auxiliary, empty if there is none: "does", "hasn't".
        rest: Everything after it: "already eaten".
    """

    auxiliary: str
    rest: str


def english_verb(
    verb: str,
    tense: Tense,
    subject: Agreement,
    *,
    negation: str = "",
    question: bool = False,
    adverb: str = "",
) -> EnglishVerb:
    """Inflect an English verb, with do-support where it is called for.

    Args:
        verb: The base form, one word.
        tense: The pairing; only its English side is used.
        subject: Person and number of the subject.
        negation: "not" or "n't" after the auxiliary, or nothing.
        question: An auxiliary is needed to stand before the subject.
        adverb: A word such as "often", placed before the main verb.
    """
    auxiliaries, main = _compose(verb, tense.english, subject, bool(negation) or question)
    finite, others = (auxiliaries[0], auxiliaries[1:]) if auxiliaries else ("", [])
    if negation:
        finite = _not(finite, negation)
    return EnglishVerb(finite, " ".join(word for word in [adverb, *others, main] if word))


def _compose(verb: str, pattern: str, subject: Agreement, support: bool) -> tuple[list[str], str]:
    if pattern in ("present", "past"):
        return _simple(verb, pattern, subject, support)
    *words, form = pattern.split()
    if words[0] == "used" and support:
        words = ["did", "use", "to"]
    if words[0] == "used":
        return [], f"used to {verb}"
    auxiliaries = [_inflect_auxiliary(words[0], subject), *words[1:]]
    forms = {
        "base": verb,
        "ing": "being" if verb == "be" else english_words.ing(verb),
        "pp": "been" if verb == "be" else english_words.past_participle(verb),
    }
    return auxiliaries, forms[form]


def _simple(verb: str, pattern: str, subject: Agreement, support: bool) -> tuple[list[str], str]:
    past = pattern == "past"
    if verb == "be":
        return [_be(past, subject)], ""
    if support:
        return ["did" if past else _inflect_auxiliary("do", subject)], verb
    if past:
        return [], english_words.preterite(verb)
    third = subject.person == 3 and not subject.english_plural
    return [], english_words.third_person(verb) if third else verb
