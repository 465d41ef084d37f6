"""French words in company: agreement of nouns and adjectives, elision, contraction."""

from __future__ import annotations

import re

# words that begin with a vowel or h and yet refuse elision and liaison
_ASPIRATED = (
    "hall|halls|hamster|hamsters|haricot|haricots|hasard|hasards|haut|haute|hautes|hauts|hausse"
    "|hauteur|héros|hibou|hockey|homard|honte|hors|huit|huitième|hurler|onze|onzième|oui|yaourt"
    "|yaourts"
)
_VOWEL_SOUND = re.compile(rf"(?!(?:{_ASPIRATED})\b)[aeiouyhàâäéèêëîïôöûùœæ]", re.IGNORECASE)
_ELIDING = re.compile(
    r"(?<![\w'-])((?:je|me|te|se|le|la|de|ne|que|jusque|lorsque|puisque|parce que))"
    r" (?=(\w+))",
    re.IGNORECASE,
)
_PLURAL_IN_X = ("eau", "eu", "au")
_PLURAL_OF_OU = ("bijou", "caillou", "chou", "genou", "hibou", "joujou", "pou")
_PLURAL_S_DESPITE_RULE = ("bleu", "pneu", "banal", "final", "festival", "bal", "carnaval")


def starts_with_vowel(text: str) -> bool:
    """Tell whether the first word calls for elision: "l'ami", "l'heure", but "le héros"."""
    return _VOWEL_SOUND.match(text) is not None


def plural(word: str) -> str:
    """Return the plural of a masculine or feminine singular form."""
    if word.endswith(("s", "x", "z")):
        return word
    if word in _PLURAL_S_DESPITE_RULE:
        return word + "s"
    if word.endswith(_PLURAL_IN_X) or word in _PLURAL_OF_OU:
        return word + "x"
    return word[:-2] + "aux" if word.endswith("al") else word + "s"


def feminine(adjective: str) -> str:
    """Return the feminine of a masculine singular adjective that follows a rule."""
    rules = (
        ("e", "e"),
        ("er", "ère"),
        ("eux", "euse"),
        ("if", "ive"),
        ("euf", "euve"),
        ("el", "elle"),
        ("en", "enne"),
        ("on", "onne"),
        ("as", "asse"),
    )
    for ending, replacement in rules:
        if adjective.endswith(ending):
            return adjective[: -len(ending)] + replacement
    return adjective + "e"


def elide(text: str) -> str:
    """Apply elision over a whole sentence: "je ai vu la école" -> "j'ai vu l'école"."""

    def shorten(match: re.Match[str]) -> str:
        if not starts_with_vowel(match.group(2)):
            return match.group(0)
        return match.group(1)[:-1] + "'"

    text = _ELIDING.sub(shorten, text)
    text = re.sub(r"(?<![\w'-])(s)i (?=ils?\b)", r"\1'", text, flags=re.IGNORECASE)
    return re.sub(r"(?<![\w'-])(c)e (?=est\b|était\b|étaient\b)", r"\1'", text, flags=re.IGNORECASE)


def with_de(phrase: str) -> str:
    """Put *de* before a noun phrase: "le chat" -> "du chat", "les" -> "des"."""
    return _contracted("de", "du", "des", phrase)


def with_a(phrase: str) -> str:
    """Put *à* before a noun phrase: "le chat" -> "au chat", "les" -> "aux"."""
    return _contracted("à", "au", "aux", phrase)


def _contracted(preposition: str, singular: str, plural_form: str, phrase: str) -> str:
    article, _, rest = phrase.partition(" ")
    if article == "le" and not starts_with_vowel(rest):
        return f"{singular} {rest}"
    if article == "les":
        return f"{plural_form} {rest}"
    # de + des/du/de la (indefinite or partitive) leaves a bare de: "parler de livres"
    if preposition == "de":
        if article in ("des", "du"):
            return f"de {rest}"
        if phrase.startswith(("de la ", "de le ")):
            return f"de {phrase[6:]}"
    return f"{preposition} {phrase}"


def with_preposition(preposition: str, phrase: str) -> str:
    """Put any preposition before a noun phrase; those that end in *de* or *à* contract."""
    if not preposition:
        return phrase
    head, _, last = preposition.rpartition(" ")
    lead = f"{head} " if head else ""
    if last == "de":
        return lead + with_de(phrase)
    if last == "à":
        return lead + with_a(phrase)
    return f"{preposition} {phrase}"
