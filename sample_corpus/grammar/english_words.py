"""English morphology: verb forms, plurals, the article *an*, contractions."""

from __future__ import annotations

import re

from sample_corpus.grammar.text import words

# base, preterite, past participle
_IRREGULAR_VERBS = """
be was been ; beat beat beaten ; become became become ; begin began begun ; bite bit bitten
break broke broken ; bring brought brought ; build built built ; burn burnt burnt
buy bought bought ; catch caught caught ; choose chose chosen ; come came come
cost cost cost ; cut cut cut ; do did done ; draw drew drawn ; dream dreamt dreamt
drink drank drunk ; drive drove driven ; eat ate eaten ; fall fell fallen ; feed fed fed
feel felt felt ; fight fought fought ; find found found ; fly flew flown ; forget forgot forgotten
freeze froze frozen ; get got got ; give gave given ; go went gone ; grow grew grown
hang hung hung ; have had had ; hear heard heard ; hide hid hidden ; hit hit hit ; hold held held
hurt hurt hurt ; keep kept kept ; know knew known ; lead led led ; learn learnt learnt
leave left left ; lend lent lent ; let let let ; lie lied lied ; light lit lit ; lose lost lost
make made made ; mean meant meant ; meet met met ; pay paid paid ; put put put ; read read read
ride rode ridden ; ring rang rung ; run ran run ; say said said ; see saw seen ; sell sold sold
send sent sent ; set set set ; shine shone shone ; shut shut shut ; sing sang sung ; sit sat sat
sleep slept slept ; speak spoke spoken ; spend spent spent ; stand stood stood
steal stole stolen ; sweep swept swept ; swim swam swum ; take took taken ; teach taught taught
tell told told ; think thought thought ; throw threw thrown ; understand understood understood
shake shook shaken ; bend bent bent ; spill spilt spilt ; forbid forbade forbidden
strike struck struck ; deal dealt dealt ; lay laid laid ; forgive forgave forgiven
wake woke woken ; wear wore worn ; win won won ; write wrote written
"""
_DOUBLING = words("""
admit begin cancel chat cut drop fit forget get grab hit hop jog let log nod plan prefer put
quarrel regret rob run set shop shut sit stop swim travel trip win wrap
""")
_IRREGULAR_PLURALS = {
    "child": "children",
    "man": "men",
    "woman": "women",
    "policeman": "policemen",
    "fireman": "firemen",
    "postman": "postmen",
    "foot": "feet",
    "tooth": "teeth",
    "mouse": "mice",
    "sheep": "sheep",
    "knife": "knives",
    "wife": "wives",
    "life": "lives",
    "shelf": "shelves",
    "thief": "thieves",
    "leaf": "leaves",
    "potato": "potatoes",
    "tomato": "tomatoes",
    "person": "people",
}
_VOWELS = "aeiou"
# the article looks at the sound, not at the letter
_AN = re.compile(r"\b([Aa]) (?=(?:[aeiouAEIOU]|hour|honest|(?:8|11|18)\b))")
_YET_A = re.compile(r"\b([Aa])n (?=(?:uni|use|usu|euro|Euro|one\b|once\b|utensil))")
_CONTRACTIONS = (
    (re.compile(r"\b(I) am (?=\w)"), r"\1'm "),
    (re.compile(r"\b(you|we|they) are (?=\w)", re.IGNORECASE), r"\1're "),
    (re.compile(r"\b(he|she|it) is (?=\w)", re.IGNORECASE), r"\1's "),
    (re.compile(r"\b(I|you|he|she|we|they|it) will (?!not\b)(?=\w)", re.IGNORECASE), r"\1'll "),
    (re.compile(r"\b(I|you|we|they) have (?=(?:already|just|been|\w+ed)\b)"), r"\1've "),
)


def _read_verbs() -> dict[str, tuple[str, str]]:
    forms: dict[str, tuple[str, str]] = {}
    for entry in _IRREGULAR_VERBS.strip().replace("\n", ";").split(";"):
        base, past, participle = entry.split()
        forms[base] = (past, participle)
    return forms


_VERBS = _read_verbs()


def _regular_past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb[:-1] + "ied"
    return (verb + verb[-1] if verb in _DOUBLING else verb) + "ed"


def preterite(verb: str) -> str:
    """Return the simple past: "went", "stopped"."""
    return _VERBS[verb][0] if verb in _VERBS else _regular_past(verb)


def past_participle(verb: str) -> str:
    """Return the past participle: "gone", "stopped"."""
    return _VERBS[verb][1] if verb in _VERBS else _regular_past(verb)


def ing(verb: str) -> str:
    """Return the -ing form: "going", "stopping", "lying"."""
    if verb in _DOUBLING:
        return verb + verb[-1] + "ing"
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith("ee") and verb != "be":
        return verb[:-1] + "ing"
    return verb + "ing"


def third_person(verb: str) -> str:
    """Return the present of he, she, it: "goes", "tries"."""
    if verb == "have":
        return "has"
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb[:-1] + "ies"
    return verb + "s"


def plural(noun: str) -> str:
    """Return the plural of a noun, or of the last word of a compound."""
    lead, space, last = noun.rpartition(" ")
    if last in _IRREGULAR_PLURALS:
        last = _IRREGULAR_PLURALS[last]
    elif last.endswith(("s", "sh", "ch", "x")):
        last += "es"
    elif last.endswith("y") and last[-2] not in _VOWELS:
        last = last[:-1] + "ies"
    else:
        last += "s"
    return lead + space + last


def fix_articles(text: str) -> str:
    """Write "an" where the next word begins with a vowel sound."""
    return _YET_A.sub(r"\1 ", _AN.sub(r"\1n ", text))


def contract(text: str) -> str:
    """Shorten auxiliaries after pronouns: "I am late" -> "I'm late"."""
    for pattern, replacement in _CONTRACTIONS:
        text = pattern.sub(replacement, text)
    return text
